"""Networks that are redrawn in every round, from the public key."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, PRNGKeyArray, UInt32

from tacit.errors import NetworkError
from tacit.network.base import Mixing
from tacit.network.draws import as_probability, coins, count_participations, heads_of
from tacit.network.graph import Graph
from tacit.network.peers import AbstractPeerNetwork
from tacit.ranges import One


class RandomActivation(AbstractPeerNetwork):
    """Each agent is active with a probability, independently per round; links join active agents
    only.

    Activity follows from the public key and is known to all. The weights of a round are the
    Metropolis weights of the graph between the active agents; an inactive agent is not asked, sends
    nothing and keeps its state. As all know of it, methods run on it that need every message
    (`AbstractMethod.absences`), unless their `check` refuses it.

    Args:
        graph: undirected graph; its own weights are not used.
        probability: probability of being active, above 0 and at most 1.

    Raises:
        NetworkError: a directed graph, or an impossible probability.
    """

    probability: Float[ArrayLike, ""]
    _awake: UInt32[ArrayLike, ""]

    def __init__(self, graph: Graph, probability: One) -> None:
        _require_undirected(graph, "RandomActivation")
        self.probability = as_probability(probability, "probability")
        self._awake = heads_of(self.probability)
        super().__init__(graph.links, graph.kind, _connectivity(self.probability), varying=True)

    def mixing(self, round: Int[ArrayLike, ""], public_key: PRNGKeyArray) -> Mixing:
        """Metropolis weights between the agents that are active in this round."""
        awake = coins(public_key, round, np.arange(self.agents), self._awake)
        receivers, senders = jnp.asarray(self.receivers), jnp.asarray(self.senders)
        active = awake[receivers] & awake[senders]
        weight, self_weight = _metropolis(receivers, senders, active, self.agents)
        return Mixing(active, weight, self_weight, awake)

    def participations(self, rounds: int, public_key: PRNGKeyArray) -> Int[np.ndarray, " agents"]:
        """The rounds in which each agent is active."""
        return count_participations(self, rounds, public_key)


class LinkFailure(AbstractPeerNetwork):
    """Each undirected link fails with a probability, independently per round; all agents take part.

    Failures follow from the public key, so that both ends and their neighbours know of them: the
    Metropolis weights of the remaining links stay doubly stochastic. A lost message that the others
    do not know of would break that.

    Args:
        graph: undirected graph; its own weights are not used.
        probability: probability of a failure, at least 0 and below 1.

    Attributes:
        edges: number of the undirected edge that each link belongs to, shape `(links,)`.
        survival: probability that a link does not fail.

    Raises:
        NetworkError: a directed graph, or an impossible probability.
    """

    edges: Int[ArrayLike, " links"]
    survival: Float[ArrayLike, ""]
    _survive: UInt32[ArrayLike, ""]

    def __init__(self, graph: Graph, probability: One) -> None:
        _require_undirected(graph, "LinkFailure")
        failure = np.asarray(probability, dtype=np.float64)
        if failure.ndim or not 0.0 <= failure < 1.0:
            raise NetworkError(f"probability={probability} must be at least 0 and below 1")
        self.survival = np.asarray(1.0 - failure)
        self._survive = heads_of(self.survival)
        super().__init__(graph.links, graph.kind, _connectivity(self.survival), varying=True)
        ends = np.sort(np.stack([graph.links.receivers, graph.links.senders]), axis=0)
        keys = ends[0].astype(np.int64) * graph.agents + ends[1]
        self.edges = np.unique(keys, return_inverse=True)[1].astype(np.int32)

    def mixing(self, round: Int[ArrayLike, ""], public_key: PRNGKeyArray) -> Mixing:
        """Metropolis weights on the links that have not failed in this round."""
        edges = jnp.asarray(self.edges)
        active = coins(public_key, round, np.arange(edges.size // 2), self._survive)[edges]
        receivers, senders = jnp.asarray(self.receivers), jnp.asarray(self.senders)
        weight, self_weight = _metropolis(receivers, senders, active, self.agents)
        return Mixing(active, weight, self_weight, jnp.ones(self.agents, dtype=bool))

    def participations(self, rounds: int, public_key: PRNGKeyArray) -> Int[np.ndarray, " agents"]:
        """All rounds, for every agent."""
        return np.full(self.agents, rounds)


def _metropolis(
    receivers: Int[Array, " links"],
    senders: Int[Array, " links"],
    active: Bool[Array, " links"],
    agents: int,
) -> tuple[Float[Array, " links"], Float[Array, " agents"]]:
    """Metropolis weights of the active links alone, as in `tacit.network.weights.metropolis`."""

    def received(values: Float[Array, " links"]) -> Float[Array, " agents"]:
        return jax.ops.segment_sum(values, receivers, agents, indices_are_sorted=True)

    degrees = received(active.astype(float))
    largest = jnp.maximum(degrees[receivers], degrees[senders])
    weight = jnp.where(active, 1.0 / (1.0 + largest), 0.0)
    return weight, 1.0 - received(weight)


def _require_undirected(graph: Graph, network: str) -> None:
    if graph.directed:
        raise NetworkError(
            f"{network} needs an undirected graph: what is left of a directed one in a round has "
            "in general no doubly stochastic weights; add the missing ways back, or use Periodic"
        )


def _connectivity(probability: Float[np.ndarray, ""]) -> str:
    if probability == 1.0:
        return "connected in every round"
    return (
        "connected in expectation, and jointly over the rounds with probability 1 "
        "(the graph of all links is connected); single rounds may fall apart"
    )
