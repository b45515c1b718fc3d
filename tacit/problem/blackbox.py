"""Objectives that give values only: any Python function, called on the host.

The function has to be deterministic: XLA may call it once where the program asks twice for the same
point.

An exception cannot cross compiled code in one piece. The first one is therefore kept, the device is
given NaN, the function is not called again, and `raise_pending` raises it as an `OracleError` once
the compiled part has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from tacit import checks
from tacit.arguments import checked
from tacit.errors import ProblemError
from tacit.problem.callback import call_host
from tacit.problem.constraint import AbstractConstraint, Free
from tacit.problem.host import NOBODY, Host
from tacit.problem.problem import Problem, check_public, declared_normaliser, starting_point
from tacit.problem.regularisers import AbstractRegulariser, NoRegulariser
from tacit.ranges import Listed
from tacit.types import AbstractObjective, AbstractPrivate, Params, Unit


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
        return (
            "the function of each cost uses data of its own agent only, is deterministic and gives "
            "a finite number everywhere",
        )

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
        return (
            "the loss of each record depends on that record only, and the function is "
            "deterministic",
            "the function raises for no record",
        )

    def losses(self, x: Params) -> Float[Array, " n"]:
        """Loss of every record at `x`; exactly 0 for padding."""
        return jnp.where(self.mask, _call(self.host, x, self.agent, self.units), 0.0)

    def value(self, x: Params) -> Float[Array, ""]:
        """`f(x)`."""
        return jnp.sum(self.losses(x)) / self.normaliser


def _call(host: Host, x: Params, agent: Int[ArrayLike, ""], units: int) -> Float[Array, " n"]:
    return call_host(host.evaluate, (units,), x, agent, vmap_method="expand_dims")


@checked(ProblemError, own="agents function")
def black_box(function: Callable[..., Any], agents: int, *, batched: bool = False) -> CostBox:
    """The costs of all agents; each is protected as a whole and only its owner can evaluate it.

    Args:
        function: `(x, agent) -> float`, deterministic, with `x` a float64 NumPy array of shape
            `(p,)` and `agent` an int; with `batched`, `(points, agent) -> (m,)` for points of
            shape `(m, p)`. A cost written in JAX has gradients: give it to `costs` instead.
        agents: number of agents, at least 2.
        batched: whether the function takes many points per call.

    Raises:
        ProblemError: not callable, or fewer than two agents.
    """
    agents = checks.whole("agents", agents, 0, ProblemError)
    if agents < 2:
        raise ProblemError(f"agents={agents!r}: agreement needs at least two agents")
    return CostBox(
        normaliser=np.ones(agents),
        agent=np.arange(agents),
        host=Host(function, tuple(range(agents)), None, batched),
    )


@checked(ProblemError, own="function")
def record_box(
    function: Callable[..., Any],
    records: Sequence[Any],
    *,
    normaliser: Any = None,
    batched: bool = False,
) -> RecordBox:
    """The losses of all agents' records, where records rather than whole costs are protected.

    Args:
        function: `(x, records) -> (n,)`, deterministic: the loss of each record at `x`, which must
            depend on this record only. Where there is no loss it returns NaN, and the record counts
            as 0 where it is clipped; an exception ends the run, visibly to everyone. `x` is a
            float64 NumPy array of shape `(p,)`; with `batched`, `(points, records) -> (m, n)` for
            points of shape `(m, p)`.
        records: for each agent an array, or a tuple or dict of arrays, whose first axis is the
            record.
        normaliser: public number (one, or one per agent) by which an agent's sum is divided; its
            number of records when `None`.
        batched: whether the function takes many points per call.

    Raises:
        ProblemError: not callable, fewer than two agents, or an agent without records or with
            arrays of different lengths.
    """
    if len(records) < 2:
        raise ProblemError(
            f"records holds {len(records)} agent(s): agreement needs at least two agents"
        )
    counts = np.array([_count(own, k) for k, own in enumerate(records)])
    return RecordBox(
        normaliser=declared_normaliser(counts if normaliser is None else normaliser, len(counts)),
        agent=np.arange(len(counts)),
        mask=np.arange(counts.max()) < counts[:, None],
        host=Host(function, tuple(records), tuple(int(n) for n in counts), batched),
    )


@checked(ProblemError, own="agents function regulariser constraint")
def black_box_problem(
    function: Callable[..., Any],
    agents: int | Sequence[Any],
    x0: Listed,
    regulariser: AbstractRegulariser = NoRegulariser(),
    constraint: AbstractConstraint = Free(),
    *,
    names: Sequence[str] | None = None,
    parameter_names: Sequence[str] | None = None,
    normaliser: Any = None,
    batched: bool = False,
) -> Problem:
    """A problem whose private objectives are Python functions that give values only.

    Args:
        function: `(x, agent) -> float` when `agents` is a number, `(x, records) -> (n,)` when it
            is a sequence of the agents' records; see `black_box` and `record_box`.
        agents: number of agents, or their records.
        x0: public starting point, shape `(p,)`.
        regulariser: public penalty `R`, strength included.
        constraint: public convex set.
        names: names of the agents; "agent 0", ... by default.
        parameter_names: names of the coordinates of `x`; "x0", ... by default.
        normaliser: divisor of sums over records, only with records; see `record_box`.
        batched: whether the function takes many points per call.

    Raises:
        ProblemError: what `black_box`, `record_box` and `Problem` refuse.

    Example:
        >>> from tacit.problem.blackbox import black_box_problem
        >>> problem = black_box_problem(lambda x, agent: (x[0] - agent) ** 2, 3, x0=[0.0])
        >>> problem.value([1.0]), problem.objectives.calls
        (2.0, 3)
    """
    objectives: CostBox | RecordBox
    check_public(regulariser, constraint)
    if not isinstance(agents, Iterable) or isinstance(agents, str | bytes | Mapping):
        agents = checks.whole("agents", agents, 0, ProblemError)
    if isinstance(agents, int):
        if normaliser is not None:
            raise ProblemError(
                f"normaliser={normaliser!r} divides sums over records, and a whole cost has none"
            )
        objectives = black_box(function, agents, batched=batched)
        counts = np.ones(agents, dtype=int)
    else:
        objectives = record_box(function, agents, normaliser=normaliser, batched=batched)
        counts = np.sum(objectives.mask, axis=1)
    dimension = np.shape(x0)[0] if np.ndim(x0) == 1 else 0
    if names is None:
        names = [f"agent {k}" for k in range(len(counts))]
    if parameter_names is None:
        parameter_names = [f"x{j}" for j in range(dimension)]
    return Problem(
        objectives=objectives,
        x0=starting_point(x0, dimension, constraint),
        counts=counts,
        names=tuple(names),
        parameter_names=tuple(parameter_names),
        regulariser=regulariser,
        constraint=constraint,
        declared=isinstance(agents, int) or normaliser is not None,
    )


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


def raise_pending(objectives: AbstractPrivate) -> None:
    """Raise the error that a black box has kept, if any; to be called after a segment.

    Raises:
        OracleError: see `BlackBox.raise_pending`.
    """
    if isinstance(objectives, BlackBox):
        objectives.raise_pending()


def _count(records: Any, agent: int) -> int:
    lengths = {np.shape(leaf)[0] if np.ndim(leaf) else 0 for leaf in jax.tree.leaves(records)}
    if len(lengths) != 1 or 0 in lengths:
        raise ProblemError(
            f"agent {agent}: the first axes of its records have the lengths {sorted(lengths)}; "
            "give arrays of one common length, at least 1"
        )
    return int(lengths.pop())
