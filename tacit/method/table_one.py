"""Private table 1: counts, percentages, means and quantiles by group, from one private sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

import equinox as eqx
import numpy as np

from tacit import checks
from tacit.data.cells import Column, Scale
from tacit.data.factors import bounds_of
from tacit.errors import ConfigError
from tacit.method._one_sum import OneSum, check_columns, together
from tacit.method._table_entries import OVERALL, Released, entries
from tacit.method._table_margins import consistent
from tacit.method._table_rows import Groups, Levels, Moments
from tacit.method.table_one_answer import TableOne
from tacit.privacy.budget import Privacy
from tacit.privacy.statistics import BlockSum, Counts, Parts
from tacit.problem.task import Task
from tacit.ranges import Count, Key, Whole, numeric
from tacit.types import Relation

_MOST_BINS = 1_000
"""More only cost memory: medians are no finer than the noise."""


def _names(given: Any) -> tuple[Any, ...]:
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise ConfigError(f"medians={checks.shown(given)} must be a list of names of columns")
    return tuple(given)


def _pairs(given: Any) -> tuple[tuple[Any, Any], ...]:
    """Shares by column, in an order."""
    if given is None or (isinstance(given, tuple) and all(isinstance(e, tuple) for e in given)):
        return given or ()
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"shares={checks.shown(given)} must give shares by column, such as {{'age': 2}}"
        )
    return tuple(given.items())


class PrivateTableOne(OneSum):
    """Table 1: counts, percentages, means, deviations and quantiles by group, in one sum.

    Every column divides each record over cells: its level, or for a number `z` in [-1, 1] the parts
    `((1 - z)^2 / 4, (1 - z^2) / 2, (1 + z)^2 / 4)`, whose sums give count, mean and variance. The
    cells of a group stand apart, so that neither groups nor levels add noise; columns do, as each
    takes a share of the budget. Cells are then fitted to margins that agree, and every number has
    the error due to the noise. Groups are compared by tests that include it.

    What leaves: each client's cells, to the server, which need not be trusted when `privacy` is
    given (Gaussian mechanism; status proved). Without it, not private. With `Privacy(masks=...)`
    the server can read only their sum.

    Args:
        columns: declared columns of the table: levels, or numbers with bounds.
        by: declared column with levels by which records are grouped; `None` for no groups.
        medians: names of numbers of which median and quartiles are asked for as well; each takes a
            further share of the budget.
        bins: number of equal intervals between the bounds from which quantiles are read off, 2 to
            1,000.
        shares: relative shares of the budget by column, positive; 1 where none is given.
        suppress_below: number of records below which counts are not printed, a rule for readers
            that adds no privacy; 0 prints all.
        privacy: budget and relation, or `None`. A clip of 1 or more has no effect, as a record adds
            at most 1 to each column.

    Example:
        >>> from tacit.method import PrivateTableOne
        >>> from tacit.data import Column
        >>> method = PrivateTableOne([Column("sex", ("f", "m"), (0, 1))])
        >>> [(phase.name, phase.sender.value) for phase in method.phases()]
        [('question', 'server'), ('cells', 'client')]
    """

    name: ClassVar[str] = "table1"
    when: ClassVar[str] = "the question is what the records look like, by group: a table 1"
    example: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {
            "columns": (Column("age", (), (2,), Scale(0.0, 120.0, 60.0, 60.0)),),
            "by": Column("sex", ("f", "m"), (0, 1)),
        }
    )
    answers: ClassVar[str] = "cells"
    columns: Sequence[Column] = eqx.field(static=True, converter=together)
    by: Column | None = eqx.field(static=True, default=None)
    medians: Sequence[str] = eqx.field(static=True, converter=_names, default=())
    bins: Count = eqx.field(static=True, default=20)
    shares: Annotated[Sequence[tuple[str, float]], Key(Mapping[str, float] | None)] = eqx.field(
        static=True, converter=_pairs, default=None
    )
    suppress_below: Whole = eqx.field(static=True, default=0)
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def __check_init__(self) -> None:
        check_columns(self.columns, "describe")
        names = [column.name for column in self.columns]
        by = self.by
        if by is not None:
            remedy = "give a column of the records, such as task.column('arm')"
            checks.instance("by", by, Column, remedy, ConfigError)
            if by.name in names:
                raise ConfigError(
                    f"by={by.name!r} is among the columns as well; leave it out there"
                )
            if len(by.levels) < 2 or OVERALL in by.levels:
                wrong = (
                    "a level named 'overall'" if OVERALL in by.levels else "fewer than two levels"
                )
                raise ConfigError(
                    f"by={by.name!r} has {wrong}; groups are the levels of a column; cut a number "
                    "into intervals before, by edges in a study or with pandas.cut"
                )
        for key, given in (("medians", self.medians), ("shares", [k for k, _ in self.shares])):
            unknown = next((each for each in given if each not in names), None)
            if unknown is not None:
                raise ConfigError(
                    f"{key}={checks.shown(unknown)} is not among the columns; these "
                    f"are: {', '.join(names)}"
                )
        levelled = [c.name for c in self.columns if c.levels and c.name in self.medians]
        if levelled:
            raise ConfigError(
                f"medians={levelled[0]!r} has levels; quantiles are of numbers, so leave it out"
            )
        if not 2 <= self.bins <= _MOST_BINS:
            raise ConfigError(f"bins={self.bins} must be at least 2 and at most {_MOST_BINS:,}")
        for name, share in self.shares:
            if not numeric(share) or np.ndim(share) or not 0.0 < share < np.inf:
                raise ConfigError(
                    f"shares: {checks.shown(share)} of {name!r} must be a positive number"
                )

    @property
    def read(self) -> Sequence[Column]:
        return (*self.columns, *([] if self.by is None else [self.by]))

    @cached_property
    def _groups(self) -> Groups:
        return Groups(self.by, tuple(self.read))

    @property
    def asked(self) -> list[tuple[Column, Levels | Moments]]:
        """What is asked of a record, block by block, and for which column."""
        found: list[tuple[Column, Levels | Moments]] = []
        for column in self.columns:
            kind = Levels if column.levels else Moments
            found.append((column, kind(column, self._groups)))
            if column.name in self.medians:
                inner = np.linspace(*bounds_of(column), self.bins + 1)[1:-1]
                found.append((column, Levels(column.cut(*inner.tolist()), self._groups)))
        return found

    @property
    def query(self) -> BlockSum:
        """One block per column, and one more for each whose quantiles are asked for."""
        asked, shares = self.asked, dict(self.shares)
        weights = [float(shares.get(column.name, 1.0)) for column, _ in asked]
        blocks = [
            (Counts if isinstance(each, Levels) else Parts)(
                each, each.each * self._groups.size, share=weight / sum(weights)
            )
            for (_, each), weight in zip(asked, weights, strict=True)
        ]
        return BlockSum(tuple(blocks), relation=self.relation)

    def numbers(self, task: Task) -> tuple[str, ...]:
        groups = [""] if self.by is None else [f"{self.by.name}={each}," for each in self.by.levels]
        found: list[str] = []
        for column, each in self.asked:
            moments = ("(1-z)^2/4", "(1-z^2)/2", "(1+z)^2/4", "missing")
            cells = each.column.levels if isinstance(each, Levels) else moments[: each.each]
            found += [f"{group}{column.name}={cell}" for group in groups for cell in cells]
        return (*found, "sites")

    def told(
        self, parts: Sequence[np.ndarray], spreads: Sequence[float], sites: int, of_sites: int
    ) -> TableOne:
        asked, size = self.asked, self._groups.size
        counts, cells = consistent([part.reshape(size, -1) for part in parts], spreads)
        released: list[Released] = []
        for (column, each), found in zip(asked, cells, strict=True):
            if isinstance(each, Levels) and not column.levels:  # the quantiles of the one before
                edges = np.linspace(*bounds_of(column), self.bins + 1)
                first = released.pop()
                released.append(Released(column, first.cells, found, tuple(edges.tolist())))
            else:
                released.append(Released(column, found))
        groups = () if self.by is None else self.by.levels
        return TableOne(
            entries=tuple(entries(counts, released, groups, self.suppress_below)),
            columns=tuple(self.columns),
            by="" if self.by is None else self.by.name,
            groups=groups,
            sites=sites,
            of_sites=of_sites,
            bins=self.bins,
            suppress_below=self.suppress_below,
            private_size=self.relation is Relation.ADD_REMOVE,
            repeated=self.privacy is not None and self.privacy.repeated,
        )
