"""A private sum of bounded statistics of records: blocks of different shape, one flat vector.

Every block enforces a bound on what one record adds to it. In the vector each block has units
of its own sensitivity, times the root of its share: between neighbours all blocks together move by
at most 1 over the normaliser, and code that adds noise to the sum, hides, accounts or audits it
sees one vector of known size. `BlockSum.split` restores the blocks' own units and shapes, and is
post-processing. Proof: docs/proofs/block_sums.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from tacit import checks
from tacit.errors import PrivacyError
from tacit.privacy.blocks import Block, Clipped, Counts, Gram, Parts
from tacit.privacy.class_score import ClassScore
from tacit.privacy.query import AbstractQuery, Share, Sums
from tacit.privacy.score import Score
from tacit.privacy.sensitivity import sample
from tacit.types import AbstractPrivate, Context, Oracle, PublicContext, Relation, Unit

_ROUNDING = 1e-9
"""Tolerance by which shares may miss 1."""


_SMALLEST = 1e-100
"""Smallest movement of a block, and the inverse of the largest one."""

BLOCKS: tuple[type[Block], ...] = (Clipped, Gram, Counts, Parts, Score, ClassScore)
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
        blocks: blocks, at least one, of the kinds in `BLOCKS`, with shares that add up to 1.
        point: public point at which the records are asked, as a function of the method's state.
        relation: adjacency under which blocks have their shares. Under the other one the
            sensitivity is right, too, but the shares differ.
        assumed: what the bounds assume about the records, in words.

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
    assumed: tuple[str, ...] = eqx.field(static=True, kw_only=True, default=())
    oracle: Oracle = eqx.field(static=True, default=Oracle.ROWS, init=False)
    order: int = eqx.field(static=True, default=2, init=False)

    def __check_init__(self) -> None:
        if not self.blocks:
            raise PrivacyError("blocks is empty; give at least one, such as Counts(cell, cells)")
        for block in self.blocks:
            if type(block) not in BLOCKS:
                raise PrivacyError(
                    f"{checks.shown(block)} is not a block of a known kind: the proofs about a "
                    f"sum are about {', '.join(each.__name__ for each in BLOCKS)}; give one of "
                    "these your own rows"
                )
            moved = block.movement(self.relation)
            if not isinstance(moved, Tracer) and not _SMALLEST <= moved <= 1.0 / _SMALLEST:
                raise PrivacyError(
                    f"a record moves {type(block).__name__} by {float(moved):.3g}, a unit that "
                    f"cannot be undone; take bounds with which it is from {_SMALLEST:g} to "
                    f"{1.0 / _SMALLEST:g}"
                )
        total = math.fsum(block.share for block in self.blocks)
        if abs(total - 1.0) > _ROUNDING:
            raise PrivacyError(f"the shares of the blocks add up to {total:.12g}, not to 1")
        if self.relation is Relation.METRIC:
            raise PrivacyError(
                "relation='metric' measures the distance between whole costs, and this is a sum "
                "over records; use 'replace_one' or 'add_remove'"
            )

    def assumes(self, relation: Relation) -> tuple[str, ...]:
        return self.assumed

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

        Args:
            vector: released vector of shape `(m,)`, or a sum or mean of such vectors.
        """
        whole = jnp.asarray(vector)
        ends = np.cumsum([block.length for block in self.blocks])[:-1].tolist()
        parts = jnp.split(whole, ends)
        return tuple(
            block.shaped(part / weight)
            for block, part, weight in zip(self.blocks, parts, self._weights, strict=True)
        )

    def spread(self, scale: Any) -> tuple[Any, ...]:
        """Scale of the noise in every block's own units, for a given scale in the vector.

        Off the diagonal of a `Gram` it is `1/sqrt(2)` of that.

        Args:
            scale: scale of the noise in each entry of the vector, at least 0.
        """
        return tuple(scale / weight for weight in self._weights)

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
