"""Functional perturbation: what it refuses, and what its parts do."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import DGD, DPSG, Privacy, network, problem
from tacit.errors import ConfigError, PrivacyError, ProblemError
from tacit.method import (
    CurvatureBounds,
    FunctionalPerturbation,
    LegendreBasis,
    QuadraticBasis,
    metric_epsilon,
    record_ball,
    record_distance,
)
from tacit.method._functional_cost import PublicPolynomial
from tacit.method._functional_curvature import derivatives, extremes
from tacit.method._functional_query import WeightedCoefficients
from tacit.method.functional_basis import AbstractBasis
from tacit.method.functional_projection import projected
from tacit.types import Context, PublicContext, Relation, Role, Unit

LINE = QuadraticBasis([-1.0], [1.0])
LAPLACE = Privacy(clip=1.0, epsilon=1.0, delta=0.0, noise="laplace")


def square(x: jax.Array, centre: jax.Array) -> jax.Array:
    return jnp.sum((x - centre) ** 2)


def a_task(
    constraint: problem.AbstractConstraint | None = None, x0: float = 0.0
) -> problem.Problem:
    centres = np.array([[0.5], [-0.25]])
    if constraint is None:
        return problem.costs(square, centres, [x0])
    return problem.costs(square, centres, [x0], constraint=constraint)


def a_context(task: problem.Problem, agent: int) -> Context:
    zero = jnp.asarray(0)
    return Context(
        round=zero,
        step=zero,
        agent=jnp.asarray(agent),
        degree=zero,
        key=jax.random.key(0),
        public=task.public,
        rounds=zero,
        agents=task.agents,
    )


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (Privacy(clip=1.0, epsilon=1.0), "laplace"),
        (Privacy(clip=1.0, epsilon=1.0, noise="laplace", clip_norm=2), "clip_norm"),
        (Privacy(clip=1.0, epsilon=1.0, noise="laplace", sampling=0.5), "sampling"),
        (Privacy(clip=1.0, epsilon=1.0, noise="laplace", relation="metric"), "metric_epsilon"),
        (Privacy(clip=np.inf, epsilon=1.0, noise="laplace"), "clip"),
    ],
)
def test_budgets_for_something_else_are_refused(wrong: Privacy, word: str) -> None:
    with pytest.raises(PrivacyError, match=word):
        FunctionalPerturbation(DGD(step=0.1), LINE, privacy=wrong)


def test_arguments_are_checked() -> None:
    private = DPSG(step=0.1, privacy=Privacy(clip=1.0, epsilon=1.0))
    with pytest.raises(PrivacyError, match="budget of its own"):
        FunctionalPerturbation(private, LINE, privacy=LAPLACE)
    with pytest.raises(PrivacyError, match="needs privacy"):
        FunctionalPerturbation(DGD(step=0.1), LINE, privacy=None).phases()
    with pytest.raises(ConfigError, match="p=-1"):
        FunctionalPerturbation(DGD(step=0.1), LINE, p=-1.0, privacy=LAPLACE)
    with pytest.raises(ConfigError, match="strong_convexity"):
        CurvatureBounds(2.0, 1.0)
    with pytest.raises(ConfigError, match="gradient_bound"):
        CurvatureBounds(0.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: LegendreBasis([-1.0] * 4, [1.0] * 4, 2), "QuadraticBasis"),
        (lambda: LegendreBasis([-1.0], [1.0], 0), "degree"),
        (lambda: LegendreBasis([-1.0], [1.0], 4, points_per_axis=4), "points_per_axis"),
        (lambda: QuadraticBasis([-1.0], [1.0], reach=0.0), "reach"),
        (lambda: QuadraticBasis([-1.0], [1.0], weight_of_products=0.0), "weight_of_products"),
        (lambda: QuadraticBasis([1.0], [1.0]), "below upper"),
        (lambda: QuadraticBasis([0.0], [np.inf]), "corners"),
        (lambda: metric_epsilon(LegendreBasis([-1.0], [1.0], 2), 0.0, 1.1, 0.55), "scale"),
        (lambda: metric_epsilon(LegendreBasis([-1.0], [1.0], 2), 1.0, 0.5, 0.55), "q="),
    ],
)
def test_bases_are_checked(make: object, word: str) -> None:
    assert callable(make)
    with pytest.raises(ConfigError, match=word):
        make()


@pytest.mark.parametrize(
    ("task", "word"),
    [
        (problem.costs(square, np.zeros((2, 2)), np.zeros(2)), "coordinates"),
        (a_task(problem.Ball(0.5)), "Ball"),
        (a_task(x0=3.0), "x0"),
    ],
)
def test_problems_that_do_not_fit_are_refused(task: problem.Problem, word: str) -> None:
    method = FunctionalPerturbation(DGD(step=0.1), LINE, privacy=LAPLACE)
    with pytest.raises(ProblemError, match=word):
        tacit.account(task, network.complete(2), method, rounds=1)


@pytest.mark.slow
def test_iterates_stay_in_the_box_of_the_basis_and_of_the_problem() -> None:
    task = a_task(problem.Box(-0.2, 5.0))
    loud = Privacy(clip=1.0, noise_multiplier=100.0, delta=0.0, noise="laplace")
    method = FunctionalPerturbation(DGD(step=1.0), LINE, privacy=loud)
    runtime = tacit.Simulation(trials=20)
    result = tacit.run(task, network.complete(2), method, rounds=3, seed=0, runtime=runtime)
    assert result.solutions.min() == pytest.approx(-0.2)
    assert result.solutions.max() == pytest.approx(1.0)


BASES = [
    LegendreBasis([-1.0, 0.0], [1.0, 3.0], 4),
    LegendreBasis([-2.0], [1.0], 5),
    QuadraticBasis([-1.0, 0.0, -2.0], [1.0, 3.0, 2.0]),
]


@pytest.mark.long
@pytest.mark.parametrize("basis", BASES)
def test_coefficients_of_the_functions_are_the_unit_vectors(
    basis: AbstractBasis, float64: None
) -> None:
    values = jax.vmap(basis.functions)(jnp.asarray(basis.points))
    np.testing.assert_allclose(basis.project(values), np.eye(basis.size), atol=1e-10)


@pytest.mark.slow
def test_derivatives_are_those_of_the_functions(float64: None) -> None:
    basis = BASES[0]
    assert isinstance(basis, LegendreBasis)
    unit = np.array([[0.3, -0.7]])
    x = jnp.array([0.3, 0.45])
    gradient, hessian = derivatives(basis, unit)
    np.testing.assert_allclose(gradient[0].T, jax.jacobian(basis.functions)(x), atol=1e-10)
    np.testing.assert_allclose(
        np.moveaxis(hessian[0], -1, 0), jax.hessian(basis.functions)(x), atol=1e-9
    )


def test_eigenvalues_are_clipped_and_the_rest_stays(float64: None) -> None:
    basis = QuadraticBasis([-1.0, -2.0], [1.0, 2.0])
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    before = turn @ np.diag([-3.0, 9.0]) @ turn.T
    coefficients = basis.with_hessian(jnp.array([1.0, 0.3, 0.4, 0.0, 0.0, 0.0]), before)
    after = CurvatureBounds(0.5, 4.0).nearest(basis, coefficients)
    np.testing.assert_allclose(
        basis.hessian(after), turn @ np.diag([0.5, 4.0]) @ turn.T, atol=1e-12
    )
    np.testing.assert_array_equal(after[:3], coefficients[:3])
    steep = CurvatureBounds(0.5, 4.0, gradient_bound=0.1).nearest(basis, coefficients)
    cost = PublicPolynomial(1.0, basis, steep)
    assert float(jnp.linalg.norm(cost.gradient(np.zeros(2)))) == pytest.approx(0.1)


def test_products_of_less_weight_get_more_noise(float64: None) -> None:
    basis = QuadraticBasis([-1.0] * 2, [1.0] * 2, weight_of_products=0.25)
    method = FunctionalPerturbation(DGD(step=0.1), basis, privacy=LAPLACE)
    context = a_context(a_task(), agent=0)
    nothing = method.init(Role.PEER, jnp.zeros(2), jnp.asarray(1))
    adopted, _ = method.adopt(nothing, jnp.ones(basis.size - 1), context)
    np.testing.assert_array_equal(adopted.coefficients, [0.0, 1.0, 1.0, 4.0, 4.0, 4.0])


def test_a_certified_projection_is_the_nearest_on_a_line(float64: None) -> None:
    # x^2 with curvature 2 must have at least 3: 1.5 x^2 is nearest among even quadratics
    basis = LegendreBasis([-1.0], [1.0], 2)
    given = np.asarray(basis.operator) @ basis.points[:, 0] ** 2
    repaired = CurvatureBounds(3.0, 8.0).nearest(basis, given)
    found = extremes(basis, repaired)
    assert (found.lowest, found.highest) == pytest.approx((3.0, 3.0), abs=1e-6)
    change = np.asarray(repaired) - given
    np.testing.assert_allclose(change[:2], 0.0, atol=1e-6)
    assert np.isnan(projected(basis, CurvatureBounds(3.0, 8.0), np.full(3, np.nan))).all()


@pytest.mark.parametrize(
    "basis",
    [
        LegendreBasis([-1.0, -1.0], [1.0, 1.0], 4),
        QuadraticBasis([-1.0, -1.0], [1.0, 1.0], weight_of_products=0.2),
    ],
)
def test_no_record_moves_the_answer_by_more_than_its_share(
    basis: AbstractBasis, float64: None
) -> None:
    rng = np.random.default_rng(0)
    rows, answers = 5.0 * rng.normal(size=(2, 6, 2)), rng.choice([0.0, 1.0], (2, 6))
    task = problem.empirical_risk(list(rows), list(answers), problem.Logistic())
    query = WeightedCoefficients(basis, 0.7, np.array([0.5, 1.0]))
    public = PublicContext(0, 2, 0, 1, 6, 6.0, Unit.RECORD, 1, 1)

    one = task.agent(0)
    assert isinstance(one, problem.EmpiricalRisk)
    other = problem.EmpiricalRisk(
        normaliser=one.normaliser,
        features=jnp.asarray(one.features).at[2].set(-9.0),
        targets=one.targets,
        mask=one.mask,
        loss=one.loss,
    )
    key = jax.random.key(0)
    context = a_context(task, agent=1)
    moved = query(None, one, context, key) - query(None, other, context, key)
    bound = query.sensitivity(public, Relation.REPLACE_ONE)
    assert bound == pytest.approx(2 * 0.7 / 6)
    assert 0.0 < float(jnp.sum(jnp.abs(moved))) <= bound
    assert query.sensitivity(public, Relation.ADD_REMOVE) == pytest.approx(0.7 / 6)


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_rounding_errors_stay_below_what_the_query_states(relation: str) -> None:
    # in single precision they are large enough to be seen: 4,000 equal records, and one far away
    basis, many = QuadraticBasis([-1.0, -1.0], [1.0, 1.0]), 4000
    rows, answers = np.full((many, 2), 0.3), np.ones(many)
    centre = np.full(basis.size - 1, 0.01)
    query = WeightedCoefficients(basis, 0.7, 0.5, centre)
    public = PublicContext(0, 2, 0, 1, many, 10.0, Unit.RECORD, 1, 1, dimension=2)
    bound = query.computed(public, Relation(relation), many, 2.0**-24)
    moved = []
    for far in (9.0, -9.0):
        rows[7] = far
        task = problem.empirical_risk(
            [rows, rows[:1]], [answers, answers[:1]], problem.Logistic(), normaliser=10.0
        )
        answer = query(None, task.agent(0), a_context(task, agent=0), jax.random.key(0))
        assert answer.dtype == jnp.float32 and answer.shape == (query.size(2),)
        assert float(jnp.abs(answer).max()) <= bound.largest
        moved.append(np.asarray(answer, float))
    proved = query.sensitivity(public, Relation(relation))
    assert 0.0 < np.abs(moved[0] - moved[1]).sum() <= 2.0 * bound.sensitivity
    assert bound.sensitivity > 1.5 * proved


@pytest.mark.long
def test_the_ball_of_all_records_asks_for_no_more_noise_than_their_distance() -> None:
    logistic, corners = problem.Logistic(), ([0.0, 0.0], [1.0, 1.0], [0.0, 1.0])
    for basis in (
        LegendreBasis([-1.0, -1.0], [1.0, 1.0], 4),
        QuadraticBasis([-2.0, -2.0], [2.0, 2.0], weight_of_products=0.2),
    ):
        ball = record_ball(basis, logistic, *corners)
        distance = record_distance(basis, logistic, *corners, tolerance=0.5)
        assert 2.0 * ball.radius == pytest.approx(distance.lower, rel=5e-3)
    many = QuadraticBasis([-1.0] * 7, [1.0] * 7)
    assert record_ball(many, logistic, [0.0] * 7, [1.0] * 7, [0.0, 1.0]).radius < 6.0


@pytest.mark.long
def test_records_are_clipped_around_the_centre_and_padding_counts_for_nothing(
    float64: None,
) -> None:
    rows = [np.array([[0.3, 0.9], [1.0, 0.2], [0.5, 0.5]]), np.array([[0.1, 0.7]])]
    answers = [np.array([0.0, 1.0, 1.0]), np.array([1.0])]
    task = problem.empirical_risk(rows, answers, problem.Logistic(), weighting="sum")
    basis = LegendreBasis([-1.0, -1.0], [1.0, 1.0], 4)
    ball = record_ball(basis, problem.Logistic(), [0.0, 0.0], [1.0, 1.0], [0.0, 1.0])
    key = jax.random.key(0)
    for agent in range(2):
        context = a_context(task, agent)
        around = WeightedCoefficients(basis, ball.radius, 0.55, ball.centre)
        whole = WeightedCoefficients(basis, 1e6, 0.55)
        np.testing.assert_allclose(
            around(None, task.agent(agent), context, key),
            whole(None, task.agent(agent), context, key),
            atol=1e-12,
        )
    public = PublicContext(0, 2, 0, 1, 3, 1.0, Unit.RECORD, 1, 1)
    assert around.sensitivity(public, Relation.REPLACE_ONE) == 2.0 * ball.radius
    longest = np.abs(ball.centre * np.asarray(basis.weights(0.55))[1:]).sum()
    assert around.sensitivity(public, Relation.ADD_REMOVE) == pytest.approx(
        ball.radius + longest, rel=1e-4
    )
    far = PublicPolynomial(1.0, basis, jnp.full(basis.size, 9.0))
    moved = WeightedCoefficients(basis, 0.1, 0.55, ball.centre)(None, far, context, key)
    apart = moved - ball.centre * np.asarray(basis.weights(0.55))[1:]
    assert float(np.abs(apart).sum()) == pytest.approx(0.1)


def test_exponents_for_another_number_of_agents_are_refused() -> None:
    for p in ([0.6], [0.6, 0.6, 0.7]):
        method = FunctionalPerturbation(DGD(step=0.1), LINE, p=p, privacy=LAPLACE)
        with pytest.raises(ProblemError, match=f"p has shape .{len(p)},.; give one number"):
            tacit.account(a_task(), network.complete(2), method, rounds=1)


def test_a_centre_of_another_length_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"centre has shape \(1,\)"):
        FunctionalPerturbation(DGD(step=0.1), LINE, centre=[0.0], privacy=LAPLACE)


def test_the_metric_epsilon_is_attained(float64: None) -> None:
    basis = LegendreBasis([-1.0, -1.0], [1.0, 1.0], 4)
    places, q, p = np.arange(2.0, 16.0), 1.1, 0.55
    change = places ** (p - 2 * q)
    change /= np.sqrt(np.sum((places**q * change) ** 2))
    loss = np.sum(places**p * change) / 3.0
    assert metric_epsilon(basis, 3.0, q, p) == pytest.approx(loss, rel=1e-12)
