"""Numbers of a diverged run: they are not sent, and a model with them is not used."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import equinox as eqx
import jax
import numpy as np

from tacit._engine.agent_step import AgentStep, At
from tacit.deploy.member.run_spec import RunSpec
from tacit.errors import RuntimeFailure
from tacit.types import Role, State

log = logging.getLogger("tacit.site")


def check_model(desk: AgentStep, model: np.ndarray) -> None:
    """Report a coordinator's model that only a diverged run could have."""
    far = _distance(desk, model)
    if not far <= float(desk.plan.divergence):
        log.error(
            "the coordinator's model is %(far).3g from where the run began, further than "
            "divergence in [run] allows: it diverged, or a member sent meaningless numbers. Do "
            "not use it",
            {"far": far},
        )


def check_diverged(desk: AgentStep, state: State, round: int) -> None:
    """Refuse to send numbers that diverged.

    Raises:
        RuntimeFailure: numbers that are not finite, or an answer too far from its starting point.
    """
    finite = all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state))
    # a client's answer comes from the coordinator
    client = desk.role is Role.CLIENT
    if finite and (client or _distance(desk, answer(desk, state)) <= float(desk.plan.divergence)):
        return
    how = "they are further from their start than divergence in [run] allows"
    raise _diverged(round, how if finite else "they are no longer finite")


def check_sent(terms: RunSpec, at: At, member: int, arrays: Sequence[np.ndarray]) -> None:
    """Refuse to send what nobody accepts. It has been charged: stopping reveals something, too.

    Args:
        terms: terms of the run.
        at: round, phase and step of the message.
        member: number of the sender.
        arrays: arrays of the message.

    Raises:
        RuntimeFailure: a number is beyond the bounds of the run.
    """
    if terms.bounds is None:
        return
    sent = arrays[: terms.forms[at.phase].sent]
    if beyond := terms.bounds.excess(at.phase, member, sent):
        raise _diverged(at.round, f"one is at {beyond}")


def answer(desk: AgentStep, state: State) -> np.ndarray:
    """The solution in a state, shape `(p,)`."""
    return np.asarray(eqx.filter_jit(desk.plan.method.solution)(state))


def _distance(desk: AgentStep, model: np.ndarray) -> float:
    """How far the coordinate of a model that moved furthest is from where the run began."""
    with np.errstate(over="ignore", invalid="ignore"):  # such a distance is infinite, or nan
        return float(np.max(np.abs(model - np.asarray(desk.plan.x0))))


def _diverged(round: int, how: str) -> RuntimeFailure:
    return RuntimeFailure(
        f"the iterates diverged before round {round + 1}: {how}. "
        "Agree on a manifest with a smaller step, a smaller clip or fewer rounds"
    )
