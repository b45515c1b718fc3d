"""Scores of transcripts: against closed forms, and against what any likelihood ratio satisfies."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import numpy as np
import pytest
from scipy import integrate, stats

from tacit import DPSG, DZOA, DZOASolver, GradientDescent, Privacy, network, problem
from tacit._engine.exact import ExactEngine
from tacit.audit.neighbours import given, replace_record
from tacit.audit.transcript import Features, Likelihood, Pair, gather, observer
from tacit.method import PaperClaim
from tacit.method.worst_case import Neighbours
from tacit.network.randomised import RandomActivation
from tests.laid_out import lay_out
from tests.quick import only

pytestmark = pytest.mark.usefixtures("float64")

ROUNDS, AGENTS, RECORDS = 6, 4, 5


def task(normaliser: float | None = None) -> Any:
    rng = np.random.default_rng(0)
    features = [rng.normal(size=(RECORDS, 3)) for _ in range(AGENTS)]
    targets = [rng.normal(size=RECORDS) for _ in range(AGENTS)]
    return problem.empirical_risk(features, targets, problem.Squared(), normaliser=normaliser)


def budget(**changes: Any) -> Privacy:
    return Privacy(**{"clip": 2.0, "noise_multiplier": 3.0, "delta": 1e-5, **changes})


def scores(
    method: Any,
    net: Any,
    trials: int,
    neighbours: Neighbours | None = None,
    *,
    other: bool = False,
    seed: int = 0,
    data: Any = None,
) -> np.ndarray:
    """Scores of runs on the first data set of a pair, or on the other one."""
    data = task() if data is None else data
    plan, roots, _ = lay_out(data, net, method, ROUNDS, seed, trials)
    pair = Pair.of(method.worst_case(data, 1) if neighbours is None else neighbours)
    chosen = pair.others if other else pair.objectives
    plan = eqx.tree_at(lambda p: p.objectives, plan, chosen)
    return gather(plan, observer(plan.method, pair, ROUNDS), roots)


@pytest.mark.slow
def test_the_ratio_is_that_of_the_released_values() -> None:
    method, net = DPSG(step=0.1, privacy=budget()), network.ring(AGENTS)
    plan, roots, _ = lay_out(task(), net, method, ROUNDS, 0, 2)
    neighbours = method.worst_case(task(), 1)
    plan = eqx.tree_at(lambda p: p.objectives, plan, Pair.of(neighbours).objectives)
    transcript: Any = {}
    engine = ExactEngine(plan, roots, transcript=transcript)
    engine.advance(engine.start(), np.array([[0, ROUNDS]]))
    # the unit's gradient is clipped to 2 and divided by 5 records; its opposite is the other data
    mean = np.array([2.0 / RECORDS, 0.0, 0.0])
    scale = 3.0 * 2.0 * mean[0]
    expected = [
        sum(
            stats.norm.logpdf(np.asarray(value), mean, scale).sum()
            - stats.norm.logpdf(np.asarray(value), -mean, scale).sum()
            for (trial, _, _, _, agent), value in transcript.items()
            if trial == chosen and agent == 1
        )
        for chosen in range(2)
    ]
    found = scores(method, net, 2)
    assert found.shape == (2, 1)
    # a trial's score does not depend on the others
    np.testing.assert_allclose(scores(method, net, 5)[:2], found, rtol=1e-12)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-9)


METHODS: dict[str, tuple[Any, Any]] = {
    "star, laplace": (
        GradientDescent(step=0.1, privacy=budget(noise="laplace")),
        network.Coordinator(AGENTS),
    ),
    "peers": (DPSG(step=0.1, privacy=budget()), network.ring(AGENTS)),
    "peers, l2-laplace": (
        DPSG(step=0.1, privacy=budget(noise="l2_laplace")),
        network.ring(AGENTS),
    ),
    "values": (DZOA(privacy=budget()), network.ring(AGENTS)),
    "one direction": (DZOA(privacy=budget(), estimator="scalar"), network.ring(AGENTS)),
}


@pytest.mark.parametrize("name", only(["peers"], ["star, laplace", "peers", "one direction"]))
def test_worst_case_neighbours_use_up_the_sensitivity(name: str) -> None:
    method, net = METHODS[name]
    trials, total = 4000, ROUNDS / 3.0**2
    for other, sign in ((False, 1.0), (True, -1.0)):
        found = scores(method, net, trials, other=other, seed=other)[:, 0]
        if "laplace" in name:
            # of one release: E = e^-u - 1 + u with u = 1/3, and E exp(-score) = 1
            mean = ROUNDS * (np.exp(-1 / 3) - 1 + 1 / 3)
        else:
            mean = total / 2.0
            assert found.std() == pytest.approx(np.sqrt(total), rel=0.06)
        assert sign * found.mean() == pytest.approx(mean, abs=5 * found.std() / np.sqrt(trials))


@pytest.mark.long
@pytest.mark.parametrize("name", only(["values"], ["star, laplace", "values", "peers, l2-laplace"]))
def test_any_neighbours_give_a_likelihood_ratio(name: str) -> None:
    method, net = METHODS[name]
    data = task()
    pair = given(data, replace_record(data, 1, 0, target=-40.0), 1, 1)
    for other, sign in ((False, -1.0), (True, 1.0)):
        found = scores(method, net, 4000, pair, other=other)[:, 0]
        assert found.std() > 0.1
        weights = np.exp(sign * found)
        assert weights.mean() == pytest.approx(1.0, abs=5 * weights.std() / np.sqrt(4000))


@pytest.mark.slow
def test_a_sampled_release_is_a_mixture() -> None:
    privacy = budget(relation="add_remove", sampling=0.3, noise_multiplier=0.8)
    method = GradientDescent(step=0.1, privacy=privacy)
    net, data = network.Coordinator(AGENTS), task(normaliser=5.0)
    step = 1.0 / 0.8  # what the unit moves a release by, in units of the noise

    def density(y: float) -> float:
        return 0.7 * stats.norm.pdf(y) + 0.3 * stats.norm.pdf(y - step)

    for other, sign in ((False, -1.0), (True, 1.0)):
        found = scores(method, net, 4000, other=other, data=data)[:, 0]
        weights = np.exp(sign * found)
        assert weights.mean() == pytest.approx(1.0, abs=5 * weights.std() / np.sqrt(4000))
        law = stats.norm.pdf if other else density
        divergence = integrate.quad(
            lambda y, law=law: law(y) * np.log(density(y) / stats.norm.pdf(y)), -12, 12
        )[0]
        error = found.std() / np.sqrt(4000)
        assert found.mean() == pytest.approx(ROUNDS * divergence, abs=5 * error)


@pytest.mark.long
def test_what_an_owner_says_in_its_sleep_does_not_count() -> None:
    net = RandomActivation(network.ring(AGENTS), 0.4)
    method = DPSG(step=0.1, privacy=budget())
    plan, _, agreed = lay_out(task(), net, method, ROUNDS, 0, 1)
    taken = agreed.owners.contexts[1].participations
    assert 0 < taken < ROUNDS
    found = scores(method, net, 4000)[:, 0]
    assert found.mean() == pytest.approx(taken / 9.0 / 2.0, abs=5 * found.std() / np.sqrt(4000))
    assert int(np.asarray(plan.rounds)) == ROUNDS


@pytest.mark.slow
def test_a_persons_records_at_several_sites_count_together() -> None:
    privacy = budget(sites_per_person=2, records_per_person=3)
    method = DPSG(step=0.1, privacy=privacy)
    assert method.worst_case(task(), 3).owners == (3, 0)
    found = scores(method, network.ring(AGENTS), 4000)[:, 0]
    total = 2 * ROUNDS * (3 / 3.0) ** 2
    assert found.mean() == pytest.approx(total / 2.0, abs=5 * found.std() / np.sqrt(4000))


def claimed() -> DZOASolver:
    return DZOASolver(
        step=0.05, inner_steps=5, directions=4, printed=True, claim=PaperClaim(0.5, 1e-3)
    )


@pytest.mark.long
@pytest.mark.parametrize("rounds", only(["2"], [1, 2]))
def test_without_a_density_features_are_gathered(rounds: int) -> None:
    data, net = task(), network.ring(AGENTS)
    method = claimed()
    plan, roots, _ = lay_out(data, net, method, rounds, 0, 40)
    pair = Pair.of(method.worst_case(data, 1))
    observe = observer(plan.method, pair, rounds)
    assert isinstance(observe, Features)
    found = []
    for objectives in (pair.objectives, pair.others):
        there = eqx.tree_at(lambda p: p.objectives, plan, objectives)
        found.append(gather(there, observe, roots))
    width = 3 if rounds == 1 else 4
    assert found[0].shape == found[1].shape == (40, width)
    gap = (found[0].mean(axis=0) - found[1].mean(axis=0)) / found[0].std(axis=0)
    # the record pulls along the first axis, and the last feature says so
    assert abs(gap[0]) > 3 > abs(gap[1])
    if rounds > 1:
        assert gap[3] > 3


def test_user_neighbours_of_a_sampled_method_have_no_closed_form() -> None:
    privacy = budget(relation="add_remove", sampling=0.5)
    method, data = DPSG(step=0.1, privacy=privacy), task(normaliser=5.0)
    plan, _, _ = lay_out(data, network.ring(AGENTS), method, ROUNDS, 0, 1)
    pair = Pair.of(given(data, replace_record(data, 1, 0, target=9.0), 1, 1))
    assert isinstance(observer(plan.method, pair, ROUNDS), Features)
    pair = Pair.of(method.worst_case(data, 1))
    assert isinstance(observer(plan.method, pair, ROUNDS), Likelihood)
