"""Clipping enforces the bound from which a query's sensitivity is derived."""

import math
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tacit.clipping import clip_factor, clipped
from tacit.errors import PrivacyError
from tacit.privacy.query import own, own_public
from tacit.privacy.sensitivity import (
    ClippedDifferences,
    ClippedGradient,
    ClippedUpdate,
    Exact,
    sample,
)
from tacit.types import (
    AbstractDifferentiable,
    AbstractObjective,
    Context,
    Oracle,
    PublicContext,
    Relation,
    Unit,
)

KEY = jax.random.key(0)

entries = st.floats(-1e6, 1e6, allow_subnormal=False)


class Linear(AbstractDifferentiable):
    """Losses `rows @ x`: the gradient of a unit is its row."""

    unit: ClassVar[Unit] = Unit.RECORD
    rows: jax.Array
    normaliser: jax.Array

    @property
    def units(self) -> int:
        return self.rows.shape[0]

    def losses(self, x):
        return self.rows @ x

    def value(self, x):
        return jnp.sum(self.losses(x)) / self.normaliser

    def gradient(self, x):
        return jnp.sum(self.rows, axis=0) / self.normaliser

    def clipped_gradient(self, x, clip, order, keep):
        inside = clipped(self.rows, clip, order)
        kept = inside if keep is None else inside * keep[:, None]
        return jnp.sum(kept, axis=0) / self.normaliser


class ValuesOnly(AbstractObjective):
    """An objective without gradients."""

    unit: ClassVar[Unit] = Unit.AGENT
    normaliser: jax.Array = eqx.field(default_factory=lambda: jnp.ones(()))

    @property
    def units(self) -> int:
        return 1

    def losses(self, x):
        return jnp.sum(jnp.asarray(x) ** 2)[None]

    def value(self, x):
        return jnp.sum(jnp.asarray(x) ** 2)


class Free(eqx.Module):
    """No regulariser and no constraint."""

    exact: bool = True

    def value(self, x):
        return jnp.zeros(())

    def gradient(self, x):
        return jnp.zeros_like(x)

    def prox(self, v, step):
        return v

    def project(self, v):
        return v

    def descend(self, x, direction, step):
        return x - step * direction


def linear(rows: np.ndarray) -> Linear:
    return Linear(rows=jnp.asarray(rows), normaliser=jnp.asarray(float(len(rows))))


def context(agent: int = 0) -> Context:
    zero = jnp.asarray(0)
    return Context(zero, zero, jnp.asarray(agent), zero, KEY, Free(), zero, agents=3)


def public(**changes) -> PublicContext:
    fields = {
        "agent": 0,
        "agents": 3,
        "round": 0,
        "rounds": 10,
        "count": 5,
        "normaliser": 5.0,
        "unit": Unit.RECORD,
        "degree": 2,
        "participations": 10,
    }
    return PublicContext(**{**fields, **changes})


rows = hnp.arrays(float, (5, 3), elements=entries)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("order", [1, 2])
@settings(deadline=None, max_examples=20)
@given(data=rows, clip=st.floats(1e-3, 1e3))
def test_no_row_is_longer_than_the_clip_and_short_ones_stay(
    order: int, data: np.ndarray, clip: float
) -> None:
    with jax.enable_x64(True):
        inside = np.asarray(clipped(jnp.asarray(data), clip, order))
    lengths = np.linalg.norm(inside, ord=order, axis=1)
    assert np.all(lengths <= clip * (1 + 1e-12))
    short = np.linalg.norm(data, ord=order, axis=1) <= clip
    np.testing.assert_array_equal(inside[short], data[short])


@pytest.mark.usefixtures("float64")
def test_rows_that_are_not_finite_contribute_nothing() -> None:
    data = jnp.array([[math.inf, 1.0], [math.nan, 0.0], [3.0, 4.0]])
    np.testing.assert_allclose(clipped(data, 1.0, 2), [[0, 0], [0, 0], [0.6, 0.8]])


@pytest.mark.usefixtures("float64")
def test_an_infinite_clip_changes_nothing_and_zero_is_safe() -> None:
    assert float(clip_factor(jnp.array(5.0), math.inf)) == 1.0
    assert float(clip_factor(jnp.array(0.0), 1.0)) == 1.0


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("relation", [Relation.REPLACE_ONE, Relation.ADD_REMOVE])
@settings(deadline=None, max_examples=10)
@given(data=rows, other=hnp.arrays(float, 3, elements=entries))
def test_a_neighbour_moves_the_gradient_by_at_most_its_sensitivity(
    order: int, relation: Relation, data: np.ndarray, other: np.ndarray
) -> None:
    query = ClippedGradient(lambda state: state, 2.0, order=order)
    neighbour = data.copy()
    neighbour[1] = other if relation is Relation.REPLACE_ONE else 0.0
    with jax.enable_x64(True):
        x = jnp.zeros(3)
        here = query(x, linear(data), context(), KEY)
        there = query(x, linear(neighbour), context(), KEY)
        moved = float(jnp.linalg.norm(here - there, ord=order))
    assert moved <= query.sensitivity(public(), relation) * (1 + 1e-9)


@pytest.mark.usefixtures("float64")
@settings(deadline=None, max_examples=10)
@given(data=rows, other=hnp.arrays(float, 3, elements=entries))
def test_a_neighbour_moves_the_differences_by_at_most_their_sensitivity(
    data: np.ndarray, other: np.ndarray
) -> None:
    query = ClippedDifferences(
        lambda state: state, lambda state, context: jnp.eye(3), smoothing=1e-3, clip=2.0
    )
    neighbour = data.copy()
    neighbour[1] = other
    with jax.enable_x64(True):
        x = jnp.ones(3)
        here = query(x, linear(data), context(), KEY)
        there = query(x, linear(neighbour), context(), KEY)
        moved = float(jnp.linalg.norm(here - there))
    assert moved <= query.sensitivity(public(), Relation.REPLACE_ONE) * (1 + 1e-9)


@pytest.mark.usefixtures("float64")
def test_replacing_the_longest_row_by_its_opposite_attains_the_sensitivity() -> None:
    query = ClippedGradient(lambda state: state, 1.0)
    data = np.zeros((5, 3))
    data[0, 0] = 7.0
    here = query(jnp.zeros(3), linear(data), context(), KEY)
    there = query(jnp.zeros(3), linear(-data), context(), KEY)
    assert float(jnp.linalg.norm(here - there)) == pytest.approx(0.4)
    assert query.sensitivity(public(), Relation.REPLACE_ONE) == pytest.approx(0.4)
    assert query.sensitivity(public(), Relation.ADD_REMOVE) == pytest.approx(0.2)


@pytest.mark.usefixtures("float64")
def test_differences_of_a_linear_loss_are_its_slopes() -> None:
    query = ClippedDifferences(
        lambda state: state, lambda state, context: jnp.eye(3), smoothing=0.5, clip=math.inf
    )
    data = np.arange(15.0).reshape(5, 3)
    found = query(jnp.ones(3), linear(data), context(), KEY)
    np.testing.assert_allclose(found, data.mean(axis=0))
    assert query.evaluations(3) == 4
    assert query.sensitivity(public(), Relation.REPLACE_ONE) == math.inf


@pytest.mark.usefixtures("float64")
def test_differences_may_begin_anywhere_and_be_as_long_as_the_state_says() -> None:
    def directions(state, context):
        return jnp.eye(2)

    def offsets(state, context):
        return jnp.array([[3.0, 0.0], [0.0, -1.0]])

    query = ClippedDifferences(
        lambda state: state[0],
        directions,
        lambda state, context: state[1],
        math.inf,
        2,
        offsets=offsets,
    )
    # x'x from (1, 2) + offset, along the axes: 2 x_i + u
    found = query((jnp.array([1.0, 2.0]), jnp.asarray(0.5)), ValuesOnly(), context(), KEY)
    np.testing.assert_allclose(found, [2 * 4.0 + 0.5, 2 * 1.0 + 0.5])
    assert query.evaluations(2) == 4


@pytest.mark.usefixtures("float64")
def test_an_update_is_clipped_as_a_whole_whatever_it_is() -> None:
    def twice(state, objective, context):
        return 2.0 * objective.gradient(state)

    query = ClippedUpdate(twice, np.array([9.0, 0.5]), points=3)
    data = linear(np.array([[3.0, 4.0], [0.0, 0.0]]))
    found = query(jnp.zeros(2), data, context(agent=1), KEY)
    np.testing.assert_allclose(found, [0.3, 0.4])
    assert query.evaluations(7) == 3
    for relation in (Relation.REPLACE_ONE, Relation.ADD_REMOVE):
        assert query.sensitivity(public(agent=1), relation) == 1.0
    assert query.sensitivity(public(agent=1), Relation.METRIC) == math.inf
    nothing = query(jnp.zeros(2), linear(np.array([[math.nan, 1.0]])), context(agent=1), KEY)
    assert nothing.tolist() == [0.0, 0.0]
    with pytest.raises(PrivacyError, match=r"rate=0\.5 would sample records"):
        ClippedUpdate(twice, 1.0, rate=0.5)


@pytest.mark.usefixtures("float64")
def test_a_sampled_sum_is_divided_by_its_rate() -> None:
    data = np.ones((2000, 1))
    query = ClippedGradient(lambda state: state, 1.0, rate=0.25)
    found = float(query(jnp.zeros(1), linear(data), context(), KEY)[0])
    assert found == pytest.approx(1.0, abs=0.2)  # 5 standard deviations
    assert query.sensitivity(public(), Relation.ADD_REMOVE) == pytest.approx(1.0 / (5.0 * 0.25))
    differences = ClippedDifferences(
        lambda state: state, lambda state, context: jnp.eye(1), 1e-2, 1.0, rate=0.25
    )
    estimate = float(differences(jnp.zeros(1), linear(data), context(), KEY)[0])
    assert estimate == pytest.approx(found, rel=1e-6)


def test_everybody_takes_part_at_rate_one_and_about_a_tenth_at_a_tenth() -> None:
    assert sample(KEY, 10, 1.0) is None
    kept = sample(KEY, 10_000, 0.1)
    assert kept is not None
    assert abs(int(kept.sum()) - 1000) < 150  # 5 standard deviations


def test_a_rare_sample_is_as_rare_in_single_precision() -> None:
    # of 2^24 units none, where a rate rounded up to 2^-23 draws four
    assert not np.any(sample(jax.random.key(1), 2**24, 1e-9))
    for rate in (0.5, 1.0 - 2.0**-20):
        kept = np.mean(np.asarray(sample(KEY, 2**16, rate)))
        assert kept == pytest.approx(rate, abs=0.01)  # 5 standard deviations


@pytest.mark.usefixtures("float64")
def test_a_seed_draws_the_same_sample_for_ever() -> None:
    for rate in (0.3, 1e-3, 1.0 - 1e-9):
        expected = jax.random.bernoulli(KEY, rate, (10_000,))
        np.testing.assert_array_equal(sample(KEY, 10_000, rate), expected)


@pytest.mark.usefixtures("float64")
def test_numbers_may_differ_per_agent() -> None:
    clips = np.array([1.0, 2.0, 4.0])
    assert float(own(clips, jnp.asarray(2))) == 4.0
    assert own(3.0, jnp.asarray(2)) == 3.0
    assert own_public(clips, 1) == 2.0
    assert own_public(3.0, 1) == 3.0
    query = ClippedGradient(lambda state: state, clips)
    assert query.sensitivity(public(agent=1), Relation.ADD_REMOVE) == pytest.approx(0.4)
    data = np.full((1, 1), 100.0)
    assert float(query(jnp.zeros(1), linear(data), context(agent=2), KEY)[0]) == 4.0


def test_gradients_of_a_black_box_are_refused() -> None:
    query = ClippedGradient(lambda state: state, 1.0)
    with pytest.raises(PrivacyError, match="ValuesOnly gives values only"):
        query(jnp.zeros(2), ValuesOnly(), context(), KEY)


@pytest.mark.usefixtures("float64")
def test_an_exact_query_answers_and_has_no_bound() -> None:
    query = Exact(lambda state, objective, context: objective.value(state), oracle=Oracle.VALUE)
    assert float(query(jnp.array([3.0, 4.0]), ValuesOnly(), context(), KEY)) == 25.0
    assert query.sensitivity(public(), Relation.REPLACE_ONE) == math.inf
    assert query.evaluations(2) == 1


@pytest.mark.parametrize(("norm", "order", "factor"), [(math.inf, 2, 2.0), (math.inf, 1, 4.0)])
def test_a_clip_in_a_wider_norm_is_converted(norm: float, order: int, factor: float) -> None:
    query = ClippedGradient(lambda state: state, 0.5, order=order, norm=norm)
    assert query.clip_norm == norm
    bound = query.sensitivity(public(dimension=4), Relation.ADD_REMOVE)
    assert bound == pytest.approx(0.5 * factor / 5.0)
    with pytest.raises(PrivacyError, match=r"give PublicContext.dimension, or clip in the l"):
        query.sensitivity(public(), Relation.ADD_REMOVE)


def test_differences_are_as_many_as_their_directions() -> None:
    def query(count: int | None) -> ClippedDifferences:
        return ClippedDifferences(
            lambda state: state, lambda state, context: jnp.eye(9), 1e-3, 0.5, count, norm=math.inf
        )

    nine = public(dimension=9)
    assert query(None).sensitivity(nine, Relation.ADD_REMOVE) == pytest.approx(3 * 0.5 / 5.0)
    assert query(4).sensitivity(nine, Relation.ADD_REMOVE) == pytest.approx(2 * 0.5 / 5.0)
    assert query(1).sensitivity(nine, Relation.ADD_REMOVE) == pytest.approx(0.5 / 5.0)


def test_the_smaller_of_clip_and_declared_bound_counts() -> None:
    def stated(clip: float, norm: float | None = None) -> float:
        query = ClippedGradient(lambda state: state, clip, norm=norm)
        declared = public(gradient_bounds=(4.0, 2.0, 1.0), dimension=4)
        return query.sensitivity(declared, Relation.ADD_REMOVE) * 5.0

    assert [stated(each) for each in (0.5, 3.0, math.inf)] == pytest.approx([0.5, 2.0, 2.0])
    assert stated(math.inf, 1) == pytest.approx(4.0)
    assert stated(math.inf, math.inf) == pytest.approx(2.0)
