"""PDOP: what it refuses, what moves between neighbours, and what its noise really costs."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest
from jaxtyping import Array, Float

import tacit
from tacit import Privacy, network, problem
from tacit.errors import ConfigError, NetworkError, PrivacyError, ProblemError
from tacit.method import PDOP
from tacit.method._pdop_step import ProjectedStep
from tacit.method.pdop import Mixture, coordinatewise
from tacit.method.worst_case import LinearUnits
from tacit.papers.huang2015.bounds import exact_accuracy
from tacit.papers.huang2015.method import PDOPPrinted
from tacit.problem import Affine, Ball, Box, ConvexSet, Simplex, costs
from tacit.types import PublicContext, Relation, Unit
from tests.laid_out import lay_out

PURE = Privacy(clip=4.0, epsilon=1.0, delta=0.0, noise="laplace")
PUBLIC = PublicContext(0, 2, 0, 5, 1, 1.0, Unit.AGENT, 1, 5, dimension=3)


def distance(x: Float[Array, " n"], centre: Float[Array, " n"]) -> Float[Array, ""]:
    return jnp.sum((x - centre) ** 2)


def rendezvous(agents: int = 4, **more: Any) -> Any:
    centres = np.random.default_rng(0).uniform(-1.0, 1.0, (agents, 2))
    more.setdefault("constraint", Box(-1.0, 1.0))
    return costs(distance, centres, np.zeros(2), convex=True, **more)


def private(**changed: Any) -> PDOP:
    given: dict[str, Any] = {"step": 0.25, "ratio": 0.8, "privacy": PURE}
    return PDOP(**{**given, **changed})


def spent(method: Any, rounds: int, agents: int = 4) -> float:
    return tacit.account(
        rendezvous(agents), network.complete(agents), method, rounds=rounds
    ).guarantee.worst.epsilon


def test_the_corrected_schedule_spends_its_budget_and_no_more() -> None:
    for schedule in ("corrected", "optimised"):
        for rounds in (1, 12):
            found = spent(private(schedule=schedule, curvature=2.0), rounds)
            assert 1.0 - 1e-5 < found <= 1.0


def test_the_table_of_releases_has_the_first_and_the_last_sensitivity() -> None:
    [row] = tacit.contract(rendezvous(), network.complete(4), private(), rounds=12).table
    assert row.sensitivity_range == pytest.approx((2.0, 2.0 * 0.8**11))
    assert row.moved == "2 first, 0.1718 last"
    [row] = tacit.contract(rendezvous(), network.complete(4), private(), rounds=1).table
    assert row.sensitivity_range is None and row.moved == "2"


@pytest.mark.long
def test_endless_rounds_need_the_noise_of_the_paper_one_power_of_p_later() -> None:
    # M_t = 2 C2 sqrt(n) c p^(t-1) / (eps (p - q)), with 2 C for 2 C2 sqrt(n)
    q, p, rounds = 0.1, 0.11, 50
    task, net = rendezvous(), network.complete(4)
    with jax.enable_x64(True):
        method = private(ratio=q, noise_ratio=p)
        scales = np.asarray(lay_out(task, net, method, rounds, seed=0)[0].scales[0])[:, 0]
    expected = [8.0 * 0.25 * p ** (t - 1) / (1.0 * (p - q)) for t in (2, 3, 4)]
    # a run that ends spares what endless rounds would have cost
    expected = np.array(expected) * (1.0 - (q / p) ** rounds)
    assert scales[:3] == pytest.approx(expected, rel=3e-6)


@pytest.mark.slow
def test_the_printed_schedule_loses_one_over_p_times_its_claim() -> None:
    def printed(stated: Any) -> PDOPPrinted:
        return PDOPPrinted(
            step=0.25, ratio=0.1, noise_ratio=0.11, epsilon=1.0, gradient_bound=1.0, stated=stated
        )

    assert spent(printed("total"), 64) == pytest.approx(9.07, abs=0.005)
    ended = 1.0 - (0.1 / 0.11) ** 64
    assert spent(printed("total"), 64) == pytest.approx(ended / 0.11, rel=1e-9)
    assert spent(printed("printed"), 64) == pytest.approx(ended, rel=1e-9)
    assert spent(private(ratio=0.1, noise_ratio=0.11), 64) <= 1.0


def test_the_printed_loss_is_attained_by_its_worst_neighbours() -> None:
    # the exact log-likelihood ratio of the releases, at its largest: what moves over the noise
    method = PDOPPrinted(
        step=0.25, ratio=0.1, noise_ratio=0.11, epsilon=1.0, gradient_bound=1.0, stated="printed"
    )
    task, net = rendezvous(constraint=problem.Free()), network.complete(4)
    pair = method.worst_case(task, owner=1)
    with jax.enable_x64(True):
        plan = lay_out(task, net, method, 12, seed=0)[0]
        query = method.phases()[1].query
        assert query is not None
        state, loss = Mixture(jnp.zeros(2), jnp.zeros(2)), 0.0
        for round in range(12):
            context = _context(round)
            answers = [
                query(state, jax.tree.map(lambda leaf: leaf[1], side), context, jax.random.key(0))
                for side in (pair.objectives, pair.others)
            ]
            moved = float(jnp.sum(jnp.abs(answers[0] - answers[1])))
            loss += moved / float(plan.scales[1][round, 1])
    assert loss == pytest.approx((1.0 - (0.1 / 0.11) ** 12) / 0.11, rel=1e-9)
    assert loss > 6.0


def _context(round: int, constraint: Any = None) -> Any:
    from tacit.problem.public import Public
    from tacit.types import Context

    public = Public(problem.NoRegulariser(), problem.Free() if constraint is None else constraint)
    number = jnp.asarray(round)
    return Context(
        number, jnp.asarray(0), number, number, jax.random.key(0), public, number, agents=2
    )


SETS = {
    "free": (None, True),
    "box": (Box(-0.3, 0.2), True),
    "l2 ball": (Ball(0.4), False),
    "l1 ball": (Ball(0.4, order=1), False),
    "simplex": (Simplex(), False),
    "plane": (Affine(np.array([[1.0, -2.0, 0.5]]), np.array([0.1])), False),
}


@pytest.mark.long
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("clip_norm", [1, pytest.param(2, marks=pytest.mark.slow), "inf"])
def test_no_cost_moves_the_answer_beyond_the_sensitivity(
    name: str, noise: Any, clip_norm: Any
) -> None:
    constraint, box = SETS[name]
    privacy = Privacy(clip=0.7, epsilon=1.0, noise=noise, clip_norm=clip_norm)
    method = PDOP(step=0.5, ratio=0.9, privacy=privacy, domain="box" if box else "general")
    query = method.phases()[0].query
    assert isinstance(query, ProjectedStep)
    rng = np.random.default_rng(0)
    context = _context(2, constraint)
    bound = query.sensitivity(_at(2), Relation.REPLACE_ONE)

    @jax.jit
    def moved(x: Any, one: Any, other: Any) -> Any:
        answers = [
            query(Mixture(x, x), LinearUnits(1.0, g), context, jax.random.key(0))
            for g in (one, other)
        ]
        return jnp.linalg.norm(answers[0] - answers[1], query.order)

    largest = 0.0
    for _ in range(300):
        x = context.public.project(rng.normal(size=3))
        one, other = 3.0 * rng.normal(size=(2, 1, 3)) * rng.integers(0, 2, (2, 1, 3))
        largest = max(largest, float(moved(x, one, other)), float(moved(x, one, -one)))
    assert 0.05 * bound < largest <= bound * (1 + 1e-12)
    if constraint is None:
        # a vector with equal entries on its support attains every norm but needs the right support
        corner = np.full((1, 3), 9.0) if clip_norm != 1 else np.array([[9.0, 0.0, 0.0]])
        if clip_norm == 2 and noise == "gaussian":
            corner = np.array([[9.0, 0.0, 0.0]])
        assert float(moved(jnp.zeros(3), corner, -corner)) == pytest.approx(bound, rel=1e-12)


def _at(round: int) -> PublicContext:
    return dataclasses.replace(PUBLIC, round=round)


def test_a_general_set_costs_what_the_smaller_of_two_bounds_says() -> None:
    def bound(clip_norm: Any, domain: Any, relation: Relation = Relation.REPLACE_ONE) -> float:
        privacy = Privacy(clip=1.0, epsilon=1.0, noise="laplace", clip_norm=clip_norm)
        query = private(step=1.0, privacy=privacy, domain=domain).phases()[0].query
        assert query is not None
        return query.sensitivity(PUBLIC, relation)

    root = math.sqrt(3.0)
    assert bound(1, "box") == 2.0
    assert bound(1, "general") == pytest.approx(2.0 * (1.0 + root) / 2.0)
    # with an l2 clip a general set costs nothing beyond the change of norm
    assert bound(2, "box") == bound(2, "general") == pytest.approx(2.0 * root)
    assert bound("inf", "general") == pytest.approx(6.0)
    free = Privacy(clip=math.inf, epsilon=1.0, noise="laplace", relation="metric")
    query = private(step=1.0, privacy=free, domain="general").phases()[0].query
    assert query is not None
    assert query.sensitivity(PUBLIC, Relation.METRIC) == pytest.approx((1.0 + root) / 2.0)


@pytest.mark.usefixtures("float64")
def test_what_is_known_of_a_cost_is_left_out_of_the_clip() -> None:
    # f = |x - m|^2 has the gradient 2x - 2m: with h = 2 only 2m counts
    privacy = Privacy(clip=1.0, epsilon=1.0, noise="laplace", delta=0.0)
    method = PDOP(step=0.5, ratio=1.0, curvature=2.0, centred=True, privacy=privacy)
    query = method.phases()[0].query
    assert query is not None
    x = jnp.array([30.0, -7.0])
    for centre, seen in (([0.2, 0.3], [0.2, 0.3]), ([5.0, 0.0], [0.5, 0.0])):
        task = costs(distance, np.array([centre, [0.0, 0.0]]), np.zeros(2))
        answer = query(Mixture(x, x), task.agent(0), _context(0), jax.random.key(0))
        np.testing.assert_allclose(answer, seen, atol=1e-12)
    assert query.sensitivity(PUBLIC, Relation.REPLACE_ONE) == 1.0
    assert query.evaluations(dimension=9) == 1


def test_the_metric_relation_protects_costs_in_proportion_to_their_distance() -> None:
    privacy = Privacy(clip=math.inf, epsilon=0.125, delta=0.0, noise="laplace", relation="metric")
    found = tacit.account(
        rendezvous(), network.complete(4), private(privacy=privacy), rounds=20
    ).guarantee.worst
    # addresses on [-1, 1]^2 are at most 8 apart in gradients, so epsilon is 1 between any two
    assert 8.0 * found.epsilon == pytest.approx(1.0, rel=1e-5)
    assert found.relation is Relation.METRIC and found.status.value == "proved"


@pytest.mark.long
def test_a_small_delta_buys_accuracy_with_either_noise() -> None:
    task, net, rounds = rendezvous(), network.complete(4), 20
    errors: dict[tuple[str, float], float] = {}
    for name, delta in (("laplace", 0.0), ("laplace", 1e-4), ("gaussian", 1e-4)):
        privacy = Privacy(clip=4.0, epsilon=0.5, delta=delta, noise=name)
        method = private(step=0.1, ratio=0.99, schedule="optimised", curvature=2.0, privacy=privacy)
        with jax.enable_x64(True):
            plan, _, agreed = lay_out(task, net, method, rounds, seed=0)
        scales = np.asarray(plan.scales[0])[:, 0]
        assert agreed.guarantee.worst.epsilon <= 0.5
        errors[name, delta] = exact_accuracy(
            0.1 * 0.99 ** np.arange(rounds),
            (2.0 if name == "laplace" else 1.0) * scales**2,
            curvature=2.0,
            start=0.0,
            dimension=2,
            agents=4,
        )
    assert errors["laplace", 1e-4] < 0.8 * errors["laplace", 0.0]
    assert errors["gaussian", 1e-4] < 0.8 * errors["laplace", 0.0]


def test_a_single_shot_releases_once_and_then_only_averages() -> None:
    privacy = Privacy(clip=4.0, epsilon=1.0, delta=0.0, noise="laplace")
    method = PDOP(step=0.5, curvature=2.0, centred=True, one_shot=True, privacy=privacy)
    task = rendezvous(constraint=problem.Free())
    result = tacit.run(task, network.ring(4), method, rounds=200, seed=3)
    assert result.guarantee.worst.releases == 1
    assert result.guarantee.worst.epsilon == pytest.approx(1.0, rel=1e-5)
    np.testing.assert_allclose(result.solutions[0], result.solutions[0][[0, 0, 0, 0]], atol=1e-12)


@pytest.mark.long
def test_without_noise_a_single_shot_is_exact_on_common_hessians() -> None:
    silent = Privacy(clip=math.inf, epsilon=math.inf)
    method = PDOP(step=0.5, one_shot=True, privacy=silent)
    task = rendezvous()
    result = tacit.run(task, network.ring(4), method, rounds=200, seed=0)
    np.testing.assert_allclose(result.solution, task.reference().solution, atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("directed", [pytest.param(False, marks=pytest.mark.long), True])
def test_graphs_that_vary_and_are_directed(directed: bool) -> None:
    graphs = [nx.cycle_graph(4, create_using=nx.DiGraph), nx.complete_graph(4, nx.DiGraph)]
    if not directed:
        graphs = [graph.to_undirected() for graph in graphs]
    silent = Privacy(clip=math.inf, epsilon=math.inf)
    method = PDOP(step=0.1, ratio=0.97, privacy=silent)
    task = rendezvous()
    result = tacit.run(task, network.Periodic(graphs), method, rounds=500, seed=0)
    best = task.reference().solution
    np.testing.assert_allclose(result.solutions[0], np.tile(best, (4, 1)), atol=2e-3)


@pytest.mark.usefixtures("float64")
def test_worst_case_neighbours_attain_the_budget() -> None:
    task, net = rendezvous(constraint=problem.Free()), network.complete(4)
    method = private(centred=True, curvature=2.0)
    pair = method.worst_case(task, owner=2)
    with jax.enable_x64(True):
        plan = lay_out(task, net, method, 9, seed=0)[0]
        query, loss = method.phases()[0].query, 0.0
        assert query is not None
        for round in range(9):
            x = jnp.array([0.3, -0.2])
            answers = [
                query(
                    Mixture(x, x),
                    jax.tree.map(lambda leaf: jnp.asarray(leaf)[2], side),
                    _context(round),
                    jax.random.key(0),
                )
                for side in (pair.objectives, pair.others)
            ]
            loss += float(jnp.sum(jnp.abs(answers[0] - answers[1]))) / plan.scales[0][round, 2]
    assert loss == pytest.approx(1.0, rel=1e-5) and loss <= 1.0 + 1e-12


@pytest.mark.long
def test_extreme_ratios_stay_finite() -> None:
    method = private(ratio=1e-4, noise_ratio=0.9)
    assert spent(method, 60) <= 1.0
    with jax.enable_x64(True):
        plan = lay_out(rendezvous(), network.complete(4), method, 60, seed=0)[0]
    assert np.all(np.isfinite(plan.scales[0]))
    printed = PDOPPrinted(step=0.1, ratio=1e-4, noise_ratio=0.05, epsilon=1.0, gradient_bound=1.0)
    assert spent(printed, 60) == pytest.approx(20.0)


def test_what_is_out_of_range_is_refused() -> None:
    for name in ("step", "ratio", "curvature"):
        # noise made for the first entry would not hide the others
        with pytest.raises(ConfigError, match=f"{name}=.* must be one number"):
            private(**{name: np.array([0.001, 1.0])})
    with pytest.raises(ConfigError, match="step=0 must be a positive"):
        private(step=0)
    with pytest.raises(ConfigError, match=r"ratio=0.0 must be in"):
        private(ratio=0.0)
    with pytest.raises(ConfigError, match=r"noise_ratio=0.5 must be in"):
        private(noise_ratio=0.5)
    with pytest.raises(ConfigError, match=r"schedule='printed'.*PDOPPrinted"):
        private(schedule="printed")
    with pytest.raises(ConfigError, match=r"curvature=-1.0"):
        private(curvature=-1.0)
    for changed, error, words in (
        ({"step": -1.0}, ConfigError, "step=-1.0"),
        ({"epsilon": 0.0}, ConfigError, "epsilon=0.0"),
        ({"gradient_bound": math.inf}, ConfigError, "gradient_bound=inf"),
        ({"ratio": 0.5, "noise_ratio": 1.0}, PrivacyError, "must lie between"),
    ):
        given: dict[str, Any] = {
            "step": 0.1,
            "ratio": 0.5,
            "noise_ratio": 0.8,
            "epsilon": 1.0,
            "gradient_bound": 1.0,
        }
        with pytest.raises(error, match=words):
            PDOPPrinted(**{**given, **changed})


class OneSleeps(network.Graph):
    """A network of one's own, in which agent 2 sleeps in the first round."""

    def participations(self, rounds: int, public_key: Any) -> Any:
        return np.array([rounds, rounds, rounds - 1, rounds])


def test_problems_and_networks_beyond_its_assumptions_are_refused() -> None:
    net = network.complete(4)
    ball = rendezvous(constraint=Ball(1.0))
    assert coordinatewise(rendezvous()) and not coordinatewise(ball)
    with pytest.raises(ProblemError, match="Ball does not act on each coordinate"):
        tacit.account(ball, net, private(), rounds=3)
    gaussian = Privacy(clip=1.0, epsilon=1.0)
    for method in (private(domain="general"), private(privacy=gaussian)):
        assert tacit.account(ball, net, method, rounds=3).guarantee.worst.status.value == "proved"
    records = problem.empirical_risk([np.ones((2, 1))] * 4, [np.ones(2)] * 4, problem.Squared())
    with pytest.raises(ProblemError, match="protects a record"):
        tacit.account(records, net, private(centred=True, curvature=1.0), rounds=3)
    sleepy = network.RandomActivation(net, 0.5)
    with pytest.raises(NetworkError, match="agents sleep"):
        tacit.account(rendezvous(), sleepy, private(), rounds=3)
    with pytest.raises(PrivacyError, match="takes part in 2 of them"):
        tacit.account(
            rendezvous(), OneSleeps.from_networkx(nx.complete_graph(4)), private(), rounds=3
        )
    swap = network.Graph.from_edges(
        4,
        [(0, 1), (1, 2), (2, 3), (3, 0)],
        weights=np.array([[0.0, 0.5, 0.0, 0.5], [0.5, 0.0, 0.5, 0.0]] * 2),
    )
    with pytest.raises(NetworkError, match=r"agent 0 has none"):
        tacit.account(rendezvous(), swap, private(), rounds=3)
    box = problem.black_box_problem(lambda x, agent: float(x @ x), 4, x0=np.zeros(2))
    with pytest.raises(ProblemError, match="gives values only"):
        tacit.run(
            box,
            net,
            PDOPPrinted(step=0.1, ratio=0.5, noise_ratio=0.8, epsilon=1.0, gradient_bound=1.0),
            rounds=1,
            seed=0,
        )


def test_an_infinite_clip_bounds_nothing_but_a_metric() -> None:
    unbounded = private(privacy=Privacy(clip=math.inf, epsilon=1.0, delta=0.0, noise="laplace"))
    with pytest.raises(PrivacyError, match="no finite sensitivity"):
        tacit.account(rendezvous(), network.complete(4), unbounded, rounds=3)


def test_the_paper_mode_says_what_its_claim_rests_on() -> None:
    modes: tuple[tuple[Any, str], ...] = (
        ("total", "no clip enforces"),
        ("printed", "epsilon / p"),
    )
    for stated, words in modes:
        method = PDOPPrinted(
            step=0.1, ratio=0.5, noise_ratio=0.8, epsilon=1.0, gradient_bound=1.0, stated=stated
        )
        worst = tacit.account(rendezvous(), network.complete(4), method, rounds=5).guarantee.worst
        assert worst.status.value == "model" and words in worst.reason and worst.delta == 0.0
        # the assumption stands there once, although every round makes its own claim
        assert len([text for text in worst.assumptions if "C2" in text]) == 1


def half_disc(x: Any) -> list[Any]:
    import cvxpy

    return [cvxpy.sum_squares(x) <= 0.25, x[0] + x[1] >= 0.0]


@pytest.mark.usefixtures("float64")
def test_a_set_with_projections_by_a_solver_is_refused_for_they_lengthen_short_distances() -> None:
    # the sensitivity of the last of 60 rounds, as exact projections keep it and as a solver does
    method = private(ratio=0.7, noise_ratio=0.7, domain="general", privacy=Privacy(1.0, 1.0))
    query, context = method.phases()[0].query, _context(59, ConvexSet(half_disc))
    assert query is not None
    at = dataclasses.replace(PUBLIC, round=59, dimension=2)
    allowed = query.sensitivity(at, Relation.REPLACE_ONE)
    moved = 0.0
    for angle in np.linspace(-0.5, 2.0, 12):
        start = ConvexSet(half_disc).project(jnp.array([np.cos(angle), np.sin(angle)]))
        answers = [
            query(
                Mixture(start, start),
                LinearUnits(normaliser=1.0, gradients=np.array([[0.0, slope]])),
                context,
                jax.random.key(0),
            )
            for slope in (1.0, -1.0)
        ]
        moved = max(moved, float(jnp.linalg.norm(answers[0] - answers[1])))
    assert moved > 20.0 * allowed

    task = rendezvous(agents=2, constraint=ConvexSet(half_disc))
    printed = PDOPPrinted(step=0.1, ratio=0.5, noise_ratio=0.6, epsilon=1.0, gradient_bound=1.0)
    for refusing in (method, printed):
        with pytest.raises(ProblemError, match="those on a ConvexSet are a solver's"):
            tacit.account(task, network.complete(2), refusing, rounds=3)
