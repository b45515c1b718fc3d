"""Exact sums over a graph of peers, instead of a coordinator."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Literal, TypeAlias

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Int, PRNGKeyArray

from tacit.errors import NetworkError
from tacit.network.base import AbstractNetwork, Mixing
from tacit.network.graph import Graph
from tacit.network.relay import RelayCost, cost_of, flood_cost, polynomial_sum, tree_sum
from tacit.network.sequence import AbstractSequence, Periodic
from tacit.network.spread import spread

By: TypeAlias = Literal["flooding", "tree", "polynomial"]

RESIDUAL = 1e-9
"""Largest error of a polynomial's mean that is accepted, relative to the largest value."""

_WAYS = ("flooding", "tree", "polynomial")
_PROBES = 4


class ExactSum(AbstractNetwork):
    """Peers that compute each round's sum exactly, and so need no coordinator.

    In each round all messages to the server are relayed over the graph until every peer has their
    sum, and every peer takes the server's step itself: whatever that step draws is drawn from
    public randomness. To a method it is a `Coordinator` with every peer in every round, whose
    server receives sums and sends nothing. Three ways to sum:

    * "flooding": every peer passes on what is new to it; after as many phases as the diameter
      every peer has every message. The only way to get single messages, and for changing graphs.
    * "tree": partial sums up a tree and the total down again; needs the fewest messages.
    * "polynomial": averaging with one step size for each eigenvalue of the Laplacian; peers agree
      up to rounding, and whole numbers modulo 2^64 cannot be summed.

    Args:
        graph: undirected graph: a `Graph`; for flooding also a `Periodic` or `Recorded` sequence,
            one graph for each communication phase.
        by: way of computing sums.
        window: number of communication phases per round, for a sequence. Every message must reach
            every peer within every window.

    Attributes:
        costs: costs of the rounds, in order: one for all on a fixed graph, one per window of a
            period (it then starts again), or one per window that a record can serve.
        residual: for a polynomial, the measured rounding error of a mean, relative to the largest
            value; otherwise 0.

    Raises:
        NetworkError: a graph with directed links or drawn at random, a network with a coordinator,
            a sequence for a way other than flooding, a window that is missing or too short (names
            the first window that fails), or a polynomial whose rounding is not negligible.

    Example:
        >>> from tacit.network import ring
        >>> for way in ("flooding", "tree", "polynomial"):
        ...     print(ExactSum(ring(10), way).cost)
        RelayCost(phases=5, messages=100, largest=10)
        RelayCost(phases=10, messages=18, largest=2)
        RelayCost(phases=5, messages=100, largest=10)
    """

    agents: int = eqx.field(static=True)
    graph: AbstractNetwork
    by: By = eqx.field(static=True)
    window: int | None = eqx.field(static=True)
    costs: tuple[RelayCost, ...] = eqx.field(static=True)
    residual: float = eqx.field(static=True)
    receivers: Int[ArrayLike, " links"]
    senders: Int[ArrayLike, " links"]
    names: Sequence[Hashable] = eqx.field(static=True)
    kind: str = eqx.field(static=True)
    connectivity: str = eqx.field(static=True)
    varying: bool = eqx.field(static=True)
    directed: bool = eqx.field(static=True)
    coordinated: bool = eqx.field(static=True)

    def __init__(
        self, graph: AbstractNetwork, by: By = "flooding", window: int | None = None
    ) -> None:
        require_way(by)
        _require_fixed(graph, by)
        self.graph, self.by, self.window = graph, by, window
        self.residual = 0.0
        if isinstance(graph, AbstractSequence):
            self.costs = _of_windows(graph, window)
        elif window is not None:
            raise NetworkError(
                f"window={window} is for graphs that change; on one that stays the same a sum "
                "takes the phases that it needs, so leave it out"
            )
        else:
            self.costs, self.residual = _of_graph(graph, by)
        self.agents = graph.agents
        self.receivers = np.zeros(0, dtype=np.int32)
        self.senders = np.zeros(0, dtype=np.int32)
        self.names = graph.names
        self.kind = "exact sum"
        phases = "phase" if self.cost.phases == 1 else "phases"
        self.connectivity = (
            f"through exact sums in every round, by {by} over the {graph.kind} in "
            f"{self.cost.phases:,} {phases}"
        )
        self.varying = self.directed = False
        self.coordinated = True

    @property
    def cost(self) -> RelayCost:
        """Cost of one round; where rounds differ, the largest."""
        return RelayCost(
            max(cost.phases for cost in self.costs),
            max(cost.messages for cost in self.costs),
            max(cost.largest for cost in self.costs),
        )

    @property
    def exact_in_integers(self) -> bool:
        return self.by != "polynomial"

    @property
    def carrier(self) -> AbstractNetwork:
        """The graph between the peers."""
        return self.graph

    def carried(
        self, clients: Int[np.ndarray, " rounds"]
    ) -> tuple[Int[np.ndarray, " rounds"], Int[np.ndarray, " rounds"]]:
        """The messages relayed for a sum; there are none from a server."""
        messages = np.array([cost.messages for cost in self.costs], dtype=np.int64)
        return np.resize(messages, clients.shape), np.zeros_like(clients)

    def mixing(self, round: Int[ArrayLike, ""], public_key: PRNGKeyArray) -> Mixing:
        """No links between clients; every peer takes part."""
        return Mixing(
            active=np.zeros(0, dtype=bool),
            weight=np.zeros(0),
            self_weight=np.zeros(self.agents),
            participates=np.ones(self.agents, dtype=bool),
        )

    def neighbours(self) -> Int[Array, "agents slots"]:
        """An empty table: methods see sums only."""
        return jnp.zeros((self.agents, 0), dtype=jnp.int32)

    @property
    def degrees(self) -> Int[np.ndarray, " agents"]:
        """One for each peer: the sum."""
        return np.ones(self.agents, dtype=np.int64)

    def participations(self, rounds: int, public_key: PRNGKeyArray) -> Int[np.ndarray, " agents"]:
        """All rounds, for every peer.

        Raises:
            NetworkError: a record that ends too early, or a window of it in which not every message
                reaches every peer.
        """
        if self.window is not None and not isinstance(self.graph, Periodic):
            served = len(self.costs)
            if rounds > served:
                _require_window(self.graph, served, self.window, rounds)
        return np.full(self.agents, rounds)


def require_way(by: str) -> None:
    """Refuse a way to sum that does not exist.

    Raises:
        NetworkError: naming the ways that exist.
    """
    if by not in _WAYS:
        raise NetworkError(f"by={by!r} is not a way to sum; choose one of {', '.join(_WAYS)}")


def _require_fixed(graph: AbstractNetwork, by: str) -> None:
    """Refuse graphs over which no protocol here can sum."""
    name = type(graph).__name__
    if graph.coordinated:
        raise NetworkError(
            f"the server of a {name} has the sum already; give ExactSum a graph between peers"
        )
    if not isinstance(graph, Graph | AbstractSequence):
        raise NetworkError(
            f"ExactSum needs links that are known beforehand, and those of a {name} are drawn: no "
            "number of phases is certain to bring every message to every peer, and a sum without "
            "one is not exact; use a graph that stays the same, Periodic or Recorded"
        )
    if isinstance(graph, AbstractSequence) and by != "flooding":
        raise NetworkError(
            f"by={by!r} is made for one graph and its neighbours in all phases, and this one "
            "changes; use by='flooding'"
        )
    one_way = graph.directed
    if isinstance(graph, AbstractSequence) and not one_way:
        one_way = any(_one_way(graph, present) for present in np.asarray(graph.active))
    if one_way:
        raise NetworkError(
            "ExactSum needs undirected graphs, for what is sent over a link is answered over it, "
            "and a link here has no counterpart; add the missing ways back"
        )


def _one_way(graph: AbstractSequence, active: Bool[np.ndarray, " links"]) -> bool:
    there = np.zeros((graph.agents, graph.agents), dtype=bool)
    there[np.asarray(graph.receivers), np.asarray(graph.senders)] = active
    return not np.array_equal(there, there.T)


def _of_graph(graph: AbstractNetwork, by: str) -> tuple[tuple[RelayCost, ...], float]:
    """Cost and residual on a fixed graph."""
    assert isinstance(graph, Graph)
    if by == "flooding":
        return (flood_cost(graph.links),), 0.0
    if by == "tree":
        return (tree_sum(np.zeros((graph.agents, 0)), graph).cost,), 0.0
    probes = np.random.default_rng(0).standard_normal((graph.agents, _PROBES))
    found = polynomial_sum(probes, graph)
    error = np.abs(found.totals / graph.agents - probes.mean(axis=0))
    residual = float(error.max() / np.abs(probes).max())
    if not residual <= RESIDUAL:
        raise NetworkError(
            f"the polynomial of this graph, of degree {found.cost.phases}, turns rounding into an "
            f"error of {residual:.1e}; use by='tree' or by='flooding'"
        )
    return (found.cost,), residual


def _of_windows(graph: AbstractSequence, window: int | None) -> tuple[RelayCost, ...]:
    """The costs of the windows of a period, or of those that a record serves one after another."""
    steps = len(np.asarray(graph.active))
    if window is None or window < 1:
        raise NetworkError(
            f"window={window}, and on graphs that change a round takes a number of phases that all "
            "must know: give window=..., long enough for every message to reach everybody"
        )
    if isinstance(graph, Periodic):
        rounds = steps // math.gcd(steps, window)
        return tuple(_require_window(graph, round, window) for round in range(rounds))
    costs = [_require_window(graph, 0, window)]
    while (len(costs) + 1) * window <= steps:
        try:
            costs.append(_require_window(graph, len(costs), window))
        except NetworkError:
            break  # for longer runs
    return tuple(costs)


def _require_window(
    graph: AbstractNetwork, round: int, window: int, rounds: int | None = None
) -> RelayCost:
    """The cost of the phases of one round, in which every message must reach everybody."""
    assert isinstance(graph, AbstractSequence)
    active = np.asarray(graph.active)
    first, last = round * window, (round + 1) * window - 1
    if not isinstance(graph, Periodic) and last >= len(active):
        rounds = round + 1 if rounds is None else rounds
        raise NetworkError(
            f"rounds={rounds} with window={window} need {rounds * window} graphs, and the record "
            f"ends after {len(active)}; run fewer rounds, record more, or repeat it with Periodic"
        )
    phases = np.arange(first, last + 1) % len(active)
    found = spread(graph.links, active[phases])
    if found.missing is not None:
        origin, agent = (graph.names[number] for number in found.missing)
        raise NetworkError(
            f"the window of phases {first} to {last} is not connected: a message of agent "
            f"{origin!r} does not reach agent {agent!r} within it; lengthen window={window}"
        )
    cost = cost_of(found)
    return RelayCost(window, cost.messages, cost.largest)
