"""Table 1: the records of several sites by group, every number with the error due to the noise."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.data.cells import MISSING, Column
from tacit.data.factors import bounds_of
from tacit.method import latex
from tacit.method._table_entries import NOISE, OVERALL, SUPPRESSED, Entry
from tacit.method.aligned import ruled
from tacit.method.answer import FROM_CELLS, PRIVATE_SIZE

if TYPE_CHECKING:
    import pandas as pd

_INDENT = "  "

_MARK = "†"
"""Mark of an entry that is mostly noise."""

_LATEX = {
    "<": r"$<$",
    "±": r"$\pm$",
    "∞": r"$\infty$",
    _MARK: r"\textsuperscript{\dag}",
}
"""Characters of a cell in LaTeX."""


@dataclass(frozen=True)
class TableOne:
    """A table of the records by group: counts, percentages, means, quantiles, tests.

    Attributes:
        entries: all numbers, column by column.
        columns: columns of the table.
        by: column by whose levels the records are grouped; empty for no groups.
        groups: names of the groups.
        sites: number of sites whose records are in the table.
        of_sites: number of all sites.
        bins: number of equal intervals from which quantiles are read off.
        suppress_below: number of records below which a count is not shown; 0 shows all.
        private_size: whether the number of records is private, and released here.
        repeated: whether a person may have several records, so that they are not independent.
    """

    entries: tuple[Entry, ...]
    columns: tuple[Column, ...]
    by: str
    groups: tuple[str, ...]
    sites: int
    of_sites: int
    bins: int
    suppress_below: int = 0
    private_size: bool = False
    repeated: bool = False
    kind: ClassVar[str] = "table1"

    def frame(self) -> pd.DataFrame:
        """One row per number: what it is of, its value, standard error, interval and a note.

        Standard errors and 95 % intervals are for the noise only. Nothing is rounded or cut off.
        """
        import pandas as pd

        return pd.DataFrame(self.entries, columns=pd.Index(Entry._fields))

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values, with `None` for what is not shown."""
        rows: list[dict[str, Any]] = [
            {key: _plain(value) for key, value in entry._asdict().items()} for entry in self.entries
        ]
        return {
            "kind": self.kind,
            "by": self.by,
            "groups": list(self.groups),
            "sites": self.sites,
            "of_sites": self.of_sites,
            "rows": rows,
        }

    @property
    def noisy(self) -> bool:
        """Whether noise was added."""
        return any(entry.standard_error > 0.0 for entry in self.entries)

    @property
    def compared(self) -> bool:
        """Whether groups are compared."""
        return any(entry.statistic == "p_value" for entry in self.entries)

    def sentence(self) -> str:
        """Whose records these are, what the intervals cover, and what is marked."""
        whose = (
            f"all {self.sites}"
            if self.sites == self.of_sites
            else f"{self.sites} of {self.of_sites}"
        )
        grouped = f", by {self.by}" if self.by else ""
        found = [f"The records of {whose} sites{grouped}: number (%), mean (standard deviation)"]
        if any(entry.statistic == "median" for entry in self.entries):
            found[0] += f", median [quartiles], read off counts in {self.bins} equal bins"
        found[0] += "; percentages are of the records without missing values."
        if any(entry.statistic == "median" for entry in self.entries):
            found.append("The ± of a median reaches to ends of bins.")
        if self.noisy:
            found.append(
                "± is half of a 95 % interval for the noise, the longer half of an uneven one; the "
                "sampling of the records is not in it. Numbers without it have noise as well, "
                "whose intervals are in table1.csv (to_frame() in Python)."
            )
        elif any(entry.standard_error == 0.0 for entry in self.entries):
            found.append("No noise was added.")
        if self.compared:
            found.append(
                "P-values cover sampling and noise; SMD is the standardised mean difference, less "
                "what noise adds to it."
            )
            if self.repeated:
                found.append(
                    "P-values take records as independent: where several are of one person, as "
                    "declared here, they are too small."
                )
        if any(entry.note == NOISE for entry in self.entries):
            found.append(
                f"{_MARK} Mostly noise: a count or standard deviation that may be 0 (a count is "
                "printed as released, be it negative), or an interval over half of what the "
                "declared bounds allow."
            )
        if any(_none(entry) or self._hidden(entry) for entry in self.entries):
            found.append(
                '"-" cannot be had: a variance or a number of records came out at 0 or below, a '
                "mean beyond its declared bounds or with an interval without an end, or the noise "
                "hides how many records a group has."
            )
        if any(entry.note == SUPPRESSED for entry in self.entries):
            found.append(
                f"Released counts below {self.suppress_below} are not shown: a rule for readers, "
                "which adds no privacy."
            )
            if all(e.note == SUPPRESSED for e in self.entries if e.statistic == "n"):
                found.append("That is every count, so nothing is shown: lower suppress_below.")
        if self.private_size:
            found.append(PRIVATE_SIZE.format(released=FROM_CELLS))
        return " ".join(found)

    def cells(self) -> list[list[str]]:
        """Headings and rows of the printed table, as text."""
        groups = [f"{self.by}: {group}" for group in self.groups]
        heads = ["", "Overall", *groups, *(["P", "SMD"] if self.compared else [])]
        rows = [heads, self._row("Records, n", "records", "", self._count, tested=False)]
        for column in self.columns:
            rows += self._levels(column) if column.levels else self._number(column)
        return rows

    def summary(self) -> str:
        """The table as text."""
        return ruled(self.cells(), [self.sentence()])

    def __repr__(self) -> str:
        return self.summary()

    def to_html(self) -> str:
        """The table in HTML, with its explanation below."""
        heads, *rows = self.cells()
        head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in rows)
        return (
            f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
            f"<p>{escape(self.sentence())}</p>"
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_latex(self) -> str:
        """The table in LaTeX, for the booktabs package."""
        heads, *rows = self.cells()
        body = [[row[0], *map(_in_latex, row[1:])] for row in rows]
        return latex.table([latex.latex(head) for head in heads], body)

    @cached_property
    def _found(self) -> Mapping[tuple[str, str, str, str], Entry]:
        return {entry[:4]: entry for entry in self.entries}

    def _levels(self, column: Column) -> list[list[str]]:
        """A line for each level; one line alone for a yes or no."""
        name, levels = column.name, column.levels
        label = f"{name}, n (%)"
        first = [label, *[""] * (1 + len(self.groups)), *self._tests(name)]
        if levels[:2] == ("false", "true") and column.scale is not None:
            first, levels = self._row(label, name, levels[1], self._share), levels[2:]
        shown = (
            self._row(_INDENT + each, name, each, self._share, tested=False) for each in levels
        )
        return [first, *shown]

    def _number(self, column: Column) -> list[list[str]]:
        """Lines for mean, median and missing values."""
        name = column.name
        low, high = bounds_of(column)
        digits = max(0, 2 - math.floor(math.log10((high - low) / 2.0)))

        def mean(group: str, level: str, name: str) -> str:
            shown, spread = (self._found[name, level, group, each] for each in ("mean", "sd"))
            if _none(shown) or _nowhere(shown, low, high):
                return "-"
            deviation = "-" if math.isnan(spread.value) else f"{spread.value:,.{digits}f}"
            if shown.note != NOISE:  # else the mark is of both
                deviation = self._marked(spread, deviation)
            return self._marked(shown, f"{_near(shown, digits)} ({deviation})")

        def median(group: str, level: str, name: str) -> str:
            shown, *ends = (
                self._found[name, level, group, each] for each in ("median", "q1", "q3")
            )
            between = ", ".join(f"{each.value:,.{digits}f}" for each in ends)
            return self._marked(shown, f"{_near(shown, digits)} [{between}]")

        rows = [self._row(f"{name}, mean (SD)", name, "", mean)]
        if (name, "", OVERALL, "median") in self._found:
            label = f"{name}, median [quartiles]"
            rows.append(self._row(label, name, "", median, tested=False))
        if column.missing is not None:
            label = f"{_INDENT}{MISSING}, n (%)"
            rows.append(self._row(label, name, MISSING, self._share, tested=False))
        return rows

    def _hidden(self, entry: Entry) -> bool:
        """Whether a mean is printed as "-", though it has a value."""
        if entry.statistic != "mean":
            return False
        column = next(each for each in self.columns if each.name == entry.variable)
        return _nowhere(entry, *bounds_of(column))

    def _row(self, label: str, name: str, level: str, of: Any, tested: bool = True) -> list[str]:
        cells = [of(group, level, name) for group in (OVERALL, *self.groups)]
        empty = ["", ""] if self.compared else []
        return [label, *cells, *(self._tests(name) if tested else empty)]

    def _count(self, group: str, level: str, name: str) -> str:
        entry = self._found[name, level, group, "n"]
        return self._marked(entry, _near(entry, 0))

    def _share(self, group: str, level: str, name: str) -> str:
        entry = self._found[name, level, group, "n"]
        percent = self._found[name, level, group, "percent"].value
        shown = "-" if math.isnan(percent) else _fixed(percent, 1)
        return self._marked(entry, f"{_near(entry, 0)} ({shown})")

    def _marked(self, entry: Entry, text: str) -> str:
        if entry.note == SUPPRESSED:
            return f"<{self.suppress_below}"
        return f"{text}{_MARK}" if entry.note == NOISE else text

    def _tests(self, name: str) -> list[str]:
        if not self.compared:
            return []
        p, smd = (self._found[name, "", "", each].value for each in ("p_value", "smd"))
        shown = "-" if math.isnan(p) else f"{p:.3f}" if p >= 0.001 else "<0.001"
        return [shown, "-" if math.isnan(smd) else f"{smd:.3f}"]


def _none(entry: Entry) -> bool:
    """Whether an entry is printed as "-"."""
    return math.isnan(entry.value) and entry.note != SUPPRESSED


def _nowhere(entry: Entry, low: float, high: float) -> bool:
    """Whether noise has left nothing of a mean between its bounds, or of its interval."""
    bounded = math.isfinite(entry.lower) and math.isfinite(entry.upper)
    known = not math.isnan(entry.value) and not math.isnan(entry.lower)
    return known and not (bounded and low <= entry.value <= high)


def _near(entry: Entry, digits: int) -> str:
    """A number with half of its interval, the longer half."""
    if math.isnan(entry.value):
        return "-"
    value = _fixed(entry.value, digits)
    half = max(entry.upper - entry.value, entry.value - entry.lower)
    if not half > 0.0:
        return value
    return f"{value} ± {half:,.{digits}f}" if math.isfinite(half) else f"{value} ± ∞"


def _fixed(value: float, digits: int) -> str:
    """A number with so many digits, and no "-0"."""
    text = f"{value:,.{digits}f}"
    return text if text.strip("-0.,") else text.lstrip("-")


def _cell(text: str) -> str:
    """A cell in HTML, indented as its text is."""
    kept = escape(text.lstrip())
    indent = "&emsp;" if text.startswith(_INDENT) else ""
    return f"<td>{indent}{kept}</td>"


def _in_latex(text: str) -> str:
    """A cell in LaTeX."""
    text = re.sub(r"(?<![\w.])-(?=[\d.])", r"$-$", text)
    for plain, written in _LATEX.items():
        text = text.replace(plain, written)
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value
    return float(value) if math.isfinite(value) else None
