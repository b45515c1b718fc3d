"""Score, information and variance of several classes move together by what is proved at most."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import softmax

from tacit.errors import PrivacyError
from tacit.privacy.class_score import ClassScore, contrasts
from tacit.privacy.statistics import BlockSum
from tacit.problem import Rows
from tacit.types import Relation
from tests.property.test_statistics import CONTEXT, attained

pytestmark = pytest.mark.long

QUICK = settings(max_examples=25, deadline=None)
ANYTHING = st.floats(allow_nan=True, allow_infinity=True)
BOTH = [Relation.REPLACE_ONE, Relation.ADD_REMOVE]


def itself(record: Any, point: Any) -> Any:
    return record


def score(
    size: int, classes: int, ratio: float, relation: Relation, weighted: bool = False
) -> ClassScore:
    return ClassScore(itself, size, classes, 2.0 * ratio, 2.0, relation=relation, weighted=weighted)


def added(block: ClassScore, records: Any) -> Any:
    with jax.enable_x64(True):
        return np.asarray(block.bounded(jnp.asarray(np.atleast_2d(records), dtype=float)))


def records(rng: np.random.Generator, count: int, size: int, classes: int) -> Any:
    """Records near and far from where a record adds the most."""
    x = rng.normal(size=(count, size)) * rng.choice([0.5, 3.0], size=(count, 1))
    logits = rng.normal(size=(count, classes)) * rng.choice([1.0, 5.0, 30.0], size=(count, 1))
    return np.column_stack([x, logits, rng.integers(0, classes, count)])


@QUICK
@given(
    st.data(),
    st.integers(1, 3),
    st.integers(2, 5),
    st.floats(0.05, 1.0),
    st.sampled_from(BOTH),
    st.sampled_from(BOTH),
    st.booleans(),
)
def test_no_records_are_further_apart_than_stated(
    data: Any,
    size: int,
    classes: int,
    ratio: float,
    made: Relation,
    relation: Relation,
    weighted: bool,
) -> None:
    block = score(size, classes, ratio, made, weighted)
    values = data.draw(arrays(np.float64, (2, size + classes), elements=ANYTHING))
    of = data.draw(arrays(np.float64, (2, 1), elements=st.sampled_from([0.0, 1.0, 1.5, np.nan])))
    own = data.draw(arrays(np.float64, (2, int(weighted)), elements=ANYTHING))
    here, there = added(block, np.column_stack([values, of, own]))
    assert np.isfinite(here).all() and np.linalg.norm(here) <= block.longest * (1 + 1e-12)
    moved = np.linalg.norm(here - there if relation is Relation.REPLACE_ONE else here)
    assert moved <= block.movement(relation) * (1 + 1e-12)


@pytest.mark.parametrize("made", BOTH)
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_many_pairs_come_close_and_none_beyond(classes: int, made: Relation) -> None:
    rng = np.random.default_rng(classes)
    for ratio in (0.3, 0.8, 1.0):
        block = score(2, classes, ratio, made)
        found = added(block, records(rng, 40_000, 2, classes))
        apart = np.linalg.norm(found[::2] - found[1::2], axis=1).max()
        alone = np.linalg.norm(found, axis=1).max()
        assert 0.98 * 2.0 < apart <= 2.0 * (1 + 1e-12)
        assert 0.89 * block.longest < alone <= block.longest * (1 + 1e-12)
    if made is Relation.ADD_REMOVE:
        assert alone > 0.999 * block.longest


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize(("size", "classes", "weighted"), [(1, 2, False), (3, 4, True)])
def test_an_audit_gets_records_that_attain_it(
    relation: Relation, size: int, classes: int, weighted: bool
) -> None:
    attained(BlockSum((score(size, classes, 0.7, relation, weighted),), relation=relation))


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_in_the_units_of_the_records(weighted: bool) -> None:
    rng = np.random.default_rng(1)
    size, classes, count = 3, 4, 50
    made = records(rng, count, size, classes)
    x, logits, y = made[:, :size], made[:, size:-1], made[:, -1].astype(int)
    query = BlockSum((score(size, classes, 0.7, Relation.REPLACE_ONE, weighted),))
    x = x * np.minimum(1.0, 2.0 / np.linalg.norm(x, axis=1))[:, None]
    u = np.minimum(1.0, 1.4 / np.linalg.norm(x, axis=1))
    if weighted:
        own = rng.uniform(-0.5, 1.5, count)
        u, made = u * np.clip(own, 0.0, 1.0), np.column_stack([made, own])
    with jax.enable_x64(True):
        table = Rows(1.0, made, np.ones(count))
        (parts,) = query.split(query(None, table, CONTEXT, jax.random.key(0)))
    parts, basis, p = np.asarray(parts), contrasts(classes), softmax(logits, axis=1)
    r = (np.eye(classes)[y] - p) @ basis
    wide = np.einsum("nd,nm->ndm", x, r).reshape(count, -1)
    curvature = np.array([basis.T @ (np.diag(each) - np.outer(each, each)) @ basis for each in p])
    products = np.einsum("n,ni,nj,nkl->ikjl", u, x, x, curvature).reshape(9, 9)
    np.testing.assert_allclose(parts[0], u @ wide, atol=1e-12)
    np.testing.assert_allclose(parts[1:10], products, atol=1e-12)
    np.testing.assert_allclose(parts[10:], (wide * (u**2)[:, None]).T @ wide, atol=1e-12)


def test_noise_of_each_part_is_in_its_own_units() -> None:
    rng = np.random.default_rng(2)
    block = score(2, 3, 0.7, Relation.REPLACE_ONE)
    query = BlockSum((block,))
    with jax.enable_x64(True):
        draws = rng.normal(size=(4000, query.size(2)))
        parts = np.asarray(jax.vmap(lambda v: query.split(v)[0])(jnp.asarray(draws)))
    deviations = parts.std(axis=0)
    one, two, three = (query.spread(1.0)[0] * unit for unit in block.units)
    np.testing.assert_allclose(deviations[0], one, rtol=0.05)
    for unit, matrix in ((two, deviations[1:5]), (three, deviations[5:])):
        np.testing.assert_allclose(np.diag(matrix), unit, rtol=0.05)
        # features (0, 0) and contrasts (0, 1); features (0, 1) and contrasts (0, 0), (0, 1)
        seen = [matrix[0, 1], matrix[0, 2], matrix[0, 3]]
        np.testing.assert_allclose(seen, np.array([0.5**0.5, 0.5**0.5, 0.5]) * unit, rtol=0.05)


def test_bounds_that_cannot_be_are_refused() -> None:
    with pytest.raises(PrivacyError, match="norm=1"):
        ClassScore(itself, 2, 3, 2.0, 1.0)
    with pytest.raises(PrivacyError, match="classes=1"):
        ClassScore(itself, 2, 1, 1.0, 1.0)
    with pytest.raises(PrivacyError, match="metric"):
        ClassScore(itself, 2, 3, 1.0, 1.0, relation=Relation.METRIC)
