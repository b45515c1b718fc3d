"""Neighbouring data on which an audit of a method has the best chance to find a leak.

A claim of privacy holds for every loss and all data, so an audit may choose both. Units whose loss
is linear make the most of a clipped query: wherever it is asked, one unit moves the answer by
exactly the sensitivity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float

from tacit.clipping import ORDERS, clipped
from tacit.errors import PrivacyError
from tacit.privacy.budget import Privacy
from tacit.privacy.query import own_public
from tacit.privacy.statistics import Asked
from tacit.problem.task import Task
from tacit.ranges import Numbers
from tacit.types import (
    AbstractDifferentiable,
    AbstractPrivate,
    Order,
    Params,
    Relation,
    Scalar,
    Unit,
)

UNBOUNDED = (math.inf, math.inf, math.inf)
"""No declared bounds on the l1, l2 and linf norm of a unit's gradient."""

_STEEPNESS = 1e6
"""Gradient of a worst-case unit in clips: steep enough that a difference along nearly any direction
is clipped, and far from where a value of the loss would lose digits."""


class Extremes(AbstractPrivate):
    """Records whose answers are as far apart as each block of a `BlockSum` allows.

    A claim holds for all records, whatever the query, so these answer every block with one of the
    two answers that it declares to be the farthest apart.

    Attributes:
        normaliser: declared public divisor of sums, positive.
        which: choice of answer: 1 for the first, -1 for the other, 0 for no record, shape `(n,)`.
    """

    normaliser: Float[ArrayLike, "*agents"]
    which: Float[ArrayLike, "*agents n"]
    unit: ClassVar[Unit] = Unit.RECORD

    @property
    def units(self) -> int:
        """Number of records, absent ones included."""
        return np.shape(self.which)[-1]

    @property
    def present(self) -> Bool[Array, " n"]:
        """Mask of the records that are present."""
        return jnp.asarray(self.which) != 0

    def rows(self, function: Callable[..., Array]) -> Float[Array, "n ..."]:
        """One of the two farthest answers to the block that asks, for each record."""
        if not isinstance(function, Asked):
            raise TypeError("worst-case records answer the blocks of a BlockSum only")
        first, other = function.block.farthest()
        which = jnp.asarray(self.which)
        return jax.vmap(lambda one: jnp.where(one > 0, first, other))(which).astype(which.dtype)


class LinearUnits(AbstractDifferentiable):
    """An objective whose units have the losses `g_j'x`: `f(x) = sum_j g_j'x / normaliser`.

    With many agents every array has a leading agent axis.

    Attributes:
        normaliser: declared public divisor of the sum, positive.
        gradients: the gradient `g_j` of every unit, shape `(n, p)`; 0 for an absent one.
        gradient_bounds: further bounds that a query enforces, in the l1, l2 and linf norm.

    Example:
        >>> units = LinearUnits(normaliser=2.0, gradients=np.array([[3.0, 4.0], [0.0, 0.0]]))
        >>> float(units.value(np.array([1.0, 1.0])))
        3.5
    """

    normaliser: Float[ArrayLike, "*agents"]
    gradients: Float[ArrayLike, "*agents n p"]
    gradient_bounds: tuple[float, float, float] = eqx.field(static=True, default=UNBOUNDED)
    unit: ClassVar[Unit] = Unit.RECORD

    @property
    def units(self) -> int:
        """Number of units, absent ones included."""
        return np.shape(self.gradients)[-2]

    def losses(self, x: Params) -> Float[Array, " n"]:
        """`g_j'x` for every unit."""
        return jnp.asarray(self.gradients) @ jnp.asarray(x)

    def value(self, x: Params) -> Float[Array, ""]:
        """`f(x)`."""
        return jnp.sum(self.losses(x)) / self.normaliser

    def gradient(self, x: Params) -> Float[Array, " p"]:
        """`sum_j g_j / normaliser`, at every point."""
        return jnp.sum(jnp.asarray(self.gradients), axis=0) / self.normaliser

    def gradient_bound(self, order: Order) -> float:
        """Declared bound on the gradients of the units that these represent."""
        return self.gradient_bounds[ORDERS.index(order)]

    def clipped_gradient(
        self, x: Params, clip: Scalar, order: Order, keep: Bool[Array, " n"] | None
    ) -> Float[Array, " p"]:
        """Sum over the kept units of their clipped gradients, over `normaliser`."""
        inside = clipped(jnp.asarray(self.gradients), clip, order)
        if keep is not None:
            inside = inside * keep[:, None]
        return jnp.sum(inside, axis=0) / self.normaliser


class LinearRecords(LinearUnits):
    """Units with linear losses that answer the blocks of a `BlockSum`, too, as `Extremes` do.

    A unit answers with the first or the other of the two farthest answers by the sign of its
    gradient, and is absent where that is 0. Its gradient is as steep in any coordinates.
    """

    @property
    def present(self) -> Bool[Array, " n"]:
        """Mask of the units whose gradient is not 0."""
        return self._which != 0

    def rows(self, function: Callable[..., Array]) -> Float[Array, "n ..."]:
        """One of the two farthest answers to the block that asks, for each unit."""
        return Extremes(self.normaliser, self._which).rows(function)

    def transformed(self, matrix: Float[Array, "p p"]) -> LinearRecords:
        """The same units: they are the worst neighbours in any coordinates."""
        return self

    @property
    def _which(self) -> Float[Array, " n"]:
        return jnp.sign(jnp.sum(jnp.asarray(self.gradients), axis=-1))


@dataclass(frozen=True)
class Neighbours:
    """The data of all agents, and the same with one protected unit changed.

    Attributes:
        objectives: objectives of all agents, leading axis = agent.
        others: the same objectives with one unit changed.
        owners: agents that hold part of that unit.
        how: what was changed, as a clause.
        others_zero: whether every loss but those of the unit is zero at every point.
    """

    objectives: AbstractPrivate
    others: AbstractPrivate
    owners: tuple[int, ...]
    how: str
    others_zero: bool = False


def gradient_bounds(problem: Task) -> list[tuple[float, float, float]]:
    """The bounds on gradients that the declared bounds of every owner's records imply."""
    objectives = problem.objectives
    if not isinstance(objectives, AbstractDifferentiable):
        return [UNBOUNDED] * problem.agents
    with jax.enable_x64(True):
        each = [np.asarray(objectives.gradient_bound(order), dtype=float) for order in ORDERS]
    rows = zip(*(np.broadcast_to(own, (problem.agents,)).tolist() for own in each), strict=True)
    return list(rows)


def linear_neighbours(
    privacy: Privacy | None,
    normaliser: Numbers,
    dimension: int,
    owner: int,
    bounds: tuple[float, float, float] = UNBOUNDED,
    units: type[LinearUnits] = LinearUnits,
) -> Neighbours:
    """Neighbours of linear units, for a method whose releases are clipped queries.

    The unit has a steep gradient along the first axis, which every norm of a clip cuts to the same
    vector (along the diagonal where the clip's norm allows a longer vector there); in the other
    data it has the opposite gradient, or is absent under add-remove adjacency. Under the
    relation metric the two gradients are 1 apart. A person has records at as many sites as the
    budget covers. All other losses are zero.

    Args:
        privacy: the method's budget, clip and relation.
        normaliser: declared divisors, shape `(agents,)`.
        dimension: number of parameters.
        owner: the agent whose data are audited.
        bounds: largest l1, l2 and linf norm of a record's gradient that declared bounds imply.
        units: class of the objectives: `LinearRecords` where blocks are asked as well.

    Raises:
        PrivacyError: a method without a finite clip or bound.
    """
    if privacy is None:
        raise PrivacyError(
            "a method without a privacy budget clips nothing, so it has no worst-case neighbours "
            "of its own; give neighbour= a problem that differs in one record"
        )
    clip = own_public(privacy.clip, owner)
    norm = privacy.order if privacy.clip_norm is None else privacy.clip_norm
    metric = privacy.relation is Relation.METRIC
    if not math.isfinite(clip):
        clip = bounds[ORDERS.index(norm)]
    if not math.isfinite(clip) and not metric:
        raise PrivacyError(
            f"clip={clip!r} of agent {owner} bounds nothing, so no data are the worst; "
            "set a finite clip"
        )
    normaliser = np.asarray(normaliser, dtype=np.float64)
    agents, records = len(normaliser), privacy.records_per_person
    owners = tuple((owner + site) % agents for site in range(privacy.sites_per_person))
    gradients = np.zeros((agents, records, dimension))
    diagonal = norm > privacy.order and not metric
    axes = slice(None) if diagonal else 0
    gradients[list(owners), :, axes] = 0.5 if metric else _STEEPNESS * clip
    removed = privacy.relation is Relation.ADD_REMOVE
    return Neighbours(
        units(normaliser, gradients, bounds),
        units(normaliser, 0.0 * gradients if removed else -gradients, bounds),
        owners,
        f"one linear loss along the {'diagonal' if diagonal else 'first axis'}, "
        + ("there or absent" if removed else "replaced by its opposite")
        + ", all other losses zero",
        others_zero=True,
    )


def block_neighbours(privacy: Privacy | None, normaliser: Numbers, owner: int) -> Neighbours:
    """Neighbours for a method whose releases are sums of blocks (`BlockSum`).

    One record answers every block with the first of its two farthest answers; in the other data it
    is replaced by one that answers with the other, or is absent. No other agent has records.
    A person has records at as many sites as the budget covers.

    Args:
        privacy: the method's budget.
        normaliser: declared divisors, shape `(agents,)`.
        owner: the agent whose data are audited.

    Raises:
        PrivacyError: a method without a budget.
    """
    if privacy is None:
        raise PrivacyError(
            "a method without a privacy budget claims nothing that worst-case neighbours could "
            "test; give it one"
        )
    normaliser = np.asarray(normaliser, dtype=np.float64)
    owners = tuple((owner + site) % len(normaliser) for site in range(privacy.sites_per_person))
    which = np.zeros((len(normaliser), privacy.records_per_person))
    which[list(owners)] = 1.0
    removed = privacy.relation is Relation.ADD_REMOVE
    return Neighbours(
        Extremes(normaliser, which),
        Extremes(normaliser, 0.0 * which if removed else -which),
        owners,
        "one record with the answers that each statistic moves the most by, "
        + ("there or absent" if removed else "replaced by one with the opposite answers")
        + ", no other records",
        others_zero=True,
    )
