"""Sums under masks between members with real connections: who is missing, who comes back."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from tacit import Privacy, network, problem
from tacit.deploy.member import ending
from tacit.deploy.member.sending import Sender
from tacit.deploy.member.sum_session import Sums, SumSession
from tacit.deploy.messages.absences import Absences
from tacit.deploy.messages.carrier import Endpoint
from tacit.deploy.messages.transport import Transport
from tacit.deploy.messages.wire import Address, decode, encode
from tacit.errors import PeerTimeout, RuntimeFailure
from tacit.method import AbstractMethod, GradientDescent
from tacit.method.releases import Releases
from tacit.network.base import AbstractNetwork
from tacit.privacy.masked import Masks
from tacit.privacy.masking import new_key, pair_key
from tests.unit.deploy.ring import RUN, Members, created, until

AGENTS = 4
SERVER = AGENTS


class Recording(Transport):
    """Keeps what leaves, by the member's number."""

    def __init__(self, kept: dict[int, list[tuple[str, bytes]]], endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._kept = kept.setdefault(endpoint.number, [])

    def publish(self, key: str, data: bytes) -> None:
        self._kept.append((key, data))
        super().publish(key, data)


@dataclass(kw_only=True)
class Star(Members):
    """Agents and a coordinator that reads sums only."""

    network: AbstractNetwork = field(default_factory=lambda: network.Coordinator(AGENTS))
    rounds: int = 6
    masks: Masks = field(default_factory=Masks)
    patience: float = 30.0
    build: Callable[..., AbstractMethod] = GradientDescent
    sent: dict[int, list[tuple[str, bytes]]] = field(default_factory=dict)
    early: ClassVar[bool] = True

    def __post_init__(self) -> None:
        rng = np.random.default_rng(0)
        self.records = [6 + i for i in range(AGENTS)]
        self.task = problem.empirical_risk(
            [rng.normal(size=(count, 9)) for count in self.records],
            [rng.choice([0.0, 1.0], count) for count in self.records],
            problem.Logistic(),
        )
        budget = Privacy(clip=1.0, noise_multiplier=1.0, masks=self.masks)
        self.method = self.build(step=0.5, privacy=budget)
        pairs = [new_key() for _ in range(AGENTS)]
        self.shared = [
            {j: pair_key(pairs[i][0], pairs[j][1], RUN, i, j) for j in range(AGENTS) if j != i}
            for i in range(AGENTS)
        ]
        self.transport = partial(Recording, self.sent)
        super().__post_init__()

    @property
    def turns(self) -> int:
        sums = Releases(self.method).sums(self.rounds)
        return self.method.hides.turns(self.rounds, sums)

    def kind(self, number: int, agreed: Any) -> Callable[..., SumSession]:
        own = None if number == SERVER else number
        return partial(SumSession, Sums.of(agreed, own, {} if own is None else self.shared[own]))


@pytest.fixture
def star(tmp_path: Path) -> Callable[..., Star]:
    return partial(Star, folder=tmp_path, keys=created(tmp_path, AGENTS + 1))


def one_message_each(sent: list[tuple[str, bytes]]) -> None:
    """Whatever was sent how often."""
    told: dict[str, bytes] = {}
    for key, data in sent:
        assert told.setdefault(key, data) == data


@pytest.mark.long
def test_real_sums_are_those_of_the_simulation_to_the_bit(star: Callable[..., Star]) -> None:
    run = star()
    for thread in [run.start(i) for i in range(AGENTS + 1)]:
        thread.join(300)
    for number in range(AGENTS + 1):
        np.testing.assert_array_equal(run.answers[number], run.expected[0])
        assert run.parties[number].rounds == 6
    # what left an agent is as large as random integers are, and the values are small
    for number in range(AGENTS):
        vectors = [np.frombuffer(data[-64 - 72 : -64], "<i8") for key, data in run.sent[number]
                   if key.split("/")[2] == "1"]  # fmt: skip
        assert len(vectors) >= 6
        assert all(np.abs(v.astype(float)).max() > 2.0**60 for v in vectors)


def given_up(run: Star) -> list[threading.Thread]:
    """Start all; agent 2 stops, and the others, which are returned, are some sums further."""
    stop = threading.Event()
    others, gone = [run.start(i) for i in (0, 1, 3, SERVER)], run.start(2, stop)
    until(lambda: run.parties[SERVER].progress.round > 5)
    stop.set()
    gone.join(100)
    assert isinstance(run.answers[2], KeyboardInterrupt)
    until(lambda: run.parties[SERVER].progress.left_out == (2,))
    left = run.parties[SERVER].progress.round
    until(lambda: run.parties[SERVER].progress.round > left + 5)
    return others


@pytest.mark.slow
def test_a_sum_is_tried_again_without_who_is_missing_and_with_who_comes_back(
    star: Callable[..., Star],
) -> None:
    run = star(
        rounds=120,
        masks=Masks(1, 3, attempts=160),
        skipping=True,
        patience=1.5,
        seconds_a_round=0.02,
    )
    others = given_up(run)
    back = run.start(2)
    until(lambda: run.parties[SERVER].progress.left_out == ())
    for thread in [*others, back]:
        thread.join(300)
    for number in range(AGENTS + 1):
        np.testing.assert_array_equal(run.answers[number], run.answers[SERVER])
        assert run.parties[number].rounds == 120
    assert np.isfinite(run.answers[0]).all()
    for number in range(AGENTS):
        assert run.parties[number].compared == run.told_the_same(number)
    # one answer to each sum, whatever was sent how often
    for number in range(AGENTS):
        one_message_each(run.sent[number])
    tried = {key for key, _ in run.sent[0] if key.split("/")[2] == "1"}
    assert 120 < len(tried) <= 160


@pytest.mark.long
def test_who_learns_late_where_the_others_are_takes_part_in_the_newest_sum(
    star: Callable[..., Star], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its disk is slow when it comes back: the sum that it would wait for is over by then."""
    run = star(
        rounds=60,
        masks=Masks(1, 3, attempts=90),
        skipping=True,
        patience=2.0,
        seconds_a_round=0.02,
    )
    away = Absences.away

    def slowly(self: Absences, *which: int) -> None:
        time.sleep(0.3)
        away(self, *which)

    monkeypatch.setattr(Absences, "away", slowly)
    others = given_up(run)
    back = run.start(2)
    for thread in [*others, back]:
        thread.join(300)
    for number in range(AGENTS + 1):
        np.testing.assert_array_equal(run.answers[number], run.answers[SERVER])
        assert run.parties[number].rounds == 60
    # it was given up once, and not again when it was back
    assert [each.agent for each in run.absences[SERVER]] == [2]


@pytest.mark.long
def test_a_sum_without_enough_agents_is_never_asked_for(star: Callable[..., Star]) -> None:
    run = star(masks=Masks(1, 4, attempts=9), skipping=True, patience=1.0)
    for thread in [run.start(i) for i in (0, 1, 2, SERVER)]:
        thread.join(300)
    for number in (0, 1, 2, SERVER):
        assert isinstance(run.answers[number], PeerTimeout)
    assert "a sum must have 4" in str(run.answers[SERVER])
    assert not any(key.split("/")[2] == "1" for i in (0, 1, 2) for key, _ in run.sent[i])


@pytest.mark.slow
def test_who_is_missing_for_good_leaves_a_run_of_the_others(star: Callable[..., Star]) -> None:
    run = star(masks=Masks(1, 3, attempts=9), skipping=True, patience=4.0)
    for thread in [run.start(i) for i in (0, 1, 2, SERVER)]:
        thread.join(300)
    for number in (0, 1, 2, SERVER):
        np.testing.assert_array_equal(run.answers[number], run.answers[SERVER])
        assert run.parties[number].rounds == 6


@pytest.mark.long
def test_a_coordinator_that_starts_again_waits_for_who_was_left_out(
    star: Callable[..., Star],
) -> None:
    run = star(masks=Masks(1, 3, attempts=9), skipping=True, patience=4.0)
    for thread in [run.start(i) for i in (0, 1, 2, SERVER)]:
        thread.join(300)
    model = run.answers[SERVER]
    again = [run.start(i) for i in (0, 1, 2, SERVER)]
    for thread in again[:3]:
        thread.join(300)
    time.sleep(1.0)
    for thread in [run.start(3), *again]:
        thread.join(300)
    np.testing.assert_array_equal(run.answers[3], model)
    assert run.answers[SERVER] is None


@pytest.mark.slow
def test_when_no_attempt_is_left_the_model_so_far_is_the_answer(
    star: Callable[..., Star],
) -> None:
    run = star(rounds=60, masks=Masks(1, 3), skipping=True, patience=3.0, seconds_a_round=0.02)
    stop = threading.Event()
    threads = [run.start(i) for i in (0, 1, 3, SERVER)] + [run.start(2, stop)]
    until(lambda: run.parties[SERVER].progress.round > 5)
    stop.set()
    for thread in threads:
        thread.join(300)
    assert run.parties[SERVER].rounds == 59  # one sum was given up, and no more may be tried
    np.testing.assert_array_equal(run.answers[0], run.answers[SERVER])
    assert run.parties[0].rounds == 59


class CrashError(Exception):
    """In the place of a killed process: nothing after it is done."""


def crashing(monkeypatch: pytest.MonkeyPatch, number: int, where: str, at: int = 3) -> None:
    """The member ends at a message: before it is stored, before or after it is sent."""
    count = 0

    def third(member: int) -> bool:
        nonlocal count
        if member != number:
            return False
        count += 1
        return count == at

    keep, publish = SumSession._keep, Sender.publish

    def kept(self: SumSession, *more: Any, **named: Any) -> None:
        if where == "before it is stored" and third(self._desk.agent):
            raise CrashError
        keep(self, *more, **named)

    def published(self: Sender, address: Any) -> None:
        here = where != "before it is stored" and third(self._member)
        if here and where == "before it is sent":
            raise CrashError
        publish(self, address)
        if here:
            raise CrashError

    monkeypatch.setattr(SumSession, "_keep", kept)
    monkeypatch.setattr(Sender, "publish", published)


def go_through_a_crash(run: Star, number: int, *, lost: bool = False) -> None:
    """All take part; one crashes and starts again, and all end as if it had not.

    Args:
        run: of the members.
        number: of the one that crashes.
        lost: whether it is a coordinator whose state is lost with it.
    """
    crashed = threading.Event()

    def until_it_ends() -> None:
        try:
            run.take_part(number)
        except CrashError:
            crashed.set()
            if lost:
                shutil.rmtree(run.folder / f"state-{number}")
            run.take_part(number, restore=lost)

    members = [run.start(i) for i in range(AGENTS + 1) if i != number]
    mortal = threading.Thread(target=until_it_ends)
    mortal.start()
    for thread in [*members, mortal]:
        thread.join(300)
    assert crashed.is_set()
    for each in range(AGENTS + 1):
        np.testing.assert_array_equal(run.answers[each], run.expected[0])
        assert run.parties[each].rounds == 6
    for each in range(AGENTS):
        assert run.parties[each].compared == run.told_the_same(each)
        one_message_each(run.sent[each])


@pytest.mark.long
@pytest.mark.parametrize("number", [1, pytest.param(SERVER, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "where",
    [
        "before it is stored",
        pytest.param("before it is sent", marks=pytest.mark.slow),
        pytest.param("after it is sent", marks=pytest.mark.slow),
    ],
)
def test_a_crash_anywhere_changes_no_bit(
    star: Callable[..., Star], monkeypatch: pytest.MonkeyPatch, number: int, where: str
) -> None:
    run = star()
    crashing(monkeypatch, number, where)
    go_through_a_crash(run, number)
    one_message_each(run.sent[SERVER])


@pytest.mark.long
def test_a_coordinator_that_asks_for_too_few_or_no_round_gets_nothing(
    star: Callable[..., Star], monkeypatch: pytest.MonkeyPatch
) -> None:
    announce = SumSession._keep

    def lying(self: SumSession, turn: Any, arrays: Any, after: Any, *more: Any) -> None:
        if self._desk.server:
            arrays = [*arrays[:-2], np.arange(AGENTS) < 2, arrays[-1]]
        announce(self, turn, arrays, after, *more)

    monkeypatch.setattr(SumSession, "_keep", lying)
    run = star(masks=Masks(1, 3, attempts=9), skipping=True, patience=1.0, rounds=2)
    for thread in [run.start(i) for i in range(AGENTS + 1)]:
        thread.join(300)
    for number in range(AGENTS):
        assert not any(key.split("/")[2] == "1" for key, _ in run.sent.get(number, []))


@pytest.mark.long
@pytest.mark.parametrize("said", [0, pytest.param(10**12, marks=pytest.mark.long)])
def test_a_coordinator_cannot_say_of_how_many_rounds_a_model_is(
    star: Callable[..., Star], monkeypatch: pytest.MonkeyPatch, said: int
) -> None:
    last_word = SumSession._last_word

    def lying(self: SumSession, state: Any) -> Any:
        told = last_word(self, state)
        if self._desk.server:
            told[1] = np.asarray(said)
        return told

    monkeypatch.setattr(SumSession, "_last_word", lying)
    monkeypatch.setattr(ending, "LINGER", 2.0)
    run = star(rounds=2, patience=5.0)
    for thread in [run.start(i) for i in range(AGENTS + 1)]:
        thread.join(300)
    for number in range(AGENTS):
        assert "the coordinator says" in str(run.answers[number])


@pytest.mark.slow
def test_two_stories_of_one_sum_cannot_be_read(
    star: Callable[..., Star], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinator gives one agent another iterate: no mask cancels, whatever is added up."""
    run = star(rounds=1, patience=5.0)
    hear = SumSession._hear

    def deceived(self: SumSession, turn: Any, tally: Any) -> Any:
        heard = hear(self, turn, tally)
        if self._desk.agent == 2:
            self._asked = bytes(32)  # what it would be of another message
        return heard

    monkeypatch.setattr(SumSession, "_hear", deceived)
    # the coordinator gives up: nobody waits long for its word
    monkeypatch.setattr(ending, "LINGER", 5.0)
    for thread in [run.start(i) for i in range(AGENTS + 1)]:
        thread.join(300)
    vectors = [
        np.frombuffer(data[-64 - 72 : -64], "<u8")
        for i in range(AGENTS)
        for key, data in run.sent[i]
        if key.split("/")[2] == "1"
    ]
    together = np.add.reduce(np.unique(vectors, axis=0), axis=0).view(np.int64)
    assert np.abs(together.astype(float)).max() > 2.0**58


@pytest.mark.long
def test_two_halves_that_are_told_other_cohorts_are_found(
    star: Callable[..., Star], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Masks cancel within each half, so it reads both sums, and nothing else shows it."""
    run = star(masks=Masks(1, 2))
    accept = SumSession.accept
    iterate = ("<f8", (9,))
    form = [iterate, ("|b1", (AGENTS,)), ("<i8", ()), iterate, iterate]  # and the state

    def split(self: SumSession, sender: int, key: str, data: bytes) -> None:
        if key == f"{SERVER}/3/0/0":
            at = Address(RUN, SERVER, 2, 0)
            leaves = decode(data, at, form, run.keys[SERVER].card.public_key()).leaves
            arrays = [np.frombuffer(d, t).reshape(shape) for d, t, shape in leaves]
            arrays[1] = np.arange(AGENTS) // 2 == self._desk.agent // 2
            data = encode(at, arrays, run.keys[SERVER].identity)
        accept(self, sender, key, data)

    monkeypatch.setattr(SumSession, "accept", split)
    for thread in [run.start(i) for i in range(AGENTS + 1)]:
        thread.join(300)
    for number in range(AGENTS):
        np.testing.assert_array_equal(run.answers[number], run.expected[0])
        found = run.parties[number].compared
        assert found is not None and found.own == "sum 3" and len(found.other) == 3
        assert set(found.where) == {"another message in sum 3 than the coordinator says it sent"}


@pytest.mark.parametrize(
    "where", [pytest.param("before it is sent", marks=pytest.mark.long), "after it is sent"]
)
def test_a_coordinator_that_lost_its_state_goes_on_to_the_bit(
    star: Callable[..., Star], monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Nobody has what was not sent; what was sent is the newest that all have."""
    run = star()
    crashing(monkeypatch, SERVER, where)
    go_through_a_crash(run, SERVER, lost=True)


@pytest.mark.slow
def test_copies_with_other_keys_are_noticed(star: Callable[..., Star]) -> None:
    run = star(patience=5.0)
    run.shared[1][2] = bytes(32)  # agent 1 has another key of agent 2 than agent 2 has
    for thread in [run.start(i) for i in range(AGENTS + 1)]:
        thread.join(300)
    assert isinstance(run.answers[SERVER], RuntimeFailure)
    assert "masks did not cancel" in str(run.answers[SERVER])
