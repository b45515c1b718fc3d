"""All agents and trials at once: `vmap` over both, one compiled loop over rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from tacit._engine.keys import PhaseKeys, agent_secret
from tacit._engine.measures import measure
from tacit._engine.mistakes import check_kept
from tacit._engine.mixing import Delivery, Links, arrange, client_inbox, peer_inboxes, server_inbox
from tacit._engine.plan import Plan, numbered_phases
from tacit._engine.shared_noise import Place, masks_of_all, weighted_masks
from tacit._engine.step import context_of, receive, send
from tacit.method.phase import Phase
from tacit.problem.boxes import asked_of
from tacit.ranges import Numbers
from tacit.types import Context, Index, Role, State

ONCE = -1
"""The round number of phases that run before round 0."""

OBSERVED = "observed"
"""Key of what an observer has gathered, alongside the states of the roles."""

States: TypeAlias = dict[Any, Any]
"""The state of every role (owners stacked), and what an observer has gathered."""


@dataclass(frozen=True)
class Observation:
    """What the owners release in one phase, as an observer sees it while it is traced.

    Attributes:
        index: number of the phase in the method's table.
        phase: phase of the method.
        states: states of all owners before the phase, stacked.
        released: releases of all owners, stacked, including sleeping ones, whose releases do not
            count.
        scale: noise scale of every owner, shape `(agents,)`.
        awake: which owners take part in the round, shape `(agents,)`.
        known: maps an owner's number to what it knows in this phase, and to its keys.
        shared: maps one weight for each pair that shares a mask to the weighted sum of the masks.
    """

    index: int
    phase: Phase
    states: Any
    released: Any
    scale: Float[Array, " agents"]
    awake: Bool[Array, " agents"]
    known: Callable[[Any], tuple[Context, PhaseKeys]]
    shared: Callable[[Any], Any]


Observer: TypeAlias = Callable[[Any, Observation], Any]
"""Function from what was gathered before and an observation to what is gathered after."""


@eqx.filter_jit
def start(plan: Plan, roots: Key[Array, " trials"]) -> Any:
    """States of every trial before round 0, after the phases that run only once."""

    def one(root: PRNGKeyArray) -> Any:
        simulator = Simulator(plan, root)
        return simulator.round(plan.initial(), jnp.asarray(ONCE), once=True)

    return jax.vmap(one)(roots)


@eqx.filter_jit
def advance(
    plan: Plan, roots: Key[Array, " trials"], states: State, bounds: Int[Array, "stops 2"]
) -> tuple[Any, dict[str, Array]]:
    """Run every trial through consecutive intervals of rounds and measure after each.

    The bounds are traced, so the same code computes the same bits, however a run is cut into
    intervals and calls.

    Returns:
        The states, and measurements of shape `(stops, trials)`.
    """

    def one(root: PRNGKeyArray, states: State) -> tuple[Any, dict[str, Array]]:
        simulator = Simulator(plan, root)

        def interval(states: State, bound: Int[Array, " 2"]) -> tuple[Any, dict[str, Array]]:
            states = jax.lax.fori_loop(
                bound[0], bound[1], lambda t, s: simulator.round(s, t, once=False), states
            )
            return states, measure(plan, states)

        return jax.lax.scan(interval, states, bounds)

    states, measured = jax.vmap(one)(roots, states)
    return states, {name: jnp.moveaxis(value, 0, 1) for name, value in measured.items()}


def trace(plan: Plan, roots: Key[Array, " trials"]) -> None:
    """Trace all phases, without compiling or computing anything, to find mistakes in a method."""
    states = eqx.filter_eval_shape(start, plan, roots)
    eqx.filter_eval_shape(advance, plan, roots, states, jnp.zeros((1, 2), dtype=int))


class Simulator:
    """One trial while it is traced.

    Args:
        plan: plan of the run.
        root: root key of the trial.
        note: function called with every phase and its payload as they are traced, to count bytes.
        observe: function that gathers something from every release, in `states[OBSERVED]`.
    """

    def __init__(
        self,
        plan: Plan,
        root: PRNGKeyArray,
        note: Callable[[Phase, Any], None] = lambda phase, payload: None,
        observe: Observer | None = None,
    ) -> None:
        self.plan = plan
        self.note = note
        self.observe = observe
        self.root = root
        self.agents = jnp.arange(plan.agents)
        self.secrets = jax.vmap(lambda agent: agent_secret(root, agent))(self.agents)
        self.server_secret = agent_secret(root, plan.agents)
        self.delivery = Delivery(plan.network)
        # a static network's weights are arranged once, outside the loop over rounds
        self.fixed = None if plan.network.varying else self.links(jnp.asarray(0), once=False)

    def links(self, round: Int[Array, ""], *, once: bool) -> Links:
        mixing = self.plan.mixing_before() if once else self.plan.mixing(round)
        return arrange(self.delivery, mixing)

    def round(self, states: States, round: Int[Array, ""], *, once: bool) -> States:
        plan = self.plan
        phases = numbered_phases(plan.method, once=once)
        if not phases:
            return states
        links = self.links(round, once=once) if self.fixed is None else self.fixed
        before = states
        for index, phase in phases:
            runs = True if once else plan.runs(phase, round)
            if runs is True:
                states = self.steps(states, index, phase, round, links)
            else:
                # a phase that is not run is not computed, and asks nothing private
                states = jax.lax.cond(
                    runs,
                    lambda s, i=index, p=phase: self._kept(s, self.steps(s, i, p, round, links), p),
                    lambda s: s,
                    states,
                )
        if not once:
            check_kept(plan.method, [phase for _, phase in phases], before, states)
        if self.fixed is None:
            # an agent that sleeps through a round keeps its state; so does a server without
            # messages
            awake = jnp.asarray(links.mixing.participates)
            for role in Role:
                if role in states:
                    present = jnp.any(awake) if role is Role.SERVER else awake
                    states[role] = _where(present, states[role], before[role])
        return states

    def steps(
        self, states: States, index: int, phase: Phase, round: Int[Array, ""], links: Links
    ) -> States:
        """One phase of a round, repeated for each of its steps."""
        if phase.repeat == 1:
            return self.phase(states, index, phase, round, 0, links)
        return jax.lax.fori_loop(
            0,
            phase.repeat,
            lambda step, s: self._kept(s, self.phase(s, index, phase, round, step, links), phase),
            states,
        )

    def _kept(self, before: States, after: States, phase: Phase) -> States:
        """The states after a phase that a loop or a branch goes on with."""
        check_kept(self.plan.method, [phase], before, after)
        return after

    def shared(self, phase: Phase, place: Place, weights: Array | None = None) -> Any:
        """What the noise of pairs adds to every agent's release; `None` if no pairs share any.

        Args:
            phase: phase of the method.
            place: position in the run.
            weights: weights of pairs, to get the weighted sum of what they share instead.
        """
        pairs = phase.hides.pairs(self.plan.agents)
        if pairs is None:
            return None
        one = self.plan.answer(phase)
        like = jnp.zeros((self.plan.agents, *one.shape), one.dtype)
        if weights is None:
            return masks_of_all(self.root, pairs, like, place)
        return weighted_masks(self.root, pairs, weights, like, place)

    def phase(
        self,
        states: States,
        index: int,
        phase: Phase,
        round: Int[Array, ""],
        step: Index,
        links: Links,
    ) -> States:
        plan = self.plan

        def at(agent: Int[Array, ""], degree: Int[Array, ""], secret: PRNGKeyArray) -> Any:
            return context_of(
                plan.public,
                round=round,
                rounds=plan.rounds,
                step=step,
                agent=agent,
                agents=plan.agents,
                degree=degree,
                records=plan.records[agent],
                secret=secret,
                phase=index,
                dimension=plan.dimension,
            )

        def send_one(
            state: State, objective: Any, scale: Numbers, mask: Array | None, *who: Any
        ) -> tuple[Any, Any, Any]:
            context, keys = at(*who)
            return send(phase, state, objective, context, keys, scale, mask=mask)

        def receive_one(state: State, inbox: Any, *who: Any) -> Any:
            return receive(phase, state, inbox, at(*who)[0])

        owners = (self.agents, plan.degrees, self.secrets)
        server = (jnp.asarray(plan.agents), jnp.asarray(plan.agents), self.server_secret)
        states = dict(states)
        if phase.sender is Role.SERVER:
            states[phase.sender], payload, _ = send_one(
                states[phase.sender], None, jnp.zeros(()), None, *server
            )
        else:
            scale = plan.scale(index, jnp.maximum(round, 0))
            place = (round, index, step)
            before, shared = states[phase.sender], self.shared(phase, place)
            objectives = plan.objectives
            if self.fixed is None:
                objectives = asked_of(objectives, links.mixing.participates)
            states[phase.sender], payload, released = jax.vmap(send_one)(
                before, objectives, scale, shared, *owners
            )
            if self.observe is not None and phase.query is not None:
                seen = Observation(
                    index=index,
                    phase=phase,
                    states=before,
                    released=released,
                    scale=scale,
                    awake=jnp.asarray(links.mixing.participates),
                    known=lambda agent: at(agent, plan.degrees[agent], self.secrets[agent]),
                    shared=lambda weights: self.shared(phase, place, weights),
                )
                states[OBSERVED] = self.observe(states[OBSERVED], seen)
        self.note(phase, payload)
        if phase.receiver is Role.SERVER:
            mixing = links.mixing
            weight = jnp.asarray(plan.network.client_weight)
            inbox = server_inbox(weight, jnp.asarray(mixing.participates), payload, phase.combine)
            states[Role.SERVER] = receive_one(states[Role.SERVER], inbox, *server)
        elif phase.receiver is Role.CLIENT:
            inbox = client_inbox(payload, plan.x0.dtype)
            states[Role.CLIENT] = jax.vmap(receive_one, in_axes=(0, None, 0, 0, 0))(
                states[Role.CLIENT], inbox, *owners
            )
        elif phase.receiver is Role.PEER:
            inbox = peer_inboxes(self.delivery, links, payload, phase.combine)
            states[Role.PEER] = jax.vmap(receive_one)(states[Role.PEER], inbox, *owners)
        return states


def _where(mask: Array, new: Any, old: Any) -> Any:
    return jax.tree.map(
        lambda n, o: jnp.where(mask.reshape(mask.shape + (1,) * (n.ndim - mask.ndim)), n, o),
        new,
        old,
    )
