"""Objectives that give values only: any Python function or program, called on the host.

XLA may call a function once where the program asks twice for the same point, so that the noise of a
stochastic one is then the same.

An exception cannot cross compiled code in one piece. The first one is therefore kept, the device is
given NaN, the function is not called again, and `computed` raises it as an `OracleError` once the
compiled part has ended.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from tacit.problem.callback import call_host
from tacit.problem.host import NOBODY, Host
from tacit.problem.interruptible import interruptible
from tacit.problem.tally import Tally
from tacit.types import AbstractObjective, AbstractPrivate, Params, Unit

Value = TypeVar("Value")


class BlackBox(AbstractObjective):
    """`f(x) = sum_j losses(x)_j / normaliser`, where a Python function gives the losses.

    With many agents every array has a leading agent axis; `host` is shared by all of them.

    Attributes:
        normaliser: declared public number that the sum is divided by, positive.
        agent: index of the agent that owns the objective.
        host: the function, its counter and its first error.
    """

    normaliser: eqx.AbstractVar[Float[ArrayLike, "*agents"]]
    agent: eqx.AbstractVar[Int[ArrayLike, "*agents"]]
    host: eqx.AbstractVar[Host]

    @property
    def calls(self) -> int:
        """Number of points evaluated so far, over all agents."""
        return int(self.host.calls.sum())

    def raise_pending(self) -> None:
        """Raise the first error of the function since the last call, if there was one.

        Raises:
            OracleError: names agent and point; the user's exception is its cause.
        """
        self.host.raise_pending()


class CostBox(BlackBox):
    """One agent's whole cost, the unit that is protected: `losses(x) = (function(x, agent),)`."""

    normaliser: Float[ArrayLike, "*agents"]
    agent: Int[ArrayLike, "*agents"]
    host: Host = eqx.field(static=True)
    unit: ClassVar[Unit] = Unit.AGENT

    @property
    def units(self) -> int:
        """1: the cost is the unit."""
        return 1

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the function must keep to: an error would reveal something about the cost."""
        how = self.host.evaluation
        random = (
            "draws random numbers that depend on no data of others"
            if how.stochastic
            else "is deterministic"
        )
        function = "the function of each cost uses data of its own agent only"
        if how.on_failure == "skip":
            return f"{function} and {random}", how.unseen("costs")
        finite = f"gives a finite number everywhere{how.in_time}"
        return f"{function}, {random} and {finite}", how.unseen("costs")

    def losses(self, x: Params) -> Float[Array, " n"]:
        """The cost, shape `(1,)`."""
        return _call(self.host, x, self.agent, 1)

    def value(self, x: Params) -> Float[Array, ""]:
        """`f(x)`."""
        return self.losses(x)[0] / self.normaliser


class RecordBox(BlackBox):
    """A loss of every record: `losses(x) = function(x, records)` with the agent's own records.

    A loss that is not a finite number becomes NaN, and its record counts as 0 where it is clipped:
    an error would reveal something about the record.

    Attributes:
        mask: 1 for a record, 0 for padding of an agent with fewer records.
    """

    normaliser: Float[ArrayLike, "*agents"]
    agent: Int[ArrayLike, "*agents"]
    mask: Bool[ArrayLike, "*agents n"]
    host: Host = eqx.field(static=True)
    unit: ClassVar[Unit] = Unit.RECORD

    @property
    def units(self) -> int:
        """Number of records of the largest agent."""
        return np.shape(self.mask)[-1]

    @property
    def present(self) -> Bool[Array, " n"]:
        """Which units are records."""
        return jnp.asarray(self.mask)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the function, which receives all records at once, must keep to."""
        how = self.host.evaluation
        return (
            "the loss of each record depends on that record only, and the function is "
            "deterministic",
            "the function raises for no record"
            + (f" and answers{how.in_time}" if how.in_time else ""),
            how.unseen("records"),
        )

    def losses(self, x: Params) -> Float[Array, " n"]:
        """Loss of every record at `x`; exactly 0 for padding."""
        return jnp.where(self.mask, _call(self.host, x, self.agent, self.units), 0.0)

    def value(self, x: Params) -> Float[Array, ""]:
        """`f(x)`."""
        return jnp.sum(self.losses(x)) / self.normaliser


def _call(host: Host, x: Params, agent: Int[ArrayLike, ""], units: int) -> Float[Array, " n"]:
    return call_host(host.evaluate, (units,), x, agent, vmap_method="expand_dims")


def asked_of(objectives: AbstractPrivate, awake: Bool[ArrayLike, " agents"]) -> Any:
    """The objectives of a round: black boxes of inactive agents are not called, and give 0.

    Args:
        objectives: objectives of all agents, black boxes or not.
        awake: whether each agent takes part.
    """
    if not isinstance(objectives, BlackBox):
        return objectives
    awake_ones = jnp.where(jnp.asarray(awake), jnp.asarray(objectives.agent), NOBODY)
    return eqx.tree_at(lambda o: o.agent, objectives, awake_ones)


def recount(objectives: object) -> None:
    """Begin a new tally of the evaluations of black boxes."""
    if isinstance(objectives, BlackBox):
        objectives.host.recount()


def tally(objectives: object) -> Tally:
    """What became of evaluations since `recount`; nothing of agents without black boxes."""
    return deepcopy(objectives.host.tally) if isinstance(objectives, BlackBox) else Tally.of(0)


def computed(call: Callable[[], Value], objectives: AbstractPrivate) -> Value:
    """The result of compiled code that may ask black boxes; their first error instead, if any.

    Black boxes may be slow. Ctrl-C then ends the evaluations that run in other processes, begins no
    others, and waits a few seconds for one that runs in this process.

    Args:
        call: calls compiled code.
        objectives: objectives that it asks.

    Raises:
        OracleError: see `BlackBox.raise_pending`.
    """
    if not isinstance(objectives, BlackBox):
        return call()
    return interruptible(
        lambda: jax.block_until_ready(call()), objectives.host.interrupt, objectives.raise_pending
    )
