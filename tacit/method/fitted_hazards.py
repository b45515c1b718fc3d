"""A Cox regression with all that is needed to predict by it, which a file can keep."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from tacit import checks
from tacit.data.cells import Column, columns_of
from tacit.data.design import Design, design_of
from tacit.data.frames import Table, from_frame
from tacit.data.schema import Schema
from tacit.errors import ConfigError, ProblemError
from tacit.method._cox_predictions import cumulative, relative
from tacit.method._new_records import declared, read, tell_moved, values_moved
from tacit.method._saved import declarations, today, write_saved
from tacit.method.answer import reach
from tacit.method.citation import bibtex
from tacit.method.comparison import natural
from tacit.method.cox_answer import HazardRatios
from tacit.method.latex import noted
from tacit.privacy.wording import brief_of
from tacit.ranges import numeric

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "tacit-hazards-1"


@dataclass(frozen=True, eq=False)
class FittedHazards:
    """A Cox regression: its hazard ratios and baseline, and the declarations by which it predicts.

    Attributes:
        table: hazard ratios, and the baseline hazard by piece of time.
        on: columns of the regression, and the edges at which each number is cut into levels.
        schema: declarations of these columns, and of that of the strata.
        protection: guarantee of the fit, in words.
        cuts: edges at which a number is cut into the strata.
        date: day of the fit, as YYYY-MM-DD.
        papers: names of the papers that describe its method; `cite` has them as BibTeX.
    """

    table: HazardRatios
    on: Mapping[str, tuple[float, ...]]
    schema: Schema
    protection: str
    cuts: tuple[float, ...] = ()
    date: str = field(default_factory=today)
    papers: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.table.summary()

    def _repr_html_(self) -> str:
        return self.table.to_html()

    @property
    def formula(self) -> str:
        """What the hazard depends on, in a line."""
        strata = "" if self.table.strata is None else f" by {self.table.strata}"
        return f"hazard of {self.table.event} on {', '.join(self.on)}{strata}"

    @property
    def guarantee(self) -> str:
        """Guarantee of the fit, in words, as the file keeps it."""
        return self.protection

    def summary(self) -> str:
        """The table, what it covers, and what was guaranteed."""
        return f"{self!r}\n\n{self.protection}"

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas frame, one row per log hazard ratio."""
        return self.table.frame()

    def to_latex(self) -> str:
        """The table in LaTeX, for the booktabs package, with the guarantee below it."""
        return noted(self.table.to_latex(), brief_of(self.protection))

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Confidence intervals of the log hazard ratios that include the noise.

        Args:
            level: nominal coverage, in (0, 1).
        """
        return self.table.conf_int(level)

    def cite(self) -> str:
        """What to cite, as BibTeX: the papers that describe the method, and tacit."""
        return bibtex(self.papers)

    def predict(
        self,
        data: Table,
        *,
        at: Sequence[float] = (),
        reference: Mapping[str, Any] | None = None,
        level: float = 0.95,
    ) -> pd.DataFrame:
        """Relative hazards of new records, and their survival, with intervals for both errors.

        Args:
            data: table with the columns of the regression, and that of the strata if survival is
                asked for; values beyond declared bounds are moved to them, as in the fit, with a
                warning.
            at: times at which survival is asked for: above the start of the first piece of time,
                before which the baseline counts no events, and up to the end of the last.
            reference: values of the record whose hazard is 1, by column, within declared bounds;
                numbers that are not given are 0, and levels the first, as in the baseline.
            level: nominal coverage, in (0, 1).

        Returns:
            Columns `relative_hazard`, `lower` and `upper`, the exponential of the log hazard ratios
            times the columns, one row per record; with several periods of time one of each, with
            its period before: `"(0, 5] relative_hazard"`. Behind them for every time `survival 5`,
            `survival 5 lower` and `survival 5 upper`, probabilities of no event until then, with
            intervals by log(-log). Not numbers where a value is missing.

        Raises:
            ConfigError: a level or time out of range.
            ProblemError: a column that is absent or not of its declared kind, or a reference that
                no record of the fit could be.
        """
        import pandas as pd

        times, table, data = reach(level), self.table, from_frame(data)
        until = self._times(at)
        strata = [table.strata] if until and table.strata is not None else []
        columns, known, records, beyond = read(data, self.schema, [*self.on, *strata])
        tell_moved(beyond)
        rows = np.full((len(data), self._width), np.nan)
        if known.any():
            rows[known] = natural(self.design(columns), records)[0][:, :-1]
        moved = rows - self._reference(reference)
        found: dict[str, Float[np.ndarray, " n"]] = {}
        for name, (log, error) in zip(self.shown_periods, relative(table, moved), strict=True):
            found[f"{name}relative_hazard"] = np.exp(log)
            found[f"{name}lower"] = np.exp(log - times * error)
            found[f"{name}upper"] = np.exp(log + times * error)
        stratum = np.zeros(len(data), dtype=int)
        if strata and known.any():
            stratum[known] = self._strata(columns[strata[0]], records)
        for time in until:
            log, error = cumulative(table, rows, stratum, time)
            name = f"survival {time:g}"
            found[name] = np.exp(-np.exp(log))
            found[f"{name} lower"] = np.exp(-np.exp(log + times * error))
            found[f"{name} upper"] = np.exp(-np.exp(log - times * error))
        return pd.DataFrame(found, index=data.index)

    def moved(self, data: Table) -> Mapping[str, int]:
        """How many values `predict` moves to a declared bound, by column.

        Args:
            data: table with the columns of the regression.

        Raises:
            ProblemError: as for `predict`.
        """
        return values_moved(from_frame(data), declared(self.schema, self.on))

    @property
    def shown_periods(self) -> list[str]:
        """Periods of time with effects of their own, as text with a blank behind; one without."""
        ends = self.table.periods
        return [f"({a:g}, {b:g}] " for a, b in pairwise(ends)] if len(ends) > 2 else [""]

    @property
    def _width(self) -> int:
        return len(self.table.names) // (len(self.table.periods) - 1)

    def design(self, columns: Mapping[str, Column]) -> Design:
        """Columns of the regression on records in which these stand, by name."""
        return design_of([_cut(columns[name], edges) for name, edges in self.on.items()])

    def _times(self, at: Sequence[float]) -> list[float]:
        start, end = self.table.edges[0], self.table.edges[-1]
        if isinstance(at, str) or not isinstance(at, Sequence | np.ndarray):
            raise ConfigError(f"at={checks.shown(at)} must be a list of times, such as [1, 5]")
        for time in at:
            if not (numeric(time) and np.ndim(time) == 0 and start < time <= end):
                raise ConfigError(
                    f"at={checks.shown(time)} must be a time above {start:g} and up to {end:g}: "
                    "the baseline that was released ends there"
                )
        return [float(time) for time in at]

    def _reference(self, given: Mapping[str, Any] | None) -> Float[np.ndarray, " d"]:
        """The columns of the record whose hazard is 1."""
        import pandas as pd

        found = np.zeros(self._width)
        if not given:
            return found
        checks.instance("reference", given, Mapping, "give values by column", ProblemError)
        unknown = next((name for name in given if name not in self.on), None)
        if unknown is not None:
            raise ProblemError(
                f"reference names {checks.shown(unknown)}, which is no column of the regression; "
                f"these are: {', '.join(self.on)}"
            )
        columns, known, records, beyond = read(pd.DataFrame([dict(given)]), self.schema, given)
        if not known.all() or beyond:
            raise ProblemError(
                f"reference={checks.shown(dict(given))} lacks a value, or one is beyond its "
                "declared bounds; give one that a record of the fit could have"
            )
        everything, place = columns_of(declared(self.schema, self.on)), 0
        for name, edges in self.on.items():
            width = design_of([_cut(everything[name], edges)]).width - 1
            if name in given:
                own = design_of([_cut(columns[name], edges)])
                found[place : place + width] = natural(own, records)[0][0, :-1]
            place += width
        return found

    def _strata(self, column: Column, records: Float[np.ndarray, "n m"]) -> np.ndarray:
        """Number of the stratum of each record."""
        import jax
        import jax.numpy as jnp

        with jax.enable_x64(True):
            cells = jax.vmap(_cut(column, self.cuts).cell)(jnp.asarray(records))
        return np.asarray(cells).astype(int)

    def save(self, path: str | Path) -> None:
        """Write it to a file, JSON. It holds what was released and declared, and nothing else.

        Raises:
            RuntimeFailure: a file that cannot be written.
        """
        write_saved(path, self.to_json())

    def to_json(self) -> str:
        """The contents of that file."""
        table = {
            name: each.tolist() if isinstance(each, np.ndarray) else each
            for name, each in asdict(self.table).items()
        }
        document = {
            "format": FORMAT,
            "date": self.date,
            "guarantee": self.protection,
            "on": self.on,
            "cuts": self.cuts,
            "columns": declarations(self.schema),
            "missing": self.schema.missing,
            "decimal": self.schema.decimal,
            # as files of earlier versions, where it says nothing
            **({"papers": self.papers} if self.papers else {}),
            "table": table,
        }
        return json.dumps(document, indent=2, ensure_ascii=False)


def _cut(column: Column, edges: Sequence[float]) -> Column:
    return column.cut(*edges) if edges else column
