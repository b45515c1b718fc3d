"""Everything that a run needs, laid out before it starts: arrays, noise scales, secrets."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from tacit._engine.mistakes import solved, started
from tacit.method.phase import AbstractMethod, Phase
from tacit.network.base import AbstractNetwork, Mixing
from tacit.types import AbstractPrivate, Index, PublicPart, Role, State


class Plan(eqx.Module):
    """A run as arrays: the input of the compiled code.

    Attributes:
        objectives: private objectives, leading axis = agent.
        public: regulariser share and constraint.
        network: links and weights between the agents.
        method: method with its noise calibrated.
        scales: noise scale of each phase, shape `(agents,)` or `(rounds, agents)`.
        x0: public start, shape `(p,)`.
        degrees: number of neighbours, shape `(agents,)`.
        records: declared number of every agent's records (1 for a whole cost), shape `(agents,)`.
        rounds: total number of rounds.
        reference: centralised solution, shape `(p,)`, if distances are to be recorded.
        divergence: distance that a coordinate may move from `x0` before the run counts as diverged.
        shared: key of public randomness (who is awake, which links fail); the same in all trials.
        watch: whether the objective's value is recorded (which asks the private objectives).
        exponents: exponents by phase, for releases read only in sums: these are exact multiples of
            `2^exponent` wherever messages are bytes. `None` for all other phases.
        keep: whether every measurement holds the agents' answers.
        least: minimum number of agents in a round; a round with fewer is skipped.
        dimension: number of the problem's parameters.
    """

    objectives: AbstractPrivate
    public: PublicPart
    network: AbstractNetwork
    method: AbstractMethod
    scales: tuple[Float[Array, "*_shape"], ...]
    x0: Float[Array, " p"]
    degrees: Int[Array, " agents"]
    records: Int[Array, " agents"]
    rounds: Int[Array, ""]
    reference: Float[Array, " p"] | None
    divergence: Float[Array, ""]
    shared: PRNGKeyArray
    watch: bool = eqx.field(static=True)
    exponents: tuple[int | None, ...] = eqx.field(static=True)
    least: int = eqx.field(static=True, default=0)
    keep: bool = eqx.field(static=True, default=False)
    dimension: int | None = eqx.field(static=True, default=None)

    @property
    def agents(self) -> int:
        """Number of agents, not counting the server."""
        return self.network.agents

    @property
    def sender_role(self) -> Role:
        """The role of the data owners: peers, or clients of a coordinator."""
        return Role.CLIENT if self.network.coordinated else Role.PEER

    def scale(self, index: int, round: Index) -> Float[Array, " agents"]:
        """Noise scales of a phase in a round."""
        scales = self.scales[index]
        return scales if scales.ndim == 1 else scales[round]

    def answer(self, phase: Phase) -> Float[Array, " n"]:
        """Zeros of the shape of an agent's answer in a phase with a query."""
        assert phase.query is not None
        return jnp.zeros(phase.query.size(len(self.x0)), self.x0.dtype)

    def runs(self, phase: Phase, round: Index) -> Any:
        """Whether a phase is run in a round: `True` if it always is, otherwise an array."""
        return phase.rounds.includes(round, self.rounds)

    def initial(self) -> dict[Role, Any]:
        """Every role's state before round 0, owners stacked."""
        role, method, coordinated = self.sender_role, self.method, self.network.coordinated
        states = {
            role: jax.vmap(lambda degree: started(method, role, self.x0, degree))(self.degrees)
        }
        if coordinated:
            states[Role.SERVER] = started(method, Role.SERVER, self.x0, jnp.asarray(self.agents))
        answering = states[Role.SERVER] if coordinated else _first(states[role])
        # the answer's shape is held, and nothing is computed
        jax.eval_shape(lambda state: solved(method, state, self.x0), answering)
        return states

    def mixing(self, round: Index) -> Mixing:
        """Active links and weights of a round."""
        mixing = self.network.mixing(round, self.shared)
        if self.least == 0:
            return mixing
        there = jnp.asarray(mixing.participates)
        enough = there & (jnp.sum(there) >= self.least)
        return eqx.tree_at(lambda m: m.participates, mixing, enough)

    def mixing_before(self) -> Mixing:
        """Links and weights before round 0: those of round 0, with nobody asleep."""
        mixing = self.mixing(jnp.asarray(0))
        return eqx.tree_at(lambda m: m.participates, mixing, np.ones(self.agents, dtype=bool))


def _first(states: State) -> Any:
    """The first of states that are stacked."""
    return jax.tree.map(lambda leaf: leaf[0], states)


def numbered_phases(method: AbstractMethod, *, once: bool) -> list[tuple[int, Phase]]:
    """The phases of a round (or those before round 0) with their numbers in the table."""
    return [(i, phase) for i, phase in enumerate(method.phases()) if phase.rounds.before is once]


def as_arrays(tree: State) -> Any:
    """Numbers of a pytree as JAX arrays in the precision of the current context."""

    def convert(leaf: Any) -> Any:
        if isinstance(leaf, bool) or not isinstance(leaf, int | float | np.ndarray | np.generic):
            return leaf
        return jnp.asarray(np.asarray(leaf))

    # In float32 a huge number becomes infinite; its record counts as 0, without a message.
    with np.errstate(over="ignore"):
        return jax.tree.map(convert, tree)
