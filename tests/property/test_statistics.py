"""Whatever the records and whatever is asked of them, a sum of blocks moves by what it states."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacit.errors import PrivacyError
from tacit.method.worst_case import Extremes
from tacit.privacy.statistics import BlockSum, Clipped, Counts, Gram, Parts
from tacit.problem import Free, NoRegulariser, Rows
from tacit.problem.public import Public
from tacit.types import Context, PublicContext, Relation, Unit

pytestmark = pytest.mark.long

N, D = 4, 3
QUICK = settings(max_examples=25, deadline=None)
ANYTHING = st.floats(allow_nan=True, allow_infinity=True)
RECORDS = arrays(np.float64, (N, D), elements=ANYTHING)
SHARES = st.lists(st.floats(0.01, 1.0), min_size=5, max_size=5)
BOUNDS = st.floats(1e-3, 1e3)
RELATIONS = st.sampled_from([Relation.REPLACE_ONE, Relation.ADD_REMOVE])
ROUNDING = 1.0 + 1e-12
ZERO = jnp.asarray(0)
CONTEXT = Context(
    ZERO, ZERO, ZERO, ZERO, jax.random.key(1), Public(NoRegulariser(), Free()), ZERO, agents=2
)


def public(normaliser: float = 1.0, unit: Unit = Unit.RECORD) -> PublicContext:
    return PublicContext(0, 2, 0, 1, N, normaliser, unit, 1, 1, D)


def itself(record: Any, point: Any) -> Any:
    return record


def first(record: Any, point: Any) -> Any:
    return record[0]


def blocks(shares: list[float], bound: float) -> tuple[Any, ...]:
    """One of each kind, and a matrix with one entry."""
    parts = [share / math.fsum(shares) for share in shares]
    parts[-1] = 1.0 - math.fsum(parts[:-1])
    return (
        Clipped(itself, D, bound, share=parts[0]),
        Gram(itself, D, bound, share=parts[1]),
        Counts(first, 3, share=parts[2]),
        Gram(lambda record, point: record[:1] * point, 1, bound, share=parts[3]),
        Parts(itself, D, share=parts[4]),
    )


def attained(query: BlockSum) -> None:
    """The pair of records that an audit gets moves the sum by as much as the query states."""
    there = 0.0 if query.relation is Relation.ADD_REMOVE else -1.0
    with jax.enable_x64(True):
        ends = [
            np.asarray(query(None, Extremes(1.0, np.array([side])), CONTEXT, jax.random.key(0)))
            for side in (1.0, there)
        ]
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(1.0, rel=1e-12)
    assert query.sensitivity(public(), query.relation) == pytest.approx(1.0, rel=1e-12)


def answer(query: BlockSum, table: Any) -> Any:
    with jax.enable_x64(True):
        return np.asarray(query(2.0, table, CONTEXT, jax.random.key(0)))


def rows(values: Any, mask: Any = None, normaliser: float = 1.0) -> Rows:
    return Rows(normaliser, values, np.ones(len(values)) if mask is None else mask)


@QUICK
@given(RECORDS, RECORDS, SHARES, BOUNDS, RELATIONS, RELATIONS, st.floats(0.1, 100.0))
def test_no_record_moves_a_sum_further_than_stated(
    records: Any,
    others: Any,
    shares: list[float],
    bound: float,
    relation: Relation,
    shared: Relation,
    normaliser: float,
) -> None:
    query = BlockSum(blocks(shares, bound), point=lambda state: state, relation=shared)
    if relation is Relation.REPLACE_ONE:
        other = np.concatenate([others[:1], records[1:]])
        pair = rows(records, None, normaliser), rows(other, None, normaliser)
    else:
        gone = np.array([0.0, 1.0, 1.0, 1.0])
        pair = rows(records, None, normaliser), rows(records, gone, normaliser)
    here, there = (answer(query, table) for table in pair)
    assert np.isfinite(here).all() and np.isfinite(there).all()
    stated = query.sensitivity(public(normaliser), relation)
    assert float(np.linalg.norm(here - there)) <= stated * ROUNDING
    computed = query.computed(public(normaliser), relation, N)
    assert float(np.abs(here).max()) <= computed.largest
    if relation is shared:
        assert stated * normaliser == pytest.approx(1.0, abs=1e-12)


@QUICK
@given(SHARES, BOUNDS, RELATIONS)
def test_every_bound_is_attained(shares: list[float], bound: float, relation: Relation) -> None:
    parts = blocks(shares, bound)
    each = [BlockSum((_alone(block),), point=lambda s: s, relation=relation) for block in parts]
    for query in (BlockSum(parts, point=lambda s: s, relation=relation), *each):
        there = 0.0 if relation is Relation.ADD_REMOVE else -1.0
        ends = [answer(query, Extremes(1.0, np.array([which]))) for which in (1.0, there)]
        assert float(np.linalg.norm(ends[0] - ends[1])) == pytest.approx(1.0, rel=1e-12)


def _alone(block: Any) -> Any:
    if isinstance(block, Counts):
        return Counts(block.cell, block.cells)
    if isinstance(block, Parts):
        return Parts(block.rows, block.cells)
    return type(block)(block.rows, block.size, block.bound)


@QUICK
@given(
    arrays(np.float64, (N, D), elements=st.floats(-5.0, 5.0)),
    SHARES,
    st.floats(0.5, 20.0),
    RELATIONS,
)
def test_split_gives_back_what_each_block_sums(
    records: Any, shares: list[float], bound: float, relation: Relation
) -> None:
    records[:, 0] = np.rint(np.abs(records[:, 0]))
    query = BlockSum(blocks(shares, bound), point=lambda s: s, relation=relation)
    with jax.enable_x64(True):
        vector, gram, counts, square, parts = (
            np.asarray(part) for part in query.split(answer(query, rows(records)))
        )
    lengths = np.linalg.norm(records, axis=1, keepdims=True)
    inside = records * np.minimum(1.0, bound / np.maximum(lengths, 1e-300))
    np.testing.assert_allclose(vector, inside.sum(axis=0), atol=1e-9 * bound)
    np.testing.assert_allclose(gram, inside.T @ inside, atol=1e-9 * bound**2)
    found = [int(np.sum(records[:, 0] == cell)) for cell in range(3)]
    np.testing.assert_allclose(counts, found, atol=1e-9)
    one = np.clip(2.0 * records[:, 0], -bound, bound)
    np.testing.assert_allclose(square, [[np.sum(one**2)]], atol=1e-9 * bound**2)
    positive = np.maximum(records, 0.0)
    positive /= np.maximum(positive.sum(axis=1, keepdims=True), 1.0)
    np.testing.assert_allclose(parts, positive.sum(axis=0), atol=1e-9)


def test_random_pairs_of_matrices_come_close_to_the_bound_and_not_beyond() -> None:
    rng = np.random.default_rng(0)
    bound = 1.3
    query = BlockSum((Gram(itself, 2, bound),))
    pairs = rng.normal(size=(2000, 2, 2))
    with jax.enable_x64(True):
        ask = jax.jit(jax.vmap(lambda v: query(None, rows_of(v), CONTEXT, jax.random.key(0))))
        ends = np.asarray(ask(jnp.asarray(pairs.reshape(-1, 1, 2)))).reshape(2000, 2, -1)
    moved = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
    assert 0.999 < moved.max() <= ROUNDING


def rows_of(values: Any) -> Rows:
    return Rows(1.0, values, np.ones(1))


def test_parts_come_close_to_their_bound_and_not_beyond() -> None:
    rng = np.random.default_rng(0)
    block = Parts(itself, D)
    drawn = rng.dirichlet(np.full(D, 0.1), 4000) * rng.choice([0.3, 1.0, 7.0], (4000, 1))
    drawn[::5] -= 0.2
    drawn[::11, 0] = np.inf
    drawn[3::11] = 1e308
    with jax.enable_x64(True):
        found = np.asarray(block.bounded(jnp.asarray(drawn)))
    assert (found >= 0.0).all() and (found.sum(axis=1) <= ROUNDING).all()
    assert np.all(found[np.isinf(drawn).any(axis=1)] == 0.0)
    moved = np.linalg.norm(found[::2] - found[1::2], axis=1)
    assert 1.41 < moved.max() <= math.sqrt(2.0) * ROUNDING


def test_padding_adds_nothing_whatever_stands_there() -> None:
    query = BlockSum(blocks([1.0] * 5, 1.0), point=lambda s: s)
    there = np.array([1.0, 1.0, 0.0, 0.0])
    values = np.ones((N, D))
    filled = values.copy()
    filled[2:] = np.nan
    np.testing.assert_array_equal(
        answer(query, rows(values, there)), answer(query, rows(filled, there))
    )


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "int8"])
def test_a_function_that_computes_coarsely_moves_the_sum_no_further(kind: str) -> None:
    query = BlockSum(
        (
            Counts(lambda record, point: record[0].astype(kind), 2, share=0.5),
            Clipped(lambda record, point: record[1:].astype(kind), 2, 1.0, share=0.5),
        ),
        relation=Relation.ADD_REMOVE,
    )
    values = np.zeros((30_001, D))
    values[:, 1] = 0.7
    there = np.ones(len(values))
    there[-1] = 0.0
    sums = [answer(query, rows(values, mask)) for mask in (None, there)]
    assert sums[0].dtype == np.float64
    assert float(np.linalg.norm(sums[0] - sums[1])) <= 1.0 + 1e-9


def test_complex_numbers_and_bounds_that_cannot_be_undone_are_refused() -> None:
    with pytest.raises(PrivacyError, match="complex"):
        answer(BlockSum((Clipped(lambda r, p: r * 1j, D, 1.0),)), rows(np.zeros((N, D))))
    for bound in (1e-160, 1e160):
        with pytest.raises(PrivacyError, match="cannot be undone"):
            BlockSum((Gram(itself, D, bound),))


def test_whole_costs_and_distances_have_no_bound() -> None:
    query = BlockSum((Counts(first, 2),))
    assert query.sensitivity(public(unit=Unit.AGENT), Relation.REPLACE_ONE) == math.inf
    assert query.sensitivity(public(), Relation.METRIC) == math.inf


def test_noise_of_a_block_is_in_its_own_units() -> None:
    query = BlockSum((Counts(first, 4, share=0.25), Clipped(itself, D, 3.0, share=0.75)))
    counted, clipped = query.spread(2.0)
    assert counted == pytest.approx(2.0 * math.sqrt(2.0) / 0.5)
    assert clipped == pytest.approx(2.0 * 6.0 / math.sqrt(0.75))
