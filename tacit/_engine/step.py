"""One agent's half of a phase: the only code that every runtime shares.

`ask` is the only place where a private objective meets a method; a query is traced apart, so that
what it computes cannot be used outside it. `send` applies the mechanism to the answer; if noise is
drawn outside compiled code, `send` receives the release.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Int, PRNGKeyArray

from tacit._engine.keys import PhaseKeys, phase_keys
from tacit._engine.mistakes import STATE, answered, pair, traced
from tacit.method.phase import Phase
from tacit.ranges import Numbers
from tacit.types import AbstractPrivate, Context, Inbox, Index, PublicPart, State

_MESSAGE = "state, released, context"
"""What a message is made from."""


def context_of(
    public: PublicPart,
    *,
    round: Int[Array, ""],
    rounds: Int[Array, ""],
    step: Index,
    agent: Int[Array, ""],
    agents: int,
    degree: Int[Array, ""],
    records: Index,
    secret: PRNGKeyArray,
    phase: int,
    dimension: int | None = None,
) -> tuple[Context, PhaseKeys]:
    """What an agent knows in this phase, and the keys that the runtime keeps."""
    keys = phase_keys(secret, round, phase, step)
    context = Context(
        round=round,
        step=step,
        agent=agent,
        degree=degree,
        key=keys.method,
        public=public,
        rounds=rounds,
        agents=agents,
        records=records,
        dimension=dimension,
    )
    return context, keys


def send(
    phase: Phase,
    state: State,
    objective: AbstractPrivate | None,
    context: Context,
    keys: PhaseKeys,
    scale: Numbers,
    replay: State = None,
    mask: Array | None = None,
) -> tuple[Any, Any, Any]:
    """Query, protect, and turn the release into a message.

    Args:
        phase: phase of the method.
        state: the sender's state.
        objective: private objective of the sender; unused by a phase without a query.
        context: what the sender knows.
        keys: randomness of this phase.
        scale: noise scale, computed beforehand from public constants.
        replay: value released earlier, used instead of asking the objective.
        mask: sum of the noise that the sender shares with others, if pairs share any.

    Returns:
        The new state, the payload, and the release (`None` without a query).
    """
    if phase.query is None or phase.release is None:
        made = traced(phase.message, state, None, context, phase=phase, takes=_MESSAGE)
        return *pair(made, phase), None
    if replay is not None:
        released = replay
    else:
        answer = ask(phase, state, objective, context, keys, scale)
        shared = None if mask is None else phase.hides.share(mask, context.agents)
        released = phase.release.mechanism.add(answer, scale, keys.noise, shared)
    made = traced(phase.message, state, released, context, phase=phase, takes=_MESSAGE)
    after, payload = pair(made, phase)
    altered, kept = payload is not released, after is not state
    phase.hides.check_message(phase.name, altered=altered, kept=kept)
    return after, payload, released


def ask(
    phase: Phase,
    state: State,
    objective: AbstractPrivate | None,
    context: Context,
    keys: PhaseKeys,
    scale: Numbers,
) -> Any:
    """The private answer to the query of a phase, before its mechanism; not for sending.

    Args:
        phase: phase with a query.
        state: the sender's state.
        objective: private objective of the sender.
        context: what the sender knows.
        keys: randomness of this phase.
        scale: noise scale, for a mechanism that perturbs the objective.
    """
    query = phase.query
    if query is None or phase.release is None:
        raise TypeError(f"phase {phase.name!r} asks nothing")
    if objective is None:
        raise TypeError(f"phase {phase.name!r} asks a private objective, but a server has none")
    shown = phase.release.mechanism.shown(objective, scale, keys.objective)
    takes, fits = "state, objective, context, key", answered(phase, context.dimension)
    private, rest = eqx.partition(shown, eqx.is_array)

    def asked(private: Any) -> Any:
        given = (state, eqx.combine(private, rest), context, keys.sample)
        return traced(query, *given, phase=phase, takes=takes, fits=fits)

    # in a trace of its own: JAX refuses values that a query leaves elsewhere than in its answer
    return jax.jit(asked, inline=True)(private)


def receive(phase: Phase, state: State, inbox: Inbox, context: Context) -> Any:
    """Update the receiver's state from its inbox: post-processing of what was released."""
    if phase.update is None:
        return state
    given, takes = (state, inbox, context), "state, inbox, context"
    return traced(phase.update, *given, phase=phase, takes=takes, fits=STATE)
