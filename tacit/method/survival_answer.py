"""Survival curves of the records of several sites, with the errors of sampling and noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tacit.method import latex
from tacit.method._survival_curve import SEEN, Cells, Curve, Estimate
from tacit.method._survival_test import LogRank
from tacit.method.aligned import ruled
from tacit.method.answer import FROM_CELLS, NORMAL, PRIVATE_SIZE

if TYPE_CHECKING:
    import pandas as pd

_ENDED = "- stands where a curve has ended, or there is none."
"""What the sign in a cell means."""

_TIMES = 4
"""Number of times at which the printed table has the survival."""


@dataclass(frozen=True, eq=False)
class Group:
    """The curve of one group.

    Attributes:
        name: level of the group; empty where there are no groups.
        cells: counts that it follows from.
        curve: curve, at the ends of the intervals that it reaches.
        median: median survival time; `None` where the records at risk are hidden from the start.
        mean: restricted mean survival time; `None` where the curve ends before.
    """

    name: str
    cells: Cells
    curve: Curve
    median: Estimate | None
    mean: Estimate | None

    @property
    def size(self) -> int:
        """Number of intervals that the curve reaches."""
        return len(self.curve.survival)


@dataclass(frozen=True, eq=False)
class SurvivalCurves:
    """Survival curves by group, and whether they differ.

    Attributes:
        groups: curves, in the order of the levels.
        edges: start of the first interval, then the ends of all.
        until: time up to which means are restricted.
        test: log-rank test; `None` where there are no groups.
        time: name of the column of times.
        event: what the event is, such as "died = true".
        by: column by whose levels records are grouped; empty for no groups.
        sites: number of sites whose records were counted.
        of_sites: number of all sites.
        private_size: whether the number of records is private, and released here.
        repeated: whether a person may have several records, so that they are not independent.
    """

    groups: tuple[Group, ...]
    edges: tuple[float, ...]
    until: float
    test: LogRank | None
    time: str
    event: str
    by: str
    sites: int
    of_sites: int
    private_size: bool = False
    repeated: bool = False
    kind: ClassVar[str] = "survival"

    def frame(self) -> pd.DataFrame:
        """One row per group and end of an interval, the start first.

        `at_risk` counts the records at risk after that time, `events` and `censored` those of the
        interval that ends there, all as released; `survival` has the standard errors of
        sampling and of the noise, a 95 % interval for both, and a band that holds the whole curve
        with 95 %.
        """
        import pandas as pd

        return pd.concat([self._rows(group) for group in self.groups], ignore_index=True)

    def _rows(self, group: Group) -> pd.DataFrame:
        import pandas as pd

        found, cells, size = group.curve, group.cells, group.size
        entering, hidden = np.append(cells.entering, cells.beyond), cells.entering_noise
        hidden = np.append(hidden, cells.noise)
        rows = {
            "group": [group.name] * (size + 1),
            "time": self.edges[: size + 1],
            "at_risk": entering[: size + 1],
            "at_risk_error": hidden[: size + 1],
            "events": np.concatenate([[0.0], cells.events[:size]]),
            "censored": np.concatenate([[0.0], cells.censored[:size]]),
            "survival": np.concatenate([[1.0], found.survival]),
            "sampling_error": _deviations(found.sampling),
            "noise_error": _deviations(found.noise),
        }
        ends = ("lower", "upper", "band_lower", "band_upper")
        rows |= {name: np.concatenate([[1.0], getattr(found, name)]) for name in ends}
        return pd.DataFrame(rows).iloc[: size + 1 if size else 0]

    def to_dict(self) -> dict[str, Any]:
        """The curves, their summaries and the test as plain values."""
        rows: list[dict[str, Any]] = self.frame().to_dict("records")
        test = self.test
        return {
            "kind": self.kind,
            "time": self.time,
            "event": self.event,
            "by": self.by,
            "sites": self.sites,
            "of_sites": self.of_sites,
            "until": self.until,
            "groups": [
                {
                    "group": group.name,
                    "median": _plain(group.median),
                    "restricted_mean": _plain(group.mean),
                    "until": self.edges[group.size],
                }
                for group in self.groups
            ],
            "log_rank": None
            if test is None
            else {
                key: None if isinstance(value, float) and math.isnan(value) else value
                for key, value in vars(test).items()
            },
            "rows": rows,
        }

    @property
    def noisy(self) -> bool:
        """Whether noise was added."""
        return any(group.cells.noise > 0.0 for group in self.groups)

    def sentence(self) -> str:
        """Whose records these are, the test, and what the intervals cover."""
        whose = (
            f"all {self.sites}"
            if self.sites == self.of_sites
            else f"{self.sites} of {self.of_sites}"
        )
        grouped = f", by {self.by}" if self.by else ""
        found = [
            f"Survival of the records of {whose} sites{grouped}, by {self.time}; the event is "
            f"{self.event}. Kaplan-Meier estimates in {len(self.edges) - 1} intervals."
        ]
        if self.test is not None:
            found.append(_tested(self.test, self.time))
        covered = "sampling and the noise" if self.noisy else "sampling; no noise was added"
        found.append(f"95 % intervals cover {covered}.")
        if self.noisy:
            found.append("± is half of a 95 % interval for the noise alone.")
        if self.repeated:
            found.append(
                "Records are taken as independent: where several are of one person, as declared "
                "here, intervals are too short"
                + (" and p-values too small." if self.test is not None else ".")
            )
        if self.private_size:
            found.append(PRIVATE_SIZE.format(released=FROM_CELLS))
        short = [group for group in self.groups if self.noisy and group.size < len(self.edges) - 1]
        for group in short:
            of = f" of {group.name}" if group.name else ""
            found.append(
                f"The curve{of} ends at {self.edges[group.size]:g}: after that, fewer records are "
                f"at risk than {SEEN:g} standard deviations of the noise in their number."
            )
        return " ".join([*found, *([f"In the table, {_ENDED}"] if self._has_ended() else [])])

    def _has_ended(self) -> bool:
        """Whether the table has a time after the end of a curve."""
        return any(cell == "-" for row in self.cells()[1:] for cell in row)

    def cells(self) -> list[list[str]]:
        """Headings and rows of the printed table, as text."""
        heads = [f"{self.by}: {group.name}" if self.by else "Overall" for group in self.groups]
        rows = [
            ["", *heads],
            ["Records, n", *(_records(group) for group in self.groups)],
            ["Events, n", *(_events(group) for group in self.groups)],
            [f"Median {self.time}", *map(self._median, self.groups)],
            [
                f"Mean {self.time} up to {self.until:g}",
                *(_interval(group.mean, 3) for group in self.groups),
            ],
        ]
        ends = len(self.edges) - 1
        for place in sorted({round(ends * (i + 1) / _TIMES) for i in range(_TIMES)} - {0}):
            shown = [_survival(group, place) for group in self.groups]
            rows.append([f"Survival at {self.edges[place]:g}", *shown])
        return rows

    def _median(self, group: Group) -> str:
        """The median, which may be beyond the end of the curve."""
        return _interval(group.median, 3, self.edges[group.size])

    def summary(self) -> str:
        """The table as text."""
        return ruled(self.cells(), [self.sentence()])

    def __repr__(self) -> str:
        return self.summary()

    def to_html(self) -> str:
        """The table in HTML, with its explanation below."""
        heads, *rows = self.cells()
        head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows
        )
        return (
            f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
            f"<p>{escape(self.sentence())}</p>"
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_latex(self) -> str:
        """The table in LaTeX, for the booktabs package."""
        heads, *rows = self.cells()
        body = [[row[0], *(cell.replace("±", r"$\pm$") for cell in row[1:])] for row in rows]
        below = _ENDED.replace("-", "--", 1) if self._has_ended() else ""
        return latex.table([latex.latex(head) for head in heads], body, below)


def _deviations(covariance: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.sqrt(np.maximum(np.diag(covariance), 0.0))])


def _plain(found: Estimate | None) -> Mapping[str, float | None] | None:
    if found is None:
        return None
    each = found._asdict().items()
    return {key: value if math.isfinite(value) else None for key, value in each}


def _interval(found: Estimate | None, digits: int, end: float = math.inf) -> str:
    """A number with its interval; beyond the end of the curve only that it is."""
    never = f"> {end:g}"
    if found is None:
        return "-"
    size = max(abs(x) for x in (*found, 1.0) if math.isfinite(x))
    places = max(0, digits - 1 - math.floor(math.log10(size)))

    def shown(x: float) -> str:
        return f"{x:,.{places}f}" if math.isfinite(x) else never

    if found.lower >= end:
        return never
    lower = shown(found.lower) if math.isfinite(found.lower) else "-"
    return f"{shown(found.value)} ({lower} to {shown(found.upper)})"


def _survival(group: Group, place: int) -> str:
    if place > group.size:
        return "-"
    found = (getattr(group.curve, name)[place - 1] for name in ("survival", "lower", "upper"))
    value, lower, upper = found
    return f"{value:.3f} ({lower:.3f} to {upper:.3f})"


def _counted(value: float, noise: float) -> str:
    shown = f"{value + 0.0:,.0f}"
    shown = "0" if shown == "-0" else shown
    return f"{shown} ± {NORMAL * noise:,.0f}" if noise > 0.0 else shown


def _records(group: Group) -> str:
    return _counted(float(group.cells.entering[0]), float(group.cells.entering_noise[0]))


def _events(group: Group) -> str:
    cells = group.cells
    return _counted(float(cells.events.sum()), cells.noise * math.sqrt(len(cells.events)))


def _tested(test: LogRank, time: str) -> str:
    if test.why:
        return f"No log-rank test: {test.why}."
    p = f"p = {test.p_value:.3f}" if test.p_value >= 0.001 else "p < 0.001"
    found = (
        f"Log-rank test up to {time} = {test.until:g}, with the noise in it: chi-squared "
        f"{test.statistic:.2f}, degrees of freedom {test.degrees}, {p}."
    )
    if math.isfinite(test.detectable):
        found += (
            f" It finds a hazard ratio of {test.detectable:.2f}, or of its inverse, with a power "
            "of 0.8."
        )
    return found
