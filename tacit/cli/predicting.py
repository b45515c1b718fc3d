"""`tacit predict`: means of new records, from a fitted regression or model."""

from __future__ import annotations

import json as reader
import sys
from pathlib import Path

from tacit.cli.console import emit, guarded, printing, say
from tacit.cli.writing import check_free, write_text
from tacit.errors import ConfigError


def predict_table(
    model: Path, data: Path, output: Path | None, *, level: float, force: bool, json: bool
) -> int:
    """Predict; see `tacit predict --help`."""

    def command() -> int:
        from tacit.data.loaders import load
        from tacit.method import load_model, load_regression

        file = _file(model)
        if output is not None:
            read = {"the table": data, "the model": file}
            check_free("output", output, force=force, read=read)
        table = load(data)
        if _is_model(file):
            fitted = load_model(file)
            moved, what = fitted.moved(table), fitted.target.name
            found = fitted.predict(table)
            without = "the noise in the parameters is not counted"
        else:
            regression = load_regression(file)
            fitted, what = regression, regression.formula
            moved = regression.moved(table)
            found = regression.predict(table, level=level)
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
        if moved:
            each = ", ".join(f"{name} {count:,}" for name, count in moved.items())
            print(f"NOTE: values beyond declared bounds are moved to them: {each}", file=sys.stderr)
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


def _file(model: Path) -> Path:
    """The file that predicts, in a directory."""
    from tacit.study.fitted import MODEL, NAME

    if not model.is_dir():
        return model
    found = [model / name for name in (NAME, MODEL) if (model / name).exists()]
    if not found:
        raise ConfigError(
            f"{model} has no {NAME} and no {MODEL}; give the results of a regression, or of a "
            "linear model of declared columns"
        )
    return found[0]


def _is_model(file: Path) -> bool:
    """Whether a file is a model; what cannot be read is left to the reader of a regression."""
    try:
        return reader.loads(file.read_bytes())["format"].startswith("tacit-fitted-model-")
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return False
