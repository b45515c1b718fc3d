"""`tacit predict`: means of new records, from a fitted regression or model."""

from __future__ import annotations

import json as reader
import math
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tacit.cli.console import emit, guarded, noting, printing, say
from tacit.cli.pairs import pairs
from tacit.cli.writing import check_free, write_text
from tacit.cli.written import maps_of
from tacit.errors import ConfigError, ProblemError
from tacit.study._grammar.toml import named_as_table
from tacit.study.declaring import rewrite
from tacit.study.reading import Reading

if TYPE_CHECKING:
    import pandas as pd

    from tacit.method.fitted import FittedRegression
    from tacit.method.fitted_hazards import FittedHazards
    from tacit.method.fitted_model import FittedModel

    Fitted = TypeVar("Fitted", FittedModel, FittedHazards, FittedRegression)


@dataclass(frozen=True)
class NewTable:
    """A table of new records.

    Attributes:
        path: its file.
        reading: options for reading the file.
        missing_values: values that mean a missing one in every column.
        maps: other ways in which values are written, each COLUMN={...}.
        keep: columns to write before the predictions.
    """

    path: Path
    reading: Reading
    missing_values: Sequence[str]
    maps: Sequence[str]
    keep: Sequence[str]

    def read(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The records as the fit expects them, and the columns to keep, as they are.

        Raises:
            ConfigError: a column that is to be kept twice.
            ProblemError: a table that cannot be read, or that lacks a column.
        """
        import pandas as pd

        from tacit.data.loaders import load
        from tacit.data.undeclared import column_named

        frame = load(self.path, **self.reading.options(self.path))
        if len(set(self.keep)) < len(self.keep):
            raise ConfigError(f"--keep {' --keep '.join(self.keep)}: name each column once")
        kept = {name: column_named(frame, name, "--keep names") for name in self.keep}
        found = pd.DataFrame(kept, index=frame.index)
        if self.maps or self.missing_values:
            frame = frame.copy()
            named = dict.fromkeys(map(str, frame.columns), "the table has")
            rewrite(frame, named, maps_of(self.maps), self.missing_values, None)
        return frame, found


def predict_table(
    model: Path,
    table: NewTable,
    output: Path | None,
    *,
    level: float,
    force: bool,
    json: bool,
    at: str | None = None,
    reference: Sequence[str] = (),
) -> int:
    """Predict; see `tacit predict --help`."""

    def command() -> int:
        from tacit.method import load_hazards, load_model, load_regression
        from tacit.method.answer import reach

        reach(level)
        file, data = _file(model), table.path
        if output is not None:
            read = {"the table": data, "the model": file}
            check_free("output", output, force=force, read=read)
        records, kept = table.read()
        kind = _kind(file)
        if kind != "hazards" and (at is not None or reference):
            option = "--reference" if at is None else "--at"
            raise ConfigError(f"{option} is for Cox regressions, and {file} is none; leave it out")
        if kind == "fitted-model":
            fitted = _reading(load_model(file), table)
            with _of(data):
                found = fitted.predict(records)
            what = fitted.target.name
            without = "the noise in the parameters is not counted"
        elif kind == "hazards":
            fitted = _reading(load_hazards(file), table)
            what, without = fitted.formula, ""
            chosen = _values(reference, fitted)
            times = _times(at)
            with _of(data):
                found = fitted.predict(records, at=times, reference=chosen, level=level)
            if not chosen and at is None:
                print(
                    "NOTE: hazards are relative to the baseline: numbers of 0 and first levels. "
                    "Another record: --reference COLUMN=VALUE.",
                    file=sys.stderr,
                )
        else:
            regression = _reading(load_regression(file), table)
            fitted, what = regression, regression.formula
            with _of(data):
                found = regression.predict(records, level=level)
            refusal = regression.table.refusal
            without = "" if refusal is None else refusal.reason
        if without:
            print(f"NOTE: without intervals: {without}.", file=sys.stderr)
        left = int(found.isna().all(axis=1).sum())
        if left:
            print(
                f"NOTE: {left:,} of {len(found):,} records lack a value and are not predicted.",
                file=sys.stderr,
            )
        found = _beside(kept, found)
        if json:
            emit(
                {
                    "format": "tacit-predictions-1",
                    "formula": what,
                    "date": fitted.date,
                    "rows": found.astype(object).where(found.notna(), None).to_dict("records"),
                }
            )
            return 0
        if output is None:
            found.to_csv(sys.stdout, index=False)
            return 0
        write_text("output", output, found.to_csv(index=False))
        with printing(f"the means are in {output}"):
            say(f"{len(found) - left:,} means of {what} ({fitted.date}): {output}")
        return 0

    return guarded(command, as_json=json)


def _reading(fitted: Fitted, table: NewTable) -> Fitted:
    """A fit that reads numbers with the decimal mark that is given, if one is."""
    decimal = table.reading.decimal
    if decimal is None:
        return fitted
    return replace(fitted, schema=replace(fitted.schema, decimal=decimal))


def _beside(kept: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Predictions behind the columns of the table that are kept."""
    if both := [name for name in kept.columns if name in found.columns]:
        raise ConfigError(
            f"--keep {both[0]}: the predictions have a column of that name; rename it in the table"
        )
    import pandas as pd

    kept = kept.map(lambda value: str(value) if isinstance(value, date) else value)
    return pd.concat([kept.set_axis(found.index), found], axis=1)


@contextmanager
def _of(data: Path) -> Generator[None]:
    """Name the table in errors about its values, and print warnings as notes."""
    try:
        with noting():
            yield
    except ProblemError as error:
        raise ProblemError(f"{data}: {error}") from error


def _file(model: Path) -> Path:
    """The file that predicts, in a directory."""
    from tacit.study.fitted import MODEL, NAME

    if not model.is_dir():
        if named_as_table(model.name):
            raise ConfigError(
                f"MODEL {model} is a table; the model comes first, then the table: tacit predict "
                f"results {model}"
            )
        return model
    found = [model / name for name in (NAME, MODEL) if (model / name).exists()]
    if not found:
        raise ConfigError(
            f"{model} has no {NAME} and no {MODEL}; give the results of a regression, or of a "
            "linear model of declared columns"
        )
    return found[0]


def _kind(file: Path) -> str:
    """What a file holds: its format without prefix and version; what cannot be read has none."""
    try:
        named = reader.loads(file.read_bytes())["format"]
        return named.removeprefix("tacit-").rpartition("-")[0]
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return ""


def _times(given: str | None) -> list[float]:
    try:
        return [] if given is None else [float(each) for each in given.split(",")]
    except ValueError:
        raise ConfigError(f"--at {given!r} must be times, as in 1,5,10") from None


def _values(given: Sequence[str], fitted: FittedHazards) -> dict[str, str | float]:
    """Values of the reference by column, as numbers where they are."""
    from tacit.data.feature import Categorical, Numeric

    found: dict[str, str | float] = {}
    for name, text in pairs("reference", given, "COLUMN=VALUE").items():
        found[name] = text
        feature = fitted.schema.features.get(name) if name in fitted.on else None
        if isinstance(feature, Numeric):
            low = -math.inf if feature.lower is None else feature.lower
            high = math.inf if feature.upper is None else feature.upper
            try:
                found[name] = value = float(text)
            except ValueError:
                value = math.nan
            if not low <= value <= high:
                raise ConfigError(
                    f"--reference {name}={text}: {name} must be a number from {low:g} to {high:g}"
                )
        elif isinstance(feature, Categorical) and feature.levels:
            levels = [str(level) for level in feature.levels]
            if text not in levels:
                raise ConfigError(
                    f"--reference {name}={text}: {name} must be one of {', '.join(levels)}"
                )
    return found
