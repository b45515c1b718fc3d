"""What was made survives: bytes, and a state whose shape changes within a round."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tacit.deploy.outgoing import SETTLE_EVERY, Made, Outgoing, state_digest
from tacit.errors import ConfigError, RuntimeFailure


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


def test_what_everybody_is_past_is_forgotten(tmp_path: Path) -> None:
    outgoing = opened(tmp_path / "journal.db")
    for position in range(2 * SETTLE_EVERY):
        outgoing.commit(Made(position, str(position), b"bytes"), State(np.zeros(1)), ["north"])
        outgoing.settle(position)
    kept = [position for position in range(2 * SETTLE_EVERY) if outgoing.find(str(position))]
    assert kept == list(range(SETTLE_EVERY, 2 * SETTLE_EVERY))
    outgoing.close()
    assert opened(tmp_path / "journal.db").find("0") is None


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    opened(tmp_path / "journal.db").close()
    with pytest.raises(ConfigError, match="--state directory of its own"):
        opened(tmp_path / "journal.db", "cd" * 32)


def test_states_differ_in_their_digest_when_anything_does() -> None:
    states = [State(np.zeros(2)), State(np.zeros(2), np.zeros(2)), State(np.zeros((2, 1)))]
    digests = {state_digest(position, state) for position in (0, 1) for state in states}
    assert len(digests) == 6
