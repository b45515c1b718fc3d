"""Gaussian masks that pairs share: what they cost, how large they are, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.errors import PrivacyError, UnsupportedEvent
from tacit.privacy import accounting
from tacit.privacy.correlated import MOST_PAIRS, PairMasks, PairNoise
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    Event,
    GaussianRelease,
    Masked,
    ModelClaim,
    NonPrivate,
    PoissonSampled,
    ProtocolClaim,
    Repeated,
    on_grid,
)
from tacit.privacy.mechanism import gaussian
from tacit.privacy.sensitivity import ClippedGradient
from tacit.types import PublicContext, Relation, Unit

QUERY = ClippedGradient(lambda state: state.x, 1.0)


def circulant(agents: int, *steps: int) -> tuple[tuple[int, int], ...]:
    return tuple((agent, (agent + step) % agents) for agent in range(agents) for step in steps)


def event(
    masks: PairMasks,
    agents: int,
    multiplier: float = 2.0,
    query: ClippedGradient = QUERY,
    relation: Relation = Relation.REPLACE_ONE,
) -> Event:
    public = PublicContext(0, agents, 0, 5, 100, 100.0, Unit.RECORD, 2, 5)
    mechanism = replace(gaussian(multiplier), hides=PairNoise(masks))
    return mechanism.event(query, public, relation)


def effective(masks: PairMasks, agents: int) -> float:
    found = event(masks, agents)
    assert isinstance(found, ModelClaim) and isinstance(found.event, Masked)
    assert isinstance(found.event.event, GaussianRelease)
    return found.event.event.noise_multiplier


SIZES = [0.1, 1.0, 3.0, 40.0]


@pytest.mark.parametrize("ratio", SIZES)
@pytest.mark.parametrize("coalition", [0, 1, 4])
@pytest.mark.parametrize("agents", [6, 10, 25])
def test_all_pairs_have_their_closed_form(agents: int, coalition: int, ratio: float) -> None:
    honest = agents - coalition
    square = (1.0 + (honest - 1) / (1.0 + honest * ratio**2)) / honest
    found = effective(PairMasks(coalition, ratio=ratio), agents)
    assert found == pytest.approx(2.0 / math.sqrt(square), rel=1e-10)


@pytest.mark.parametrize("ratio", SIZES)
@pytest.mark.parametrize("agents", [5, 10, 25])
def test_rings_have_their_closed_form(agents: int, ratio: float) -> None:
    angle = math.acosh(1.0 + 1.0 / (2.0 * ratio**2))
    square = 1.0 / (math.tanh(agents * angle / 2.0) * 2.0 * ratio**2 * math.sinh(angle))
    found = effective(PairMasks(0, ratio=ratio, pairs=circulant(agents, 1)), agents)
    assert found == pytest.approx(2.0 / math.sqrt(square), rel=1e-10)


@pytest.mark.parametrize("ratio", SIZES)
def test_circulants_have_their_closed_form(ratio: float) -> None:
    angle = 2.0 * np.pi * np.arange(10) / 10
    waves = 4.0 - 2.0 * np.cos(angle) - 2.0 * np.cos(2.0 * angle)
    square = float(np.mean(1.0 / (1.0 + ratio**2 * waves)))
    found = effective(PairMasks(0, ratio=ratio, pairs=circulant(10, 1, 2)), 10)
    assert found == pytest.approx(2.0 / math.sqrt(square), rel=1e-10)


COSTS = {
    "ring": (circulant(10, 1), [1.10, 1.22]),
    "4 others": (circulant(10, 1, 2), [1.10, 1.22, 1.375, 1.57]),
    "all": (None, [1.10, 1.22, 1.375, 1.57, 1.83]),
}


@pytest.mark.parametrize("pairs", COSTS)
def test_the_size_of_masks_keeps_what_they_cost(pairs: str) -> None:
    """Variance of the mean over that of one noise for all, ten agents, a tenth in excess."""
    shared, costs = COSTS[pairs]
    for coalition, cost in enumerate(costs):
        masks = PairMasks(coalition, pairs=shared)
        found = 10.0 * masks.learned(10) ** 2
        assert found <= 1.1 * 10.0 / (10.0 - coalition)
        assert found == pytest.approx(cost, rel=0.01)


def test_an_agent_that_a_coalition_can_cut_off_is_refused() -> None:
    ring, regular = circulant(10, 1), circulant(10, 1, 2)
    for masks in (PairMasks(2, pairs=ring), PairMasks(4, pairs=regular), PairMasks(9)):
        with pytest.raises(PrivacyError, match="equal local noise"):
            event(masks, 10)
    # whatever their size is
    with pytest.raises(PrivacyError, match="equal local noise"):
        event(PairMasks(2, ratio=1e6, pairs=ring), 10)
    with pytest.raises(PrivacyError, match="leave none of 10 agents"):
        event(PairMasks(10), 10)


def test_the_claim_says_what_it_rests_on() -> None:
    found = event(PairMasks(2), 10)
    assert isinstance(found, ModelClaim) and isinstance(found.event, Masked)
    assert (found.event.coalition, found.event.cohort) == (2, 10)
    assert "docs/proofs/masks.md" in found.theorem
    assert "all agents follow the protocol" in found.assumption
    assert "at most 2 of them pool what they know" in found.assumption
    assert found.reason.startswith("nothing enforces that")
    one, none = event(PairMasks(1), 10), event(PairMasks(0), 10)
    assert isinstance(one, ModelClaim) and isinstance(none, ModelClaim)
    assert one.assumption.endswith("none of them tells another what it knows")
    assert none.assumption.endswith("none of them tells anybody what it knows")


def test_accountants_look_through_the_claim_and_a_grid_keeps_it() -> None:
    masks = PairMasks(1)
    plain = GaussianRelease(2.0 / masks.learned(10))
    claimed = accounting.epsilon([Repeated(event(masks, 10), 7)], 1e-6)
    assert claimed == accounting.epsilon([Repeated(plain, 7)], 1e-6)
    found, real = on_grid(event(masks, 10)), event(masks, 10)
    assert isinstance(found, ProtocolClaim) and isinstance(real, ProtocolClaim)
    discrete = DiscreteGaussianRelease(2.0 / masks.learned(10))
    assert found == replace(real, event=Masked(discrete, 1, 10))
    # a claim of another kind has no such form, whatever it is about
    plain_claim = ModelClaim(real.event, real.theorem, real.assumption, real.reason)
    with pytest.raises(UnsupportedEvent, match="model claim has no secure form"):
        on_grid(plain_claim)


def test_a_sample_of_the_records_stays_a_sample() -> None:
    query = ClippedGradient(lambda state: state.x, 1.0, rate=0.5)
    found = event(PairMasks(0), 10, query=query, relation=Relation.ADD_REMOVE)
    assert isinstance(found, ModelClaim)
    released = GaussianRelease(2.0 / PairMasks(0).learned(10))
    assert found.event == Masked(PoissonSampled(0.5, released), 0, 10)


def test_without_noise_nothing_is_hidden() -> None:
    assert event(PairMasks(), 10, multiplier=0.0) == NonPrivate()


def test_pairs_are_those_given_once_each() -> None:
    masks = PairMasks(0, pairs=((2, 0), (0, 2), (0, 1)))
    assert masks.among(3).tolist() == [[0, 1], [0, 2]]
    assert masks.graph(3).tolist() == [
        [False, True, True],
        [True, False, False],
        [True, False, False],
    ]
    assert PairMasks().among(4).tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]


@pytest.mark.parametrize(
    ("masks", "agents", "told"),
    [
        (PairMasks(pairs=((0, 3),)), 3, r"masks: \(0, 3\) .* there are 3"),
        (PairMasks(pairs=((-1, 1),)), 3, r"masks: \(-1, 1\) "),
        (PairMasks(pairs=((1, 1),)), 3, r"masks: \(1, 1\) "),
        (PairMasks(pairs=()), 3, "no two agents share one"),
        (PairMasks(), 201, "201 agents have 20,100 pairs"),
    ],
)
def test_pairs_that_cannot_be_are_refused(masks: PairMasks, agents: int, told: str) -> None:
    with pytest.raises(PrivacyError, match=told):
        masks.among(agents)


def test_all_pairs_of_200_agents_are_taken() -> None:
    assert len(PairMasks().among(200)) == 19_900 <= MOST_PAIRS


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"coalition": -1}, "coalition=-1"),
        ({"excess": 0.0}, "excess=0.0"),
        ({"ratio": -1.0}, "ratio=-1.0"),
        ({"ratio": math.inf}, "ratio=inf"),
        ({"ratio": math.nan}, "ratio=nan"),
    ],
)
def test_numbers_out_of_range_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(PrivacyError, match=told):
        PairMasks(**changes)


def test_noise_without_masks_is_never_drawn() -> None:
    hides, key = PairNoise(), jax.random.key(0)
    noise, answer = replace(gaussian(2.0), hides=hides), np.zeros(3)
    with pytest.raises(TypeError, match="the runtime must draw it"):
        noise.add(answer, 1.0, key)
    with pytest.raises(TypeError, match="shared noise of shape"):
        noise.add(answer, 1.0, key, hides.share(jnp.zeros(()), 10))
    bare = noise.add(answer, 2.0, key, hides.share(jnp.zeros(3), 10))
    hidden = noise.add(answer, 2.0, key, hides.share(jnp.ones(3), 10))
    np.testing.assert_allclose(hidden - bare, 2.0 * PairMasks().size(10), rtol=1e-5)
