"""Masked gossip: noise shared by pairs of agents hides gradients, and cancels in the mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, cast

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from tacit import checks
from tacit.errors import ConfigError, NetworkError, PrivacyError
from tacit.method._oracle import gradient_query
from tacit.method._schedule import decayed, tail_average
from tacit.method.phase import AbstractMethod, Phase
from tacit.method.rounds import Rounds
from tacit.network.base import AbstractNetwork
from tacit.network.graph import Graph
from tacit.network.relay import averaging_eigenvalues
from tacit.privacy.budget import Privacy
from tacit.privacy.correlated import PairMasks, PairNoise, Pairs
from tacit.privacy.laws import NoiseKind
from tacit.privacy.mechanism import Release
from tacit.problem.task import Task
from tacit.ranges import NotNegativeOne, PositiveOne
from tacit.types import Context, Inbox, Index, Oracle, Role, Vector


class Gossiped(eqx.Module):
    """Iterate, and the answer: its mean over the last rounds, then averaged over the agents."""

    x: Vector
    answer: Vector


def _shared(by: Any) -> Any:
    """The masks as a word or as pairs of agents' numbers, each once."""
    if isinstance(by, str) and by in ("all", "neighbours"):
        return by
    given = checks.shown(by)
    if isinstance(by, Graph):
        by = zip(np.asarray(by.senders).tolist(), np.asarray(by.receivers).tolist(), strict=True)
    try:
        pairs = {(min(i, j), max(i, j)) for i, j in by}
    except (TypeError, ValueError):
        pairs = {("", "")}
    if not all(isinstance(number, int) for pair in pairs for number in pair) or by == b"":
        raise ConfigError(
            f"masks={given} must be 'all', 'neighbours', a graph, or pairs of agents' numbers"
        )
    return tuple(sorted(pairs))


class MaskedGossip(AbstractMethod):
    """Gossip of gradients whose Gaussian masks cancel in the mean of all agents.

    In round `t < T - m`, `g_i` the mean of per-record gradients clipped to norm `C`, and `n_ij` a
    mask that the agents `i` and `j` share, drawn anew, which one adds and the other subtracts:

        Y_i = g_i(x_i) + z_i + sum_j e_ij n_ij,   z_i ~ N(0, s^2 I),   n_ij ~ N(0, r^2 s^2 I)
        y_i <- prox[ x_i - s_t Y_i ]                                               -> neighbours
        x_i <- sum_j W_ij y_j

    The masks cancel in the mean, but gossip leaves them in the agents' iterates. So in the last `m`
    rounds there are no queries. With the distinct nonzero eigenvalues `l_1 .. l_m` of the network's
    Laplacian, these steps end in the mean of all:

        x_i <- x_i - (1 / l_k) sum_(j ~ i) (x_i - x_j)

    The noise in the mean is nearly as small as if one trusted party had drawn it: with `K` agents
    and a coalition of `c`, `(1 + excess) K / (K - c)` times that variance. A set or an l1 penalty
    distorts masks before they cancel: this reduces accuracy, but not privacy.

    Source: Allouah et al. (2024), The Privacy Power of Correlated Noise in Decentralized Learning,
    algorithm 1; Sabater, Bellet, Ramon (2022), algorithm 1. The method is the first paper's DECOR,
    masks are the second's; the averaging: `network.relay.polynomial_sum`. Deviations: masks need
    not follow the links; noise is accounted exactly, for the worst coalition; at the end
    the agents average, by default the mean of the second half of their iterates.

    What leaves: iterates that are functions of all `Y_i`. Theorem: docs/proofs/masks.md, if all
    agents follow the protocol, which nothing enforces; status model, also between sites, where
    noise and masks are drawn on a grid.

    Args:
        step: first step size, positive.
        decay: exponent of the step size `step / (t + 1)^decay` in round t, at least 0.
        coalition: largest number `c` of agents that pool what they know.
        excess: extra variance of the mean, as a share of that under ever larger masks, positive.
        ratio: ratio `r` of the masks to the noise, positive, in place of the one `excess` implies.
        masks: pairs that share masks: "all" agents, "neighbours", or pairs of agents' numbers.
        average: answer with the mean of the second half of the iterates instead of the last.
        privacy: budget, clip and relation.

    Raises:
        ConfigError: `step` out of its range.
        PrivacyError: noise other than Gaussian, masks of another kind, or records of one person at
            several sites; in a run, masks that amount to local noise.

    Example:
        >>> from tacit.method import MaskedGossip
        >>> from tacit.network import ring
        >>> from tacit.privacy import Privacy
        >>> method = MaskedGossip(step=0.5, privacy=Privacy(clip=1.0, epsilon=1.0)).on(ring(10))
        >>> method.closing, [(phase.name, phase.rounds.words) for phase in method.phases()]
        (5, [('iterate', 'every round but the last ones'), ('average', 'the last rounds')])
    """

    name: ClassVar[str] = "masked-gossip"
    when: ClassVar[str] = (
        "peers trust each other to follow the protocol, the links never change, and the noise of "
        "dpsg is too much"
    )
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"step": 0.5})
    oracle: ClassVar[Oracle] = Oracle.GRADIENT
    step: PositiveOne
    privacy: Privacy = eqx.field(kw_only=True)
    decay: NotNegativeOne = 0.0
    coalition: int = eqx.field(static=True, default=1)
    excess: float = eqx.field(static=True, default=0.1)
    ratio: float | None = eqx.field(static=True, default=None)
    masks: Literal["all", "neighbours"] | Pairs = eqx.field(
        static=True, default="all", converter=_shared
    )
    average: bool = eqx.field(static=True, default=True)
    eigenvalues: Any = eqx.field(init=False, default_factory=lambda: None)

    def __check_init__(self) -> None:
        self.check_budget()
        if self.privacy.noise is not NoiseKind.GAUSSIAN:
            raise PrivacyError(
                f"noise={self.privacy.noise.value!r} does not go with Gaussian masks: there is no "
                "rule for what both together hide; use noise='gaussian'"
            )
        if self.privacy.hides.together:
            raise PrivacyError(
                "privacy.masks are uniform masks for exact sums, and masked-gossip has Gaussian "
                "masks of its own; leave them out, and give the method coalition=..."
            )
        self._pairs()

    def init(self, role: Role, x0: Vector, degree: Index) -> Gossiped:
        return Gossiped(x0, x0)

    def phases(self) -> tuple[Phase, ...]:
        query, plain = gradient_query(self.privacy)
        noise = replace(plain.mechanism, hides=PairNoise(self._pairs()))
        last = self.closing or 2  # the number follows from the network; without one, any will do
        return (
            Phase(
                name="iterate",
                sender=Role.PEER,
                query=query,
                release=Release("masked clipped gradient", noise, plain.relation),
                message=self.descend,
                receiver=Role.PEER,
                update=self.mix,
                rounds=Rounds(0, -last),
            ),
            Phase(
                name="average",
                sender=Role.PEER,
                message=lambda state, released, context: (state, state.answer),
                receiver=Role.PEER,
                update=self.settle,
                rounds=Rounds(-last),
            ),
        )

    def descend(
        self, state: Gossiped, released: Vector, context: Context
    ) -> tuple[Gossiped, Vector]:
        step = decayed(self.step, self.decay, context.round)
        y = context.public.descend(state.x, released, step)
        return Gossiped(y, state.answer), y

    def mix(self, state: Gossiped, inbox: Inbox, context: Context) -> Gossiped:
        x = inbox.self_weight * state.x + inbox.mixed
        if not self.average:
            return Gossiped(x, x)
        return Gossiped(x, tail_average(state.answer, x, context, self.closing))

    def settle(self, state: Gossiped, inbox: Inbox, context: Context) -> Gossiped:
        k = context.round - (context.rounds - self.closing)
        apart = inbox.degree * state.answer - inbox.total
        return Gossiped(state.x, state.answer - apart / jnp.asarray(self.eigenvalues)[k])

    def solution(self, state: Gossiped) -> Vector:
        return state.answer

    @property
    def closing(self) -> int:
        """`m`, the number of final averaging rounds; 0 before the network is known."""
        return 0 if self.eigenvalues is None else len(self.eigenvalues)

    def on(self, network: AbstractNetwork) -> MaskedGossip:
        """The method with the masks of neighbours, and the eigenvalues for exact averaging."""
        placed = replace(self, masks=network) if self.masks == "neighbours" else self
        values = averaging_eigenvalues(cast(Graph, network))  # too many agents are refused here
        placed._pairs().learned(network.agents)  # and masks that hide nobody here
        return eqx.tree_at(lambda m: m.eigenvalues, placed, values, is_leaf=lambda v: v is None)

    def check(self, problem: Task, network: AbstractNetwork) -> None:
        if not isinstance(network, Graph) or network.directed:
            raise NetworkError(
                "MaskedGossip needs undirected links that are the same in every round: with who is "
                "absent its masks would stay in the mean, and the last rounds average exactly"
            )

    def _pairs(self) -> PairMasks:
        # the neighbours are known only on a network
        words: dict[Any, Pairs | None] = {"all": None, "neighbours": ()}
        pairs = words[self.masks] if isinstance(self.masks, str) else self.masks
        return PairMasks(self.coalition, self.excess, self.ratio, pairs)
