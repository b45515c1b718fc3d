"""A fitted regression with all that is needed to predict by it: kept in a file, and read again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from tacit.arguments import checked
from tacit.data.cells import columns_of
from tacit.data.design import Design
from tacit.data.formula import parse_formula
from tacit.data.frames import Table, from_frame
from tacit.data.schema import Schema
from tacit.errors import ConfigError, ProblemError
from tacit.method._glm_predictions import predicted
from tacit.method._new_records import declared, read, tell_moved, values_moved
from tacit.method._saved import SavedFit, declarations, reading, saved_text, today, write_saved
from tacit.method.answer import Refused, reach
from tacit.method.citation import bibtex
from tacit.method.coefficients import Checks, CoefficientTable, names_of
from tacit.method.comparison import MEAN, Comparison, compared, natural
from tacit.privacy.wording import brief_of

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "tacit-regression-1"


@dataclass(frozen=True, eq=False)
class FittedRegression:
    """A fitted regression: its table, and the declarations by which it predicts.

    Attributes:
        formula: formula of the model.
        table: coefficients in the units of the data, with intervals or the reason why not.
        schema: declarations of the columns of the formula.
        protection: guarantee of the fit, in words.
        date: day of the fit, as YYYY-MM-DD.
        papers: names of the papers that describe its method; `cite` has them as BibTeX.
    """

    formula: str
    table: CoefficientTable
    schema: Schema
    protection: str
    date: str = field(default_factory=today)
    papers: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{self.formula}\n{self.table.summary()}"

    def _repr_html_(self) -> str:
        return f"<p><code>{escape(self.formula)}</code></p>{self.table._repr_html_()}"

    @property
    def guarantee(self) -> str:
        """Guarantee of the fit, in words, as the file keeps it."""
        return self.protection

    def summary(self) -> str:
        """The table, what it covers, and what was guaranteed."""
        return f"{self!r}\n\n{self.protection}"

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas frame, one row per coefficient."""
        return self.table.frame()

    @checked(ConfigError)
    def to_latex(self, *, ratios: bool = False, errors: bool = False) -> str:
        """The table in LaTeX, for the booktabs package, with records and guarantee below it.

        Args:
            ratios: whether odds or rate ratios stand in the place of coefficients.
            errors: whether sampling error and privacy error have columns of their own.
        """
        records = f"{self.table.records:,} records"
        below = "; ".join(filter(None, (records, brief_of(self.protection))))
        return self.table.to_latex(ratios=ratios, errors=errors, below=below)

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Confidence intervals that include the noise.

        Args:
            level: nominal coverage, in (0, 1).
        """
        return self.table.conf_int(level)

    def cite(self) -> str:
        """What to cite, as BibTeX: the papers that describe the method, and tacit."""
        return bibtex(self.papers)

    @cached_property
    def design(self) -> Design:
        """Columns of the regression."""
        return parse_formula(self.formula, columns_of(self.schema))[1]

    def predict(self, data: Table, *, level: float = 0.95) -> pd.DataFrame:
        """Means of new records, with intervals of the means where the table has them.

        Args:
            data: table with the columns of the design; values beyond declared bounds are moved to
                them, as in the fit.
            level: nominal coverage, in (0, 1).

        Returns:
            Columns `mean`, `lower` and `upper`, one row per record: not numbers where a value is
            missing for which no rule puts another. Of a multinomial model the probability of
            every level, with its name before each: `"often mean"`.

        Raises:
            ProblemError: a column that is absent or not of its declared kind.
        """
        import pandas as pd

        times = reach(level)
        data = from_frame(data)
        names = [column.name for column in self.design.columns]
        columns, known, records, moved = read(data, self.schema, names)
        tell_moved(moved)
        design = self.design.on(columns)
        rows, added = np.full((len(data), design.width), np.nan), np.full(len(data), np.nan)
        if known.any():
            rows[known], added[known] = natural(design, records)
        found, mean = {}, MEAN[self.table.link]
        for name, predictor, variance in predicted(self.table, np.roll(rows, 1, axis=1), added):
            error = np.sqrt(np.maximum(variance, 0.0))
            if self.table.refusal is not None:
                error = np.full(len(rows), np.nan)
            found[f"{name}mean"] = mean(predictor)
            found[f"{name}lower"] = mean(predictor - times * error)
            found[f"{name}upper"] = mean(predictor + times * error)
        return pd.DataFrame(found, index=data.index)

    def moved(self, data: Table) -> Mapping[str, int]:
        """How many values `predict` moves to a declared bound, by column.

        Args:
            data: table with the columns of the design.

        Raises:
            ProblemError: as for `predict`.
        """
        names = [column.name for column in self.design.columns]
        return values_moved(from_frame(data), declared(self.schema, names))

    def compare(self, data: Table) -> Comparison:
        """Predictions beside the targets of records: calibration, and AUC of yes or no.

        Not private: computed from the records without noise. Do not publish it unless the records
        are public. `tacit.report` draws it. Every record counts once, whatever its weight in the
        fit.

        Args:
            data: table with the columns of the formula; values beyond declared bounds are moved to
                them, and records left out for a missing value, as in the fit.

        Raises:
            ProblemError: a column that is absent or not of its declared kind, no record that is
                complete, or a multinomial model.
        """
        data = from_frame(data)
        target = parse_formula(self.formula, columns_of(self.schema))[0]
        names = [*(column.name for column in self.design.columns), target.name]
        columns, known, records, _ = read(data, self.schema, names)
        if not known.any():
            raise ProblemError("no record has a value in every column of the formula")
        return compared(self.table, self.design.on(columns), columns[target.name], records)

    def save(self, path: str | Path) -> None:
        """Write it to a file, JSON. It holds what was released and declared, and nothing else.

        Raises:
            RuntimeFailure: a file that cannot be written.
        """
        write_saved(path, self.to_json())

    def to_json(self) -> str:
        """The contents of that file."""
        table = self.table
        document = {
            "format": FORMAT,
            "formula": self.formula,
            "date": self.date,
            "guarantee": self.protection,
            "columns": declarations(self.schema),
            "missing": self.schema.missing,
            "decimal": self.schema.decimal,
            "family": table.family,
            "link": table.link,
            "records": table.records,
            "names": table.names,
            "values": table.values.tolist(),
            "spans": table.spans,
            "levels": table.levels,
            "sampling": table.sampling.tolist(),
            "privacy": table.privacy.tolist(),
            "checks": asdict(table.checks),
            # as files of earlier versions, where it says nothing
            **({"repeated": True} if table.repeated else {}),
            **({"declared": True} if table.declared else {}),
            **({"papers": self.papers} if self.papers else {}),
            "refusal": None if table.refusal is None else asdict(table.refusal),
        }
        return json.dumps(document, indent=2, ensure_ascii=False)


class _File(SavedFit):
    """The contents of the file."""

    format: Literal["tacit-regression-1"]
    formula: str
    family: str
    link: Literal["identity", "logit", "log"]
    records: int
    names: tuple[str, ...]
    values: list[float]
    spans: tuple[float, ...]
    levels: tuple[str, ...] = ()
    sampling: list[list[float]]
    privacy: list[list[float]]
    checks: dict[str, float]
    repeated: bool = False
    declared: bool = False
    papers: tuple[str, ...] = ()
    refusal: dict[str, str] | None


@checked(ProblemError)
def load_regression(path: str | Path) -> FittedRegression:
    """Read a regression that was saved.

    Args:
        path: path of the file, as written by `save`, `tacit fit` or `tacit run`.

    Raises:
        ProblemError: a file that cannot be read, is cut off, or holds something else.

    Example:
        >>> from tacit.method import load_regression
        >>> load_regression("fit")
        Traceback (most recent call last):
            ...
        tacit.errors.ProblemError: fit: cannot be read (No such file or directory); check the path
    """
    text = saved_text(path, FORMAT)
    with reading(path, "a regression", "regression.json"):
        found = _File.model_validate_json(text)
        schema = found.as_schema()
        table = CoefficientTable(
            found.names,
            np.array(found.values),
            np.array(found.sampling),
            np.array(found.privacy),
            Checks(**found.checks),
            None if found.refusal is None else Refused(**found.refusal),
            found.family,
            found.link,
            found.records,
            found.spans,
            found.levels,
            found.repeated,
            found.declared,
        )
        bibtex(found.papers)  # refuses a name that is no paper's
        loaded = FittedRegression(
            found.formula, table, schema, found.guarantee, found.date, found.papers
        )
        columns = (loaded.design.names[-1], *loaded.design.names[:-1])
        target = parse_formula(found.formula, columns_of(schema))[0]
        levels = target.levels if found.family == "multinomial" else ()
        names = names_of(columns, levels)
    numbers = (table.values, table.sampling, table.privacy)
    if not all(np.isfinite(each).all() for each in numbers):
        raise ProblemError(
            f"{path}: is damaged: a number in it is not finite, and tacit saves none such; copy it "
            "again from the results of the run"
        )
    d = len(names)
    shapes = (table.values.shape, table.sampling.shape, table.privacy.shape, (len(table.spans), 1))
    if (names, levels) != (table.names, table.levels) or shapes != ((d,), (d, d), (d, d), (d, 1)):
        raise ProblemError(
            f"{path}: its coefficients are not those of its formula {found.formula!r}; it was "
            "changed, or is of another version"
        )
    return loaded
