"""What was made survives: bytes, and a state whose shape changes within a round."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tacit.deploy.messages.outgoing import Account, Charge, Made, Outgoing, state_digest
from tacit.errors import RuntimeFailure
from tacit.privacy.event import GaussianRelease
from tacit.privacy.ledger import Ledger, ReleaseId


class State(NamedTuple):
    x: Any
    gradient: Any = None


def opened(path: Path, run: str = "ab" * 32) -> Outgoing:
    return Outgoing(path, run, None, {}, 0, lambda address: address.round)


def test_the_last_state_comes_back_whatever_it_holds(tmp_path: Path) -> None:
    outgoing = opened(tmp_path / "journal.db")
    like = State(np.zeros(3))
    assert outgoing.resume(like) is None
    full = State(np.array([1.0, 2.0, 3.0]), np.array([[4, 5]]))
    for position, state in enumerate((like, full)):
        outgoing.commit(Made(position, f"0/{position}/0/0", b"bytes"), state, ["north"])
    outgoing.close()
    again = opened(tmp_path / "journal.db")
    resumed = again.resume(like)
    assert resumed is not None
    position, state = resumed
    assert position == 1
    np.testing.assert_array_equal(state.x, full.x)
    np.testing.assert_array_equal(state.gradient, full.gradient)
    assert again.find("0/0/0/0") == b"bytes" and again.find("0/2/0/0") is None
    with pytest.raises(RuntimeFailure, match="another version"):
        again.resume([np.zeros(3)])
    again.close()


def test_what_everybody_is_past_is_overwritten(tmp_path: Path) -> None:
    outgoing = opened(tmp_path / "journal.db")
    data = bytes(100_000)
    for position in range(50):
        outgoing.commit(Made(position, str(position), data), State(np.zeros(position)), ["north"])
        outgoing.settle(position - 1)
    assert [position for position in range(50) if outgoing.find(str(position))] == [48, 49]
    outgoing.close()
    assert (tmp_path / "journal.db").stat().st_size < 6 * len(data)
    again = opened(tmp_path / "journal.db")
    assert again.find("49") == again.find("48") == data and again.find("46") is None
    again.commit(Made(49, "49", data), State(np.zeros(2)), ["north"])  # the same once more
    assert again.find("49") == data
    again.close()


def test_a_commit_that_is_cut_off_leaves_the_one_before(tmp_path: Path) -> None:
    outgoing = opened(tmp_path / "journal.db")
    for position in range(3):
        data = bytes([position]) * 50_000
        outgoing.commit(Made(position, str(position), data), State(np.full(9, position)), ["north"])
        outgoing.settle(position)
    with outgoing._journal.writing() as file:
        file.execute("BEGIN IMMEDIATE")
        outgoing._state.write(1, [bytes(80)])  # and the process is killed
    outgoing.close()
    again = opened(tmp_path / "journal.db")
    position, state = again.resume(State(np.zeros(9))) or (None, None)
    assert position == 2 and state is not None
    np.testing.assert_array_equal(state.x, np.full(9, 2))
    assert again.find("2") == b"\x02" * 50_000
    again.close()


def test_states_differ_in_their_digest_when_anything_does() -> None:
    states = [State(np.zeros(2)), State(np.zeros(2), np.zeros(2)), State(np.zeros((2, 1)))]
    digests = {state_digest(position, state) for position in (0, 1) for state in states}
    assert len(digests) == 6


def test_a_folder_that_is_deleted_meanwhile_is_noticed(tmp_path: Path) -> None:
    outgoing = opened(tmp_path / "journal.db")
    outgoing.commit(Made(0, "0", b"bytes"), State(np.zeros(1)), ["north"])
    (tmp_path / "journal.db").rename(tmp_path / "elsewhere.db")
    for _ in range(2):
        with pytest.raises(RuntimeFailure, match="was deleted or replaced while this member ran"):
            outgoing.commit(Made(1, "1", b"bytes"), State(np.zeros(1)), ["north"])
        opened(tmp_path / "journal.db").close()  # another one in its place
    outgoing.close()


def test_a_ledger_that_is_put_back_is_refused(tmp_path: Path) -> None:
    """It lies elsewhere than the journal, which notes each release before it leaves."""
    path, event = tmp_path / "ledger", GaussianRelease(1e5)
    with Ledger.create(path) as ledger:
        ledger.set_budget("north", "records", epsilon=1.0, delta=1e-6)

    def released(*rounds: int) -> None:
        with Ledger.open(path) as ledger:
            account = Account(ledger, "north", "records", "record, add_remove")
            outgoing = Outgoing(
                tmp_path / "journal.db", "ab" * 32, account, {"send": 0}, 0, lambda a: a.round
            )
            for round in rounds:
                made = Made(round, f"0/{round + 1}/0/0", b"an answer")
                id = ReleaseId("north", "ab" * 32, round + 1, "send")
                charge = Charge(id, event, "of a state")
                outgoing.commit(made, State(np.zeros(1)), ["south"], charge)
            outgoing.close()

    released(0)
    shutil.copy(path, tmp_path / "older")
    released(1)
    released()
    shutil.move(path, tmp_path / "newest")
    shutil.copy(tmp_path / "older", path)
    with pytest.raises(RuntimeFailure, match="ledger is an older copy"):
        released(1)
    shutil.move(tmp_path / "newest", path)
    released(2)
