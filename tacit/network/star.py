"""A coordinator and its clients."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, PRNGKeyArray

from tacit.errors import NetworkError
from tacit.network.base import AbstractNetwork, Mixing
from tacit.network.draws import as_probability, coins, count_participations


class Coordinator(AbstractNetwork):
    """A server that talks to every client; clients do not talk to each other.

    Args:
        agents: how many clients (at least 1), or their names.
        probability: with which a client takes part in a round, independently of the others, drawn
            from the public key; above 0 and at most 1. `None`: all take part in every round.

    Raises:
        NetworkError: no client, a name twice, or an impossible probability.

    Example:
        >>> Coordinator(4).client_weight.tolist()
        [0.25, 0.25, 0.25, 0.25]
    """

    agents: int = eqx.field(static=True)
    probability: Float[ArrayLike, ""] | None
    receivers: Int[ArrayLike, " links"]
    senders: Int[ArrayLike, " links"]
    names: Sequence[Hashable] = eqx.field(static=True)
    kind: str = eqx.field(static=True)
    connectivity: str = eqx.field(static=True)
    varying: bool = eqx.field(static=True)
    directed: bool = eqx.field(static=True)
    coordinated: bool = eqx.field(static=True)

    def __init__(
        self, agents: int | Sequence[Hashable], probability: float | np.ndarray | None = None
    ) -> None:
        names = range(agents) if isinstance(agents, int) else tuple(agents)
        if not len(names):
            raise NetworkError(f"a coordinator needs at least 1 client, and agents={agents!r}")
        if len(set(names)) < len(names):
            raise NetworkError(f"client names must differ, and {list(names)} has one twice")
        self.agents = len(names)
        self.probability = (
            None if probability is None else as_probability(probability, "probability")
        )
        self.receivers = np.zeros(0, dtype=np.int32)
        self.senders = np.zeros(0, dtype=np.int32)
        self.names = names
        self.kind = "coordinator"
        self.connectivity = (
            "through the coordinator in every round"
            if probability is None
            else "through the coordinator, with the clients drawn in each round"
        )
        self.varying = probability is not None
        self.directed = False
        self.coordinated = True

    def mixing(self, round: Int[ArrayLike, ""], public_key: PRNGKeyArray) -> Mixing:
        """No peer links; who takes part."""
        if self.probability is None:
            participates = np.ones(self.agents, dtype=bool)
        else:
            participates = coins(public_key, round, np.arange(self.agents), self.probability)
        return Mixing(
            active=np.zeros(0, dtype=bool),
            weight=np.zeros(0),
            self_weight=np.zeros(self.agents),
            participates=participates,
        )

    def neighbours(self) -> Int[Array, "agents slots"]:
        """An empty table: no client hears another."""
        return jnp.zeros((self.agents, 0), dtype=jnp.int32)

    @property
    def degrees(self) -> Int[np.ndarray, " agents"]:
        """One for each client: the coordinator."""
        return np.ones(self.agents, dtype=np.int64)

    def participations(self, rounds: int, public_key: PRNGKeyArray) -> Int[np.ndarray, " agents"]:
        """All rounds, or those in which the client is drawn."""
        if self.probability is None:
            return np.full(self.agents, rounds)
        return count_participations(self, rounds, public_key)
