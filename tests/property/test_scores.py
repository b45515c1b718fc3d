"""Score, information and variance of a regression move together by what is proved at most."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from tacit.errors import PrivacyError
from tacit.privacy.score import Score
from tacit.privacy.statistics import BlockSum
from tacit.problem import Rows
from tacit.types import Relation
from tests.property.test_statistics import CONTEXT, attained

pytestmark = pytest.mark.long

QUICK = settings(max_examples=25, deadline=None)
ANYTHING = st.floats(allow_nan=True, allow_infinity=True)
RELATIONS = st.sampled_from([Relation.REPLACE_ONE, Relation.ADD_REMOVE])
KINDS = pytest.mark.parametrize("logistic", [False, True], ids=["weights", "logistic"])


def itself(record: Any, point: Any) -> Any:
    return record


def score(
    size: int, ratio: float, logistic: bool, relation: Relation, weighted: bool = False
) -> Score:
    return Score(itself, size, 2.0 * ratio, 2.0, logistic, relation=relation, weighted=weighted)


def added(block: Score, records: Any) -> Any:
    with jax.enable_x64(True):
        return np.asarray(block.bounded(jnp.asarray(np.atleast_2d(records), dtype=float)))


@KINDS
@QUICK
@given(st.data(), st.integers(1, 4), st.floats(0.05, 1.0), RELATIONS, RELATIONS, st.booleans())
def test_no_records_are_further_apart_than_stated(
    logistic: bool,
    data: Any,
    size: int,
    ratio: float,
    made: Relation,
    relation: Relation,
    weighted: bool,
) -> None:
    block = score(size, ratio, logistic, made, weighted)
    width = size + 2 - logistic + weighted
    records = data.draw(arrays(np.float64, (2, width), elements=ANYTHING))
    here, there = added(block, records)
    assert np.isfinite(here).all() and np.linalg.norm(here) <= block.longest * (1 + 1e-12)
    moved = np.linalg.norm(here - there if relation is Relation.REPLACE_ONE else here)
    assert moved <= block.movement(relation) * (1 + 1e-12)


@KINDS
@pytest.mark.parametrize("made", [Relation.REPLACE_ONE, Relation.ADD_REMOVE])
def test_the_farthest_pair_that_a_search_finds_attains_the_bound(
    logistic: bool, made: Relation
) -> None:
    size, rng = 2, np.random.default_rng(0)
    best = {"pair": 0.0, "one": 0.0}
    for ratio in (0.4, 0.8, 1.0):
        block = score(size, ratio, logistic, made)
        width = size + 2 - logistic
        bounded = jax.jit(block.bounded)

        def apart(flat: Any, bounded: Any = bounded, width: int = width) -> float:
            ends = np.asarray(bounded(flat.reshape(2, width)))
            return -float(np.linalg.norm(ends[0] - ends[1]))

        def alone(flat: Any, bounded: Any = bounded) -> float:
            return -float(np.linalg.norm(np.asarray(bounded(flat[None]))))

        with jax.enable_x64(True):
            starts = rng.uniform(-2.0, 2.0, size=(12, 2 * width))
            options = {"maxiter": 400, "xatol": 1e-6, "fatol": 1e-9}
            for begin in starts:
                found = minimize(apart, begin, method="Nelder-Mead", options=options)
                best["pair"] = max(best["pair"], -found.fun)
                found = minimize(alone, begin[:width], method="Nelder-Mead", options=options)
                best["one"] = max(best["one"], -found.fun)
        assert best["pair"] <= block.movement(Relation.REPLACE_ONE) * (1 + 1e-9)
        assert best["one"] <= block.longest * (1 + 1e-9)
    assert best["pair"] > 0.995 * block.movement(Relation.REPLACE_ONE)
    assert best["one"] > 0.995 * block.longest


@KINDS
@pytest.mark.parametrize("relation", [Relation.REPLACE_ONE, Relation.ADD_REMOVE])
@pytest.mark.parametrize(("size", "weighted"), [(1, False), (3, True)])
def test_an_audit_gets_records_that_attain_it(
    logistic: bool, relation: Relation, size: int, weighted: bool
) -> None:
    block = score(size, 0.7, logistic, relation, weighted)
    attained(BlockSum((block,), relation=relation))


def test_the_bound_of_a_logit_is_that_of_its_score_alone() -> None:
    for relation in (Relation.REPLACE_ONE, Relation.ADD_REMOVE):
        assert score(3, 0.7, True, relation).movement(Relation.REPLACE_ONE) == 2.0
    block = score(3, 0.7, True, Relation.ADD_REMOVE)
    assert block.longest == pytest.approx(math.sqrt(1.125))


@KINDS
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_in_the_units_of_the_records(logistic: bool, weighted: bool) -> None:
    rng = np.random.default_rng(1)
    x, r, a = rng.normal(size=(50, 3)), rng.uniform(-1, 1, 50), rng.uniform(0, 1, 50)
    x *= np.minimum(1.0, 2.0 / np.linalg.norm(x, axis=1))[:, None]
    u = np.minimum(1.0, 1.4 / np.linalg.norm(x, axis=1))
    a = np.abs(r) * (1.0 - np.abs(r)) if logistic else a
    block = score(3, 0.7, logistic, Relation.REPLACE_ONE, weighted)
    query = BlockSum((block,))
    parts = [x, r] if logistic else [x, r, a]
    if weighted:
        own = rng.uniform(-0.5, 1.5, 50)
        u = u * np.clip(own, 0.0, 1.0)  # what is beyond the bounds counts as they do
        parts = [*parts, own]
    records = np.column_stack(parts)
    with jax.enable_x64(True):
        table = Rows(1.0, records, np.ones(50))
        (parts,) = query.split(query(None, table, CONTEXT, jax.random.key(0)))
    parts = np.asarray(parts)
    np.testing.assert_allclose(parts[0], (u * r) @ x, atol=1e-12)
    np.testing.assert_allclose(parts[1:4], (x * (u * a)[:, None]).T @ x, atol=1e-12)
    np.testing.assert_allclose(parts[4:], (x * (u * r)[:, None] ** 2).T @ x, atol=1e-12)


def test_noise_of_each_part_is_in_its_own_units() -> None:
    rng = np.random.default_rng(2)
    block = score(2, 0.7, False, Relation.REPLACE_ONE)
    query = BlockSum((block,))
    with jax.enable_x64(True):
        draws = rng.normal(size=(4000, query.size(2)))
        parts = np.asarray(jax.vmap(lambda v: query.split(v)[0])(jnp.asarray(draws)))
    deviations = parts.std(axis=0)
    base = query.spread(1.0)[0]
    one, two, three = (base * unit for unit in block.units)
    np.testing.assert_allclose(deviations[0], one, rtol=0.05)
    np.testing.assert_allclose(np.diag(deviations[1:3]), two, rtol=0.05)
    np.testing.assert_allclose(deviations[1, 1], two / math.sqrt(2.0), rtol=0.05)
    np.testing.assert_allclose(np.diag(deviations[3:]), three, rtol=0.05)


def test_bounds_that_cannot_be_are_refused() -> None:
    with pytest.raises(PrivacyError, match="norm=1"):
        Score(itself, 2, 2.0, 1.0)
    with pytest.raises(PrivacyError, match="metric"):
        Score(itself, 2, 1.0, 1.0, relation=Relation.METRIC)
