"""Gaussian masks: noise of which pairs of agents share a part, and which cancels in the sum.

Agent `i` releases `Y_i = v_i + z_i + sum_j e_ij n_ij`, `e_ij = -e_ji` in `{-1, 1}`, with noise
`z_i ~ N(0, s^2 I)` of its own and masks `n_ij ~ N(0, r^2 s^2 I)` that it shares with `j`. They need
no sum that is computed exactly, so agents may gossip with what they release. Nobody checks that an
agent draws what it should, so what they promise is a model.

Source: Sabater, Bellet, Ramon (2022), algorithm 1; Allouah et al. (2024), algorithm 1. They are
known as GOPA and DECOR.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, TypeAlias, final

import numpy as np
from jaxtyping import Array, Bool, Int

from tacit.arguments import checked
from tacit.errors import PrivacyError
from tacit.privacy.event import Event, Masked, ModelClaim
from tacit.privacy.hiding import AbstractHiding
from tacit.privacy.masked import with_noise_of
from tacit.privacy.masks import mask_ratio, worst_masked_mu
from tacit.types import PublicContext

Pairs: TypeAlias = tuple[tuple[int, int], ...]
"""Pairs of agents' numbers."""

MOST_PAIRS = 20_000
"""So many masks are drawn a round at most; all pairs of 200 agents are 19,900."""

_ALONE = 1.0 - 1e-9
"""What a coalition learns of an agent that has its own noise only, up to rounding."""


@checked(PrivacyError)
@dataclass(frozen=True)
class PairMasks:
    """Who shares Gaussian masks with whom, how large they are, and how many agents may collude.

    Attributes:
        coalition: `c`, how many agents may pool what they know, at least 0. The default 1 covers
            every agent that is curious by itself.
        excess: how much more `mu^2` may be than with masks of any size, as a share, positive: .1
            for a tenth more variance in the mean. It decides `ratio` where that is left out.
        ratio: `r`, standard deviation of a mask over that of an agent's own noise, positive.
        pairs: numbers of the agents that share a mask; all pairs if `None`.

    Raises:
        PrivacyError: a number out of range.

    Example:
        >>> masks = PairMasks(coalition=1)
        >>> round(masks.size(agents=10), 3), round(10 * masks.learned(agents=10) ** 2, 3)
        (2.981, 1.221)
    """

    coalition: int = 1
    excess: float = 0.1
    ratio: float | None = None
    pairs: Pairs | None = None

    def __post_init__(self) -> None:
        if self.coalition < 0 or self.coalition != int(self.coalition):
            raise PrivacyError(f"masks: coalition={self.coalition!r} must be at least 0")
        for name in ("excess", "ratio"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < float("inf"):
                raise PrivacyError(f"masks: {name}={value!r} must be positive and finite")

    def among(self, agents: int) -> Int[np.ndarray, "pairs 2"]:
        """The pairs that share a mask, each once, the smaller number first.

        Raises:
            PrivacyError: no pairs, too many, numbers that are no agent's, or an agent paired with
                itself.
        """
        if self.pairs == ():
            raise PrivacyError(
                "masks: no two agents share one. Who the neighbours are follows from the network: "
                "take method.on(network)"
            )
        if self.pairs is None:
            pairs = np.stack(np.triu_indices(agents, 1), axis=1)
        else:
            pairs = np.unique(np.sort(np.array(self.pairs).reshape(-1, 2), axis=1), axis=0)
        wrong = (pairs < 0) | (pairs >= agents) | (pairs[:, :1] == pairs[:, 1:])
        if wrong.any():
            pair = tuple(pairs[wrong.any(axis=1)][0].tolist())
            raise PrivacyError(f"masks: {pair} are no two of {agents} agents, numbered from 0")
        if len(pairs) > MOST_PAIRS:
            raise PrivacyError(
                f"masks: {agents} agents have {len(pairs):,} pairs, and a simulation draws masks "
                f"for {MOST_PAIRS:,} at most; let each agent share masks with fewer others"
            )
        return pairs

    def graph(self, agents: int) -> Bool[np.ndarray, "agents agents"]:
        """Row `i`: with whom agent `i` shares a mask."""
        pairs = self.among(agents)
        found = np.zeros((agents, agents), dtype=bool)
        found[pairs[:, 0], pairs[:, 1]] = found[pairs[:, 1], pairs[:, 0]] = True
        return found

    def size(self, agents: int) -> float:
        """`r`: as given, or the least that costs no more than `excess`."""
        return _size(self, agents)

    def learned(self, agents: int) -> float:
        """What the worst coalition learns of an agent, in multiples of what its noise would tell.

        Raises:
            PrivacyError: nothing but its own noise hides some agent, so that masks are of no use.
        """
        return _learned(self, agents)


@final
@checked(PrivacyError)
@dataclass(frozen=True)
class PairNoise(AbstractHiding):
    """Releases `v + z + sum_j e_ij n_ij`: own Gaussian noise, and masks that pairs share.

    With `z ~ N(0, s^2 I)` and `n_ij ~ N(0, r^2 s^2 I)`, `s = noise_multiplier * D`, equal at all
    agents, the noise of all is `N(0, s^2 (I + r^2 L))`, `L` the Laplacian of the mask graph. If all
    agents follow the protocol, whoever reads every release and knows what `c` agents know learns
    as much as from one Gaussian release with `mu = worst_masked_mu / noise_multiplier`. Proof:
    docs/proofs/masks.md.

    Attributes:
        masks: who shares them, and how many may collude.
    """

    masks: PairMasks = PairMasks()
    prefix: ClassVar[str] = "Correlated"
    words: ClassVar[str] = ", and masks that pairs of agents share"
    together: ClassVar[bool] = True

    def share(self, mask: Array, agents: int) -> Array:
        """What an agent's masks add to its noise, both of scale 1.

        Args:
            mask: `sum_j e_ij n_ij / (r s)`.
            agents: how many there are.
        """
        return self.masks.size(agents) * mask

    def event(self, own: Event, public: PublicContext) -> Event:
        coalition, agents = self.masks.coalition, public.agents
        released = with_noise_of(own, 1.0 / self.masks.learned(agents))
        return ModelClaim(
            event=Masked(released, coalition, agents),
            theorem="Gaussian masks that cancel in the sum, docs/proofs/masks.md",
            assumption="all agents follow the protocol, two agents alone know each mask, and "
            + _pooled(coalition),
            reason="nothing enforces that agents draw the masks and noise that they should, or "
            "keep them to themselves",
        )


def _pooled(coalition: int) -> str:
    match coalition:
        case 0:
            return "none of them tells anybody what it knows"
        case 1:
            return "none of them tells another what it knows"
        case _:
            return f"at most {coalition} of them pool what they know"


@lru_cache(maxsize=256)
def _size(masks: PairMasks, agents: int) -> float:
    if masks.ratio is not None:
        return masks.ratio
    return mask_ratio(masks.graph(agents), masks.coalition, masks.excess)


@lru_cache(maxsize=256)
def _learned(masks: PairMasks, agents: int) -> float:
    found = worst_masked_mu(masks.graph(agents), masks.coalition, masks.size(agents))
    if found > _ALONE:
        raise PrivacyError(
            f"masks equal local noise here: a coalition of {masks.coalition} can know every mask "
            "of some agent, which then has its own noise only. Let it share masks with more "
            "agents (all pairs do), declare a smaller coalition, or take local noise (dpsg)"
        )
    return found
