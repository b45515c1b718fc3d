"""Gaussian masks: noise of which pairs of agents share a part that cancels in the sum.

Agent `i` releases `Y_i = v_i + z_i + sum_j e_ij n_ij`, `e_ij = -e_ji` in `{-1, 1}`, with noise
`z_i ~ N(0, s^2 I)` of its own and masks `n_ij ~ N(0, r^2 s^2 I)` that it shares with `j`. These
need no exactly computed sum, so agents may gossip with what they release. Nobody checks that an
agent draws the noise that it should, so the guarantee is a model. Between sites `noise.pairs` draws
it on a grid.

Source: Sabater, Bellet, Ramon (2022), algorithm 1; Allouah et al. (2024), algorithm 1. They are
known as GOPA and DECOR.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, TypeAlias, final

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from tacit.arguments import checked
from tacit.errors import PrivacyError
from tacit.privacy.event import Event, Masked, ProtocolClaim
from tacit.privacy.hiding import AbstractHiding, View
from tacit.privacy.masked import with_noise_of
from tacit.privacy.masks import mask_ratio, masked_mu, worst_masked_mu
from tacit.types import Index, PublicContext

Pairs: TypeAlias = tuple[tuple[int, int], ...]
"""Pairs of agent numbers."""

MOST_PAIRS = 20_000
"""Maximum number of masks drawn per round; all pairs of 200 agents are 19,900."""

MOST_DRAWN = 2**15
"""More than the agents and the masks of a round together."""

KEYS = (
    "keys that two agents agree on by X25519 and HKDF-SHA256 look random to all others, and so do "
    "streams of AES-256 under HMAC-SHA256",
    "every agent has compared the other agents' signing keys with their owners",
)
"""What masks rest on between sites, besides agents that follow the protocol."""

_ALONE = 1.0 - 1e-9
"""What a coalition learns about an agent that has only its own noise, up to rounding."""


@checked(PrivacyError)
@dataclass(frozen=True)
class PairMasks:
    """Who shares Gaussian masks with whom, how large they are, and how many agents may collude.

    Attributes:
        coalition: `c`, maximum number of agents that pool what they know, at least 0. The default 1
            covers every agent that is curious by itself.
        excess: relative increase of `mu^2` over masks of unlimited size, positive: 0.1 for a tenth
            more variance in the mean. It determines `ratio` if that is not given.
        ratio: `r`, standard deviation of a mask over that of an agent's own noise, positive.
        pairs: pairs of the numbers of agents that share a mask; all pairs if `None`.

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
            PrivacyError: no pairs, too many pairs, numbers that are not those of agents, or an
                agent paired with itself.
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
            raise PrivacyError(
                f"masks: {pair} is not a pair of different agents; there are {agents}, from 0"
            )
        if len(pairs) > MOST_PAIRS:
            raise PrivacyError(
                f"masks: {agents} agents have {len(pairs):,} pairs, and a simulation draws masks "
                f"for {MOST_PAIRS:,} at most; let each agent share masks with fewer others, such "
                "as its neighbours in the network: masks='neighbours' (up to 250 agents if the "
                "coalition is 1)"
            )
        return pairs

    def graph(self, agents: int) -> Bool[np.ndarray, "agents agents"]:
        """Adjacency matrix: row `i` shows with whom agent `i` shares a mask."""
        pairs = self.among(agents)
        found = np.zeros((agents, agents), dtype=bool)
        found[pairs[:, 0], pairs[:, 1]] = found[pairs[:, 1], pairs[:, 0]] = True
        return found

    def size(self, agents: int) -> float:
        """`r`: as given, or the smallest that costs no more than `excess`."""
        return _size(self, agents)

    def learned(self, agents: int) -> float:
        """What the worst coalition learns about an agent, relative to own noise alone.

        Raises:
            PrivacyError: some agent is hidden only by its own noise, so that masks are useless.
        """
        return _learned(self, agents)


class Worst(NamedTuple):
    """The coalition that learns most about each owner, and how it weighs what it sees.

    Attributes:
        corrupted: membership matrix; row `i` is the coalition against agent `i`.
        weights: matrix whose row `i` holds `P_ij / P_ii` for the honest agents `j`, else 0.
        spread: vector of `1 / sqrt(P_ii)`, for own noise of scale 1.
    """

    corrupted: Bool[np.ndarray, "agents agents"]
    weights: Float[np.ndarray, "agents agents"]
    spread: Float[np.ndarray, " agents"]


@final
@checked(PrivacyError)
@dataclass(frozen=True)
class PairNoise(AbstractHiding):
    """Releases `v + z + sum_j e_ij n_ij`: own Gaussian noise, and masks that pairs share.

    With `z ~ N(0, s^2 I)` and `n_ij ~ N(0, r^2 s^2 I)`, `s = noise_multiplier * D`, equal at all
    agents, the noise of all is `N(0, s^2 (I + r^2 L))`, `L` the Laplacian of the mask graph. If all
    agents follow the protocol, an adversary who reads every release and knows what `c` agents know
    learns as much as from one Gaussian release with `mu = worst_masked_mu / noise_multiplier`.
    Proof: docs/proofs/masks.md.

    Attributes:
        masks: who shares masks with whom, and how many agents may collude.
    """

    masks: PairMasks = PairMasks()
    prefix: ClassVar[str] = "Correlated"
    words: ClassVar[str] = ", and masks that pairs of agents share"
    together: ClassVar[bool] = True
    shares: ClassVar[bool] = True

    def pairs(self, agents: int) -> Int[np.ndarray, "pairs 2"]:
        return self.masks.among(agents)

    def share(self, drawn: Array, agents: int) -> Array:
        return self.masks.size(agents) * drawn

    def covariance(self, agents: int) -> Float[np.ndarray, "agents agents"]:
        graph = self.masks.graph(agents).astype(float)
        laplacian = np.diag(graph.sum(axis=1)) - graph
        return np.eye(agents) + self.masks.size(agents) ** 2 * laplacian

    def view(
        self, agent: Index, awake: Bool[Array, " agents"], scales: Float[Array, " agents"]
    ) -> View:
        """What the noise of the other honest agents reveals about this one's.

        The coalition subtracts the masks that it knows and, since it knows all other data, the
        answers of the other honest agents. Their noises are correlated with this one's (`N(0, S)`,
        docs/proofs/masks.md), so they reveal a part of it: `sum_j P_ij w_j / P_ii`, `P = S^-1`, is
        the answer with noise of variance `1 / P_ii`, and nothing else reveals more.
        """
        agents = len(awake)
        worst, (first, second) = worst_coalitions(self.masks, agents), self.pairs(agents).T
        corrupted, weights = jnp.asarray(worst.corrupted)[agent], jnp.asarray(worst.weights)[agent]
        known = weights[first] * corrupted[second] - weights[second] * corrupted[first]
        scale = scales[agent]
        known = self.masks.size(agents) * scale * known
        return View(weights, known, scale * jnp.asarray(worst.spread)[agent])

    def check_run(self, method: Any, network: Any) -> None:
        privacy = method.privacy
        if privacy is not None and privacy.sites_per_person > 1:
            raise PrivacyError(
                f"sites_per_person={privacy.sites_per_person} does not go with Gaussian masks: "
                "what a person has at several sites moves the mean together, and no rule for that "
                "is proved here; leave it at 1, or take local noise (dpsg)"
            )
        phases = [phase for phase in method.phases() if phase.hides.shares]
        other = next((p for p in phases if p.hides.masks.pairs != self.masks.pairs), None)
        if other is not None:
            raise PrivacyError(
                f"the masks of phase {other.name!r} are shared by other pairs of agents than those "
                "of another phase, and an agent has one key a pair for the whole run; give all "
                "phases the same PairMasks(pairs=...)"
            )

    def event(self, own: Event, public: PublicContext) -> Event:
        coalition, agents = self.masks.coalition, public.agents
        released = with_noise_of(own, 1.0 / self.masks.learned(agents))
        return ProtocolClaim(
            event=Masked(released, coalition, agents),
            theorem="Gaussian masks that cancel in the sum, docs/proofs/masks.md",
            assumption="all agents follow the protocol, two agents alone know each mask, and "
            + _pooled(coalition),
            reason="nothing enforces that agents draw the masks and noise that they should, or "
            "keep them to themselves",
        )


@lru_cache(maxsize=32)
def worst_coalitions(masks: PairMasks, agents: int) -> Worst:
    """Which coalition learns most about each agent; the first of several."""
    graph, size = masks.graph(agents), masks.size(agents)
    corrupted = np.zeros((agents, agents), dtype=bool)
    weights, spread = np.zeros((agents, agents)), np.zeros(agents)
    for owner in range(agents):
        others = np.roll(np.arange(agents), -owner)[1:].tolist()
        # if every pair shares a mask, all coalitions are alike
        tried = combinations(others[: masks.coalition] if masks.pairs is None else others,
                             masks.coalition)  # fmt: skip
        coalition = max(tried, key=lambda some: masked_mu(graph, some, size)[owner])
        corrupted[owner, list(coalition)] = True
        honest = np.flatnonzero(~corrupted[owner])
        among = graph[np.ix_(honest, honest)].astype(float)
        laplacian = np.diag(among.sum(axis=1)) - among
        row = np.linalg.inv(np.eye(len(honest)) + size**2 * laplacian)[honest == owner][0]
        weights[owner, honest] = row / row[honest == owner]
        spread[owner] = 1.0 / np.sqrt(row[honest == owner][0])
    return Worst(corrupted, weights, spread)


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
