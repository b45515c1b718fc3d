"""Clients compare what a coordinator told them, and what it says that it told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from tacit import Privacy, network, problem
from tacit.deploy.identity import keys
from tacit.deploy.member.compare import Comparison, Words, digest_of, word_of
from tacit.deploy.member.record import Record
from tacit.deploy.member.schedule import Schedule
from tacit.deploy.messages.carrier import Endpoint
from tacit.deploy.messages.transport import Transport
from tacit.deploy.messages.wire import FINISHED, MESSAGE, Address, decode, encode
from tacit.method import FedAvg
from tests.laid_out import lay_out
from tests.unit.deploy.ring import MEMBERS, RUN, Ring, until


class TwoHalves(Transport):
    """What a coordinator that runs two halves does, seen by member 2: changes are signed by it."""

    coordinator: keys.Keys
    changes: dict[str, Callable[[list[np.ndarray]], list[np.ndarray]]]

    def __init__(self, endpoint: Endpoint) -> None:
        def swapped(sender: int, key: str, data: bytes) -> None:
            change = self.changes.get(key) if endpoint.number == 2 else None
            if change is not None:
                data = self.other(key, data, change)
            endpoint.accept(sender, key, data)

        super().__init__(replace(endpoint, accept=swapped))

    def other(self, key: str, data: bytes, change: Callable[..., Any]) -> bytes:
        _, round, phase, step = map(int, key.split("/"))
        ended = phase == 255
        at = Address(RUN, MEMBERS, round - 1, phase, step, FINISHED if ended else MESSAGE)
        form = [("<f8", (4,)), ("<i8", (4, 4))] if ended else [("<f8", (4,))] * 3
        leaves = decode(data, at, form, self.coordinator.card.public_key()).leaves
        arrays = [np.frombuffer(leaf, dtype).reshape(shape) for leaf, dtype, shape in leaves]
        return encode(at, change(arrays), self.coordinator.identity)


def moved(arrays: list[np.ndarray]) -> list[np.ndarray]:
    return [arrays[0] + 0.5, *arrays[1:]]


def split(star: Ring, *, owned: bool, model: bool) -> None:
    """Let member 2 be told another iterate in round 3.

    Args:
        star: the run.
        owned: whether the record that it is told at the end has it.
        model: whether it is another model that it is told at the end.
    """

    def last(arrays: list[np.ndarray]) -> list[np.ndarray]:
        record = np.array(arrays[1])
        if owned:
            heard = sorted(star.parties[2]._outgoing.heard.digests(MEMBERS).items())
            record[2] = np.frombuffer(heard[2][1], "<i8")
        return [arrays[0] + 0.5 * model, record]

    TwoHalves.coordinator = star.keys[MEMBERS]
    TwoHalves.changes = {f"{MEMBERS}/3/0/0": moved, f"{MEMBERS}/5/255/0": last}
    star.transport = TwoHalves


def test_clients_compare_what_they_were_told(
    ring: Callable[..., Ring], caplog: pytest.LogCaptureFixture
) -> None:
    star = ring(rounds=4, network=network.Coordinator(MEMBERS))
    for thread in [star.start(i) for i in range(MEMBERS + 1)]:
        thread.join(400)
    assert star.parties[MEMBERS].compared is None
    for number in range(MEMBERS):
        assert star.parties[number].compared == star.told_the_same(number)
    assert "something else" not in caplog.text and "another message" not in caplog.text


@pytest.mark.long
@pytest.mark.parametrize(
    ("owned", "model", "told"),
    [
        (True, True, "another model and another message in round 3"),
        pytest.param(True, False, "another message in round 3", marks=pytest.mark.slow),
        (False, False, "another message in round 3 than the coordinator says it sent"),
    ],
)
def test_a_coordinator_that_runs_two_halves_is_found(
    ring: Callable[..., Ring],
    owned: bool,
    model: bool,
    told: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It told member 2 another iterate once, and the same model in the end or another."""
    star = ring(rounds=4, network=network.Coordinator(MEMBERS), patience=30.0)
    split(star, owned=owned, model=model)
    for thread in [star.start(i) for i in range(MEMBERS + 1)]:
        thread.join(400)
    names = [each.card.name for each in star.keys]
    for number, same in ((0, names[1]), (1, names[0])):
        found = star.parties[number].compared
        assert found == Comparison((same,), (names[2],), (), (told,))
    found = star.parties[2].compared
    assert found is not None
    if owned:
        assert (found.other, found.where) == (tuple(names[:2]), (told, told))
        assert found.own == ""
    else:
        assert (found.same, found.own) == (tuple(names[:2]), "round 3")
        assert "in round 3 the coordinator sent this member another message" in caplog.text
    assert f"{names[2]} ({told})" in caplog.text


@pytest.mark.slow
def test_who_restarts_or_is_away_is_told_the_same(
    ring: Callable[..., Ring], caplog: pytest.LogCaptureFixture
) -> None:
    """The coordinator begins again in mid-run, and a client misses rounds: nobody is accused."""
    star = ring(
        rounds=60,
        network=network.Coordinator(MEMBERS, probability=0.7),
        skipping=True,
        patience=1.0,
        seconds_a_round=0.02,
    )
    stops = [threading.Event() for _ in range(MEMBERS + 1)]
    threads = [star.start(i, stops[i]) for i in range(MEMBERS + 1)]
    until(lambda: star.parties[MEMBERS].progress.round > 5)
    stops[MEMBERS].set()
    threads[MEMBERS].join(100)
    assert isinstance(star.answers[MEMBERS], KeyboardInterrupt)
    threads[MEMBERS] = star.start(MEMBERS)
    until(lambda: star.parties[MEMBERS].progress.round > 10)
    stops[2].set()
    threads[2].join(100)
    assert isinstance(star.answers[2], KeyboardInterrupt)
    until(lambda: star.parties[MEMBERS].progress.left_out == (2,))
    threads[2] = star.start(2)
    for thread in threads:
        thread.join(100)
    for number in range(MEMBERS):
        assert star.parties[number].compared == star.told_the_same(number)
    assert star.absences[2]
    assert "another message" not in caplog.text


def test_a_word_that_is_not_the_clients_is_not_taken(ring: Callable[..., Ring]) -> None:
    made = ring(rounds=1).keys
    record = a_record()
    words = Words(RUN, 4, MEMBERS, {i: made[i].card for i in range(2)}, record)
    own, other = (word_of(record, [said, bytes(128)], {}) for said in (b"model", b"another"))
    assert own[0].tobytes() != digest_of([b"mod", b"el"]).tobytes()

    def word(client: int, signer: int, rounds: int = 4) -> bytes:
        address = Address(RUN, client, rounds, 255, 0, FINISHED)
        return encode(address, other, made[signer].identity)

    for client, data in ((0, word(0, MEMBERS)), (0, word(0, 1)), (0, word(0, 0, 3)), (7, b"")):
        assert words.take(f"{MEMBERS}/word/{client}", data)
    assert words.compared(own).silent == (made[0].card.name, made[1].card.name)
    assert not words.take("0/5/255/0", word(0, 0))
    assert words.take(f"{MEMBERS}/word/0", word(0, 0))
    assert words.find(f"{MEMBERS}/word/0") == word(0, 0)
    assert words.find(f"{MEMBERS}/word/x") is None
    assert words.compared(own).other == (made[0].card.name,)
    assert words.compared(other).same == (made[0].card.name,)


def a_record(rounds: int = 4) -> Record:
    """Of a star whose coordinator speaks once a round."""
    task = problem.empirical_risk([np.eye(2)] * 2, [np.ones(2)] * 2, problem.Logistic())
    method = FedAvg(step=0.1, privacy=Privacy(clip=1.0, noise_multiplier=1.0))
    with jax.enable_x64(True):
        plan, _, _ = lay_out(task, network.Coordinator(2), method, rounds, 0)
    return Record(Schedule(plan, rounds))


def test_a_long_record_is_cut_into_parts_and_says_in_which_it_differs() -> None:
    record = a_record(1000)
    positions = record._positions
    said = {position: bytes([1 + position % 251]) * 32 for position in positions}
    whole = record.of(said)
    assert whole.shape == record.form[1] == (1000, 4)
    assert record.contradicted(whole.tobytes(), said) == -1
    assert record.contradicted(whole.tobytes(), {}) == -1  # who heard nothing knows of nothing
    other = record.of(said | {positions[500]: bytes(32)})
    assert record.contradicted(other.tobytes(), said) == 500
    differ = (record.digests(other.tobytes()) != record.digests(whole.tobytes())).any(axis=1)
    assert [record.stretch(int(i)) for i in np.flatnonzero(differ)] == ["rounds 474 to 504"]
    assert record.place(500) == "round 501" and "no round" in record.place(1 << 40)
