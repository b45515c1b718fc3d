"""Formulas of Huang, Mitra, Vaidya (2015) that fail as printed, each against a case worked out."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float
from scipy.optimize import minimize_scalar

from tacit import Privacy, network, problem
from tacit.method import PDOP
from tacit.method.pdop import Mixture
from tacit.papers.huang2015.bounds import consensus_bound, mixing_rate, printed_accuracy
from tacit.papers.huang2015.method import PDOPPrinted, PrintedStep
from tacit.problem.public import Public
from tacit.types import Context, PublicContext, Relation, Unit
from tests.laid_out import lay_out

SQUARE: dict[str, Any] = {
    "epsilon": 1.0,
    "diameter": 8.0**0.5,
    "gradient_bound": 32.0**0.5,
    "curvature": 2.0,
    "dimension": 2,
}


def quartic(x: Float[Array, " n"], sign: Float[Array, ""]) -> Float[Array, ""]:
    return sign * jnp.sum(x**4)


@pytest.mark.parametrize(("printed", "within"), [(True, False), (False, True)])
def test_a_gradient_outside_the_set_moves_by_more_than_is_claimed(
    printed: bool, within: bool, float64: None
) -> None:
    # on [-1, 1] no gradient of x^4 is longer than 4, and at z = 3 it is 108
    step, bound, z = 0.03, 4.0, jnp.array([3.0])
    task = problem.costs(
        quartic, np.array([1.0, -1.0]), np.zeros(1), constraint=problem.Box(-1.0, 1.0)
    )
    if printed:
        method: Any = PDOPPrinted(
            step=step, ratio=0.5, noise_ratio=0.8, epsilon=1.0, gradient_bound=bound
        )
    else:
        privacy = Privacy(clip=bound, epsilon=1.0, delta=0.0, noise="laplace")
        method = PDOP(step=step, ratio=0.5, privacy=privacy)
    query = method.phases()[-1].query
    zero = jnp.asarray(0)
    public = Public(problem.NoRegulariser(), task.constraint)
    context = Context(zero, zero, zero, zero, jax.random.key(0), public, zero, agents=2)
    state = Mixture(jnp.clip(z, -1.0, 1.0), z)
    answers = [
        query(
            state,
            jax.tree.map(lambda leaf, i=agent: leaf[i], task.objectives),
            context,
            context.key,
        )
        for agent in (0, 1)
    ]
    moved = float(jnp.sum(jnp.abs(answers[0] - answers[1])))
    # n = 1, so that the printed 2 C2 sqrt(n) gamma is also what two clips allow
    assert (moved <= 2.0 * bound * step) is within


def test_opposite_gradients_along_the_diagonal_reach_the_sensitivity_of_lemma_4(
    float64: None,
) -> None:
    step, ratio, bound, n, t = 0.3, 0.5, 2.0, 4, 3
    query = PrintedStep(step, ratio, bound)
    public = PublicContext(0, 2, t, 10, 1, 1.0, Unit.AGENT, 1, 10, dimension=n)
    said = query.sensitivity(public, Relation.REPLACE_ONE)
    assert said == pytest.approx(2 * bound * n**0.5 * step * ratio**t)
    slopes = bound / n**0.5 * np.array([1.0, -1.0])
    task = problem.costs(lambda x, slope: slope * jnp.sum(x), slopes, np.zeros(n))
    zero = jnp.asarray(0)
    nowhere = Public(problem.NoRegulariser(), task.constraint)
    context = Context(jnp.asarray(t), zero, zero, zero, jax.random.key(0), nowhere, zero, agents=2)
    one, other = (
        query(
            Mixture(jnp.zeros(n), jnp.ones(n)),
            jax.tree.map(lambda leaf, i=agent: leaf[i], task.objectives),
            context,
            context.key,
        )
        for agent in (0, 1)
    )
    assert float(jnp.sum(jnp.abs(one - other))) == pytest.approx(said)


def test_the_first_term_of_theorem_10_lacks_a_square() -> None:
    # from one corner of the square to the other, nearly without a step, lies C1 and not its root
    step = 1e-6
    said, diameter = printed_accuracy(step, 0.5, 0.8, **SQUARE), SQUARE["diameter"]
    moved = math.exp(-SQUARE["curvature"] * step / 0.5)
    error = moved**2 * diameter**2
    assert said < 0.4 * error
    # eq (27) has 2 C1, for `S(0) <= 2 C1`, which holds as long as C1 <= 2
    assert said + diameter * moved < 0.71 * error
    with_a_square = said + (diameter**2 - diameter) * moved
    assert error <= with_a_square < 1.01 * error


def test_the_noise_of_theorem_10_lacks_a_factor_of_the_dimension() -> None:
    dimension, c, q, p = 4, 0.1, 0.5, 0.8
    task = problem.costs(quartic, np.ones(2), np.zeros(dimension))
    method = PDOPPrinted(step=c, ratio=q, noise_ratio=p, epsilon=1.0, gradient_bound=1.0)
    with jax.enable_x64(True):
        plan = lay_out(task, network.complete(2), method, 60, seed=0)[0]
        first = np.asarray(plan.scales[0]).reshape(-1)[0]
        later = np.asarray(plan.scales[1])[:, 0]
    # E ||w||^2 = 2 n M^2 for a Laplace vector, all rounds together
    noise = 2.0 * dimension * float(first**2 + np.sum(later**2))
    common = {"diameter": 1e-12, "gradient_bound": 1.0, "curvature": 1.0, "dimension": dimension}
    said = printed_accuracy(c, q, p, epsilon=1.0, **common)
    said -= printed_accuracy(c, q, p, epsilon=1e9, **common)
    assert noise == pytest.approx(dimension * said, rel=1e-6)


def slope_in_step(c: float, q: float, p: float, *, printed: bool) -> tuple[float, float]:
    """Condition (I) of section 4.5: both sides of `d/dc = 0`."""
    s = SQUARE
    left = s["diameter"] * s["curvature"] * math.exp(-s["curvature"] * c / (1.0 - q))
    left *= 1.0 if printed else 1.0 / (1.0 - q)
    moved = 2.0 * s["gradient_bound"] ** 2 * c / (1.0 - q**2)
    noise = 16.0 * s["dimension"] * (s["gradient_bound"] * p / (s["epsilon"] * (p - q))) ** 2 * c
    return left, moved + noise / (1.0 - p**2)


def slope_in_ratio(c: float, q: float, p: float, *, below: float, factor: float) -> float:
    """Condition (II): `d/dq`, with what is below the first term and the factor of the second."""
    s = SQUARE
    bias = s["diameter"] * s["curvature"] * c / below
    bias *= math.exp(-s["curvature"] * c / (1.0 - q))
    moved = (s["gradient_bound"] * c) ** 2 * factor / (1.0 - q**2) ** 2
    noise = 16.0 * s["dimension"] * (s["gradient_bound"] * c * p / s["epsilon"]) ** 2
    return moved + noise / ((p - q) ** 3 * (1.0 - p**2)) - bias


def test_condition_one_of_section_4_5_lacks_a_factor() -> None:
    q, p = 0.5, 0.8
    best = minimize_scalar(
        lambda c: printed_accuracy(c, q, p, **SQUARE),
        bounds=(1e-6, 0.1),
        method="bounded",
        options={"xatol": 1e-12},
    ).x
    left, right = slope_in_step(best, q, p, printed=False)
    assert left == pytest.approx(right, rel=1e-4)
    left, right = slope_in_step(best, q, p, printed=True)
    assert left == pytest.approx((1.0 - q) * right, rel=1e-4)


def test_condition_two_of_section_4_5_needs_a_square_and_a_factor() -> None:
    c, q, p, h = 0.01, 0.4, 0.8, 1e-6
    ends = [printed_accuracy(c, q + d, p, **SQUARE) for d in (-h, h)]
    slope = (ends[1] - ends[0]) / (2.0 * h)
    right = {"below": (1.0 - q) ** 2, "factor": 2.0 * q}
    assert slope_in_ratio(c, q, p, **right) == pytest.approx(slope, rel=1e-5)
    # as printed, neither is right, and mending one of them is not enough
    printed = {"below": 1.0 - q**2, "factor": 2.0 * q**2}
    for wrong in (printed, right | {"below": 1.0 - q**2}, right | {"factor": 2.0 * q**2}):
        assert abs(slope_in_ratio(c, q, p, **wrong) - slope) > 1e-4 * abs(slope)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_condition_three_holds_as_printed(q: float) -> None:
    best = minimize_scalar(
        lambda p: printed_accuracy(0.01, q, p, **SQUARE),
        bounds=(q + 1e-6, 1.0 - 1e-6),
        method="bounded",
        options={"xatol": 1e-12},
    ).x
    assert best == pytest.approx(q ** (1.0 / 3.0), rel=1e-4)


def test_the_noise_of_a_vector_has_the_variance_of_all_its_coordinates() -> None:
    # before eq (24): E ||w||^2 = 2 M^2 for the whole vector, which is that of one coordinate
    dimension, scale = 3, 0.7
    w = scale * jax.random.laplace(jax.random.key(0), (200_000, dimension))
    found = float(jnp.mean(jnp.sum(w**2, axis=1)))
    assert found == pytest.approx(2.0 * dimension * scale**2, rel=0.02)


def test_eq_24_says_that_no_step_leads_away_from_the_optimum() -> None:
    """It has `x_i(t)` where its derivation speaks of `z_i(t)`, which no step has moved."""
    minimisers, best = np.array([1.0, -1.0]), 0.0
    x = np.full(2, best)
    z = x  # mixed without noise
    moved = z - 0.1 * (z - minimisers)
    allowed = np.sum((x - best) ** 2)  # and 2 N M^2, which is 0
    assert np.sum((z - best) ** 2) <= allowed < np.sum((moved - best) ** 2)


def test_a_projection_moves_what_noise_took_out_of_the_set_by_more_than_a_step() -> None:
    """The proof of lemma 7 bounds `u = P_X[z - gamma grad f(z)] - z` by `gamma C2` at any `z`."""
    box, gamma, bound = problem.Box(-1.0, 1.0), 0.01, 2.0
    z = jnp.array([3.0])
    slope = jnp.clip(z, -1.0, 1.0)  # of a cost that is steep by at most 1
    u = box.project(z - gamma * slope) - z
    assert float(jnp.abs(u)[0]) == pytest.approx(2.0) and gamma * bound == 0.02
    # from a point of the set it is a step, as the proof says
    inside = box.project(z)
    assert float(jnp.abs(box.project(inside - gamma * slope) - inside)[0]) <= gamma * bound


def test_a_projection_may_lengthen_an_l1_distance() -> None:
    """The first equation of lemma 4's proof drops `P_X` under an l1 norm."""
    angle = math.pi / 8.0
    line = problem.Affine(np.array([[math.sin(angle), -math.cos(angle)]]), np.zeros(1))
    with jax.enable_x64(True):
        moved = line.project(jnp.array([1.0, 0.0])) - line.project(jnp.zeros(2))
    assert sum(map(abs, moved.tolist())) == pytest.approx((1.0 + math.sqrt(2.0)) / 2.0)
    # the lemma's bound stands: an l2 norm is not lengthened, and costs sqrt(n) afterwards
    assert math.hypot(*moved.tolist()) <= 1.0


def test_lemma_7_fails_where_a_cost_is_steep_outside_of_the_set() -> None:
    """Eq (13): a last message just outside throws one of two agents to the other end of the set."""
    rounds, c, q, outside, steep = 60, 1e-3, 0.99, 0.01, 1e6
    steps, noise = c * q ** np.arange(rounds), np.zeros(rounds)
    noise[-1] = outside
    x = np.ones(2)
    for gamma, w in zip(steps, noise, strict=True):
        z = np.full(2, np.mean(x + w))
        # (x - 1)^2 / 2, of the second agent with steep max(x - 1, 0)^2 more: the same on [-1, 1]
        slopes = z - 1.0 + np.array([0.0, 2.0 * steep]) * np.maximum(z - 1.0, 0.0)
        x = np.clip(z - gamma * slopes, -1.0, 1.0)
    setting: dict[str, Any] = {
        "agents": 2,
        "smallest_weight": 0.5,
        "gradient_bound": 2.0,  # at -1, on the set
        "radius": 1.0,
    }
    allowed = consensus_bound(steps, noise, form="printed", **setting)[-1]
    assert abs(x[0] - x[1]) == pytest.approx(2.0)
    assert allowed == pytest.approx(0.835, abs=1e-3)


@pytest.mark.parametrize("directed", [False, True])
def test_mixing_leaves_room_for_the_power_of_lemma_7(directed: bool) -> None:
    """`sqrt(2 N) beta^s` bounds what `s` rounds leave, and (13) needs `2 N theta beta^(s+1)`."""
    agents = 6
    ahead = np.roll(np.eye(agents), 1, axis=1)
    weights = (np.eye(agents) + ahead) / 2.0 if directed else (np.eye(agents) + ahead + ahead.T) / 3
    beta = mixing_rate(agents, 0.5 if directed else 1.0 / 3.0)
    theta, product = beta**-2.0, np.eye(agents)
    for s in range(400):
        left = max(float(np.sum(np.abs(product[0] - row))) for row in product)
        assert left <= math.sqrt(2.0 * agents) * beta**s <= 2.0 * agents * theta * beta ** (s + 1)
        product = product @ weights
