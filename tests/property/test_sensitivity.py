"""Whatever the data, one unit moves an enforced query by at most what the query states.

Rows are drawn from all floating-point numbers, NaN and infinities among them; the bound must hold
up to rounding, here `1e-12` of it.
"""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacit import DPSG, Privacy, network
from tacit._engine.charging import Owners, scales
from tacit.clipping import ORDERS, norm_ratio, row_norms
from tacit.errors import PrivacyError
from tacit.method.releases import Releases
from tacit.method.worst_case import LinearUnits
from tacit.privacy.adjacency import at_distance
from tacit.privacy.event import GaussianRelease, LaplaceRelease
from tacit.privacy.mechanism import gaussian, laplace
from tacit.privacy.sensitivity import ClippedDifferences, ClippedGradient, ClippedUpdate
from tacit.problem import (
    Cost,
    EmpiricalRisk,
    Free,
    Hinge,
    Huber,
    JaxLoss,
    Logistic,
    NoRegulariser,
    Poisson,
    Quantile,
    RecordBounds,
    Softmax,
    Squared,
    empirical_risk,
)
from tacit.problem.public import Public
from tacit.types import Context, PublicContext, Relation, Unit

N, P = 4, 3
ROUNDING = 1.0 + 1e-12
QUICK = settings(max_examples=25, deadline=None)
ANYTHING = st.floats(allow_nan=True, allow_infinity=True)
FINITE = st.floats(-1e300, 1e300)
MILD = st.floats(-100.0, 100.0)
CLIPS = st.floats(1e-3, 1e3)
NORMS = [(norm, order) for norm in ORDERS for order in (1, 2)]
PUBLIC = Public(NoRegulariser(), Free())
RELATIONS = st.sampled_from([Relation.REPLACE_ONE, Relation.ADD_REMOVE])


def itself(state: Any) -> Any:
    return state


def axes(state: Any, context: Any) -> Any:
    return jnp.eye(P)


def context() -> Context:
    zero = jnp.asarray(0)
    return Context(zero, zero, zero, zero, jax.random.key(1), PUBLIC, zero, agents=2)


def public(normaliser: float, unit: Unit = Unit.RECORD, **changes: Any) -> PublicContext:
    changes = {"dimension": P} | changes
    return PublicContext(0, 2, 0, 5, N, normaliser, unit, 1, 5, **changes)


@eqx.filter_jit
def answer(query: Any, objective: Any, x: Any, key: Any) -> Any:
    return query(x, objective, context(), key)


def moved(query: Any, here: Any, there: Any, x: Any = None, key: Any = None) -> float:
    """By how much the answer differs, in the query's norm."""
    key = jax.random.key(0) if key is None else key
    with jax.enable_x64(True):
        x = jnp.zeros(P) if x is None else jnp.asarray(x)
        ends = [np.asarray(answer(query, each, x, key)) for each in (here, there)]
    return float(row_norms(ends[1] - ends[0], query.order))


def neighbour(rows: np.ndarray, other: np.ndarray, relation: Relation) -> np.ndarray:
    """The rows with the second replaced, or gone."""
    changed = rows.copy()
    changed[1] = other if relation is Relation.REPLACE_ONE else 0.0
    return changed


@pytest.mark.parametrize(("norm", "order"), NORMS)
@pytest.mark.parametrize("values", [False, True], ids=["gradients", "differences"])
@QUICK
@given(
    rows=arrays(float, (N, P), elements=ANYTHING),
    other=arrays(float, P, elements=ANYTHING),
    clip=CLIPS,
    normaliser=st.floats(0.1, 1e3),
    relation=RELATIONS,
)
def test_no_unit_of_any_size_moves_a_clipped_query_further_than_it_states(
    norm: Any, order: int, values: bool, rows: Any, other: Any, clip: Any, normaliser: Any,
    relation: Relation,
) -> None:  # fmt: skip
    query = (
        ClippedDifferences(itself, axes, 0.5, np.float64(clip), order=order, norm=norm)
        if values
        else ClippedGradient(itself, np.float64(clip), order=order, norm=norm)
    )
    here, there = (
        LinearUnits(np.float64(normaliser), each)
        for each in (rows, neighbour(rows, other, relation))
    )
    bound = query.sensitivity(public(normaliser), relation)
    assert moved(query, here, there) <= bound * ROUNDING


@QUICK
@given(
    rows=arrays(float, (N, P), elements=ANYTHING),
    rate=st.sampled_from([0.1, 0.5, 0.9]),
    seed=st.integers(0, 1000),
    clip=CLIPS,
)
def test_a_unit_of_a_sample_moves_it_by_no_more_than_a_clip_over_the_rate(
    rows: Any, rate: float, seed: int, clip: float
) -> None:
    query = ClippedGradient(itself, np.float64(clip), rate=rate)
    absent = neighbour(rows, rows[1], Relation.ADD_REMOVE)
    here, there = LinearUnits(np.float64(N), rows), LinearUnits(np.float64(N), absent)
    bound = query.sensitivity(public(float(N)), Relation.ADD_REMOVE)
    assert bound == pytest.approx(clip / (N * rate))
    assert moved(query, here, there, key=jax.random.key(seed)) <= bound * ROUNDING


@pytest.mark.parametrize(("norm", "order"), NORMS)
def test_every_stated_sensitivity_is_attained(norm: Any, order: int) -> None:
    # equal entries where the clip's norm allows more of them, else one entry alone
    steep = np.zeros((N, P))
    steep[0] = 1e6 if norm > order else [1e6, 0.0, 0.0]
    query = ClippedGradient(itself, np.float64(0.7), order=order, norm=norm)
    here, opposite, gone = (LinearUnits(np.float64(5.0), s * steep) for s in (1.0, -1.0, 0.0))
    replaced = query.sensitivity(public(5.0), Relation.REPLACE_ONE)
    assert moved(query, here, opposite) == pytest.approx(replaced, rel=1e-12)
    removed = query.sensitivity(public(5.0), Relation.ADD_REMOVE)
    assert moved(query, here, gone) == pytest.approx(removed, rel=1e-12)


def risk(loss: Any, rows: Any, bounds: Any = None) -> EmpiricalRisk:
    return EmpiricalRisk(
        normaliser=np.float64(N),
        features=rows,
        targets=np.array([0.0, 1.0, 1.0, 0.0]),
        mask=np.ones(N),
        loss=loss,
        gradient_bounds=bounds,
    )


def quartic(x: Any, row: Any, target: Any) -> Any:
    return (row @ x - target) ** 4


LOSSES = [Squared(), Logistic(), Huber(), Hinge(), Quantile(), Poisson(), JaxLoss(quartic)]


@pytest.mark.long
@pytest.mark.parametrize("norm", ORDERS)
@pytest.mark.parametrize("loss", [*LOSSES, Softmax(2)], ids=lambda each: type(each).__name__)
@settings(max_examples=12, deadline=None)
@given(
    rows=arrays(float, (N, P), elements=MILD),
    other=arrays(float, P, elements=FINITE),
    x=arrays(float, 2 * P, elements=FINITE),
    clip=CLIPS,
    relation=RELATIONS,
)
def test_no_record_moves_a_loss_further(
    norm: Any, loss: Any, rows: Any, other: Any, x: Any, clip: float, relation: Relation
) -> None:
    size = loss.dimension(P)
    query = ClippedGradient(itself, np.float64(clip), norm=norm)
    here, there = risk(loss, rows), risk(loss, neighbour(rows, other, relation))
    bound = query.sensitivity(public(float(N), dimension=size), relation)
    if relation is Relation.ADD_REMOVE:  # a record that is absent is masked, no row of zeros
        there = eqx.tree_at(lambda each: each.mask, there, np.array([1.0, 0.0, 1.0, 1.0]))
    assert moved(query, here, there, x[:size]) <= bound * ROUNDING


BOUNDED = [Logistic(), Huber(np.float64(2.0)), Hinge(), Quantile(np.float64(0.2)), Softmax(3)]


@pytest.mark.slow
@pytest.mark.parametrize("norm", ORDERS)
@pytest.mark.parametrize("loss", BOUNDED, ids=lambda each: type(each).__name__)
@settings(max_examples=10, deadline=None)
@given(
    tables=arrays(float, (2, N, P), elements=MILD),
    other=arrays(float, P, elements=FINITE),
    x=arrays(float, 3 * P, elements=MILD),
    row=CLIPS,
    order=st.sampled_from(ORDERS),
)
def test_declared_bounds_need_no_clip(
    norm: Any, loss: Any, tables: Any, other: Any, x: Any, row: float, order: Any
) -> None:
    bounds = RecordBounds(row=row, order=order, beyond="clip")
    targets = [[0.0, 1.0, 1.0, 0.0]] * 2
    changed = [neighbour(tables[0], other, Relation.REPLACE_ONE), tables[1]]
    here, there = (
        empirical_risk(each, targets, loss, bounds=bounds) for each in (list(tables), changed)
    )
    query = ClippedGradient(itself, math.inf, norm=norm)
    own = Owners.of(here, network.complete(2), 5, [5, 5]).contexts[0]
    assert own == Owners.of(there, network.complete(2), 5, [5, 5]).contexts[0]
    assert own.gradient_bounds == pytest.approx(bounds.of_gradient(loss, P))
    bound = query.sensitivity(own, Relation.REPLACE_ONE)
    ends = [jax.tree.map(lambda leaf: leaf[0], each.objectives) for each in (here, there)]
    x = x[: here.dimension]
    assert moved(query, *ends, x) <= bound * ROUNDING
    # the bound holds of the records themselves, not only because the query clips to it
    with jax.enable_x64(True):
        unclipped = [
            ends[0].clipped_gradient(x, math.inf, 2, jnp.arange(N) == unit) for unit in range(N)
        ]
    gradients = np.asarray(unclipped) * float(here.normaliser[0])
    for each, largest in zip(ORDERS, own.gradient_bounds, strict=True):
        assert np.all(row_norms(gradients, each) <= largest * (1.0 + 1e-9))


def bowl(x: Any, centre: Any) -> Any:
    return jnp.sum(jnp.cosh(x - centre))


@pytest.mark.parametrize(("norm", "order"), NORMS)
@QUICK
@given(
    centres=arrays(float, (2, P), elements=FINITE), x=arrays(float, P, elements=MILD), clip=CLIPS
)
def test_no_cost_moves_its_gradient_further_than_two_clips(
    norm: Any, order: int, centres: Any, x: Any, clip: float
) -> None:
    query = ClippedGradient(itself, np.float64(clip), order=order, norm=norm)
    here, there = (Cost(np.float64(1.0), bowl, centre) for centre in centres)
    bound = query.sensitivity(public(1.0, Unit.AGENT), Relation.REPLACE_ONE)
    assert bound == pytest.approx(2.0 * clip * norm_ratio(norm, order, P))
    assert moved(query, here, there, x) <= bound * ROUNDING


def several_steps(state: Any, objective: Any, context: Any) -> Any:
    return sum(objective.gradient(state - step) for step in (0.0, 1.0, 2.0))


@pytest.mark.parametrize(("norm", "order"), NORMS)
@QUICK
@given(tables=arrays(float, (2, N, P), elements=ANYTHING), clip=CLIPS)
def test_no_data_of_an_agent_move_its_update_further_than_two_clips(
    norm: Any, order: int, tables: Any, clip: float
) -> None:
    query = ClippedUpdate(several_steps, np.float64(clip), order=order, norm=norm)
    here, there = (LinearUnits(np.float64(N), rows) for rows in tables)
    bound = query.sensitivity(public(1.0, Unit.AGENT), Relation.REPLACE_ONE)
    assert bound == pytest.approx(2.0 * clip * norm_ratio(norm, order, P))
    assert moved(query, here, there) <= bound * ROUNDING


@pytest.mark.parametrize("order", [1, 2])
@QUICK
@given(
    gradients=arrays(float, (2, 1, P), elements=MILD),
    clip=st.one_of(CLIPS, st.just(math.inf)),
)
def test_costs_move_a_gradient_by_their_distance(order: int, gradients: Any, clip: float) -> None:
    query = ClippedGradient(itself, np.float64(clip), order=order)
    here, there = (LinearUnits(np.float64(1.0), each) for each in gradients)
    distance = float(row_norms(gradients[1] - gradients[0], order)[0])
    rate = query.sensitivity(public(1.0, Unit.AGENT), Relation.METRIC)
    assert rate == (2.0 if order == 1 and math.isfinite(clip) else 1.0)
    # a hair for the rounding of two clipped vectors that are close together
    assert moved(query, here, there) <= rate * distance * ROUNDING + 1e-13


def test_a_metric_is_claimed_of_whole_costs_and_gradients_only() -> None:
    agent = public(1.0, Unit.AGENT)
    gradient = ClippedGradient(itself, math.inf)
    assert gaussian(2.0).scale(gradient, agent, Relation.METRIC) == 2.0
    with pytest.raises(PrivacyError, match="measures the distance between whole costs"):
        gaussian(2.0).event(gradient, public(1.0), Relation.METRIC)
    refused = [
        ClippedDifferences(itself, axes, 1e-3, 1.0),
        ClippedGradient(itself, 1.0, norm=math.inf),  # no bound is proved between two norms
    ]
    for query in refused:
        with pytest.raises(PrivacyError, match="no bound in terms of the distance between costs"):
            gaussian(2.0).event(query, agent, Relation.METRIC)


@QUICK
@given(
    rows=arrays(float, (5, P), elements=st.floats(-1e100, 1e100)),
    of=st.sampled_from(ORDERS),
    to=st.sampled_from(ORDERS),
)
def test_norms_are_equivalent_with_the_stated_ratio(rows: Any, of: Any, to: Any) -> None:
    ratio = norm_ratio(of, to, P)
    assert np.all(row_norms(rows, to) <= ratio * row_norms(rows, of) * ROUNDING)
    attaining = np.ones(P) if of > to else np.eye(P)[0]
    assert row_norms(attaining, to) == pytest.approx(ratio * row_norms(attaining, of))


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("clip_norm", [None, 1, 2, "inf"])
@settings(max_examples=5, deadline=None)
@given(tables=arrays(float, (2, 2, N, P), elements=FINITE))
def test_the_noise_is_the_same_whatever_the_data(noise: Any, clip_norm: Any, tables: Any) -> None:
    privacy = Privacy(clip=[0.5, math.inf], noise_multiplier=3.0, noise=noise, clip_norm=clip_norm)
    bounds = RecordBounds(row=2.0, beyond="clip")
    targets = [[0.0, 1.0, 1.0, 0.0]] * 2
    method = DPSG(step=0.1, privacy=privacy)
    made = []
    for each in tables:
        task = empirical_risk(list(each), targets, Logistic(), bounds=bounds)
        owners = Owners.of(task, network.complete(2), 5, [5, 5])
        releases = Releases(method)
        made.append(scales(releases, owners.kinds(releases))[0])
    np.testing.assert_array_equal(made[0], made[1])
    norm = privacy.order if privacy.clip_norm is None else privacy.clip_norm
    clips = [min(0.5, 2.0 * norm_ratio(2, norm, P)), 2.0 * norm_ratio(2, norm, P)]
    expected = 3.0 * 2.0 * np.array(clips) * norm_ratio(norm, privacy.order, P) / N
    np.testing.assert_allclose(made[0], expected)


@QUICK
@given(multiplier=st.floats(1e-3, 1e3), distance=st.floats(1e-3, 1e3))
def test_a_distance_costs_as_much_as_that_much_less_noise(multiplier: Any, distance: Any) -> None:
    agent, gradient = public(1.0, Unit.AGENT), ClippedGradient(itself, math.inf)
    events = [
        at_distance(law(multiplier).event(query, agent, Relation.METRIC), distance)
        for law, query in (
            (gaussian, gradient),
            (laplace, ClippedGradient(itself, math.inf, order=1)),
        )
    ]
    for event in events:
        assert isinstance(event, GaussianRelease | LaplaceRelease)
        assert event.noise_multiplier == pytest.approx(multiplier / distance)
