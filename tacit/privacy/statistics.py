"""A private sum of bounded statistics of records: blocks of different shape, one flat vector.

Every block enforces a bound on what one record adds to it: a clip, or a one-hot vector that is made
here. So a bound never depends on the author of `rows` or `cell`. In the vector each block has units
of its own sensitivity, times the root of its share: between neighbours all blocks together move by
at most 1 over the normaliser, and code that adds noise to the sum, hides, accounts or audits it
sees one vector of known size. `BlockSum.split` restores the blocks' own units and shapes, and is
post-processing. Proof: docs/proofs/block_sums.md.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from typing import Any, ClassVar, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from tacit import checks
from tacit.arguments import checked
from tacit.clipping import clipped
from tacit.errors import PrivacyError
from tacit.privacy.query import AbstractQuery, Share, Sums
from tacit.privacy.sensitivity import sample
from tacit.ranges import Count, Positive
from tacit.types import AbstractPrivate, Context, Oracle, PublicContext, Relation, Unit

_ROUNDING = 1e-9
"""Tolerance by which shares may miss 1."""


class Block(eqx.Module):
    """One statistic of a `BlockSum`. This file defines all its kinds.

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
        return _of_shape(self.rows(record, point), (self.size,), "rows")

    def bounded(self, asked: Float[Array, "n size"]) -> Float[Array, "n size"]:
        return clipped(asked, self.bound, 2)

    def shaped(self, flat: Float[Array, " size"]) -> Float[Array, " size"]:
        return flat

    def farthest(self) -> tuple[Float[ArrayLike, " size"], Float[ArrayLike, " size"]]:
        first = _axis(self.size, 0, self.bound)
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
        return self.bound**2

    def movement(self, relation: Relation) -> Any:
        # two products have an angle of at most 90 degrees, and of none with one entry
        apart = relation is Relation.REPLACE_ONE and self.size > 1
        return math.sqrt(2.0) * self.longest if apart else self.longest

    def asked(self, record: Float[Array, " d"], point: Any) -> Float[Array, " size"]:
        return _of_shape(self.rows(record, point), (self.size,), "rows")

    def bounded(self, asked: Float[Array, "n size"]) -> Float[Array, "n length"]:
        inside = clipped(asked, self.bound, 2)
        row, column = np.triu_indices(self.size)
        return inside[:, row] * inside[:, column] * _weights(row, column)

    def shaped(self, flat: Float[Array, " length"]) -> Float[Array, "size size"]:
        row, column = np.triu_indices(self.size)
        values = flat / _weights(row, column)
        matrix = jnp.zeros((self.size, self.size), values.dtype)
        return matrix.at[row, column].set(values).at[column, row].set(values)

    def farthest(self) -> tuple[Float[ArrayLike, " size"], Float[ArrayLike, " size"]]:
        first = _axis(self.size, 0, self.bound)
        other = _axis(self.size, 1, self.bound) if self.size > 1 else np.zeros(1)
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
        return _of_shape(self.cell(record, point), (), "cell")

    def bounded(self, asked: Float[Array, " n"]) -> Float[Array, "n cells"]:
        return (asked[:, None] == jnp.arange(self.cells)).astype(asked.dtype)

    def shaped(self, flat: Float[Array, " cells"]) -> Float[Array, " cells"]:
        return flat

    def farthest(self) -> tuple[Float[ArrayLike, ""], Float[ArrayLike, ""]]:
        return np.asarray(0.0), np.asarray(1.0)


BLOCKS: tuple[type[Block], ...] = (Clipped, Gram, Counts)
"""All kinds of blocks: the proofs about a sum are about these."""


class Asked(eqx.Module):
    """The question of one block at one point, to be asked of a record.

    Attributes:
        block: block that asks.
        point: public point at which it asks.
    """

    block: Block
    point: Any

    def __call__(self, record: Float[Array, " d"]) -> Array:
        """What the block asks of the record, still unbounded."""
        return self.block.asked(record, self.point)


class BlockSum(AbstractQuery):
    """Sum of bounded statistics of all records, in one vector, over the declared normaliser.

    Block `b` with the sensitivity `D_b` under `relation` and the share `f_b` enters it times
    `sqrt(f_b) / D_b`, so that the whole moves by at most `1 / normaliser` in the l2 norm. Proof:
    docs/proofs/block_sums.md; of samples, docs/proofs/poisson_sampling.md.

    Attributes:
        blocks: blocks, at least one, of the kinds of this file, with shares that add up to 1.
        point: public point at which the records are asked, as a function of the method's state.
        relation: adjacency under which blocks have their shares. Under the other one the
            sensitivity is right, too, but the shares differ.

    Raises:
        PrivacyError: no blocks, one of another kind, or shares that do not add up to 1.

    Example:
        >>> from tacit.privacy.statistics import BlockSum, Counts
        >>> sex = Counts(lambda record, point: record[0], cells=2, share=0.5)
        >>> age = Counts(lambda record, point: record[1], cells=4, share=0.5)
        >>> BlockSum((sex, age)).size(dimension=2)
        6
    """

    sums: ClassVar[Sums] = Sums.RECORDS
    blocks: tuple[Block, ...]
    point: Callable[[Any], Any] = eqx.field(static=True, default=lambda state: None)
    relation: Relation = eqx.field(static=True, kw_only=True, default=Relation.REPLACE_ONE)
    rate: Share = eqx.field(static=True, kw_only=True, default=1.0)
    oracle: Oracle = eqx.field(static=True, default=Oracle.ROWS, init=False)
    order: int = eqx.field(static=True, default=2, init=False)

    def __check_init__(self) -> None:
        if not self.blocks:
            raise PrivacyError("blocks is empty; give at least one, such as Counts(cell, cells)")
        for block in self.blocks:
            if type(block) not in BLOCKS:
                raise PrivacyError(
                    f"{checks.shown(block)} is not a block of a known kind: the proofs about a "
                    "sum are about Clipped, Gram and Counts; give one of these your own rows"
                )
        total = math.fsum(block.share for block in self.blocks)
        if abs(total - 1.0) > _ROUNDING:
            raise PrivacyError(f"the shares of the blocks add up to {total:.12g}, not to 1")
        if self.relation is Relation.METRIC:
            raise PrivacyError(
                "relation='metric' measures the distance between whole costs, and this is a sum "
                "over records; use 'replace_one' or 'add_remove'"
            )

    def __call__(
        self, state: Any, objective: AbstractPrivate, context: Context, key: PRNGKeyArray
    ) -> Float[Array, " m"]:
        keep = sample(key, objective.units, self.rate)
        there = objective.present if keep is None else objective.present & keep
        point = self.point(state)
        sums = [
            # selected, not multiplied by 0: padding adds nothing, whatever it holds
            jnp.sum(
                jnp.where(there[:, None], block.bounded(objective.rows(Asked(block, point))), 0.0),
                axis=0,
            )
            * weight
            for block, weight in zip(self.blocks, self._weights, strict=True)
        ]
        return jnp.concatenate(sums) / (objective.normaliser * self.rate)

    def sensitivity(self, public: PublicContext, relation: Relation) -> float:
        if relation is Relation.METRIC or public.unit is Unit.AGENT:
            return math.inf  # the bound is per record, and nothing bounds their number
        moved = [block.movement(relation) for block in self.blocks]
        return self._together(moved) / (public.normaliser * self.rate)

    def beside(self, public: PublicContext) -> float:
        # one added record may add more than half of what replacing one moves
        longest = self._together([block.longest for block in self.blocks])
        half = 0.5 * self._together([b.movement(Relation.REPLACE_ONE) for b in self.blocks])
        return max(0.0, longest - half) / (public.normaliser * self.rate)

    def size(self, dimension: int) -> int:
        return sum(block.length for block in self.blocks)

    def evaluations(self, dimension: int) -> int:
        return len(self.blocks)

    def split(self, vector: Float[ArrayLike, " m"]) -> tuple[Array, ...]:
        """The sum of every block in its own units and shape, over the normaliser.

        Post-processing: a released vector remains as private as it was, and noise of the scale `s`
        becomes `s D_b / sqrt(f_b)` in block `b` (`spread`).

        vector: released vector of shape `(m,)`, or a sum or mean of such vectors.
            vector: shape `(m,)`, what was released, or a sum or mean of that.
        """
        whole = jnp.asarray(vector)
        ends = np.cumsum([block.length for block in self.blocks])[:-1].tolist()
        parts = jnp.split(whole, ends)
        return tuple(
            block.shaped(part / weight)
            for block, part, weight in zip(self.blocks, parts, self._weights, strict=True)
        )

    def spread(self, scale: float) -> tuple[float, ...]:
        """Scale of the noise in every block's own units, for a given scale in the vector.

        Off the diagonal of a `Gram` it is `1/sqrt(2)` of that.

        Args:
            scale: scale of the noise in each entry of the vector, at least 0.
        """
        return tuple(float(scale / weight) for weight in self._weights)

    @property
    def _weights(self) -> tuple[Any, ...]:
        """Factor by which the sum of each block is multiplied."""
        total = math.fsum(block.share for block in self.blocks)
        return tuple(
            math.sqrt(block.share / total) / block.movement(self.relation) for block in self.blocks
        )

    def _together(self, lengths: list[Any]) -> float:
        """Length of a vector whose blocks have the given lengths in their own units."""
        parts = zip(self._weights, lengths, strict=True)
        return math.sqrt(math.fsum(float(weight * length) ** 2 for weight, length in parts))


def _of_shape(value: Any, shape: tuple[int, ...], what: str) -> Array:
    found = jnp.asarray(value)
    if found.shape != shape:
        raise PrivacyError(
            f"{what} made an array of shape {found.shape} of one record; it must have the shape "
            f"{shape} that the block declares"
        )
    return found.astype(jnp.result_type(float, found.dtype))


def _weights(row: Any, column: Any) -> Any:
    """Factor by which an entry of the upper triangle is multiplied."""
    return np.where(row == column, 1.0, math.sqrt(2.0))


def _axis(size: int, axis: int, length: Any) -> Any:
    """A vector along one axis; its length may be traced."""
    return length * np.eye(size)[axis]
