"""No record moves a gradient in other coordinates, or a Gram matrix, further than stated."""

from __future__ import annotations

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

from tacit.errors import PrivacyError
from tacit.privacy.whitened import FeatureGram, TransformedGradient
from tacit.problem import Free, Huber, Logistic, NoRegulariser, Softmax
from tacit.problem.cost import Cost
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.public import Public
from tacit.types import Context, PublicContext, Relation, Unit

pytestmark = pytest.mark.long

N, D = 4, 3
QUICK = settings(max_examples=8, deadline=None)
FINITE = st.floats(-1e300, 1e300)
ROUNDING = 1.0 + 1e-12
ZERO = jnp.asarray(0)
CONTEXT = Context(
    ZERO, ZERO, ZERO, ZERO, jax.random.key(1), Public(NoRegulariser(), Free()), ZERO, agents=2
)
RELATIONS = st.sampled_from([Relation.REPLACE_ONE, Relation.ADD_REMOVE])


class State(eqx.Module):
    x: Any
    matrix: Any


def point(state: State) -> Any:
    return state.x


def matrix(state: State) -> Any:
    return state.matrix


def public(unit: Unit = Unit.RECORD, dimension: int | None = D) -> PublicContext:
    return PublicContext(0, 2, 0, 1, N, 2.0, unit, 1, 1, dimension)


def risk(rows: Any, mask: Any = None, loss: Any = None) -> EmpiricalRisk:
    mask = np.ones(len(rows)) if mask is None else mask
    targets = np.arange(len(rows)) % 2.0
    loss = Logistic() if loss is None else loss
    return EmpiricalRisk(normaliser=2.0, features=rows, targets=targets, mask=mask, loss=loss)


def answer(query: Any, state: State, objective: Any) -> Any:
    with jax.enable_x64(True):
        return np.asarray(query(state, objective, CONTEXT, jax.random.key(0)))


@QUICK
@given(
    arrays(np.float64, (N, D), elements=FINITE),
    arrays(np.float64, D, elements=FINITE),
    arrays(np.float64, (D, D), elements=st.floats(-1e10, 1e10)),
    arrays(np.float64, D, elements=st.floats(-1e3, 1e3)),
    st.floats(1e-3, 1e3),
    RELATIONS,
)
def test_no_record_moves_an_answer_further_than_stated(
    rows: Any, other: Any, coordinates: Any, x: Any, bound: float, relation: Relation
) -> None:
    state = State(x, coordinates + coordinates.T)
    gone, changed = np.ones(N), rows.copy()
    if relation is Relation.ADD_REMOVE:
        gone[0] = 0.0
    else:
        changed[0] = other
    queries: list[Any] = [
        TransformedGradient(point, matrix, np.float64(bound)),
        FeatureGram(point, bound, relation=relation),
    ]
    for query in queries:
        here, there = answer(query, state, risk(rows)), answer(query, state, risk(changed, gone))
        assert np.isfinite(here).all() and np.isfinite(there).all()
        stated = query.sensitivity(public(), relation)
        assert float(np.linalg.norm(here - there)) <= stated * ROUNDING
        assert len(here) == query.size(D)
        assert float(np.abs(here).max()) <= query.computed(public(), relation, N).largest


def test_the_bounds_are_attained_and_the_answers_are_what_they_say() -> None:
    rng = np.random.default_rng(0)
    rows, x = rng.normal(size=(N, D)), rng.normal(size=D)
    root = rng.normal(size=(D, D))
    coordinates = root @ root.T + np.eye(D)
    state = State(x, coordinates)
    there = rows @ coordinates
    slopes = 1.0 / (1.0 + np.exp(-rows @ x)) - np.arange(N) % 2.0
    gradients = slopes[:, None] * there
    short = np.minimum(1.0, 0.7 / np.linalg.norm(gradients, axis=1))
    assert 0 < np.sum(short < 1.0) < N
    found = answer(TransformedGradient(point, matrix, 0.7), state, risk(rows))
    np.testing.assert_allclose(found, short @ gradients / 2.0, rtol=1e-10)
    gram = FeatureGram(point, 10.0)
    with jax.enable_x64(True):
        matrix_ = gram.matrix(jnp.asarray(answer(gram, state, risk(rows))), D)
    np.testing.assert_allclose(matrix_, rows.T @ rows / 2.0, rtol=1e-12)

    query = TransformedGradient(point, matrix, 0.7)
    steep = [np.array([[sign * 1e6, 0.0, 0.0]]) for sign in (1.0, -1.0)]
    flat = State(np.zeros(D), coordinates)
    ends = [answer(query, flat, risk(row)) for row in steep]
    stated = query.sensitivity(public(), Relation.REPLACE_ONE)
    assert stated == 0.7 and np.linalg.norm(ends[0] - ends[1]) == pytest.approx(stated, rel=1e-12)
    gram = FeatureGram(point)
    long = [np.array([[9.0, 0.0, 0.0]]), np.array([[0.0, 9.0, 0.0]])]
    ends = [answer(gram, flat, risk(row)) for row in long]
    stated = gram.sensitivity(public(), Relation.REPLACE_ONE)
    assert stated == 0.5 and np.linalg.norm(ends[0] - ends[1]) == pytest.approx(stated, rel=1e-12)


def test_declared_bounds_of_rows_are_not_taken_for_bounds_elsewhere() -> None:
    rows = np.full((N, D), 0.5)
    bounded = EmpiricalRisk(
        normaliser=2.0,
        features=rows,
        targets=np.zeros(N),
        mask=np.ones(N),
        loss=Huber(1.0),
        gradient_bounds=np.full(3, 0.1),
    )
    there = bounded.transformed(jnp.eye(D) * 3.0)
    assert np.isinf(np.asarray(there.gradient_bounds)).all()
    np.testing.assert_allclose(there.features, 1.5)
    np.testing.assert_allclose(np.asarray(there.norms)[1], 1.5 * math.sqrt(D), rtol=1e-6)


def test_what_has_no_bound_or_no_rows_is_refused() -> None:
    query = TransformedGradient(point, matrix, 1.0)
    assert query.sensitivity(public(), Relation.METRIC) == math.inf
    assert FeatureGram(point).sensitivity(public(Unit.AGENT), Relation.REPLACE_ONE) == math.inf
    with pytest.raises(PrivacyError, match=r"PublicContext\.dimension"):
        FeatureGram(point).sensitivity(public(dimension=None), Relation.REPLACE_ONE)
    with pytest.raises(TypeError, match="Softmax has no single score"):
        risk(np.ones((2, 2)), loss=Softmax(3)).transformed(jnp.eye(2))
    whole = Cost(1.0, lambda x, centre: jnp.sum((x - centre) ** 2), np.zeros(D))
    with pytest.raises(TypeError, match="no table"):
        whole.transformed(jnp.eye(D))
