"""`tacit predict`: means of new records, from a fitted regression."""

from __future__ import annotations

import sys
from pathlib import Path

from tacit.cli.console import emit, guarded, say
from tacit.errors import ConfigError


def predict_table(
    model: Path, data: Path, output: Path | None, *, level: float, force: bool, json: bool
) -> int:
    """Predict; see `tacit predict --help`."""

    def command() -> int:
        from tacit.data.loaders import load
        from tacit.method import load_regression
        from tacit.study.fitted import NAME

        if output is not None and output.exists() and not force:
            raise ConfigError(
                f"output={str(output)!r} exists; give --force to replace it, or another name"
            )
        fitted = load_regression(model / NAME if model.is_dir() else model)
        found = fitted.predict(load(data), level=level)
        if json:
            emit(
                {
                    "format": "tacit-predictions-1",
                    "formula": fitted.formula,
                    "date": fitted.date,
                    "rows": found.astype(object).where(found.notna(), None).to_dict("records"),
                }
            )
            return 0
        if output is None:
            found.to_csv(sys.stdout, index=False)
            return 0
        found.to_csv(output, index=False)
        say(f"{len(found):,} means of {fitted.formula} ({fitted.date}): {output}")
        if fitted.table.refusal is not None:
            say(f"Without intervals: {fitted.table.refusal.reason}.")
        return 0

    return guarded(command, as_json=json)
