"""In which rounds a phase is run, and what it costs to release something in some of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import network
from tacit._engine.contract import contract
from tacit.errors import ConfigError, PrivacyError
from tacit.method import DPSG, Phase, Rounds
from tacit.privacy import GaussianRelease, Masked, Masks, Privacy, Repeated, epsilon
from tests.two_sums import AGENTS, RECORDS, TwoSums, task

HUB, ROUNDS = network.Coordinator(AGENTS), 6

SLICES = [Rounds(), Rounds(0, 1), Rounds(2), Rounds(-1), Rounds(-3), Rounds(0, -2), Rounds(1, 4),
          Rounds(-3, -1), Rounds(1, -1)]  # fmt: skip


@pytest.mark.parametrize("rounds", SLICES, ids=str)
def test_they_are_those_of_a_slice(rounds: Rounds) -> None:
    for count in range(rounds.least, 8):
        found = [t for t in range(count) if rounds.includes(t, count)]
        assert found == list(range(count))[rounds.first : rounds.last] == list(rounds.of(count))
        assert rounds.single == (len(found) == 1) or count == rounds.least
        every = np.broadcast_to(rounds.includes(np.arange(count), count), count)
        assert np.flatnonzero(every).tolist() == found
    assert rounds.every == (rounds == Rounds())


@pytest.mark.parametrize("rounds", SLICES, ids=str)
def test_a_run_that_cuts_them_short_is_refused(rounds: Rounds) -> None:
    class Sometimes(DPSG):
        def phases(self) -> tuple[Phase, ...]:
            return tuple(replace(phase, rounds=rounds) for phase in super().phases())

    method = Sometimes(step=0.1, privacy=Privacy(clip=1.0, noise_multiplier=1.0))
    if rounds.least > 1:
        with pytest.raises(ConfigError, match=f"rounds={rounds.least - 1}"):
            tacit.account(task(), network.ring(AGENTS), method, rounds=rounds.least - 1)
    found = tacit.account(task(), network.ring(AGENTS), method, rounds=rounds.least)
    (row,) = found.releases[0]
    assert row.times == len(rounds.of(rounds.least)) > 0


def test_before_is_one_round_of_its_own() -> None:
    before = Rounds(before=True)
    assert list(before.of(9)) == [-1] and before.single and before.includes(-1, 9) is True


@pytest.mark.parametrize(
    "given", [(0, 0), (2, 2), (3, 1), (-1, -1), (-1, -2), (-1, 2), (1, None, True), (0, 2, True)]
)
def test_what_is_no_slice_of_any_run_is_refused(given: tuple[Any, ...]) -> None:
    with pytest.raises(ConfigError, match="Rounds"):
        Rounds(*given)


# what it costs


def method(masks: Masks | None = None, last: int = 1, **budget: Any) -> TwoSums:
    chosen = {"clip": 1.0, "epsilon": 2.0, "masks": masks} | budget
    return TwoSums(last=last, privacy=Privacy(**chosen))


def made(method: TwoSums, hub: Any = HUB, rounds: int = ROUNDS, **more: Any) -> Any:
    return contract(task(), hub, method, rounds=rounds, **more)


@pytest.mark.parametrize("masks", [None, Masks(1)], ids=["alone", "masks"])
@pytest.mark.parametrize("last", [1, 3])
def test_each_release_is_charged_as_often_as_it_happens(masks: Masks | None, last: int) -> None:
    agreed = made(method(masks, last))
    z = float(np.min(agreed.method.privacy.noise_multiplier))
    root = 1.0 if masks is None else np.sqrt(AGENTS - 1)
    each = [GaussianRelease(z * root), GaussianRelease(z / 2 * root)]
    by_hand = epsilon([Repeated(each[0], ROUNDS), Repeated(each[1], last)], 1e-6)
    worst = agreed.guarantee.worst
    assert worst.epsilon == pytest.approx(by_hand, rel=1e-9) and worst.epsilon <= 2.0
    assert (worst.releases, worst.status.value) == (ROUNDS + last, "proved")
    assert [row.times for row in agreed.table] == [0, ROUNDS, last]
    curve = agreed.spent(range(ROUNDS + 1)).max(axis=1)
    first = [epsilon([Repeated(each[0], t)], 1e-6) if t else 0.0 for t in range(ROUNDS - last + 1)]
    np.testing.assert_allclose(curve[: len(first)], first, rtol=1e-9)
    assert curve[-1] == pytest.approx(by_hand, rel=1e-9) and np.all(np.diff(curve) > 0)
    # a gradient a record, and a difference along each of two axes from one point
    asked = [sum(RECORDS) * (t + 3 * max(0, t - ROUNDS + last)) for t in range(ROUNDS + 1)]
    assert agreed.evaluations(range(ROUNDS + 1)).tolist() == asked


@pytest.mark.parametrize("masks", [Masks(spare=3), Masks(attempts=ROUNDS + 1 + 3)])
def test_spare_sums_are_charged_as_the_dearest(masks: Masks) -> None:
    agreed = made(method(masks, noise_multiplier=2.0, epsilon=None))
    root = np.sqrt(AGENTS - 1)
    cheap, dear = (Masked(GaussianRelease(z * root), 1, AGENTS) for z in (2.0, 1.0))
    assert agreed.owners.contexts[-1].count == max(RECORDS)
    smallest = int(np.argmin(RECORDS))  # which needs most
    assert agreed.events[smallest] == (Repeated(cheap, ROUNDS), Repeated(dear, 1 + 3))
    assert agreed.guarantee.worst.attempts == agreed.turns == ROUNDS + 1 + 3
    # nothing was tried again in this simulation
    plain = made(method(Masks(), noise_multiplier=2.0, epsilon=None))
    np.testing.assert_array_equal(agreed.spent([0, ROUNDS]), plain.spent([0, ROUNDS]))


def test_attempts_at_one_sum_a_round_mean_what_they_meant() -> None:
    build = tacit.GradientDescent
    for masks in (Masks(attempts=9), Masks(spare=3)):
        budget = Privacy(clip=1.0, noise_multiplier=2.0, masks=masks)
        agreed = contract(task(), HUB, build(step=0.1, privacy=budget), rounds=ROUNDS)
        (event,) = agreed.events[0]
        assert isinstance(event, Repeated) and event.count == agreed.turns == 9
    with pytest.raises(PrivacyError, match=r"attempts=9.*spare=3"):
        Masks(attempts=9, spare=3)
    with pytest.raises(PrivacyError, match="spare=-1"):
        Masks(spare=-1)


def test_all_add_the_same_noise_in_each_sum() -> None:
    agreed = made(method(Masks()))
    for index in (1, 2):
        assert np.ptp(agreed.scales[index]) < 1e-9 * agreed.scales[index].max()
    assert agreed.scales[1].max() == pytest.approx(2 * agreed.scales[2].max(), rel=1e-12)


def test_a_sum_that_is_not_asked_in_every_round_needs_all_agents_in_it() -> None:
    masks = Masks(1, min_cohort=3, spare=9)
    hub = network.Coordinator(AGENTS, dropout=0.2)
    with pytest.raises(PrivacyError, match="'slopes'"):
        tacit.account(task(), hub, method(masks), rounds=ROUNDS)


def test_who_is_drawn_is_charged_for_the_last_round_once() -> None:
    hub = network.Coordinator(AGENTS, probability=0.5)
    agreed = made(method(noise_multiplier=2.0, epsilon=None), hub)
    taken = [public.participations for public in agreed.owners.contexts]
    assert min(taken) < ROUNDS
    for events, times in zip(agreed.events, taken, strict=True):
        assert [event.count for event in events] == [times, 1]


# how much noise is in a mean


def simulated(method: TwoSums, net: Any, phase: str, trials: int = 4000) -> np.ndarray:
    """What the receiver of a phase holds of it at last, less what it would without noise."""
    runs = tacit.Simulation(trials=trials)
    return tacit.run(task(), net, method, rounds=1, seed=2, runtime=runs).solutions


@pytest.mark.slow
@pytest.mark.parametrize("masks", [None, Masks(1)], ids=["alone", "masks"])
def test_the_noise_in_the_mean_is_as_stated(masks: Masks | None) -> None:
    chosen = method(masks, noise_multiplier=0.5, epsilon=None)
    step, agreed = chosen.step, made(chosen, rounds=1)
    answers = simulated(chosen, HUB, "slopes")[:, 0]
    own, dear = step * agreed.spread(1), agreed.spread(2)
    expected = np.where(np.arange(answers.shape[1]) < 2, np.hypot(own, dear), own)
    np.testing.assert_allclose(answers.std(axis=0), expected, rtol=0.06)
    assert agreed.spread(0) == 0.0
    few = agreed.spread(1, agents=1)
    assert few == pytest.approx(np.max(agreed.scales[1]), rel=1e-12)  # who is missing is not said


def test_on_a_grid_it_is_the_noise_that_is_drawn_there() -> None:
    chosen = method(Masks(), noise_multiplier=2.0, epsilon=None)
    plain, grid = made(chosen), made(chosen, grid=True, most_records=RECORDS)
    for phase in (1, 2):
        assert 1.0 <= grid.spread(phase) / plain.spread(phase) < 1.001
