"""The columns of a regression, made of declared columns of a record and of nothing else.

Numbers are moved to [-1, 1] by their declared bounds, levels are 0 or 1, and the
intercept stands last. Coefficients are restored to the units of the data exactly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from tacit import checks
from tacit.arguments import checked
from tacit.data.cells import Column
from tacit.data.factors import Factor, Levels, Number, Offset
from tacit.errors import ProblemError

INTERCEPT = "Intercept"
"""Name of the constant column."""


@dataclass(frozen=True)
class Term:
    """A factor, or a product of factors (an interaction).

    Attributes:
        factors: factors, at least one.
    """

    factors: tuple[Factor, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each column: those of the factors, with colons."""
        return tuple(
            ":".join(names) for names in itertools.product(*(f.names for f in self.factors))
        )

    @property
    def square(self) -> float:
        """Mean squared norm of its columns if all values were equally frequent."""
        return math.prod(factor.square for factor in self.factors)

    @property
    def span(self) -> float:
        """How far its columns reach in the units of the data: 1 for levels and splines."""
        return math.prod(factor.span for factor in self.factors)

    def values(self, record: Float[Array, " m"]) -> Float[Array, " width"]:
        """Its columns for one record; their norm is at most 1."""
        found = jnp.ones(1, record.dtype)
        for factor in self.factors:
            found = (found[:, None] * factor.values(record)).reshape(-1)
        return found


@dataclass(frozen=True)
class Design:
    """Terms of a regression, with an intercept behind them.

    Attributes:
        terms: terms, in order.
        offset: what is added to the linear predictor beside them, or `None`.

    Raises:
        ProblemError: a column that stands twice, or an interaction of a number without its parts.

    Example:
        >>> from tacit.data.cells import Column, Scale
        >>> age = Column("age", (), (0,), Scale(20.0, 60.0, 20.0, 40.0))
        >>> sex = Column("sex", ("f", "m"), (1, 2))
        >>> design = design_of([age, sex])
        >>> design.names
        ('age', 'sex[T.m]', 'Intercept')
        >>> design.values(np.array([0.25, 0.0, 1.0])).tolist()
        [-0.5, 1.0, 1.0]
        >>> design.natural(np.array([2.0, 1.0, 0.0]))
        array([ 0.1,  1. , -4. ])
    """

    terms: tuple[Term, ...]
    offset: Offset | None = None

    def __repr__(self) -> str:
        added = "" if self.offset is None else f", offset({self.offset.column.name})"
        return f"<Design: {', '.join(self.names)}{added}>"

    def __post_init__(self) -> None:
        if not isinstance(self.terms, tuple) or not self.terms:
            raise ProblemError(
                f"terms={checks.shown(self.terms)} must be a tuple of terms, at least one; make "
                "them with design_of or parse_formula"
            )
        for each in self.terms:
            remedy = "make terms with design_of or parse_formula"
            checks.instance("terms", each, Term, remedy, ProblemError)
        if self.offset is not None:
            remedy = "write offset(column) in a formula"
            checks.instance("offset", self.offset, Offset, remedy, ProblemError)
        names = self.names
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ProblemError(f"column {twice!r} stands twice in the model; name each once")
        _ = self.unscaled  # refuses an interaction without its parts at once

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each column."""
        return (*(name for term in self.terms for name in term.names), INTERCEPT)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Declared columns that it reads, each once."""
        found = [factor.column for term in self.terms for factor in term.factors]
        found += [] if self.offset is None else [self.offset.column]
        return tuple(dict.fromkeys(found))

    def on(self, columns: Mapping[str, Column]) -> Design:
        """The same design on records in which its columns have other places.

        Args:
            columns: the columns as they are declared there, by name.
        """
        offset = self.offset
        if offset is not None:
            offset = replace(offset, column=columns[offset.column.name])
        return Design(
            tuple(
                Term(tuple(replace(f, column=columns[f.column.name]) for f in term.factors))
                for term in self.terms
            ),
            offset,
        )

    @property
    def width(self) -> int:
        """Number of columns, the intercept included."""
        return len(self.names)

    @cached_property
    def typical(self) -> float:
        """Root mean square norm of a row if all values were uniform and independent."""
        return math.sqrt(1.0 + sum(term.square for term in self.terms))

    @cached_property
    def longest(self) -> float:
        """Largest norm of a row."""
        return math.sqrt(1.0 + len(self.terms))

    def values(self, record: Float[ArrayLike, " m"]) -> Float[Array, " width"]:
        """The row of one record; not a number in a term without a value."""
        entries = jnp.asarray(record)
        parts = [term.values(entries) for term in self.terms]
        return jnp.concatenate([*parts, jnp.ones(1, entries.dtype)])

    def added(self, record: Float[ArrayLike, " m"]) -> Float[Array, ""]:
        """The offset of one record in the units of the data: 0 without one."""
        entries = jnp.asarray(record)
        if self.offset is None:
            return jnp.zeros((), entries.dtype)
        return self.offset.value(entries)

    @cached_property
    def unscaled(self) -> Float[np.ndarray, "width width"]:
        """Matrix that takes coefficients of scaled columns to those in the units of the data."""
        rows = {name: i for i, name in enumerate(self.names)}
        matrix = np.zeros((self.width, self.width))
        matrix[-1, -1] = 1.0
        columns = [
            (term, names)
            for term in self.terms
            for names in itertools.product(*(factor.names for factor in term.factors))
        ]
        for column, (term, names) in enumerate(columns):
            # ((a - c) / h) ((b - k) / m), multiplied out
            moved = [factor.moved for factor in term.factors]
            for kept in itertools.product([True, False], repeat=len(names)):
                weight = math.prod(
                    1.0 / half if keep else -centre / half
                    for keep, (centre, half) in zip(kept, moved, strict=True)
                )
                if weight == 0.0:
                    continue
                rest = [name for keep, name in zip(kept, names, strict=True) if keep]
                place = rows.get(":".join(rest) if rest else INTERCEPT)
                if place is None:
                    raise ProblemError(
                        f"interaction {':'.join(names)!r} stands without {':'.join(rest)!r}: "
                        "numbers are moved to [-1, 1], and only with all parts is the model "
                        f"the same; write {'*'.join(f.column.name for f in term.factors)}"
                    )
                matrix[place, column] += weight
        return matrix

    @cached_property
    def spans(self) -> tuple[float, ...]:
        """How far each column reaches in the units of the data: 1 for levels and splines."""
        return (*(term.span for term in self.terms for _ in term.names), 1.0)

    def natural(self, coefficients: Float[np.ndarray, " width"]) -> Float[np.ndarray, " width"]:
        """Coefficients in the units of the data."""
        return self.unscaled @ np.asarray(coefficients, dtype=float)


@checked(ProblemError, own="columns")
def design_of(columns: Iterable[Column]) -> Design:
    """One term per declared column: numbers as they are, levels against their first."""
    if not isinstance(columns, Iterable) or isinstance(columns, str):
        raise ProblemError(
            f"columns={checks.shown(columns)} must be a list of declared columns, such as "
            "[task.column('age')]"
        )
    chosen = list(columns)
    if not chosen:
        raise ProblemError(f"columns={checks.shown(columns)} must have at least one column")
    for each in chosen:
        remedy = "give columns of the records, such as task.column('age')"
        checks.instance("columns", each, Column, remedy, ProblemError)
    return Design(tuple(Term((Levels(each) if each.levels else Number(each),)) for each in chosen))
