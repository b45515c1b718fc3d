"""What an audit sees of noise that pairs of agents share: as much as the claim says."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import network
from tacit.audit.neighbours import given, replace_record
from tacit.audit.transcript import Likelihood, Pair, gather, observer
from tacit.method import MaskedGossip, Phase
from tacit.privacy import masked_mu
from tacit.privacy.correlated import PairMasks, PairNoise, worst_coalitions
from tacit.privacy.laws import GAUSSIAN
from tests.laid_out import lay_out
from tests.quick import only
from tests.unit.audit.test_transcript import AGENTS, budget, scores, task

pytestmark = pytest.mark.usefixtures("float64")

RING, OWNER, ROUNDS, TRIALS = network.ring(AGENTS), 1, 8, 4000
CASES: dict[str, dict[str, Any]] = {
    "all pairs": {},
    "outsiders": {"coalition": 0},
    "neighbours": {"masks": "neighbours"},
    "two": {"coalition": 2, "ratio": 1.0},
}


def method(**options: Any) -> MaskedGossip:
    return MaskedGossip(step=0.1, privacy=budget(), **options)


@pytest.mark.long
@pytest.mark.parametrize("name", only({"neighbours"}, CASES))
def test_what_is_learned_is_what_is_claimed(name: str) -> None:
    plan, roots, _ = lay_out(task(), RING, method(**CASES[name]), ROUNDS, 0, TRIALS)
    pair = Pair.of(plan.method.worst_case(task(), OWNER))
    plan = eqx.tree_at(lambda p: p.objectives, plan, pair.objectives)
    observe = observer(plan.method, pair, ROUNDS)
    assert isinstance(observe, Likelihood)
    found = gather(plan, observe, roots)[:, 0]
    hides = plan.method.phases()[0].hides
    assert isinstance(hides, PairNoise)
    released = ROUNDS - plan.method.closing
    mu = hides.masks.learned(AGENTS) / 3.0 * np.sqrt(released)
    # of two normal laws mu apart; false alarms 6e-7 each
    assert found.mean() == pytest.approx(mu**2 / 2.0, abs=5.0 * mu / np.sqrt(TRIALS))
    assert found.std() == pytest.approx(mu, rel=5.0 / np.sqrt(2.0 * TRIALS))


@pytest.mark.long
def test_what_others_answer_is_taken_off() -> None:
    pair = given(task(), replace_record(task(), OWNER, 0, target=-40.0), OWNER, 1)
    for other, sign in ((False, -1.0), (True, 1.0)):
        found = scores(method(), RING, TRIALS, pair, other=other)[:, 0]
        assert found.std() > 0.1
        # 1 on average, as of any likelihood ratio; false alarm 6e-7
        weights = np.exp(sign * found)
        assert weights.mean() == pytest.approx(1.0, abs=5 * weights.std() / np.sqrt(TRIALS))


@pytest.mark.parametrize("pairs", [None, tuple((i, (i + 1) % 7) for i in range(7))])
@pytest.mark.parametrize("coalition", [pytest.param(0, marks=pytest.mark.long), 1])
def test_the_worst_coalition_is_found(pairs: Any, coalition: int) -> None:
    masks = PairMasks(coalition, ratio=2.0, pairs=pairs)
    worst = worst_coalitions(masks, 7)
    graph = masks.graph(7)
    for owner in range(7):
        against = np.flatnonzero(worst.corrupted[owner])
        assert len(against) == coalition and owner not in against
        found = masked_mu(graph, against.tolist(), 2.0)[owner]
        assert 1.0 / worst.spread[owner] == pytest.approx(found, rel=1e-12)
    assert 1.0 / worst.spread.min() == pytest.approx(masks.learned(7), rel=1e-12)


FORGETFUL = dataclasses.replace(GAUSSIAN, sample=lambda key, like: jnp.zeros_like(like))
"""Draws no noise of its own, so that masks are all."""


class Broken(MaskedGossip):
    """Masked gossip with a programming error."""

    def phases(self) -> tuple[Phase, ...]:
        first, second = super().phases()
        assert first.release is not None
        forgetful = dataclasses.replace(first.release.mechanism, law=FORGETFUL)
        release = dataclasses.replace(first.release, mechanism=forgetful)
        return dataclasses.replace(first, release=release), second


@pytest.mark.slow
def test_an_audit_says_what_it_weighs_and_finds_an_error() -> None:
    settings: Any = {"rounds": 5, "trials": 2000, "seed": 0}
    sound = tacit.audit_method(task(), RING, method(coalition=0), **settings)
    assert not sound.refuted and sound.exact
    assert sound.weighed() == (
        "what all releases say of the owner's to an outsider, under the masks, is weighed by its "
        "exact likelihood ratio"
    )
    two = dataclasses.replace(sound, claim=dataclasses.replace(sound.claim, coalition=2))
    assert "to a coalition of 2, under the masks" in two.weighed()
    one = dataclasses.replace(sound, claim=dataclasses.replace(sound.claim, coalition=1))
    assert "to one of the others, under the masks" in one.weighed()
    broken = Broken(step=0.1, coalition=0, privacy=budget())
    assert tacit.audit_method(task(), RING, broken, **settings).refuted
