"""Masked gossip: masks that cancel, what they hide, the mean that agents end in, and refusals."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit._engine.exact import ExactEngine
from tacit._engine.keys import agent_secret, phase_keys, trial_key
from tacit._engine.planning import account
from tacit._engine.shared_noise import PairSecrets, masks_of_all
from tacit.errors import ConfigError, NetworkError, PrivacyError
from tacit.method import DPSG, GradientDescent, MaskedGossip
from tacit.method.rounds import Rounds
from tacit.privacy.budget import Privacy
from tacit.privacy.correlated import PairMasks
from tacit.privacy.guarantee import Adversary, NoiseSource, Status
from tacit.privacy.masked import Masks
from tacit.problem.problem import Problem
from tacit.study._output.words import adversary
from tests.laid_out import lay_out

pytestmark = pytest.mark.long

AGENTS, SIZE = 10, 4
RING = network.ring(AGENTS)
CLOSING = 5  # distinct nonzero eigenvalues of the ring
BUDGET = Privacy(clip=1.0, epsilon=2.0)
SLOW = pytest.mark.slow


def method(privacy: Privacy = BUDGET, **options: Any) -> MaskedGossip:
    return MaskedGossip(step=0.3, privacy=privacy, **options)


def task(sizes: list[int] | None = None) -> Problem:
    """Least squares with the same curvature everywhere, so that means move by means."""
    rng = np.random.default_rng(0)
    aim = np.array([1.0, -1.0, 0.5, 0.0])
    rows = [np.tile(2.0 * np.eye(SIZE), (n, 1)) for n in sizes or [20] * AGENTS]
    targets = [x @ (aim + rng.normal(size=SIZE)) for x in rows]
    return problem.empirical_risk(rows, targets, problem.Squared())


def run(chosen: Any = None, where: Any = RING, rounds: int = 30, **options: Any) -> tacit.Result:
    chosen = method() if chosen is None else chosen
    return tacit.run(task(), where, chosen, rounds=rounds, **{"seed": 1, **options})


# masks and noise


@pytest.mark.parametrize(
    "agents", [3, *(pytest.param(k, marks=pytest.mark.slow) for k in (10, 21))]
)
def test_masks_cancel_and_both_ends_draw_the_same(agents: int, float64: None) -> None:
    root, like = trial_key(3, 0), jnp.zeros((agents, SIZE))
    # 21 agents have more pairs than are drawn at once
    for masks in (PairMasks(), PairMasks(pairs=tuple(itertools.pairwise(range(agents))))):
        pairs = masks.among(agents)
        drawn = [masks_of_all(root, pairs, like, (round, 0, 0)) for round in range(2)]
        for round, found in enumerate(drawn):
            assert abs(np.asarray(found).sum(axis=0)).max() < 1e-12 * agents
            alone = [
                PairSecrets.of(root, pairs, agent).mask(like[0], (round, 0, 0))
                for agent in range(agents)
            ]
            np.testing.assert_allclose(np.stack(alone), found, atol=1e-12)
        assert abs(np.asarray(drawn[0] - drawn[1])).min() > 0.0  # anew in every round


def _noise(masks: str, dimension: int, seed: int = 0) -> tuple[np.ndarray, float, np.ndarray]:
    """Noise of every agent in one round, its scale, and what each drew by itself."""
    still = problem.empirical_risk(
        [np.zeros((1, dimension))] * 6, [np.zeros(1)] * 6, problem.Squared()
    )
    chosen = method(Privacy(clip=1.0, noise_multiplier=0.5), masks=masks, coalition=0, ratio=2.0)
    kept: Any = {}
    plan, roots, _ = lay_out(still, network.ring(6), chosen, 4, seed)
    engine = ExactEngine(plan, roots, transcript=kept)
    engine.advance(engine.start(), np.array([[0, 4]]))
    assert sorted(kept) == [(0, 0, 0, 0, agent) for agent in range(6)]  # nothing in the last 3
    own = [
        jax.random.normal(phase_keys(agent_secret(roots[0], i), 0, 0, 0).noise, (dimension,))
        for i in range(6)
    ]
    return np.stack([kept[key] for key in sorted(kept)]), float(plan.scales[0][0]), np.stack(own)


def test_what_is_released_has_the_covariance_of_the_proof(float64: None) -> None:
    """A false alarm for one entry, at five standard errors, has a chance of 6e-7; of all, 3e-5."""
    count = 40_000
    degrees = {"all": 5.0 * np.eye(6), "neighbours": 2.0 * np.eye(6)}
    links = {
        "all": 1.0 - np.eye(6),
        "neighbours": np.roll(np.eye(6), 1, 0) + np.roll(np.eye(6), -1, 0),
    }
    for masks in ("all", "neighbours"):
        noise, scale, own = _noise(masks, count)
        expected = scale**2 * (np.eye(6) + 4.0 * (degrees[masks] - links[masks]))
        spread = np.sqrt((np.outer(*[np.diag(expected)] * 2) + expected**2) / count)
        assert (abs(noise @ noise.T / count - expected) < 5.0 * spread).all()
        # and the sum has no mask in it
        total = scale * own.sum(axis=0)
        np.testing.assert_allclose(noise.sum(axis=0), total, atol=1e-12)


@pytest.mark.slow
def test_masks_differ_between_seeds_and_trials() -> None:
    found = run(runtime=tacit.Simulation(trials=2)).solutions
    assert abs(found[0] - found[1]).min() > 0.0
    np.testing.assert_array_equal(found, run(runtime=tacit.Simulation(trials=2)).solutions)
    assert abs(found[0] - run(seed=2).solutions[0]).min() > 0.0


@pytest.mark.parametrize(
    "options", [pytest.param({}, marks=SLOW), {"masks": "neighbours", "average": False}]
)
def test_the_exact_runtime_agrees(options: dict[str, Any]) -> None:
    batched, exact = (
        run(method(**options), rounds=12, runtime=tacit.Simulation(exact=each)).solutions
        for each in (False, True)
    )
    np.testing.assert_allclose(exact, batched, rtol=1e-12, atol=1e-12)


# the last rounds


@pytest.mark.parametrize(
    "where",
    [
        network.grid(3, 4),
        *(
            pytest.param(g, marks=pytest.mark.slow)
            for g in (RING, network.path(7), network.complete(5))
        ),
    ],
)
def test_all_agents_end_in_one_answer(where: network.Graph) -> None:
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(5, 2)) for _ in range(where.agents)]
    given = problem.empirical_risk(rows, [x @ [1.0, 2.0] for x in rows], problem.Squared())
    found = tacit.run(given, where, method(), rounds=24, seed=0)
    answers = found.solutions[0]
    assert abs(answers - answers.mean(axis=0)).max() < 1e-10 * abs(answers).max()


def test_the_mean_is_what_the_last_rounds_leave_as_it_is() -> None:
    found = run(method(average=False), record=1, rounds=12)
    again = run(method(average=False), rounds=12, record=1)
    consensus = found.history.measured["consensus"][:, 0]
    assert consensus[-1] < 1e-10 < 0.01 < consensus[-1 - CLOSING]
    np.testing.assert_array_equal(found.solutions, again.solutions)
    objective = found.history.measured["objective"][:, 0]  # at the mean of the answers
    np.testing.assert_allclose(objective[-1 - CLOSING :], objective[-1], rtol=1e-12)


def test_nothing_is_asked_charged_or_released_in_the_last_rounds() -> None:
    chosen = method(Privacy(clip=1.0, noise_multiplier=20.0))
    found = run(chosen, rounds=12, record=1)
    history = found.history
    assert history.evaluations.tolist() == [800 * min(t, 7) for t in range(13)]
    assert (np.diff(history.epsilon[:, 0])[:7] > 0.0).all()
    assert (history.epsilon[8:] == history.epsilon[7]).all()
    assert np.diff(history.bytes).tolist() == [20 * SIZE * 8] * 12
    assert [row.times for row in found.releases] == [7, 0]
    # as gossip with local noise would cost in 7 rounds, with noise as large as what is effective
    learned = PairMasks().learned(AGENTS)
    plain = DPSG(step=0.3, privacy=Privacy(clip=1.0, noise_multiplier=20.0 / learned))
    assert found.guarantee[0].epsilon == pytest.approx(
        account(task(), RING, plain, rounds=7).guarantee[0].epsilon, rel=1e-9
    )


# accuracy


@pytest.mark.slow
def test_the_mean_has_nearly_the_noise_of_a_trusted_party() -> None:
    rounds, many = 30, tacit.Simulation(trials=200)
    loose = Privacy(clip=100.0, epsilon=50.0)
    quiet = Privacy(clip=100.0, noise_multiplier=0.0)
    central = dataclasses.replace(loose, masks=Masks(coalition=0))  # its limit without curiosity
    kinds: dict[str, Any] = {
        "masked": (method(loose, average=False), RING),
        "quiet": (method(quiet, average=False), RING),
        "central": (GradientDescent(step=0.3, privacy=central), network.Coordinator(AGENTS)),
        "local": (DPSG(step=0.3, average=False, privacy=loose), RING),
    }
    found = {
        name: run(
            chosen,
            where,
            rounds=rounds + CLOSING * isinstance(chosen, MaskedGossip),
            runtime=many,
            record=1,
            reference="solve",
        )
        for name, (chosen, where) in kinds.items()
    }
    scales = {name: max(row.noise_scale for row in each.releases) for name, each in found.items()}
    allowed = 1.1 * AGENTS / (AGENTS - 1)
    assert (scales["masked"] / scales["central"]) ** 2 == pytest.approx(allowed, rel=0.01)
    assert (scales["masked"] / scales["central"]) ** 2 < allowed

    def error(name: str, back: int = 0) -> float:
        """Mean squared distance of an agent's answer, before so many of the last rounds."""
        return float(found[name].history.measured["distance"][-1 - back].mean()) / AGENTS

    # squared distances of 4 coordinates in 200 trials: standard errors of 5 % each
    assert error("quiet") < 1e-8
    assert error("masked") / error("central") == pytest.approx(allowed, rel=0.25)
    # without the last rounds masks stay in the agents, and all was for nothing
    assert error("masked", back=CLOSING) > error("local") > 10.0 * error("masked")


@pytest.mark.slow
def test_averaged_iterates_are_brought_together_too() -> None:
    many, loose = tacit.Simulation(trials=50), Privacy(clip=100.0, epsilon=50.0)
    last, averaged = (
        run(method(loose, average=each), rounds=45, runtime=many, reference="solve", record=1)
        for each in (False, True)
    )
    ends = [each.history.measured["distance"][-1].mean() for each in (last, averaged)]
    assert ends[1] < 0.5 * ends[0]
    assert averaged.history.measured["consensus"][-1].max() < 1e-10


def test_agents_of_any_size_add_noise_of_one_scale() -> None:
    sizes = [10, 20, 30, 40]
    planned = account(task(sizes), network.ring(4), method(), rounds=9)
    rows = [releases[0] for releases in planned.releases]
    np.testing.assert_allclose([row.noise_scale for row in rows], rows[0].noise_scale, rtol=1e-14)
    epsilons = [each.epsilon for each in planned.guarantee]
    assert epsilons[0] == pytest.approx(2.0) and epsilons == sorted(epsilons, reverse=True)


# the guarantee


def test_the_guarantee_is_a_model_with_its_conditions() -> None:
    found = run(method(coalition=2), rounds=12).guarantee
    worst = found.worst
    assert worst.status is Status.MODEL and worst.noise is NoiseSource.SIMULATED
    assert worst.adversary is Adversary.COLLUDING and not worst.certificate
    assert (worst.coalition, worst.min_cohort, worst.attempts, worst.releases) == (2, 10, 7, 7)
    assert worst.epsilon == pytest.approx(2.0) and worst.epsilon <= 2.0
    assert "docs/proofs/masks.md" in worst.theorem
    assert any("all agents follow the protocol" in each for each in worst.assumptions)
    assert worst.reason.startswith("nothing enforces")
    text = found.sentence()
    assert text.startswith("Model claim, not a proof")
    assert "each of the 10 agents" in text and "up to 2 of the agents" in text
    assert ",," not in text
    assert type(worst).from_json(worst.to_json()) == worst
    with pytest.raises(PrivacyError, match="'proved' was required"):
        run(method(), require="proved")


def test_the_adversary_in_words_takes_honest_agents_for_granted() -> None:
    one, two = (adversary(run(method(coalition=c), rounds=8).guarantee.worst) for c in (1, 2))
    assert one.endswith(
        "may be one of the agents. All 10 agents follow the protocol, and their masks cancel in "
        "the mean."
    )
    assert "may be up to 2 of the agents. All" in two


def test_an_unplaced_method_is_accounted_for_with_all_its_rounds() -> None:
    bare, placed = method(), method().on(RING)
    assert (bare.closing, placed.closing) == (0, CLOSING)
    assert [phase.rounds for phase in placed.phases()] == [Rounds(0, -CLOSING), Rounds(-CLOSING)]
    assert [phase.hides.together for phase in placed.phases()] == [True, False]
    assert not any(phase.hides.summed for phase in placed.phases())


def test_who_shares_masks_can_be_said_in_three_ways() -> None:
    ring = tuple((agent, (agent + 1) % AGENTS) for agent in range(AGENTS))
    ways = [method(masks=each) for each in ("neighbours", ring, RING, ring[::-1])]
    first, *others = (run(each, rounds=8).solutions for each in ways)
    for other in others:
        np.testing.assert_array_equal(first, other)
    assert abs(first - run(rounds=8).solutions).min() > 0.0


# what is refused


def test_too_few_rounds_are_refused() -> None:
    for rounds in (1, CLOSING):
        with pytest.raises(ConfigError, match="there must be at least 6"):
            run(rounds=rounds)
    run(rounds=CLOSING + 1)


@pytest.mark.parametrize(
    ("where", "told"),
    [
        (network.LinkFailure(network.complete(AGENTS), 0.1), "the same in every round"),
        (network.RandomActivation(network.complete(AGENTS), 0.9), "the same in every round"),
        (network.Periodic([RING, network.complete(AGENTS)]), "the same in every round"),
        (
            network.Graph.from_edges(
                AGENTS, [(i, (i + 1) % AGENTS) for i in range(AGENTS)], directed=True
            ),
            "undirected links",
        ),
        (network.Coordinator(AGENTS), "runs between peers"),
        (network.ExactSum(RING), "runs between peers"),
    ],
    ids=["failing", "sleeping", "sequence", "directed", "coordinator", "exact sums"],
)
def test_networks_that_do_not_fit_are_refused(where: Any, told: str) -> None:
    with pytest.raises(NetworkError, match=told):
        run(where=where)


@pytest.mark.parametrize(
    ("privacy", "told"),
    [
        (Privacy(clip=1.0, epsilon=1.0, delta=0.0, noise="laplace"), "noise='laplace'"),
        (Privacy(clip=1.0, epsilon=1.0, delta=0.0, noise="l2_laplace"), "noise='l2_laplace'"),
        (Privacy(clip=1.0, epsilon=1.0, masks=Masks()), "masks of its own"),
    ],
)
def test_budgets_that_do_not_fit_are_refused(privacy: Privacy, told: str) -> None:
    with pytest.raises(PrivacyError, match=told):
        method(privacy)


def test_people_with_records_at_several_sites_are_refused() -> None:
    with pytest.raises(PrivacyError, match="sites_per_person=2 does not go with Gaussian masks"):
        run(method(Privacy(clip=1.0, epsilon=1.0, sites_per_person=2)))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"masks": "neighbours", "coalition": 2}, "equal local noise"),
        ({"coalition": 9}, "equal local noise"),
        ({"coalition": 10}, "leave none of 10 agents"),
        ({"masks": ((0, 1), (1, 12))}, r"masks: \(1, 12\) .* there are 10"),
        ({"masks": ()}, "no two agents share one"),
    ],
)
def test_masks_that_hide_nobody_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(PrivacyError, match=told):
        run(method(**options))


@pytest.mark.parametrize(
    "options", [{"coalition": -1}, {"excess": 0.0}, {"ratio": 0.0}, {"ratio": float("inf")}]
)
def test_numbers_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(PrivacyError, match="masks: "):
        method(**options)
    with pytest.raises(ConfigError, match="step"):
        MaskedGossip(step=0.0, privacy=BUDGET)


def test_a_person_with_several_records_is_refused() -> None:
    with pytest.raises(PrivacyError, match="records_per_person=2"):
        run(method(Privacy(clip=1.0, epsilon=1.0, records_per_person=2)))


def test_more_agents_than_can_be_examined_are_refused_at_once() -> None:
    with pytest.raises(PrivacyError, match=r"masks='neighbours' \(up to 250 agents"):
        method().on(network.ring(300))
    with pytest.raises(PrivacyError, match="300 sets of 1 of 300 agents are too many"):
        method(masks="neighbours").on(network.ring(300))
    with pytest.raises(NetworkError, match="at most 500 agents, and these are 1000"):
        method(masks="neighbours").on(network.ring(1000))
