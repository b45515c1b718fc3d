"""The types that every part of tacit shares: objectives and contexts, and the words of `kinds`.

An agent's private data are held by an `AbstractPrivate`. What else a method may know is in
`Context` (traced, inside a run) and `PublicContext` (plain Python, for accounting): neither ever
holds private values.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, PRNGKeyArray

from tacit.kinds import Combine as Combine
from tacit.kinds import Division as Division
from tacit.kinds import Oracle as Oracle
from tacit.kinds import Relation as Relation
from tacit.kinds import Role as Role
from tacit.kinds import Unit as Unit

Vector: TypeAlias = Float[Array, " p"]
"""A parameter vector inside a run, shape `(p,)`."""

Params: TypeAlias = Float[ArrayLike, " p"]
"""A parameter vector, shape `(p,)`."""

Order: TypeAlias = int | float
"""Which norm: 1, 2 or `math.inf`."""

Scalar: TypeAlias = Float[ArrayLike, ""]
"""A real number as an array with no axes."""

# A round, a step, an agent or the number of agents: a whole number, traced inside a run.
# A comment, because the site takes the shapes in this union for names to link.
Index: TypeAlias = int | Int[Array, ""] | Int[np.ndarray, ""] | np.integer

State: TypeAlias = object
"""A state, a message or a release, for code that only passes it on: a tree of arrays."""


class AbstractPrivate(eqx.Module):
    """The private data of one agent: protected units, and a public number that divides their sums.

    For records, a unit is a record; a black box that is one whole cost has a single unit.
    Only the query of a phase ever receives it.
    """

    unit: eqx.AbstractClassVar[Unit]
    normaliser: eqx.AbstractVar[Float[ArrayLike, "*agents"]]

    @property
    @abc.abstractmethod
    def units(self) -> int:
        """Number of units of this agent, including padding."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a guarantee assumes about it, in words; nothing by default."""
        return ()

    @property
    def present(self) -> Bool[Array, " n"]:
        """Which units are present, shape `(n,)`: by default all, otherwise all except padding."""
        return jnp.ones(self.units, dtype=bool)

    def rows(self, function: Callable[[Float[Array, " d"]], Array]) -> Float[Array, "n ..."]:
        """Apply a function to every record separately.

        Args:
            function: maps one record, a vector of numbers of shape `(d,)`; it is mapped over the
                records, so that its result for one cannot depend on another.

        Returns:
            Array of shape `(n, ...)`; rows of padding are meaningless.

        Raises:
            TypeError: data that are not a table of records.
        """
        raise TypeError(f"{type(self).__name__} holds no table of records")


class AbstractObjective(AbstractPrivate):
    """A cost function that one agent owns: a sum over protected units divided by a public number.

    `f(x) = sum_j losses(x)_j / normaliser`.
    """

    @abc.abstractmethod
    def losses(self, x: Params) -> Float[Array, " n"]:
        """Loss of every unit at `x`, shape `(n,)`; padded units give exactly 0."""

    @abc.abstractmethod
    def value(self, x: Params) -> Float[Array, ""]:
        """`f(x)`."""

    def measured(self, x: Params) -> Float[Array, ""]:
        """`f(x)` for whoever watches a run: infinite where `value` would end it with an error."""
        return self.value(x)


class AbstractDifferentiable(AbstractObjective):
    """An objective that also gives (sub)gradients, whole and clipped unit by unit."""

    @abc.abstractmethod
    def gradient(self, x: Params) -> Float[Array, " p"]:
        """A (sub)gradient of `f` at `x`, shape `(p,)`."""

    @abc.abstractmethod
    def clipped_gradient(
        self, x: Params, clip: Scalar, order: Order, keep: Bool[Array, " n"] | None
    ) -> Float[Array, " p"]:
        """Sum over the kept units of their gradients, each clipped to norm `clip`, over
        `normaliser`.

        Args:
            x: point at which to take the gradients, shape `(p,)`.
            clip: largest norm of one unit's gradient, positive or infinite.
            order: order of the norm: 1, 2 or infinity.
            keep: which units take part, shape `(n,)`; `None` for all.
        """

    def transformed(self, matrix: Float[Array, "p p"]) -> AbstractDifferentiable:
        """The same cost in other coordinates, `u -> f(matrix u)`, for clipping there.

        Declared bounds on gradients do not carry over.

        Args:
            matrix: symmetric public matrix, shape `(p, p)`.

        Raises:
            TypeError: an objective whose gradients are not multiples of the rows of a table.
        """
        raise TypeError(f"{type(self).__name__} has no table whose rows could be transformed")

    def gradient_bound(self, order: Order) -> Float[ArrayLike, "*agents"]:
        """Largest norm of one unit's gradient, at any point, implied by declared bounds.

        Infinite unless bounds are declared; a clip above it would only add noise.
        """
        return math.inf


@runtime_checkable
class PublicPart(Protocol):
    """The part of the problem that every agent knows: regulariser share and constraint."""

    @property
    def exact(self) -> bool:
        """Whether `prox` is the exact proximal map of regulariser share plus constraint."""
        ...

    def value(self, x: Params) -> Float[Array, ""]:
        """The regulariser share (one agent's part) at `x`."""
        ...

    def gradient(self, x: Params) -> Float[Array, " p"]:
        """A subgradient of the regulariser share."""
        ...

    def prox(self, v: Params, step: Scalar) -> Float[Array, " p"]:
        """`argmin_{x in X} step * R(x) + ||x - v||^2 / 2`."""
        ...

    def project(self, v: Params) -> Float[Array, " p"]:
        """The nearest point of the constraint set."""
        ...

    def descend(self, x: Params, direction: Params, step: Scalar) -> Float[Array, " p"]:
        """One proximal (or, where there is no exact map, projected subgradient) step from `x`."""
        ...


class Context(eqx.Module):
    """What a phase knows while it runs; holds nothing private.

    `key` is the agent's randomness for this (round, phase, step) that the method may use; noise and
    record sampling have keys of their own, which never reach a method. `records` is the agent's
    declared number of records (1 for a whole cost): the actual number where that is public,
    otherwise a number that it should never exceed. `dimension` is the number of the problem's
    parameters, `None` if unknown.
    """

    round: Int[Array, ""]
    step: Int[ArrayLike, ""]
    agent: Int[Array, ""]
    degree: Int[Array, ""]
    key: PRNGKeyArray
    public: PublicPart
    rounds: Int[Array, ""]
    agents: int = eqx.field(static=True)
    records: Int[ArrayLike, ""] = 1
    dimension: int | None = eqx.field(static=True, default=None)


class Inbox(eqx.Module):
    """What a receiver holds after a phase: one slot per sender, sorted by agent id.

    `mixed` is the weighted sum of the messages (without the receiver's own), `total` their plain
    sum. A simulation holds the inboxes of all receivers together, with a leading axis.
    An absent sender has mask, weight and payload 0. Under `Combine.SUM`, and when a graph with a
    hub is simulated, only the sums exist: `payload`, `mask` and `weight` are `None`.
    """

    payload: Any
    mask: Bool[Array, "*receivers slots"] | None
    weight: Float[Array, "*receivers slots"] | None
    self_weight: Float[Array, "*receivers"]
    degree: Int[Array, "*receivers"]
    mixed: Any
    total: Any


@dataclass(frozen=True)
class PublicContext:
    """What the size of a release may depend on: declared constants, never data.

    Attributes:
        agent: index of the owner.
        agents: number of agents.
        round: index of the round; the first is 0.
        rounds: number of rounds in the run.
        count: the owner's declared number of records (1 for a whole cost).
        normaliser: declared constant by which sums over records are divided.
        unit: what one summand of the objective represents.
        degree: number of neighbours.
        participations: number of rounds in which this owner takes part.
        dimension: number of parameters; needed where the clip uses another norm than the noise.
        gradient_bounds: largest l1, l2 and linf norm of one unit's gradient, as implied by bounds
            declared for the data.
    """

    agent: int
    agents: int
    round: int
    rounds: int
    count: int
    normaliser: float
    unit: Unit
    degree: int
    participations: int
    dimension: int | None = None
    gradient_bounds: tuple[float, float, float] = (math.inf, math.inf, math.inf)
