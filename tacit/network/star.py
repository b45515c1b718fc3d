"""A coordinator and its clients."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, PRNGKeyArray, UInt32

from tacit import checks
from tacit.errors import NetworkError
from tacit.network.base import AbstractNetwork, Mixing
from tacit.network.draws import as_probability, coins, count_participations, heads_of

_MISSING = 7_349
"""Folded into the public key for dropouts: other coins than for participation."""


class Coordinator(AbstractNetwork):
    """A server that talks to every client; clients do not talk to each other.

    Args:
        agents: number of clients (at least 1), or their names.
        probability: probability that a client takes part in a round, independently of the others,
            drawn from the public key; above 0 and at most 1. `None`: all take part in every round.
        dropout: probability that a client goes missing in a round that it joined, independently of
            the others; below 1. Its contribution is lost; a masked sum is abandoned and requested
            again without the missing clients.

    Raises:
        NetworkError: no client, a repeated name, or an impossible probability.

    Example:
        >>> Coordinator(4).client_weight.tolist()
        [0.25, 0.25, 0.25, 0.25]
    """

    agents: int = eqx.field(static=True)
    probability: Float[ArrayLike, ""] | None
    dropout: Float[ArrayLike, ""] | None
    receivers: Int[ArrayLike, " links"]
    senders: Int[ArrayLike, " links"]
    names: Sequence[Hashable] = eqx.field(static=True)
    kind: str = eqx.field(static=True)
    connectivity: str = eqx.field(static=True)
    varying: bool = eqx.field(static=True)
    directed: bool = eqx.field(static=True)
    coordinated: bool = eqx.field(static=True)
    _joins: UInt32[ArrayLike, ""] | None
    _goes: UInt32[ArrayLike, ""] | None

    def __init__(
        self,
        agents: int | Sequence[Hashable],
        probability: float | None = None,
        dropout: float | None = None,
    ) -> None:
        if isinstance(agents, str) or not isinstance(agents, Iterable):
            agents = checks.whole("agents", agents, 1, NetworkError)
        if not isinstance(agents, int) and not all(isinstance(each, Hashable) for each in agents):
            raise NetworkError(
                f"agents={checks.shown(agents)} must be a number, or a list of names"
            )
        names = range(agents) if isinstance(agents, int) else tuple(agents)
        if not len(names):
            raise NetworkError(f"a coordinator needs at least 1 client, and agents={agents!r}")
        if len(set(names)) < len(names):
            raise NetworkError(f"client names must differ, and {list(names)} has one twice")
        self.agents = len(names)
        self.probability = (
            None if probability is None else as_probability(probability, "probability")
        )
        if dropout is not None:
            checks.real("dropout", dropout, NetworkError)
        if dropout is not None and not 0.0 < dropout < 1.0:
            raise NetworkError(f"dropout={dropout!r} must be above 0 and below 1")
        self.dropout = None if dropout is None else np.asarray(dropout)
        self._joins = None if self.probability is None else heads_of(self.probability)
        self._goes = None if self.dropout is None else heads_of(self.dropout)
        self.receivers = np.zeros(0, dtype=np.int32)
        self.senders = np.zeros(0, dtype=np.int32)
        self.names = names
        self.kind = "coordinator"
        self.connectivity = (
            "through the coordinator in every round"
            if probability is None
            else "through the coordinator, with the clients drawn in each round"
        )
        self.varying = probability is not None or dropout is not None
        self.directed = False
        self.coordinated = True

    def mixing(self, round: Int[ArrayLike, ""], public_key: PRNGKeyArray) -> Mixing:
        """No peer links; only who takes part."""
        participates = self._announced(round, public_key)
        if self.dropout is not None:
            participates = participates & ~self._missing(round, public_key)
        return Mixing(
            active=np.zeros(0, dtype=bool),
            weight=np.zeros(0),
            self_weight=np.zeros(self.agents),
            participates=participates,
        )

    def _announced(self, round: Any, public_key: PRNGKeyArray) -> Any:
        if self._joins is None:
            return np.ones(self.agents, dtype=bool)
        return coins(public_key, round, np.arange(self.agents), self._joins)

    def _missing(self, round: Any, public_key: PRNGKeyArray) -> Any:
        assert self._goes is not None
        key = jax.random.fold_in(public_key, _MISSING)
        return coins(key, round, np.arange(self.agents), self._goes)

    def neighbours(self) -> Int[Array, "agents slots"]:
        """An empty table: no client receives from another."""
        return jnp.zeros((self.agents, 0), dtype=jnp.int32)

    @property
    def degrees(self) -> Int[np.ndarray, " agents"]:
        """One for each client: the coordinator."""
        return np.ones(self.agents, dtype=np.int64)

    def participations(self, rounds: int, public_key: PRNGKeyArray) -> Int[np.ndarray, " agents"]:
        """All rounds, or those in which the client is drawn."""
        if not self.varying:
            return np.full(self.agents, rounds)
        return count_participations(self, rounds, public_key)

    @property
    def sums_again(self) -> bool:
        """Whether clients go missing in rounds that they joined."""
        return self.dropout is not None or type(self).attempts is not Coordinator.attempts

    def attempts(self, rounds: int, public_key: PRNGKeyArray) -> Int[np.ndarray, " agents"]:
        """How often a client answers: once per round, and again where another went missing."""
        if self.dropout is None:
            return self.participations(rounds, public_key)

        with jax.enable_x64(True):
            return np.asarray(_count_attempts(self, jnp.asarray(rounds), public_key))

    def answers(self, round: Int[ArrayLike, ""], public_key: PRNGKeyArray) -> Int[Array, " agents"]:
        """How often every client answers in one round, for methods that use sums only."""
        if self.dropout is None:
            return super().answers(round, public_key)
        there = jnp.asarray(self._announced(round, public_key))
        gone = there & self._missing(round, public_key)
        return there.astype(int) + (there & ~gone & jnp.any(gone)).astype(int)


@eqx.filter_jit
def _count_attempts(
    network: Coordinator, rounds: Int[Array, ""], public_key: PRNGKeyArray
) -> Int[Array, " agents"]:
    def add(round: Int[Array, ""], counts: Int[Array, " agents"]) -> Int[Array, " agents"]:
        return counts + network.answers(round, public_key)

    return jax.lax.fori_loop(0, rounds, add, jnp.zeros(network.agents, dtype=int))
