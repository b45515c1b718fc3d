"""The protocol of what agents work on together: a problem to minimise, or plain records.

A `Problem` has a minimiser; `Records` are tables of which statistics are released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from tacit import checks
from tacit.arguments import checked
from tacit.data.cells import Column, chosen, columns_of
from tacit.data.schema import Schema
from tacit.errors import ProblemError
from tacit.problem.constraint import FREE, AbstractConstraint
from tacit.problem.problem import agent_of, check_names
from tacit.problem.public import Public
from tacit.problem.records import names_of
from tacit.problem.regularisers import NO_REGULARISER, AbstractRegulariser
from tacit.ranges import numeric
from tacit.types import AbstractPrivate, Division, Unit


@runtime_checkable
class Task(Protocol):
    """What agents work on together: private data, and what everyone knows about them."""

    @property
    def objectives(self) -> AbstractPrivate:
        """The private data of all agents: every array has a leading agent axis."""
        ...

    @property
    def counts(self) -> Int[ArrayLike, " agents"]:
        """Number of records of every agent (1 for a whole cost)."""
        ...

    @property
    def told(self) -> Int[np.ndarray, " agents"]:
        """Declared numbers instead of numbers of records, where the latter are private."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Owner of each agent's data."""
        ...

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters; without a minimiser, of the entries of a record."""
        ...

    @property
    def regulariser(self) -> AbstractRegulariser:
        """The public penalty."""
        ...

    @property
    def constraint(self) -> AbstractConstraint:
        """The public convex set."""
        ...

    @property
    def declared(self) -> bool:
        """Whether every divisor of a sum is independent of the number of records."""
        ...

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was taken to be public when the records were prepared, in sentences."""
        ...

    @property
    def divided(self) -> frozenset[Division]:
        """What decided which record belongs to which agent."""
        ...

    @property
    def agents(self) -> int:
        """Number of agents."""
        ...

    @property
    def dimension(self) -> int:
        """Number of `parameter_names`."""
        ...

    @property
    def unit(self) -> Unit:
        """The unit that one summand of the private data stands for."""
        ...

    @property
    def normaliser(self) -> np.ndarray:
        """Public number that every agent's sums are divided by, shape `(agents,)`."""
        ...

    @property
    def public(self) -> Public:
        """What else every agent knows."""
        ...

    def agent(self, index: int) -> AbstractPrivate:
        """The private data of one agent."""
        ...

    def start(self) -> np.ndarray:
        """The starting point, shape `(p,)`.

        Raises:
            ProblemError: there is nothing to minimise.
        """
        ...


@checked(ProblemError)
class Rows(AbstractPrivate):
    """A table of one agent's records. With many agents every array has a leading agent axis.

    Attributes:
        normaliser: declared public number that sums are divided by, positive.
        values: one record per row, shape `(n, d)`; NaN where a record has no value.
        mask: 1 for a record, 0 for a padding row, shape `(n,)`.

    Raises:
        ProblemError: a mask value other than 0 and 1, because a weight would count a record twice.
    """

    normaliser: Float[ArrayLike, "*agents"]
    values: Float[ArrayLike, "*agents n d"]
    mask: Float[ArrayLike, "*agents n"]
    unit: ClassVar[Unit] = Unit.RECORD

    def __check_init__(self) -> None:
        if not isinstance(self.mask, Tracer) and not np.isin(self.mask, (0.0, 1.0)).all():
            raise ProblemError("mask holds other numbers than 1 for a record and 0 for none")

    @property
    def units(self) -> int:
        """Number of rows, padding included."""
        return np.shape(self.values)[-2]

    @property
    def present(self) -> Bool[Array, " n"]:
        """Which rows are records."""
        return jnp.asarray(self.mask) > 0

    def rows(self, function: Any) -> Float[Array, "n ..."]:
        """The values of a function of every record."""
        return jax.vmap(function)(jnp.asarray(self.values))


@checked(ProblemError)
class Records(eqx.Module):
    """Tables of records, one per agent, with declared columns and nothing to minimise.

    Make one with `record_tables`.

    Attributes:
        objectives: tables, as one module whose arrays all have a leading agent axis.
        counts: number of records of every agent, shape `(K,)`.
        names: owner of every table.
        columns: declared columns, in order.
        parameter_names: meaning of each entry of a record.
        size: public number close to the numbers of records, one or one per agent; needed where
            records may be added or removed, since their numbers are private then.
        assumptions: what was taken to be public when the records were prepared, in sentences.
        divided: what decided which record belongs to whom; empty if owners brought their own.

    Raises:
        ProblemError: fewer than two agents, or parts that do not match each other.
    """

    objectives: Rows
    counts: Int[ArrayLike, " agents"]
    names: tuple[str, ...] = eqx.field(static=True)
    columns: tuple[Column, ...] = eqx.field(static=True)
    parameter_names: tuple[str, ...] = eqx.field(static=True)
    size: Any = eqx.field(static=True, default=None)
    assumptions: tuple[str, ...] = eqx.field(static=True, default=())
    divided: frozenset[Division] = eqx.field(static=True, default=frozenset())

    def __repr__(self) -> str:
        columns = ", ".join(column.name for column in self.columns[:8])
        more = f" and {len(self.columns) - 8} more" if len(self.columns) > 8 else ""
        return f"<Records of {len(self.names)} agents: {columns}{more}>"

    def __check_init__(self) -> None:
        check_names(self.names, self.agents, "tables are of")

    @property
    def told(self) -> Int[np.ndarray, " agents"]:
        """The declared numbers."""
        size = 1 if self.size is None else self.size
        return np.broadcast_to(np.asarray(size, dtype=int), (self.agents,))

    @property
    def declared(self) -> bool:
        """Whether numbers of records are declared; sums are divided by 1 anyway."""
        return self.size is not None

    @property
    def regulariser(self) -> AbstractRegulariser:
        """No regulariser."""
        return NO_REGULARISER

    @property
    def constraint(self) -> AbstractConstraint:
        """No constraint."""
        return FREE

    @property
    def agents(self) -> int:
        """Number of agents, `K`."""
        return np.shape(self.counts)[0]

    @property
    def dimension(self) -> int:
        """Number of entries per record."""
        return len(self.parameter_names)

    @property
    def unit(self) -> Unit:
        """A record."""
        return self.objectives.unit

    @property
    def normaliser(self) -> np.ndarray:
        """1 for each agent: sums are released."""
        return np.asarray(self.objectives.normaliser, dtype=np.float64)

    @property
    def public(self) -> Public:
        """No penalty and no constraint."""
        return Public(self.regulariser, self.constraint)

    def agent(self, index: int) -> Rows:
        """The table of one agent, padded to the size of the largest."""
        return agent_of(self.objectives, index, self.agents)

    def start(self) -> np.ndarray:
        """Not available: records have no starting point.

        Raises:
            ProblemError: always.
        """
        raise ProblemError(
            "records have no loss, so there is nothing to minimise; give a problem, such as "
            "problem.empirical_risk(...), or a method that asks for statistics, such as "
            "method.PrivateCounts"
        )

    def column(self, name: str) -> Column:
        """A declared column.

        Raises:
            ProblemError: no column of that name.
        """
        return chosen({column.name: column for column in self.columns}, name)


@checked(ProblemError, own="tables schema names")
def record_tables(
    tables: Sequence[Any],
    schema: Schema,
    *,
    names: Sequence[str] | None = None,
    size: Any = None,
    pad_to: int | None = None,
    assumptions: Sequence[str] = (),
) -> Records:
    """Tables of several agents, to be counted or otherwise described.

    Args:
        tables: one table per agent, of shape `(N_k, d)`, as made by `prepare`; the `N_k` may
            differ.
        schema: schema by which the tables were made, with declared levels and bounds.
        names: names of the agents; "agent 0", ... by default.
        size: declared public number close to the numbers of records, at least 1 (one, or one per
            agent). A guarantee under add-remove adjacency needs it, because these are private then.
        pad_to: declared size to which every agent is padded; the largest count by default.
        assumptions: what must be public about the records for a guarantee to hold, in sentences
            that every guarantee repeats. `Sites.features` includes those of preparation and
            division.

    Raises:
        ProblemError: tables that do not match the schema, with values beyond declared bounds or
            levels that are not 0 or 1, or fewer than two agents.

    Example:
        >>> from tacit.data.schema import Categorical, Schema
        >>> schema = Schema({"sex": Categorical(["f", "m"])}, target=None, intercept=False)
        >>> task = record_tables([[[1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]], schema)
        >>> task.counts.tolist(), task.column("sex").levels
        ([1, 2], ('f', 'm'))
    """
    if not isinstance(schema, Schema):
        raise ProblemError(f"schema is {checks.shown(schema)}; give a Schema(...)")
    if (not isinstance(tables, Sequence) and np.ndim(tables) < 2) or isinstance(
        tables, str | bytes
    ):
        raise ProblemError(
            f"tables is {checks.shown(tables)}; give a list with one table for each agent"
        )
    if len(tables) < 2:
        raise ProblemError(f"tables has {len(tables)} entries; agreement needs at least two agents")
    columns = columns_of(schema)
    entries = entries_of(columns, schema.intercept)
    owners = names_of(names, len(tables))
    found = [
        _table(table, len(entries), owner) for table, owner in zip(tables, owners, strict=True)
    ]
    for table, owner in zip(found, owners, strict=True):
        _check_declared(table, columns, owner)
    counts = np.array([len(table) for table in found])
    if size is not None:
        good = numeric(size) and np.shape(size) in ((), (len(found),))
        if not good or not np.all(np.asarray(size) >= 1):
            raise ProblemError(
                f"size={checks.shown(size)} must be a whole number from 1, or {len(found)} of them"
            )
        size = tuple(np.broadcast_to(np.rint(np.asarray(size)).astype(int), counts.shape).tolist())
    sentences = [*assumptions, *getattr(tables, "assumptions", ())]
    return Records(
        objectives=rows_of(found, pad_to),
        counts=counts,
        names=owners,
        columns=tuple(columns.values()),
        parameter_names=entries,
        size=size,
        assumptions=tuple(dict.fromkeys(sentences)),
        divided=getattr(tables, "divided", frozenset()),
    )


def rows_of(tables: Sequence[np.ndarray], pad_to: int | None = None) -> Rows:
    """Tables of all agents as one module, padded with empty rows.

    Args:
        tables: tables, each of shape `(N_k, d)`.
        pad_to: number of rows to pad to; that of the largest table when `None`.

    Raises:
        ProblemError: a table with more rows than that.
    """
    largest = max([1, *map(len, tables)])
    size = largest if pad_to is None else pad_to
    if size < largest:
        raise ProblemError(
            f"pad_to={size} is smaller than the largest agent's {largest} records; records are "
            "never dropped, so declare a larger one"
        )
    values = np.zeros((len(tables), size, tables[0].shape[1]))
    mask = np.zeros((len(tables), size))
    for index, table in enumerate(tables):
        values[index, : len(table)], mask[index, : len(table)] = table, 1.0
    return Rows(np.ones(len(tables)), values, mask)


def entries_of(columns: Mapping[str, Column], intercept: bool) -> tuple[str, ...]:
    """Names of the entries of a record, as given by `prepare`."""
    found: list[str] = []
    for column in columns.values():
        if column.scale is None:
            found += [f"{column.name}={level}" for level in column.levels]
        else:
            found.append(column.name)
            found += [] if column.missing is None else [f"{column.name}=missing"]
    return (*found, "intercept") if intercept else tuple(found)


def _check_declared(table: np.ndarray, columns: Mapping[str, Column], owner: str) -> None:
    """Refuse values that `prepare` does not make of columns declared like this."""
    for column in columns.values():
        for place in (*column.places, *([] if column.missing is None else [column.missing])):
            scale = None if place == column.missing else column.scale
            values = table[:, place]
            if scale is None:
                wrong, what = ~np.isin(values, (0.0, 1.0)), "is neither 0 nor 1"
            else:
                low, high = sorted((scale.of(scale.lower), scale.of(scale.upper)))
                slack = 1e-9 * max(1.0, abs(low), abs(high))
                wrong = (values < low - slack) | (values > high + slack)
                what = f"lies beyond its declared bounds {scale.lower:g} and {scale.upper:g}"
            wrong &= ~np.isnan(values)
            if wrong.any():
                raise ProblemError(
                    f"the table of {owner} has an entry of column {column.name!r} in row "
                    f"{np.flatnonzero(wrong)[0]} that {what}; make it with data.prepare, which "
                    "scales values, moves them to their bounds and finds their levels"
                )


def _table(table: Any, width: int, owner: str) -> np.ndarray:
    try:
        if np.iscomplexobj(table):
            raise TypeError
        values = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise ProblemError(
            f"the table of {owner} is {checks.shown(table)}, which is not a table of numbers; make "
            "it with data.prepare"
        ) from None
    if values.ndim != 2:
        raise ProblemError(
            f"the table of {owner} is {checks.shown(table)}; give one table for each agent, with a "
            "row per record, as data.prepare makes it"
        )
    if values.shape[1] != width:
        raise ProblemError(
            f"the table of {owner} has the shape {values.shape}; the schema makes {width} entries "
            "of a record"
        )
    if np.isinf(values).any():  # not a number is a missing value
        row = int(np.argwhere(np.isinf(values))[0][0])
        raise ProblemError(
            f"the table of {owner} has an infinite value in row {row}; make it with data.prepare, "
            "which says what to do"
        )
    return values
