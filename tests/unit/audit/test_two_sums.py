"""What an audit sees of two sums of unequal cost, one of them asked in the last round only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import numpy as np
import pytest

from tacit.audit.deployed import deployed_checks
from tacit.audit.noise import simulated_checks
from tacit.audit.transcript import Likelihood, Pair, gather, observer
from tacit.method import Phase
from tacit.network import Coordinator
from tacit.privacy import GAUSSIAN, Masks, Mechanism, Privacy
from tests.laid_out import lay_out
from tests.two_sums import AGENTS, TwoSums, task

pytestmark = pytest.mark.usefixtures("float64")

HUB, OWNER, ROUNDS, TRIALS = Coordinator(AGENTS), 1, 3, 4000


def budget(**options: Any) -> Privacy:
    return Privacy(clip=1.0, noise_multiplier=3.0, masks=Masks(1), **options)


@pytest.mark.long
def test_what_is_learned_of_both_sums_is_what_is_claimed() -> None:
    plan, roots, agreed = lay_out(task(), HUB, TwoSums(privacy=budget()), ROUNDS, 0, TRIALS)
    pair = Pair.of(plan.method.worst_case(task(), OWNER))
    plan = eqx.tree_at(lambda p: p.objectives, plan, pair.objectives)
    observe = observer(plan.method, pair, ROUNDS)
    assert isinstance(observe, Likelihood)
    found = gather(plan, observe, roots)[:, 0]
    shares = [each.count / each.event.event.noise_multiplier**2 for each in agreed.events[OWNER]]
    assert len(shares) == 2 and shares[1] > shares[0]  # the last sum costs more than the others
    mu = np.sqrt(sum(shares))
    # of two normal laws mu apart; false alarms 6e-7 each
    assert found.mean() == pytest.approx(mu**2 / 2.0, abs=5.0 * mu / np.sqrt(TRIALS))
    assert found.std() == pytest.approx(mu, rel=5.0 / np.sqrt(2.0 * TRIALS))


class HalfAtLast(TwoSums):
    """The last sum has half of the noise that it says."""

    def phases(self) -> tuple[Phase, ...]:
        *before, last = super().phases()
        assert last.release is not None
        law = replace(GAUSSIAN, sample=lambda key, like: 0.5 * GAUSSIAN.sample(key, like))
        kept = last.release.mechanism
        mechanism = Mechanism(law, kept.dose, kept.hides)
        return (*before, replace(last, release=replace(last.release, mechanism=mechanism)))


@pytest.mark.slow
@pytest.mark.parametrize("build", [TwoSums, HalfAtLast])
def test_too_little_noise_in_the_last_round_of_a_long_run_is_found(build: type[TwoSums]) -> None:
    with jax.enable_x64(True):
        plan, _, agreed = lay_out(task(), HUB, build(privacy=budget()), 60, 0)
        found = simulated_checks(plan, agreed.owners, task().names, 0, proved=True)
    assert {check.of for check in found} >= {"noise of 'slopes'", "answers of 'slopes'"}
    wrong = {check.of for check in found if check.failed}
    assert wrong == ({"noise of 'slopes'"} if build is HalfAtLast else set())


def test_sites_draw_both_noises_and_no_mask_twice() -> None:
    found = deployed_checks(task(), HUB, TwoSums(privacy=budget()), ROUNDS, 0)
    noises = {check.of for check in found if check.of.startswith("noise")}
    assert len(noises) == 2 and not any(check.failed for check in found)
    assert sum(check.of == "masks between sites" for check in found) == 3
