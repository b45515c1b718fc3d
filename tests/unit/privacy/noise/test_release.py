"""A release on a grid: its event, its parts, what it refuses."""

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from tacit.errors import PrivacyError
from tacit.privacy.dose import AbstractDose, Calibrated
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    ModelClaim,
    NoRelease,
    PoissonSampled,
)
from tacit.privacy.laws import GAUSSIAN, LAPLACE, NoiseKind
from tacit.privacy.masked import SecureSum
from tacit.privacy.mechanism import NO_NOISE, Mechanism, gaussian, l2_laplace, laplace
from tacit.privacy.noise import (
    SecureNoise,
    SeededNoise,
    grid_release,
    on_grid,
    sampling_delta,
    sum_error,
)
from tacit.privacy.sensitivity import ClippedGradient, ClippedUpdate, Exact
from tacit.types import PublicContext, Relation, Unit

PUBLIC = PublicContext(
    agent=1,
    agents=2,
    round=0,
    rounds=10,
    count=50,
    normaliser=50.0,
    unit=Unit.RECORD,
    degree=1,
    participations=10,
    dimension=3,
)


def itself(state: Any) -> Any:
    return state


def clipped(order: int, rate: float = 1.0, clip: float = 1.0) -> ClippedGradient:
    return ClippedGradient(itself, clip, order=order, rate=rate)


class Assumed(AbstractDose):
    """A size that a paper assumes."""

    def scale(self, law: object, query: object, public: object, relation: object) -> float:
        return 1.0

    def multiplier(self, query: object, public: object, relation: object) -> float:
        return 1.0


CLAIM = ModelClaim(NoRelease(), "a theorem", "an assumption", "it is assumed")


@pytest.mark.parametrize("law", [NoiseKind.GAUSSIAN, NoiseKind.LAPLACE])
@pytest.mark.parametrize("kind", [list, np.array, jnp.asarray])
def test_what_is_released_lies_on_the_grid(law: NoiseKind, kind: Callable[[Any], Any]) -> None:
    release = grid_release(
        law, 2.0, sensitivity=0.01, dimension=4, largest=300.0, roundoff=2.0**-24
    )
    value = np.array([[0.0, 1.0], [2.0, -300.0]])
    noised = release(kind(value.tolist()), SecureNoise())
    assert noised.shape == (2, 2)
    assert noised.dtype == np.float64
    assert not np.any(noised % release.grid.step)
    assert 0.0 < np.abs(noised - value).max() < 2.0


@pytest.mark.parametrize(
    ("law", "event"),
    [
        (NoiseKind.GAUSSIAN, DiscreteGaussianRelease(0.1)),
        (NoiseKind.LAPLACE, DiscreteLaplaceRelease(0.1)),
    ],
)
def test_the_multiplier_asked_for_is_the_one_accounted(law: NoiseKind, event: object) -> None:
    release = grid_release(law, 0.1, sensitivity=0.3, dimension=5, largest=1.0)
    assert release.event == event
    assert Fraction(release.scale) >= Fraction(0.1) * release.grid.sensitivity
    assert release.scale * release.grid.step == pytest.approx(0.1 * 0.3, rel=1e-5)


def test_noise_has_the_scale_in_the_unit_of_the_value() -> None:
    release = grid_release(NoiseKind.GAUSSIAN, 5.0, sensitivity=1e-7, dimension=20_000, largest=5.0)
    noised = release(np.full(20_000, 3.0), SeededNoise(0))
    assert noised.std() == pytest.approx(5e-7, rel=0.03)
    assert noised.mean() == pytest.approx(3.0, abs=3e-8)


@pytest.mark.parametrize("mechanism", [gaussian(4.0), laplace(4.0), gaussian([9.0, 4.0])])
@pytest.mark.parametrize("relation", [Relation.REPLACE_ONE, Relation.ADD_REMOVE])
def test_a_mechanism_keeps_its_multiplier(mechanism: Mechanism, relation: Relation) -> None:
    order = 1 if mechanism.law is LAPLACE else 2
    event = DiscreteGaussianRelease if order == 2 else DiscreteLaplaceRelease
    release = on_grid(mechanism, clipped(order), PUBLIC, relation, most_records=51)
    assert release.event == event(4.0)
    assert release.grid.order == order
    bound = clipped(order).sensitivity(PUBLIC, relation)
    error = sum_error(50 if relation is Relation.REPLACE_ONE else 51, 1.0 / 50.0, 3)
    spread = 3 if order == 1 else math.sqrt(3)
    enough = (bound + error) / release.grid.step + spread
    assert enough <= release.grid.sensitivity <= enough + 1.001
    scale = mechanism.scale(clipped(order), PUBLIC, relation)
    assert release.scale * release.grid.step == pytest.approx(scale, rel=1e-5)


def test_no_value_that_a_query_can_give_is_beyond_the_grid() -> None:
    alone = dataclasses.replace(PUBLIC, dimension=1)
    release = on_grid(laplace(1e-6), clipped(1), alone, Relation.REPLACE_ONE)
    noised = release([1.0], SecureNoise())  # fifty records, each clipped to 1, over fifty
    assert noised == pytest.approx([1.0], abs=1e-5)


def test_the_grid_of_an_update_does_not_tell_the_number_of_records() -> None:
    few, many = (
        on_grid(
            gaussian(2.0),
            ClippedUpdate(itself, 1.0),
            dataclasses.replace(PUBLIC, count=count, unit=Unit.AGENT),
            Relation.REPLACE_ONE,
        )
        for count in (1, 10_000)
    )
    assert few.grid == many.grid and few.scale == many.scale
    assert few.event == DiscreteGaussianRelease(2.0)


def test_a_sampled_release_stays_sampled() -> None:
    release = on_grid(
        gaussian(2.0), clipped(2, rate=0.1), PUBLIC, Relation.ADD_REMOVE, most_records=51
    )
    assert release.event == PoissonSampled(0.1, DiscreteGaussianRelease(2.0))


def test_single_precision_needs_a_release_that_allows_for_it() -> None:
    answer = np.zeros(3, np.float32)
    double = on_grid(gaussian(2.0), clipped(2), PUBLIC, Relation.REPLACE_ONE)
    with pytest.raises(PrivacyError, match="type float32 has larger rounding errors"):
        double(answer, SecureNoise())
    single = on_grid(gaussian(2.0), clipped(2), PUBLIC, Relation.REPLACE_ONE, roundoff=2.0**-24)
    assert single(answer, SecureNoise()).any()
    assert single.grid.sensitivity > double.grid.sensitivity


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (NO_NOISE, "NoNoise has no secure form"),
        (Mechanism(GAUSSIAN, Assumed(), claim=CLAIM), "ClaimedGaussian has no secure form"),
        (Mechanism(GAUSSIAN, Calibrated(1.0), SecureSum()), "MaskedGaussian has no secure form"),
        (l2_laplace(1.0), "has no form on a grid"),
        (gaussian([1.0, 0.0]), "noise_multiplier=0 for agent 1"),
        (laplace(1.0), "clipped in that norm"),
    ],
)
def test_a_mechanism_without_a_secure_form_is_refused(mechanism: Mechanism, message: str) -> None:
    with pytest.raises(PrivacyError, match=message):
        on_grid(mechanism, clipped(2), PUBLIC, Relation.REPLACE_ONE)


def test_a_query_without_a_bound_on_its_computed_answer_is_refused() -> None:
    with pytest.raises(PrivacyError, match="Exact has no secure form"):
        on_grid(gaussian(1.0), Exact(itself), PUBLIC, Relation.REPLACE_ONE)


class Posing(ClippedGradient):
    """Says that it is tacit's."""

    __module__ = "tacit.privacy.sensitivity"


def test_a_query_that_is_not_ours_is_refused() -> None:
    with pytest.raises(PrivacyError, match="Posing has no secure form: nothing proves"):
        on_grid(gaussian(1.0), Posing(itself, 1.0), PUBLIC, Relation.REPLACE_ONE)


def test_an_unbounded_query_is_refused() -> None:
    with pytest.raises(PrivacyError, match="no finite sensitivity"):
        on_grid(gaussian(1.0), clipped(2, clip=math.inf), PUBLIC, Relation.REPLACE_ONE)


def test_a_private_number_of_records_needs_a_declared_limit() -> None:
    with pytest.raises(PrivacyError, match="most_records=None: under add/remove"):
        on_grid(gaussian(2.0), clipped(2), PUBLIC, Relation.ADD_REMOVE)
    few, many = (
        on_grid(gaussian(2.0), clipped(2), PUBLIC, Relation.ADD_REMOVE, most_records=most)
        for most in (50, 10**6)
    )
    assert few.scale * few.grid.step < many.scale * many.grid.step


def test_the_relation_metric_is_refused() -> None:
    whole = dataclasses.replace(PUBLIC, unit=Unit.AGENT, count=1)
    with pytest.raises(PrivacyError, match="relation='metric' has no secure form"):
        on_grid(gaussian(1.0), clipped(2), whole, Relation.METRIC)


@pytest.mark.parametrize("multiplier", [0.0, -1.0, math.inf, math.nan])
def test_a_multiplier_out_of_range_is_refused(multiplier: float) -> None:
    with pytest.raises(PrivacyError, match=r"noise_multiplier=.* must be positive and finite"):
        grid_release(NoiseKind.LAPLACE, multiplier, sensitivity=1.0, dimension=1, largest=1.0)


def test_a_refused_value_draws_no_noise() -> None:
    release = grid_release(NoiseKind.LAPLACE, 1.0, sensitivity=1.0, dimension=1, largest=1.0)
    noise = SeededNoise(0)
    with pytest.raises(PrivacyError, match="nothing was released"):
        release([math.nan], noise)
    assert release([0.0], noise) == release([0.0], SeededNoise(0))


def test_imperfect_sampling_costs_next_to_nothing() -> None:
    assert sampling_delta(epsilon=0.0, draws=2**20) == 2.0**-112
    assert sampling_delta(epsilon=10.0, draws=10**12) < 1e-22


def test_l2_laplace_noise_has_no_secure_form() -> None:
    with pytest.raises(PrivacyError, match=r"noise='l2_laplace' has no form on a grid"):
        grid_release(NoiseKind.L2_LAPLACE, 2.0, sensitivity=0.1, dimension=3, largest=5.0)
    with pytest.raises(PrivacyError, match=r"noise='l2_laplace' has no form on a grid"):
        SecureNoise().added(np.zeros(3, np.int64), NoiseKind.L2_LAPLACE, 10.0)


@pytest.mark.parametrize("known", [{"count": 10**6}, {"count": 100, "most_records": 10**6}])
def test_rounding_is_that_of_the_records_and_not_of_what_their_sum_is_divided_by(
    known: dict[str, int],
) -> None:
    public = dataclasses.replace(PUBLIC, count=known.pop("count"), normaliser=100.0)
    moved, largest = clipped(2).computed(public, Relation.REPLACE_ONE, **known)
    assert moved == 0.02 + sum_error(10**6, 0.01, 3)
    assert moved - 0.02 > 1e-6
    assert largest == 2 * 10**6 * 0.01


def test_a_law_may_be_named() -> None:
    for name, kind in (("gaussian", DiscreteGaussianRelease), ("laplace", DiscreteLaplaceRelease)):
        made = grid_release(name, 1.0, sensitivity=1.0, dimension=2, largest=1.0)
        assert made.event == kind(1.0) and isinstance(made.law, NoiseKind)


@pytest.mark.parametrize("law", ["nonsense", None, GAUSSIAN, 2])
def test_what_is_no_law_is_refused(law: Any) -> None:
    with pytest.raises(PrivacyError, match="has no form on a grid"):
        grid_release(law, 1.0, sensitivity=1.0, dimension=2, largest=1.0)
    with pytest.raises(PrivacyError, match="has no form on a grid"):
        SeededNoise(0).added(np.zeros(2, np.int64), law, 1.0)


@pytest.mark.parametrize(("epsilon", "draws"), [(-1.0, 5), (1.0, -5), (1e4, 5), ("x", 5)])
def test_a_delta_of_sampling_has_a_range(epsilon: Any, draws: int) -> None:
    with pytest.raises(PrivacyError, match=r"epsilon=|draws="):
        sampling_delta(epsilon, draws)


@pytest.mark.parametrize(
    "given", [{"records": -5}, {"contribution": -1.0}, {"dimension": 0}, {"roundoff": 0.0}]
)
def test_a_sum_has_records(given: Any) -> None:
    with pytest.raises(PrivacyError, match=f"{next(iter(given))}=.* must be"):
        sum_error(**({"records": 10, "contribution": 1.0, "dimension": 2} | given))
