"""One agent's half of a phase. The only code that every runtime shares.

`ask` is the only place where a private objective meets a method. `send` applies the mechanism to
the answer; where noise is drawn outside of compiled code, `send` is handed what was released.
"""

from __future__ import annotations

from typing import Any

from jaxtyping import Array, Int, PRNGKeyArray

from tacit._engine.keys import PhaseKeys, phase_keys
from tacit.method.phase import Phase
from tacit.ranges import Numbers
from tacit.types import AbstractPrivate, Context, Inbox, Index, PublicPart, State


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
    """Query, protect, and turn what is released into a message.

    Args:
        phase: the line of the algorithm box.
        state: the sender's state.
        objective: its private objective; unused by a phase without a query.
        context: what it knows.
        keys: randomness of this phase.
        scale: noise scale, computed beforehand from public constants.
        replay: a value released earlier, to be used instead of asking the objective.
        mask: sum of the noise that it shares with others, where pairs share some.

    Returns:
        The new state, the payload, and what was released (`None` without a query).
    """
    if phase.query is None or phase.release is None:
        state, payload = phase.message(state, None, context)
        return state, payload, None
    if replay is not None:
        released = replay
    else:
        answer = ask(phase, state, objective, context, keys, scale)
        shared = None if mask is None else phase.hides.share(mask, context.agents)
        released = phase.release.mechanism.add(answer, scale, keys.noise, shared)
    after, payload = phase.message(state, released, context)
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
    """The private answer to the query of a phase, before its mechanism: it must not leave as it is.

    Args:
        phase: with a query.
        state: the sender's state.
        objective: its private objective.
        context: what it knows.
        keys: randomness of this phase.
        scale: noise scale, of a mechanism that perturbs the objective.
    """
    if phase.query is None or phase.release is None:
        raise TypeError(f"phase {phase.name!r} asks nothing")
    if objective is None:
        raise TypeError(f"phase {phase.name!r} asks a private objective, but a server has none")
    shown = phase.release.mechanism.shown(objective, scale, keys.objective)
    return phase.query(state, shown, context, keys.sample)


def receive(phase: Phase, state: State, inbox: Inbox, context: Context) -> Any:
    """Update the receiver's state from its inbox: post-processing of what was released."""
    if phase.update is None:
        return state
    return phase.update(state, inbox, context)
