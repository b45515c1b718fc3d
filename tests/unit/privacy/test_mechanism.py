"""Mechanisms: scale, event and noise belong together."""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from tacit.errors import PrivacyError
from tacit.privacy.correlated import PairNoise
from tacit.privacy.dose import AbstractDose, Calibrated
from tacit.privacy.event import (
    GaussianRelease,
    LaplaceRelease,
    ModelClaim,
    NonPrivate,
    PoissonSampled,
)
from tacit.privacy.hiding import AbstractHiding
from tacit.privacy.laws import GAUSSIAN, LAWS
from tacit.privacy.masked import SecureSum
from tacit.privacy.mechanism import NO_NOISE, Into, Mechanism, gaussian, l2_laplace, laplace
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
        (gaussian(3.0), 2, GaussianRelease(3.0)),
        (laplace(3.0), 1, LaplaceRelease(3.0)),
        (l2_laplace(3.0), 2, LaplaceRelease(3.0)),
    ],
)
@pytest.mark.parametrize(("relation", "moves"), [("replace_one", 2.0), ("add_remove", 1.0)])
def test_scale_is_multiplier_times_sensitivity(
    mechanism: Mechanism, order: int, event: object, relation: str, moves: float
) -> None:
    query, neighbours = clipped(order), Relation(relation)
    scale = mechanism.scale(query, public(), neighbours)
    assert scale == pytest.approx(3.0 * moves / 50.0)
    assert mechanism.event(query, public(), neighbours) == event


def test_multipliers_may_differ_per_agent() -> None:
    mechanism = gaussian(np.array([1.0, 2.0]))
    events = [mechanism.event(clipped(), public(agent=i), Relation.REPLACE_ONE) for i in (0, 1)]
    assert events == [GaussianRelease(1.0), GaussianRelease(2.0)]


@pytest.mark.parametrize("mechanism", [gaussian(0.0), laplace(0.0), l2_laplace(0.0), NO_NOISE])
def test_no_noise_is_not_private(mechanism: Mechanism) -> None:
    query = Exact(lambda state, objective, context: state)
    assert mechanism.scale(query, public(), Relation.REPLACE_ONE) == 0.0
    assert mechanism.event(query, public(), Relation.REPLACE_ONE) == NonPrivate()


@pytest.mark.parametrize("ask", ["scale", "event"])
@pytest.mark.parametrize(
    ("mechanism", "order"),
    [(gaussian(1.0), 1), (laplace(1.0), 2), (l2_laplace(1.0), 1)],
    ids=["gaussian", "laplace", "l2-laplace"],
)
def test_noise_needs_a_clip_in_its_own_norm(ask: str, mechanism: Mechanism, order: int) -> None:
    with pytest.raises(PrivacyError, match=f"bounds l{order}"):
        getattr(mechanism, ask)(clipped(order), public(), Relation.REPLACE_ONE)


@pytest.mark.parametrize("ask", ["scale", "event"])
@pytest.mark.parametrize(
    "query", [clipped(clip=math.inf), Exact(lambda state, objective, context: state)]
)
def test_no_claim_without_a_finite_sensitivity(ask: str, query: object) -> None:
    with pytest.raises(PrivacyError, match="no finite sensitivity"):
        getattr(gaussian(1.0), ask)(query, public(), Relation.REPLACE_ONE)


def test_sampling_is_claimed_under_add_remove_only() -> None:
    mechanism, query = gaussian(2.0), clipped(rate=0.1)
    event = mechanism.event(query, public(), Relation.ADD_REMOVE)
    assert event == PoissonSampled(0.1, GaussianRelease(2.0))
    with pytest.raises(PrivacyError, match=r"rate 0\.1"):
        mechanism.event(query, public(), Relation.REPLACE_ONE)


def test_a_whole_cost_cannot_be_added_or_removed() -> None:
    with pytest.raises(PrivacyError, match="whole cost"):
        gaussian(1.0).event(clipped(), public(Unit.AGENT), Relation.ADD_REMOVE)


def test_an_intrinsic_mechanism_states_its_claim_and_adds_nothing() -> None:
    claim = ModelClaim(GaussianRelease(4.0), "theorem", "normality", "it is assumed")
    mechanism = Mechanism(claim=claim, into=Into.NOWHERE)
    assert mechanism.event(clipped(), public(), Relation.REPLACE_ONE) is claim
    assert mechanism.scale(clipped(), public(), Relation.REPLACE_ONE) == 0.0
    assert mechanism.add(2.5, 0.0, KEY) == 2.5
    assert NO_NOISE.add(2.5, 0.0, KEY) == 2.5


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("mechanism", "law"), [(gaussian(1.0), stats.norm), (laplace(1.0), stats.laplace)]
)
def test_noise_follows_its_law(mechanism: Mechanism, law: stats.rv_continuous) -> None:
    released = mechanism.add(jnp.full(20_000, 3.0), 0.5, KEY)
    found = stats.kstest(np.asarray(released), law(loc=3.0, scale=0.5).cdf)
    assert found.pvalue > 1e-4  # false alarm for one key in ten thousand; this key is fixed


@pytest.mark.usefixtures("float64")
def test_l2_laplace_noise_has_a_gamma_length_and_any_direction() -> None:
    size, scale = 3, 0.5
    keys = jax.random.split(KEY, 5000)
    mechanism, value = l2_laplace(1.0), jnp.arange(3.0)
    drawn = np.asarray(jax.vmap(lambda key: mechanism.add(value, scale, key))(keys) - value)
    lengths = np.linalg.norm(drawn, axis=1)
    assert stats.kstest(lengths, stats.gamma(size, scale=scale).cdf).pvalue > 1e-4
    # a coordinate of a uniform direction in three dimensions is uniform itself
    along = drawn[:, 0] / lengths
    assert stats.kstest(along, stats.uniform(-1.0, 2.0).cdf).pvalue > 1e-4
    # in one dimension it is Laplace noise
    one = jax.vmap(lambda key: mechanism.add(jnp.zeros(1), scale, key))(keys)[:, 0]
    assert stats.kstest(np.asarray(one), stats.laplace(scale=scale).cdf).pvalue > 1e-4


def test_l2_laplace_noise_is_not_stated_for_distances() -> None:
    with pytest.raises(PrivacyError, match="relation='metric'"):
        l2_laplace(1.0).event(clipped(), public(Unit.AGENT), Relation.METRIC)


def test_no_class_is_derived_from_a_mechanism() -> None:
    with pytest.raises(TypeError, match="derived from Mechanism"):
        type("Quiet", (Mechanism,), {"add": lambda self, answer, *rest: answer})


def test_a_law_that_is_not_ours_is_a_model() -> None:
    quiet = dataclasses.replace(GAUSSIAN, sample=lambda key, like: jnp.zeros_like(like))
    event = Mechanism(quiet, Calibrated(3.0)).event(clipped(), public(), Relation.REPLACE_ONE)
    assert isinstance(event, ModelClaim) and event.event == GaussianRelease(3.0)
    for law in LAWS.values():
        proved = Mechanism(law, Calibrated(3.0))
        query = clipped(law.order)
        assert not isinstance(proved.event(query, public(), Relation.REPLACE_ONE), ModelClaim)


class Told(AbstractDose):
    """States ten times the noise that it has."""

    def scale(self, law: object, query: object, public: object, relation: object) -> float:
        return 1.0

    def multiplier(self, query: object, public: object, relation: object) -> float:
        return 10.0


class Hidden(AbstractHiding):
    """Hides nobody, and says that it does."""

    def event(self, own: object, public: object) -> NonPrivate:
        return NonPrivate()


CLAIM = ModelClaim(GaussianRelease(4.0), "theorem", "normality", "it is assumed")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"law": GAUSSIAN}, "give the law of the noise and its size"),
        ({"dose": Calibrated(1.0)}, "give the law of the noise and its size"),
        ({"law": GAUSSIAN, "dose": Told()}, "dose=Told without a claim"),
        ({"law": GAUSSIAN, "dose": Calibrated(1.0), "into": Into.OBJECTIVE}, "nothing is proved"),
        ({"law": GAUSSIAN, "dose": Calibrated(1.0), "hides": Hidden()}, "hides=Hidden"),
        ({"claim": CLAIM, "into": Into.OBJECTIVE}, "no noise goes into the objective"),
        ({"claim": CLAIM, "hides": SecureSum()}, "a claim speaks of a release by itself"),
    ],
)
def test_parts_that_would_state_more_than_is_proved_are_refused(
    parts: dict[str, Any], message: str
) -> None:
    with pytest.raises(PrivacyError, match=message):
        Mechanism(**parts)


def test_a_published_dose_is_as_large_as_it_says_and_claimed_as_it_says() -> None:
    mechanism = Mechanism(GAUSSIAN, Told(), claim=CLAIM)
    assert mechanism.scale(clipped(), public(), Relation.REPLACE_ONE) == 1.0
    event = mechanism.event(clipped(), public(), Relation.REPLACE_ONE)
    assert event == dataclasses.replace(CLAIM, event=GaussianRelease(10.0))


def test_mechanisms_are_named_by_their_parts() -> None:
    named = [
        (gaussian(1.0), "Gaussian"),
        (laplace(1.0), "Laplace"),
        (l2_laplace(1.0), "L2Laplace"),
        (NO_NOISE, "NoNoise"),
        (Mechanism(claim=CLAIM, into=Into.NOWHERE), "Intrinsic"),
        (Mechanism(GAUSSIAN, Told(), claim=CLAIM), "ClaimedGaussian"),
        (Mechanism(GAUSSIAN, Calibrated(1.0), SecureSum()), "MaskedGaussian"),
        (Mechanism(GAUSSIAN, Calibrated(1.0), PairNoise()), "CorrelatedGaussian"),
        (Mechanism(GAUSSIAN, Calibrated(1.0, lambda t, rounds: 1.0 + t)), "VaryingGaussian"),
    ]
    assert [mechanism.name for mechanism, _ in named] == [name for _, name in named]


def test_rounds_may_have_noise_of_their_own_size() -> None:
    mechanism = Mechanism(GAUSSIAN, Calibrated(3.0, lambda t, rounds: 1.0 + t / rounds))
    later = dataclasses.replace(public(), round=5)
    assert mechanism.varying
    assert mechanism.scale(clipped(), later, Relation.REPLACE_ONE) == 1.5 * (3.0 * (2.0 / 50.0))
    assert mechanism.event(clipped(), later, Relation.REPLACE_ONE) == GaussianRelease(4.5)
