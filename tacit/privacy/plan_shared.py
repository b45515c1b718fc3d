"""Calculations for noise that several agents share: what gossip leaks, what masks save.

An observer of averaging on a graph sees less than one who reads every message; values added under
pairwise masks need less noise than values released one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from tacit import checks
from tacit.arguments import checked
from tacit.errors import PrivacyError
from tacit.privacy import accounting, caution
from tacit.privacy.caution import DELTA
from tacit.privacy.event import GaussianRelease
from tacit.privacy.guarantees import Guarantees
from tacit.privacy.masks import masked_multiplier, worst_masked_mu
from tacit.privacy.views import GossipNoise, check_rows, gossip_guarantees
from tacit.ranges import Count, Range, Whole

_PLANNED_DELTA = Annotated[float, Range(above=0.0, below=1.0)]


@dataclass(frozen=True)
class GossipPlan:
    """What gossip averaging reveals about each agent. Made with `plan_gossip`.

    Attributes:
        guarantee: guarantee against the observers, owner by owner: a model claim, because nothing
            enforces that they see no other messages.
        everybody: epsilon of every agent against an adversary who reads all messages; proved.
        noise: when the noise is added.
    """

    guarantee: Guarantees
    everybody: float
    noise: GossipNoise

    def __repr__(self) -> str:
        return (
            f"<GossipPlan with noise {self.noise.value}: {self.guarantee.brief()}; epsilon "
            f"{self.everybody:.4g} against everybody>"
        )

    @property
    def exposed(self) -> bool:
        """Whether distance hides nobody, because later messages give away everybody's noisy value:
        noise that is added once.
        """
        worst = self.guarantee.worst.epsilon
        once = self.noise is GossipNoise.ONCE
        return once and self.guarantee.equal and worst == self.everybody


@checked(PrivacyError, own="weights")
def plan_gossip(
    weights: Float[np.ndarray, "agents agents"],
    *,
    steps: Whole,
    noise_multiplier: Annotated[float, Range(above=0.0)],
    delta: _PLANNED_DELTA = DELTA,
    observers: Sequence[int] = (0,),
    fresh_noise: bool = False,
    large_delta: bool = False,
) -> GossipPlan:
    """What one agent, or several that pool what they see, learns from gossip averaging.

    Args:
        weights: weight matrix; row `i` holds the weights that agent `i` gives, including its own,
            as `tacit.network.weight_matrix` makes them.
        steps: number of averaging steps.
        noise_multiplier: standard deviation of an agent's Gaussian noise over the sensitivity of
            its value to one record, positive.
        delta: delta of the guarantee, in [1e-12, 1).
        observers: numbers of the observing agents.
        fresh_noise: add noise at every step, not only to the first message.
        large_delta: accept a delta of at least one over the number of agents.

    Raises:
        PrivacyError: an argument out of range, or nobody left to protect.

    Example:
        >>> plan = plan_gossip(np.full((4, 4), 0.25), steps=2, noise_multiplier=3.0)
        >>> round(plan.guarantee.worst.epsilon, 3), round(plan.everybody, 3), plan.exposed
        (1.448, 1.448, True)
    """
    given, weights = weights, np.asarray(weights)
    if weights.ndim != 2 or weights.dtype.kind not in "iuf":
        raise PrivacyError(
            f"weights is {checks.shown(given)}; give an array of numbers, one row and one column "
            "per agent: tacit.network.weight_matrix(graph) for a graph"
        )
    if weights.shape[0] != weights.shape[1]:
        raise PrivacyError(
            f"weights has shape {weights.shape}; it must be square, with one row and one column "
            "per agent"
        )
    check_rows(weights)
    if not large_delta:
        caution.check_delta(delta, len(weights), "agents", "or accept it by name (large_delta)")
    noise = GossipNoise.EVERY_STEP if fresh_noise else GossipNoise.ONCE
    found = gossip_guarantees(weights, steps, noise_multiplier, delta, observers, noise=noise)
    return GossipPlan(found, accounting.epsilon([GaussianRelease(noise_multiplier)], delta), noise)


class NoiseOfSum(NamedTuple):
    """One way to protect the values of a sum.

    Attributes:
        noise_multiplier: noise multiplier of every agent's noise.
        relative_variance: variance of the sum of all noises, over that of the single noise that a
            trusted curator would add.
    """

    noise_multiplier: float
    relative_variance: float


@dataclass(frozen=True)
class MasksPlan:
    """The noise of sums in three ways that cost the same. Made with `plan_masks`.

    Attributes:
        local: every agent hidden by its own noise alone.
        masked: pairwise masks, against the coalition.
        central: one noise for all.
        hidden_among: minimum number of agents that hide each other under the masks.
        warning: warning about a large epsilon; empty if there is none.
    """

    local: NoiseOfSum
    masked: NoiseOfSum
    central: NoiseOfSum
    hidden_among: int
    warning: str

    @property
    def bare(self) -> bool:
        """Whether the coalition can leave an agent with its own noise alone."""
        return self.hidden_among == 1


@checked(PrivacyError)
def plan_masks(
    pairs: Bool[np.ndarray, "agents agents"],
    *,
    epsilon: Annotated[float, Range(above=0.0)],
    rounds: Count,
    delta: _PLANNED_DELTA = DELTA,
    coalition: Whole = 1,
    absent: Whole = 0,
    attempts: Count | None = None,
    large_delta: bool = False,
) -> MasksPlan:
    """What pairwise masks save in sums of one value per agent, with Gaussian noise.

    Masks hold only if at most `coalition` agents pool what they know, each mask is used once, comes
    from a key that only two agents know and looks random to all others, and the records are
    queried at public values only.

    Args:
        pairs: pairs of agents that share a mask, as `tacit.network.adjacency_matrix` makes them.
        epsilon: budget of an owner for the whole run, positive.
        rounds: number of sums.
        delta: delta of the guarantee, in [1e-12, 1).
        coalition: number of agents that pool what they know of the masks.
        absent: number of other agents that may be missing from a sum.
        attempts: number of masked releases, including repeated rounds; by default one per round.
        large_delta: accept a delta of at least one over the number of agents.

    Raises:
        PrivacyError: an argument out of range, fewer attempts than rounds, or a coalition that
            leaves nobody.

    Example:
        >>> plan = plan_masks(~np.eye(10, dtype=bool), epsilon=1.0, rounds=300)
        >>> [round(way.relative_variance, 3) for way in (plan.local, plan.masked, plan.central)]
        [10.0, 1.111, 1.0]
    """
    agents, attempts = len(pairs), rounds if attempts is None else attempts
    if attempts < rounds:
        raise PrivacyError(f"attempts={attempts} must be at least rounds={rounds}: one per round")
    if not large_delta:
        caution.check_delta(delta, agents, "agents", "or accept it by name (large_delta)")
    learned = worst_masked_mu(pairs, coalition, absent=absent)

    def way(told: float, sums: int) -> NoiseOfSum:
        multiplier = masked_multiplier(epsilon, delta, sums, told)
        return NoiseOfSum(multiplier, agents * told**2 * sums / rounds)

    return MasksPlan(
        local=way(1.0, rounds),
        masked=way(learned, attempts),
        central=way(1.0 / math.sqrt(agents), rounds),
        hidden_among=round(1.0 / learned**2),
        warning=caution.warning(epsilon),
    )
