"""Mechanisms: scale, event and noise belong together."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from tacit.errors import PrivacyError
from tacit.privacy.event import (
    GaussianRelease,
    LaplaceRelease,
    ModelClaim,
    NonPrivate,
    PoissonSampled,
)
from tacit.privacy.mechanism import (
    AbstractMechanism,
    Gaussian,
    Intrinsic,
    L2Laplace,
    Laplace,
    NoNoise,
)
from tacit.privacy.sensitivity import ClippedGradient, Exact
from tacit.types import PublicContext, Relation, Unit

KEY = jax.random.key(1)


def public(unit: Unit = Unit.RECORD, agent: int = 0) -> PublicContext:
    return PublicContext(
        agent=agent,
        agents=2,
        round=0,
        rounds=10,
        count=50,
        normaliser=50.0,
        unit=unit,
        degree=1,
        participations=10,
    )


def clipped(order: int = 2, rate: float = 1.0, clip: float = 1.0) -> ClippedGradient:
    return ClippedGradient(_itself, clip, order=order, rate=rate)


def _itself(state):
    return state


@pytest.mark.parametrize(
    ("mechanism", "order", "event"),
    [
        (Gaussian(3.0), 2, GaussianRelease(3.0)),
        (Laplace(3.0), 1, LaplaceRelease(3.0)),
        (L2Laplace(3.0), 2, LaplaceRelease(3.0)),
    ],
)
@pytest.mark.parametrize(("relation", "moves"), [("replace_one", 2.0), ("add_remove", 1.0)])
def test_scale_is_multiplier_times_sensitivity(
    mechanism: AbstractMechanism, order: int, event: object, relation: str, moves: float
) -> None:
    query, neighbours = clipped(order), Relation(relation)
    scale = mechanism.scale(query, public(), neighbours)
    assert scale == pytest.approx(3.0 * moves / 50.0)
    assert mechanism.event(query, public(), neighbours) == event


def test_multipliers_may_differ_per_agent() -> None:
    mechanism = Gaussian(np.array([1.0, 2.0]))
    events = [mechanism.event(clipped(), public(agent=i), Relation.REPLACE_ONE) for i in (0, 1)]
    assert events == [GaussianRelease(1.0), GaussianRelease(2.0)]


@pytest.mark.parametrize("mechanism", [Gaussian(0.0), Laplace(0.0), L2Laplace(0.0), NoNoise()])
def test_no_noise_is_not_private(mechanism: AbstractMechanism) -> None:
    query = Exact(lambda state, objective, context: state)
    assert mechanism.scale(query, public(), Relation.REPLACE_ONE) == 0.0
    assert mechanism.event(query, public(), Relation.REPLACE_ONE) == NonPrivate()


@pytest.mark.parametrize("ask", ["scale", "event"])
@pytest.mark.parametrize(
    ("mechanism", "order"),
    [(Gaussian(1.0), 1), (Laplace(1.0), 2), (L2Laplace(1.0), 1)],
    ids=["gaussian", "laplace", "l2-laplace"],
)
def test_noise_needs_a_clip_in_its_own_norm(
    ask: str, mechanism: AbstractMechanism, order: int
) -> None:
    with pytest.raises(PrivacyError, match=f"bounds l{order}"):
        getattr(mechanism, ask)(clipped(order), public(), Relation.REPLACE_ONE)


@pytest.mark.parametrize("ask", ["scale", "event"])
@pytest.mark.parametrize(
    "query", [clipped(clip=math.inf), Exact(lambda state, objective, context: state)]
)
def test_no_claim_without_a_finite_sensitivity(ask: str, query: object) -> None:
    with pytest.raises(PrivacyError, match="no finite sensitivity"):
        getattr(Gaussian(1.0), ask)(query, public(), Relation.REPLACE_ONE)


def test_sampling_is_claimed_under_add_remove_only() -> None:
    mechanism, query = Gaussian(2.0), clipped(rate=0.1)
    event = mechanism.event(query, public(), Relation.ADD_REMOVE)
    assert event == PoissonSampled(0.1, GaussianRelease(2.0))
    with pytest.raises(PrivacyError, match=r"rate 0\.1"):
        mechanism.event(query, public(), Relation.REPLACE_ONE)


def test_a_whole_cost_cannot_be_added_or_removed() -> None:
    with pytest.raises(PrivacyError, match="whole cost"):
        Gaussian(1.0).event(clipped(), public(Unit.AGENT), Relation.ADD_REMOVE)


def test_an_intrinsic_mechanism_states_its_claim_and_adds_nothing() -> None:
    claim = ModelClaim(GaussianRelease(4.0), "theorem", "normality", "it is assumed")
    mechanism = Intrinsic(claim)
    assert mechanism.event(clipped(), public(), Relation.REPLACE_ONE) is claim
    assert mechanism.scale(clipped(), public(), Relation.REPLACE_ONE) == 0.0
    assert mechanism.after(2.5, 0.0, KEY) == 2.5
    assert NoNoise().after(2.5, 0.0, KEY) == 2.5


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("mechanism", "law"), [(Gaussian(1.0), stats.norm), (Laplace(1.0), stats.laplace)]
)
def test_noise_follows_its_law(mechanism: AbstractMechanism, law: stats.rv_continuous) -> None:
    released = mechanism.after(jnp.full(20_000, 3.0), 0.5, KEY)
    found = stats.kstest(np.asarray(released), law(loc=3.0, scale=0.5).cdf)
    assert found.pvalue > 1e-4  # false alarm for one key in ten thousand; this key is fixed


@pytest.mark.usefixtures("float64")
def test_l2_laplace_noise_has_a_gamma_length_and_any_direction() -> None:
    size, scale = 3, 0.5
    keys = jax.random.split(KEY, 5000)
    mechanism, value = L2Laplace(1.0), jnp.arange(3.0)
    drawn = np.asarray(jax.vmap(lambda key: mechanism.after(value, scale, key))(keys) - value)
    lengths = np.linalg.norm(drawn, axis=1)
    assert stats.kstest(lengths, stats.gamma(size, scale=scale).cdf).pvalue > 1e-4
    # a coordinate of a uniform direction in three dimensions is uniform itself
    along = drawn[:, 0] / lengths
    assert stats.kstest(along, stats.uniform(-1.0, 2.0).cdf).pvalue > 1e-4
    # in one dimension it is Laplace noise
    one = jax.vmap(lambda key: mechanism.after(jnp.zeros(1), scale, key))(keys)[:, 0]
    assert stats.kstest(np.asarray(one), stats.laplace(scale=scale).cdf).pvalue > 1e-4


def test_l2_laplace_noise_is_not_stated_for_distances() -> None:
    with pytest.raises(PrivacyError, match="relation='metric'"):
        L2Laplace(1.0).event(clipped(), public(Unit.AGENT), Relation.METRIC)
