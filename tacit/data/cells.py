"""Declared columns of a table as entries of a record, and the cells that records are counted in.

A column follows from its declaration alone, so that nothing here depends on data.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit import checks
from tacit.arguments import checked
from tacit.data.feature import AbstractFeature, Boolean, Categorical, Numeric
from tacit.data.rules import level_key
from tacit.data.schema import Schema
from tacit.errors import ProblemError
from tacit.ranges import numeric

MISSING = "missing"
"""Level of records without a value, where `missing="indicator"` keeps them apart."""


@dataclass(frozen=True)
class Scale:
    """How a number is stored in a record: clipped to bounds, then `(value - centre) / unit`.

    Attributes:
        lower: declared lower bound.
        upper: declared upper bound, above `lower`.
        centre: number that is subtracted.
        unit: number that is divided by, positive.
    """

    lower: float
    upper: float
    centre: float
    unit: float

    def of(self, value: float | int) -> float:
        """A number as it is stored in a record, rounded as a table's values are."""
        return float((np.float64(value) - self.centre) / self.unit)


@dataclass(frozen=True)
class Column:
    """One declared column of a table.

    Attributes:
        name: name of the column.
        levels: names of the cells in which its records are counted, in order; none for a number
            that is not cut into intervals yet (`cut`).
        places: entries of a record that hold the column: one per level, or one for a number.
        scale: scale of a number.
        edges: points at which a number is cut, as stored in a record, ascending.
        missing: entry that is 1 where a number is missing, or `None`.
    """

    name: str
    levels: tuple[str, ...]
    places: tuple[int, ...]
    scale: Scale | None = None
    edges: tuple[float, ...] = ()
    missing: int | None = field(default=None)

    @property
    def declared(self) -> Column:
        """The column as its table declares it, without the cuts of a query."""
        plain = self.scale is None or self.levels == _truth(self.missing)
        return self if plain else replace(self, levels=(), edges=())

    def cut(self, *edges: float | int) -> Column:
        """A number as one of several intervals: its bounds, cut at these edges.

        An edge belongs to the interval above it; the last one holds the upper bound.

        Args:
            edges: cut points, ascending, strictly between the declared bounds; at least one.

        Raises:
            ProblemError: a column that is not a number, or edges that are not valid.
        """
        scale = self.scale
        if scale is None or self.levels == _truth(self.missing):
            raise ProblemError(
                f"edges={list(edges)} of column {self.name!r}: only a number is cut into "
                "intervals, and this column has levels of its own; leave edges out"
            )
        whole = [scale.lower, *edges, scale.upper]
        if not all(map(numeric, edges)) or any(map(np.ndim, edges)):
            raise ProblemError(
                f"edges={list(edges)} of column {self.name!r} must be numbers, such as "
                f"cut({(scale.lower + scale.upper) / 2:g})"
            )
        if not edges or not all(low < high for low, high in pairwise(whole)):
            raise ProblemError(
                f"edges={list(edges)} of column {self.name!r} must be at least one number, "
                f"ascending and between its bounds {scale.lower:g} and {scale.upper:g}"
            )
        levels = [f"[{a:g}, {b:g})" for a, b in pairwise(whole)]
        levels[-1] = f"{levels[-1][:-1]}]"
        absent = () if self.missing is None else (MISSING,)
        return replace(
            self, levels=(*levels, *absent), edges=tuple(scale.of(edge) for edge in edges)
        )

    def cell(self, record: Float[Array, " d"], point: Any = None) -> Float[Array, ""]:
        """Number of a record's level, or -1 for none.

        Args:
            record: one record, shape `(d,)`.
            point: ignored.
        """
        if not self.edges:
            hot = record[np.array(self.places)] > 0.5
            found = jnp.where(jnp.any(hot), jnp.argmax(hot), -1)
        else:
            value = record[self.places[0]]
            above = jnp.sum(value >= jnp.asarray(self.edges, record.dtype))
            found = jnp.where(jnp.isnan(value), -1, above)
            if self.missing is not None:
                found = jnp.where(record[self.missing] > 0.5, len(self.edges) + 1, found)
        return found.astype(record.dtype)


@checked(ProblemError)
def columns_of(schema: Schema) -> dict[str, Column]:
    """The position of each declared column in a record made by `prepare`.

    Args:
        schema: schema with declared levels and bounds, without `map` and `row_norm`.

    Raises:
        ProblemError: a declaration that leaves something to the data, or that scales records.

    Example:
        >>> from tacit.data.schema import Categorical, Numeric, Schema
        >>> schema = Schema({"sex": Categorical(["f", "m"]), "age": Numeric(0, 120)}, target=None)
        >>> found = columns_of(schema)
        >>> found["sex"].levels, found["age"].cut(18, 65).levels
        (('f', 'm'), ('[0, 18)', '[18, 65)', '[65, 120]'))
    """
    from tacit.data.missing import rule_of
    from tacit.data.rewriting import without_dates
    from tacit.data.table import constants_of

    if schema.map is not None:
        raise ProblemError(
            f"{type(schema.map).__name__} maps whole records, and what is asked of here are their "
            "columns; leave it out"
        )
    if schema.row_norm is not None:
        raise ProblemError(
            f"row_norm={schema.row_norm:g} scales whole records down, and what is counted is their "
            "values; leave it out"
        )
    found: dict[str, Column] = {}
    at = 0
    for name, feature in without_dates(schema).features.items():
        if isinstance(feature, AbstractFeature):
            raise ProblemError(
                f"column {name!r} is a {type(feature).__name__}, whose values have no declared "
                "levels or bounds; declare a kind of tacit's, or leave the column out"
            )
        absent = rule_of(feature, schema) == "indicator"
        if isinstance(feature, Categorical):
            if feature.levels is None or feature.drop_first:
                lacks = "levels" if feature.levels is None else "no drop_first"
                raise ProblemError(
                    f"column {name!r}: its levels must be declared, all of them; declare {lacks}"
                )
            levels = tuple(level_key(level) for level in feature.levels)
            levels = (*levels, MISSING) if absent else levels
            found[name] = Column(name, levels, tuple(range(at, at + len(levels))))
            at += len(levels)
            continue
        missing = at + 1 if absent else None
        if isinstance(feature, Boolean):
            scale, levels, edges = Scale(0.0, 1.0, 0.0, 1.0), _truth(missing), (0.5,)
            found[name] = Column(name, levels, (at,), scale, edges, missing)
        elif isinstance(feature, Numeric):
            found[name] = Column(name, (), (at,), _scale(name, feature, constants_of), (), missing)
        at += 1 + absent
    return found


def chosen(columns: Any, name: str) -> Column:
    """One of the declared columns.

    Raises:
        ProblemError: no column of that name.
    """
    found = columns.get(name)
    if found is None:
        those = f"these are: {', '.join(columns)}"
        raise ProblemError(
            f"column {checks.shown(name)} is not declared; {checks.hint(str(name), columns, those)}"
        )
    return found


def _truth(missing: int | None) -> tuple[str, ...]:
    return ("false", "true") if missing is None else ("false", "true", MISSING)


def _scale(name: str, feature: Numeric, constants: Any) -> Scale:
    if feature.lower is None or feature.upper is None or feature.standardise:
        raise ProblemError(f"column {name!r}: declare lower and upper, and do not standardise it")
    return Scale(*constants(name, feature, np.empty(0), []))
