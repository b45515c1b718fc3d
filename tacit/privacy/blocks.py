"""The kinds of statistics in a private sum, each with the bound that it enforces on a record.

A bound is enforced here, by a clip, a one-hot vector or parts of at most 1 in all, so that it
never depends on the author of `rows` or `cell`. Proof: docs/proofs/block_sums.md.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from typing import Any, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from tacit.arguments import checked
from tacit.arguments.answers import answer, numbers_only
from tacit.clipping import clipped
from tacit.errors import PrivacyError
from tacit.privacy.query import Share
from tacit.ranges import Count, Positive
from tacit.types import Relation


class Block(eqx.Module):
    """One statistic of a `BlockSum`.

    Attributes:
        share: share of the budget, in (0, 1]; the shares of a sum add up to 1. The variance of the
            noise in a block is inversely proportional to its share.
    """

    share: Share = eqx.field(static=True, kw_only=True, default=1.0)

    @property
    @abc.abstractmethod
    def length(self) -> int:
        """Number of entries in the flat vector."""

    @property
    @abc.abstractmethod
    def longest(self) -> Any:
        """Largest l2 norm of what one record adds; in compiled code a bound may be traced."""

    @abc.abstractmethod
    def movement(self, relation: Relation) -> Any:
        """Largest movement of the block's sum between neighbours, in the l2 norm."""

    @abc.abstractmethod
    def asked(self, record: Float[Array, " d"], point: Any) -> Array:
        """What the block asks of one record, still unbounded."""

    @abc.abstractmethod
    def bounded(self, asked: Float[Array, "n ..."]) -> Float[Array, "n length"]:
        """What each record adds, within the bound whatever its answer was."""

    @abc.abstractmethod
    def shaped(self, flat: Float[Array, " length"]) -> Array:
        """A sum in the block's own shape."""

    @abc.abstractmethod
    def farthest(self) -> tuple[Float[ArrayLike, "*m"], Float[ArrayLike, "*m"]]:
        """Two results of `asked` that move the sum by `movement` when one replaces the other.

        The first alone moves it by `longest` when it is added or removed.
        """


@final
@checked(PrivacyError)
class Clipped(Block):
    """Sum of one vector per record, each clipped to an l2 norm.

    Attributes:
        rows: `(record, point) -> vector`, shape `(size,)`, of a record of shape `(d,)`.
        size: number of entries in that vector, at least 1.
        bound: largest l2 norm of a record's vector, positive and finite. A longer one is scaled
            down, and one that is not finite counts as 0.
        share: share of the budget, in (0, 1].
    """

    rows: Callable[[Any, Any], Any]
    size: Count = eqx.field(static=True)
    bound: Positive

    @property
    def length(self) -> int:
        return self.size

    @property
    def longest(self) -> Any:
        return self.bound

    def movement(self, relation: Relation) -> Any:
        return 2.0 * self.longest if relation is Relation.REPLACE_ONE else self.longest

    def asked(self, record: Float[Array, " d"], point: Any) -> Float[Array, " size"]:
        return of_record(self, "rows", record, point, (self.size,))

    def bounded(self, asked: Float[Array, "n size"]) -> Float[Array, "n size"]:
        return clipped(asked, self.bound, 2)

    def shaped(self, flat: Float[Array, " size"]) -> Float[Array, " size"]:
        return flat

    def farthest(self) -> tuple[Float[ArrayLike, " size"], Float[ArrayLike, " size"]]:
        first = axis_vector(self.size, 0, self.bound)
        return first, -first


@final
@checked(PrivacyError)
class Gram(Block):
    """Sum of the products `u u'` of one vector `u` per record, each clipped to an l2 norm.

    A matrix enters as its upper triangle, with off-diagonal entries times `sqrt(2)`, which keeps
    the Frobenius norm: its noise has full size on the diagonal and `1/sqrt(2)` of it elsewhere.

    Attributes:
        rows: `(record, point) -> u`, shape `(size,)`, of a record of shape `(d,)`.
        size: number of entries in `u`, at least 1.
        bound: `C`, largest l2 norm of `u`, positive and finite, as for `Clipped`; a product has a
            Frobenius norm of at most `C^2`.
        share: share of the budget, in (0, 1].
    """

    rows: Callable[[Any, Any], Any]
    size: Count = eqx.field(static=True)
    bound: Positive

    @property
    def length(self) -> int:
        return self.size * (self.size + 1) // 2

    @property
    def longest(self) -> Any:
        return self.bound * self.bound  # a power of a huge one would raise

    def movement(self, relation: Relation) -> Any:
        # two products have an angle of at most 90 degrees, and of none with one entry
        apart = relation is Relation.REPLACE_ONE and self.size > 1
        return math.sqrt(2.0) * self.longest if apart else self.longest

    def asked(self, record: Float[Array, " d"], point: Any) -> Float[Array, " size"]:
        return of_record(self, "rows", record, point, (self.size,))

    def bounded(self, asked: Float[Array, "n size"]) -> Float[Array, "n length"]:
        inside = clipped(asked, self.bound, 2)
        return triangle(inside, inside)

    def shaped(self, flat: Float[Array, " length"]) -> Float[Array, "size size"]:
        return full(flat, self.size)

    def farthest(self) -> tuple[Float[ArrayLike, " size"], Float[ArrayLike, " size"]]:
        first = axis_vector(self.size, 0, self.bound)
        other = axis_vector(self.size, 1, self.bound) if self.size > 1 else np.zeros(1)
        return first, other


@final
@checked(PrivacyError)
class Counts(Block):
    """Number of records in each of several cells; each record is in at most one.

    Attributes:
        cell: `(record, point) -> number`, of a record of shape `(d,)`: its cell, counted from 0. A
            result that is not a whole number below `cells`, such as NaN, is in none.
        cells: number of cells, at least 1.
        share: share of the budget, in (0, 1].
    """

    cell: Callable[[Any, Any], Any]
    cells: Count = eqx.field(static=True)

    @property
    def length(self) -> int:
        return self.cells

    @property
    def longest(self) -> float:
        return 1.0

    def movement(self, relation: Relation) -> float:
        return math.sqrt(2.0) if relation is Relation.REPLACE_ONE and self.cells > 1 else 1.0

    def asked(self, record: Float[Array, " d"], point: Any) -> Float[Array, ""]:
        return of_record(self, "cell", record, point, ())

    def bounded(self, asked: Float[Array, " n"]) -> Float[Array, "n cells"]:
        return (asked[:, None] == jnp.arange(self.cells)).astype(asked.dtype)

    def shaped(self, flat: Float[Array, " cells"]) -> Float[Array, " cells"]:
        return flat

    def farthest(self) -> tuple[Float[ArrayLike, ""], Float[ArrayLike, ""]]:
        return np.asarray(0.0), np.asarray(1.0)


@final
@checked(PrivacyError)
class Parts(Block):
    """Sum of the parts into which each record is divided over several cells.

    A record adds numbers of at least 0 that add up to at most 1. They move the sum as little as
    `Counts`, which are the case of one cell with all of it.

    Attributes:
        rows: `(record, point) -> parts`, shape `(cells,)`, of a record of shape `(d,)`. Negative
            parts count as 0, larger ones are divided by their sum where it is above 1, and a record
            of which a part is not finite counts as 0.
        cells: number of cells, at least 1.
        share: share of the budget, in (0, 1].
    """

    rows: Callable[[Any, Any], Any]
    cells: Count = eqx.field(static=True)

    @property
    def length(self) -> int:
        return self.cells

    @property
    def longest(self) -> float:
        return 1.0

    def movement(self, relation: Relation) -> float:
        return math.sqrt(2.0) if relation is Relation.REPLACE_ONE and self.cells > 1 else 1.0

    def asked(self, record: Float[Array, " d"], point: Any) -> Float[Array, " cells"]:
        return of_record(self, "rows", record, point, (self.cells,))

    def bounded(self, asked: Float[Array, "n cells"]) -> Float[Array, "n cells"]:
        usable = jnp.all(jnp.isfinite(asked), axis=1, keepdims=True)
        parts = jnp.where(usable, jnp.maximum(asked, 0.0), 0.0)
        return parts / jnp.maximum(jnp.sum(parts, axis=1, keepdims=True), 1.0)

    def shaped(self, flat: Float[Array, " cells"]) -> Float[Array, " cells"]:
        return flat

    def farthest(self) -> tuple[Float[ArrayLike, " cells"], Float[ArrayLike, " cells"]]:
        first = axis_vector(self.cells, 0, 1.0)
        return first, axis_vector(self.cells, 1, 1.0) if self.cells > 1 else np.zeros(1)


def check_score(radius: Any, norm: Any, relation: Relation) -> None:
    """Refuse bounds on columns that do not fit each other, and a distance between whole costs."""
    if not 0.0 < radius <= norm < math.inf:
        raise PrivacyError(
            f"norm={norm!r} must be finite and at least radius={radius!r}, above which a record "
            "only loses weight"
        )
    if relation is Relation.METRIC:
        raise PrivacyError("relation='metric' compares whole costs; a score is of records")


def of_record(block: Any, part: str, record: Any, point: Any, shape: tuple[int, ...]) -> Array:
    """What a function that a block was given makes of one record, of the declared shape."""
    function, what = getattr(block, part), f"{type(block).__name__}: {part}"
    found = jnp.asarray(
        answer(
            function,
            record,
            point,
            named=what,
            takes="record, point",
            fits=numbers_only("what counts of a record", f"give numbers, shape {shape}"),
            error=PrivacyError,
        )
    )
    if found.shape != shape:
        raise PrivacyError(
            f"{what} made an array of shape {found.shape} of one record; it must have the shape "
            f"{shape} that the block declares"
        )
    if jnp.issubdtype(found.dtype, jnp.complexfloating):
        raise PrivacyError(
            f"{what} made complex numbers of one record; give real ones, which a bound is about"
        )
    # never in a type that the function chose: its rounding could exceed the bound
    return found.astype(jnp.result_type(float))


def triangle(left: Float[Array, "n m"], right: Float[Array, "n m"]) -> Float[Array, "n length"]:
    """Upper triangles of the symmetric products `left right'`, in the Frobenius norm."""
    row, column = np.triu_indices(left.shape[-1])
    return left[:, row] * right[:, column] * _weights(row, column)


def full(flat: Float[Array, " length"], size: int) -> Float[Array, "size size"]:
    """The symmetric matrix of which `triangle` gave the upper half."""
    row, column = np.triu_indices(size)
    values = flat / _weights(row, column)
    matrix = jnp.zeros((size, size), values.dtype)
    return matrix.at[row, column].set(values).at[column, row].set(values)


def _weights(row: Any, column: Any) -> Any:
    """Factor by which an entry of the upper triangle is multiplied."""
    return np.where(row == column, 1.0, math.sqrt(2.0))


def axis_vector(size: int, axis: int, length: Any) -> Any:
    """A vector along one axis; its length may be traced."""
    return length * np.eye(size)[axis]
