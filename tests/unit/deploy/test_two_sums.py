"""Sums of unequal size and cost in one run, between members with real connections."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit._engine.contract import contract
from tacit.deploy.member import ending
from tacit.deploy.member.sending import Sender
from tacit.deploy.member.sum_session import Sums, SumSession
from tacit.deploy.messages.wire import Address
from tacit.errors import PrivacyError
from tacit.method import Phase, Rounds
from tacit.method.phase import AbstractMethod
from tacit.network import Coordinator
from tacit.privacy import Masks, Privacy
from tests.two_sums import RECORDS, TwoSums, task
from tests.unit.deploy.member.test_sum_session import (
    AGENTS,
    SERVER,
    Star,
    crashing,
    go_through_a_crash,
    one_message_each,
)
from tests.unit.deploy.ring import created

GRADIENT, SLOPES = 1, 2


@pytest.fixture
def star(tmp_path: Path) -> Callable[..., Star]:
    return partial(Star, folder=tmp_path, keys=created(tmp_path, AGENTS + 1), build=TwoSums)


def answers(run: Star, number: int) -> Counter[int]:
    """How many sums a member answered, by phase."""
    told = {key for key, _ in run.sent.get(number, []) if key.count("/") == 3}
    return Counter(int(key.split("/")[2]) for key in told if "/255/" not in key)


@pytest.mark.long
def test_both_sums_are_those_of_the_simulation_to_the_bit(star: Callable[..., Star]) -> None:
    run = star()
    for thread in [run.start(i) for i in range(AGENTS + 1)]:
        thread.join(300)
    for number in range(AGENTS + 1):
        np.testing.assert_array_equal(run.answers[number], run.expected[0])
        assert run.parties[number].rounds == 6
    for number in range(AGENTS):
        assert answers(run, number) == {GRADIENT: 6, SLOPES: 1}
        one_message_each(run.sent[number])
    assert answers(run, SERVER) == {0: 7}


@pytest.mark.long
@pytest.mark.parametrize("number", [1, SERVER])
def test_a_crash_between_the_two_sums_of_a_round_changes_no_bit(
    star: Callable[..., Star], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    run = star(rounds=6)
    crashing(monkeypatch, number, "after it is sent", at=7)
    go_through_a_crash(run, number)
    one_message_each(run.sent[SERVER])


@pytest.mark.long
def test_a_coordinator_that_lost_its_state_between_them_goes_on_to_the_bit(
    star: Callable[..., Star], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = star()
    crashing(monkeypatch, SERVER, "after it is sent", at=7)
    go_through_a_crash(run, SERVER, lost=True)


@pytest.mark.long
def test_a_sum_is_tried_again_at_the_point_of_its_round(
    star: Callable[..., Star], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One agent is silent in the last sum, which is given up and tried once more.

    The others wait as patiently as the coordinator, and hear that it goes on before they hear what
    it says: nobody gives it up in between. The silent one may be back in time for the second try.
    """
    reply, publish = SumSession._reply, Sender.publish
    missed, late = threading.Event(), threading.Event()

    def silent(self: SumSession, turn: Any, standing: Any) -> Any:
        last = turn.at.phase == SLOPES and int(standing.done) == 6
        if self._desk.agent == 2 and last and not missed.is_set():
            missed.set()
            return standing
        return reply(self, turn, standing)

    def slow(self: Sender, address: Address) -> None:
        if self._member == SERVER and address.round == 7:
            late.set()
            time.sleep(1.0)
        publish(self, address)

    monkeypatch.setattr(SumSession, "_reply", silent)
    monkeypatch.setattr(Sender, "publish", slow)
    run = star(masks=Masks(1, 3, spare=2), skipping=True, patience=8.0)
    for thread in [run.start(i) for i in range(AGENTS + 1)]:
        thread.join(300)
    assert missed.is_set() and late.is_set()
    for number in (0, 1, 3, SERVER):
        np.testing.assert_array_equal(run.answers[number], run.answers[SERVER])
        assert run.parties[number].rounds == 6
    for number in (0, 1, 3):
        assert answers(run, number)[GRADIENT] == 6
        assert answers(run, number)[SLOPES] == 2
    # the iterate does not depend on the last sum, nor on how often it was tried
    np.testing.assert_array_equal(run.answers[0][2:], run.expected[0][2:])


@pytest.mark.long
def test_a_coordinator_gets_no_more_of_the_dearest_sum_than_is_paid_for(
    star: Callable[..., Star], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that claims to be at the last sum, turn for turn, gets it as often as is foreseen."""
    keep, begin = SumSession._keep, SumSession.run

    def lying(self: SumSession, turn: Any, arrays: Any, after: Any, *more: Any) -> None:
        if self._desk.server:
            arrays = [*arrays[:2], np.asarray(6), *arrays[3:]]
        keep(self, turn, arrays, after, *more)

    def greedy(self: SumSession, transport: Any) -> Any:
        if self._desk.server:
            self._sums = replace(self._sums, planned=((5, SLOPES),) * 9, limits=())
        return begin(self, transport)

    monkeypatch.setattr(SumSession, "_keep", lying)
    monkeypatch.setattr(SumSession, "run", greedy)
    monkeypatch.setattr(ending, "LINGER", 1.0)
    run = star(masks=Masks(1, 3, spare=2), skipping=True, patience=5.0)
    for thread in [run.start(i) for i in range(AGENTS + 1)]:
        thread.join(300)
    assert answers(run, SERVER)[0] > 3
    for number in range(AGENTS):
        assert answers(run, number) == {SLOPES: 3}


def sums(method: AbstractMethod, rounds: int = 6) -> Sums:
    made = contract(
        task(), Coordinator(AGENTS), method, rounds=rounds, grid=True, most_records=RECORDS
    )
    return Sums.of(made, 0)


def budget(masks: Masks) -> Privacy:
    return Privacy(clip=1.0, epsilon=2.0, masks=masks)


def test_whatever_is_asked_costs_no_more_than_was_foreseen() -> None:
    found = sums(TwoSums(last=2, privacy=budget(Masks(spare=3))))
    assert [phase for _, phase in found.planned] == [1, 1, 1, 1, 1, 2, 1, 2]
    assert found.rounds(5) == 4 and found.rounds(6) == 5 and found.rounds(8) == 6
    assert found.pays(np.array([0, 0, 4]), SLOPES)
    assert not found.pays(np.array([0, 0, 5]), SLOPES)  # 2 are planned, and 3 are spare
    assert found.pays(np.array([0, 5, 5]), GRADIENT)
    assert not found.pays(np.array([0, 6, 5]), GRADIENT)
    assert found.pays(np.array([0, 10, 0]), GRADIENT)  # the cheaper one for the dearer
    assert not found.pays(np.array([0, 11, 0]), GRADIENT)


@pytest.mark.parametrize(
    "change",
    [
        lambda phases: phases[1:] + phases[:1],
        lambda phases: (*phases, phases[0]),
        lambda phases: (replace(phases[0], rounds=Rounds(0, -1)), *phases[1:]),
        lambda phases: (phases[0], replace(phases[1], rounds=Rounds(0, 2)), phases[2]),
    ],
    ids=["announced last", "announced twice", "not announced", "idle"],
)
def test_phases_that_one_announcement_does_not_tell_are_refused(
    change: Callable[[tuple[Phase, ...]], tuple[Phase, ...]],
) -> None:
    class Other(TwoSums):
        def phases(self) -> tuple[Phase, ...]:
            return change(super().phases())

    with pytest.raises(PrivacyError, match="Other"):
        sums(Other(privacy=budget(Masks())))
