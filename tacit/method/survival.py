"""Private survival: Kaplan-Meier curves and the log-rank test, from one private sum."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import numpy as np

from tacit import checks
from tacit.data.cells import Column, Scale
from tacit.errors import ConfigError
from tacit.method._one_sum import OneSum
from tacit.method._survival_curve import SEEN, Cells, curve, median, restricted_mean
from tacit.method._survival_rows import Lifetimes
from tacit.method._survival_test import log_rank
from tacit.method._times import (
    check_cut,
    check_event,
    check_number,
    check_time,
    edges_of,
    ends_of,
    place_of,
)
from tacit.method.answer import Refused
from tacit.method.survival_answer import Group, SurvivalCurves
from tacit.privacy.budget import Privacy
from tacit.privacy.statistics import BlockSum, Counts
from tacit.problem.task import Task
from tacit.ranges import Count
from tacit.types import Relation

_INTERVALS = 40
"""Number of equal intervals without edges."""


class PrivateSurvival(OneSum):
    """Kaplan-Meier curves by group and the log-rank test, in one sum.

    Every record is counted in one cell: an event or a censoring, in an interval of time, in its
    group. So neither groups nor intervals take a share of the budget. Curves, medians, restricted
    means and the test follow from the cells, each with intervals for sampling and noise. A curve
    ends where the records at risk no longer stand out of the noise.

    The estimate is that of Kaplan and Meier (1958), on a grid as in life tables; here it is made of
    noised counts.

    What leaves: each client's cells, to the server, which need not be trusted when `privacy` is
    given (Gaussian mechanism; status proved). Without it, not private. With `Privacy(masks=...)`
    the server can read only their sum.

    Args:
        time: declared column of the time until the event or the censoring, a number with bounds;
            the lower one at least 0. Edges cut it into the intervals of the curve. A record whose
            time reaches the upper bound counts as followed to it without an event.
        event: declared column of two levels, the second of which is the event: "true" of a yes or
            no.
        by: declared column with levels by which records are grouped; `None` for no groups.
        intervals: number of equal intervals between the bounds, at least 1, where no edges are
            given; `None` for 40.
        until: time up to which means are restricted, an end of an interval; `None` for the last one
            that all curves reach.
        privacy: budget and relation, or `None`. A clip of 1 or more has no effect, as a record adds
            1 to one cell.

    Example:
        >>> from tacit.method import PrivateSurvival
        >>> from tacit.data import Boolean, Numeric, Schema, columns_of
        >>> schema = Schema({"days": Numeric(0, 1000), "died": Boolean()}, target=None)
        >>> columns = columns_of(schema)
        >>> method = PrivateSurvival(columns["days"], columns["died"], intervals=20)
        >>> [(phase.name, phase.sender.value) for phase in method.phases()]
        [('question', 'server'), ('lifetimes', 'client')]
    """

    name: ClassVar[str] = "survival"
    when: ClassVar[str] = "the question is how long until an event, by group: survival curves"
    example: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {
            "time": Column("age", (), (2,), Scale(0.0, 120.0, 60.0, 60.0)),
            "event": Column("ill", ("false", "true"), (3,), Scale(0.0, 1.0, 0.0, 1.0), (0.5,)),
        }
    )
    answers: ClassVar[str] = "lifetimes"
    time: Column = eqx.field(static=True)
    event: Column = eqx.field(static=True)
    by: Column | None = eqx.field(static=True, default=None)
    intervals: Count | None = eqx.field(static=True, default=None)
    until: float | None = eqx.field(static=True, default=None)
    privacy: Privacy | None = eqx.field(kw_only=True, default=None)

    def __check_init__(self) -> None:
        check_time(self.time)
        check_event(self.event)
        check_number("intervals", self.intervals)
        check_cut("intervals", self.intervals, self.time)
        if self.by is not None:
            remedy = "give a column of the records, such as task.column('arm')"
            checks.instance("by", self.by, Column, remedy, ConfigError)
        names = [column.name for column in self.read]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ConfigError(
                f"column {twice!r} stands twice; time, event and groups are columns of their own"
            )
        if self.by is not None and len(self.by.levels) < 2:
            raise ConfigError(
                f"by={self.by.name!r} has fewer than two levels; groups are the levels of a "
                "column; cut a number into intervals before, by edges in a study or with pandas.cut"
            )
        if self.until is not None and self._place(self.until) is None:
            shown = ", ".join(f"{end:g}" for end in self.edges[1:])
            raise ConfigError(
                f"until={self.until:g} is not an end of an interval; these are: {shown}"
            )

    def _place(self, until: float) -> int | None:
        """Number of intervals up to one of their ends."""
        place = place_of(until, self.edges[1:])
        return None if place is None else place + 1

    @property
    def edges(self) -> tuple[float, ...]:
        """Start of the first interval, then the ends of all, in the units of the data."""
        return edges_of(self.time, _INTERVALS if self.intervals is None else self.intervals)

    @property
    def read(self) -> Sequence[Column]:
        return (self.time, self.event, *([] if self.by is None else [self.by]))

    @property
    def _asked(self) -> Lifetimes:
        return Lifetimes(self.time, self.event, self.by, ends_of(self.time, self.edges))

    @property
    def query(self) -> BlockSum:
        """One block of counts."""
        asked = self._asked
        return BlockSum((Counts(asked, asked.each * asked.groups),), relation=self.relation)

    def numbers(self, task: Task) -> tuple[str, ...]:
        groups = [""] if self.by is None else [f"{self.by.name}={each}," for each in self.by.levels]
        within = [f"({low:g}, {high:g}]" for low, high in pairwise(self.edges)]
        cells = [f"{what} in {each}" for what in ("event", "censored") for each in within]
        return (*(f"{group}{cell}" for group in groups for cell in (*cells, "beyond")), "sites")

    def told(
        self, parts: Sequence[np.ndarray], spreads: Sequence[float], sites: int, of_sites: int
    ) -> SurvivalCurves | Refused:
        edges, noise = np.array(self.edges), float(spreads[0])
        size = len(edges) - 1
        cells = [
            Cells(each[:size], each[size:-1], float(each[-1]), noise)
            for each in np.asarray(parts[0]).reshape(self._asked.groups, -1)
        ]
        known = [each.known for each in cells]
        if not any(known):
            least = math.ceil(SEEN * noise * math.sqrt(2.0 * size + 1.0))
            return Refused(
                "the noise hides how many records are at risk, even at the start",
                f"more than {least:,} records in a group would do, a larger epsilon, or fewer "
                "intervals",
            )
        reached = min(each for each in known if each)
        until = reached if self.until is None else self._place(self.until)
        assert until is not None
        names = ("",) if self.by is None else self.by.levels
        groups: list[Group] = []
        for name, each in zip(names, cells, strict=True):
            found = curve(each)
            mean = restricted_mean(found, edges, until) if each.known >= until else None
            groups.append(
                Group(name, each, found, median(found, edges) if each.known else None, mean)
            )
        return SurvivalCurves(
            groups=tuple(groups),
            edges=self.edges,
            until=float(edges[until]),
            test=None if self.by is None else log_rank(cells, self.edges),
            time=self.time.name,
            event=f"{self.event.name} = {self.event.levels[1]}",
            by="" if self.by is None else self.by.name,
            sites=sites,
            of_sites=of_sites,
            private_size=self.relation is Relation.ADD_REMOVE,
            repeated=self.privacy is not None and self.privacy.repeated,
        )
