"""What an audit sees under masks: the sum over the honest agents, with the noise that they drew."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import numpy as np
import pytest
from scipy import stats

import tacit
from tacit import GradientDescent, network
from tacit._engine.exact import ExactEngine
from tacit.audit import scaled
from tacit.audit.curve import is_gaussian
from tacit.audit.family import with_noise
from tacit.audit.neighbours import given, replace_record
from tacit.audit.transcript import Features, Pair, gather, observer
from tacit.method import FedAvg, Phase
from tacit.network import Coordinator, ExactSum
from tacit.privacy import GAUSSIAN, GaussianRelease, Masked, Masks, PoissonSampled, Repeated
from tests.laid_out import lay_out
from tests.quick import only
from tests.unit.audit.test_transcript import AGENTS, RECORDS, ROUNDS, budget, scores, task

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("float64")]

OWNER, TRIALS = 1, 4000  # the owner of `scores`
HUB = Coordinator(AGENTS)
STEP = 2.0 / RECORDS  # by which the worst record moves a gradient, either way


def method(coalition: int = 1, **changes: Any) -> GradientDescent:
    return GradientDescent(step=0.1, privacy=budget(masks=Masks(coalition), **changes))


@pytest.mark.parametrize("coalition", only({"1"}, [0, 1, 2]))
def test_the_ratio_is_that_of_what_the_honest_released(coalition: int) -> None:
    plan, roots, _ = lay_out(task(), HUB, method(coalition), ROUNDS, 0, 2)
    pair = Pair.of(plan.method.worst_case(task(), OWNER))
    plan = eqx.tree_at(lambda p: p.objectives, plan, pair.objectives)
    transcript: Any = {}
    engine = ExactEngine(plan, roots, transcript=transcript)
    engine.advance(engine.start(), np.array([[0, ROUNDS]]))
    # the agents after the owner are corrupted; the others' losses are 0, so all they say is noise
    honest = [(OWNER - behind) % AGENTS for behind in range(AGENTS - coalition)]
    mean = np.array([STEP, 0.0, 0.0])
    scale = 3.0 * 2.0 * STEP * np.sqrt(len(honest))
    expected = []
    for chosen in range(2):
        sums = np.zeros((ROUNDS, 3))
        for (trial, round, _, _, agent), value in transcript.items():
            if trial == chosen and agent in honest:
                sums[round] += np.asarray(value)
        laws = [stats.norm.logpdf(sums, sign * mean, scale).sum() for sign in (1.0, -1.0)]
        expected.append(laws[0] - laws[1])
    np.testing.assert_allclose(scores(method(coalition), HUB, 2)[:, 0], expected, rtol=1e-9)


CASES: dict[str, tuple[Any, Any]] = {
    "gradients": (method(), HUB),
    "gradients, sites of their own": (method(clip=np.array([1.0, 2.0, 0.5, 1.0])), HUB),
    "whole updates": (FedAvg(step=0.1, release="update", privacy=budget(masks=Masks())), HUB),
    "between peers": (method(coalition=2), ExactSum(network.ring(AGENTS), by="tree")),
}


@pytest.mark.parametrize("name", only({"gradients"}, CASES))
def test_what_others_answer_is_taken_off(name: str) -> None:
    chosen, net = CASES[name]
    pair = given(task(), replace_record(task(), OWNER, 0, target=-40.0), OWNER, 1)
    for other, sign in ((False, -1.0), (True, 1.0)):
        found = scores(chosen, net, TRIALS, pair, other=other)[:, 0]
        assert found.std() > 0.1
        # 1 on average, as of any likelihood ratio; false alarm 6e-7
        weights = np.exp(sign * found)
        assert weights.mean() == pytest.approx(1.0, abs=5 * weights.std() / np.sqrt(TRIALS))


def test_a_round_without_enough_is_not_read_nor_a_sum_that_is_given_up() -> None:
    hub = Coordinator(AGENTS, dropout=0.3)
    masked = GradientDescent(step=0.1, privacy=budget(masks=Masks(1, min_cohort=3)))
    plan, _, agreed = lay_out(task(), hub, masked, ROUNDS, 0, 1)
    there = np.array([np.asarray(plan.mixing(t).participates) for t in range(ROUNDS)])
    alone = there[:, OWNER]
    # the coalition is agent 2, whether it is there or not
    honest = there.sum(axis=1) - there[:, OWNER + 1]
    claimed = agreed.owners.contexts[OWNER].participations / (9.0 * 2.0)
    learned = np.sum(1.0 / (9.0 * honest[alone]))
    assert 0 < alone.sum() < ROUNDS and len(set(honest[alone])) > 1
    assert learned < 0.8 * claimed
    found = scores(masked, hub, TRIALS)[:, 0]
    assert found.mean() == pytest.approx(learned / 2.0, abs=5 * found.std() / np.sqrt(TRIALS))
    assert found.std() == pytest.approx(np.sqrt(learned), rel=0.06)


def test_features_are_those_of_the_sum_too() -> None:
    changes = {"relation": "add_remove", "sampling": 0.5}
    data = task(normaliser=5.0)
    pair = given(data, replace_record(data, OWNER, 0, target=9.0), OWNER, 1)
    spread = []
    for masks in (None, Masks(1)):
        chosen = GradientDescent(step=0.1, privacy=budget(**changes, masks=masks))
        plan, roots, _ = lay_out(data, HUB, chosen, 1, 0, TRIALS)
        observe = observer(plan.method, Pair.of(pair), 1)
        assert isinstance(observe, Features)
        rows = gather(plan, observe, roots)
        # that of the noise, of which the sample's is a small part
        spread.append(rows.std(axis=0))
    np.testing.assert_allclose(spread[1] / spread[0], np.sqrt(AGENTS - 1), rtol=0.08)


def test_releases_are_told_through_the_masks() -> None:
    event = Masked(GaussianRelease(6.0), 1, 10)
    assert is_gaussian([Repeated(event, 4)])
    sampled = Masked(PoissonSampled(0.5, GaussianRelease(6.0)), 1, 10)
    assert not is_gaussian([sampled])
    assert with_noise(sampled, 2.0) == Masked(PoissonSampled(0.5, GaussianRelease(12.0)), 1, 10)
    assert scaled([sampled]) is not None


HALF = dataclasses.replace(GAUSSIAN, sample=lambda key, like: GAUSSIAN.sample(key, like) / 2.0)
"""Draws half of the noise that it is accounted as."""


class Broken(GradientDescent):
    """Gradient descent with a programming error."""

    def phases(self) -> tuple[Phase, ...]:
        first, second = super().phases()
        assert second.release is not None and self.privacy is not None
        noise = dataclasses.replace(second.release.mechanism, law=HALF)
        release = dataclasses.replace(second.release, mechanism=noise)
        return first, dataclasses.replace(second, release=release)


@pytest.mark.slow
def test_an_audit_says_what_it_weighs() -> None:
    settings: Any = {"rounds": 3, "trials": 2000, "seed": 0}
    sound = tacit.audit_method(task(), HUB, method(), **settings)
    assert not sound.refuted and sound.exact
    assert 0.65 * sound.claim.epsilon < sound.best.epsilon
    assert sound.weighed() == (
        "what masks leave to be read, the sums over all agents but one, which looks on, is weighed "
        "by its exact likelihood ratio"
    )
    two, none = (
        dataclasses.replace(sound, claim=dataclasses.replace(sound.claim, coalition=each))
        for each in (2, 0)
    )
    assert "all agents but 2, which look on, is weighed" in two.weighed()
    assert "over all agents, is weighed" in none.weighed()
    assert "may be one of the agents" in sound.claim.sentence()
    alone = tacit.audit_method(task(), HUB, GradientDescent(step=0.1, privacy=budget()), **settings)
    assert alone.weighed() == (
        "everything that the owner releases is weighed by its exact likelihood ratio"
    )
    learned = dataclasses.replace(alone, exact=False)
    assert learned.weighed() == (
        "how to weigh everything that the owner releases is learned from half of the runs"
    )
    broken = tacit.audit_method(
        task(), HUB, Broken(step=0.1, privacy=budget(masks=Masks())), **settings
    )
    assert broken.refuted
