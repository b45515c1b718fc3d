"""What is checked before a budget is set: what it promises, and its file of records."""

from __future__ import annotations

import sys
from pathlib import Path

from tacit.errors import ConfigError
from tacit.privacy import caution


def warn_of(epsilon: float, delta: float) -> None:
    """Warn on standard error of a budget that promises next to nothing."""
    for told in (caution.warning(epsilon), caution.delta_warning(delta, remedy="")):
        if told:
            print(told, file=sys.stderr)


def check_rows(data: Path, declared: int | None = None) -> None:
    """Refuse a file that is no table, or has fewer rows than records are declared.

    A TOML file is a cost of its owner's, and of a workbook the study may name another sheet.

    Args:
        data: file of the records.
        declared: declared number of records; `None` if none is.

    Raises:
        ConfigError: fewer rows.
        ProblemError: a file that cannot be read.
    """
    from tacit.data.loaders import load
    from tacit.data.table import check_any

    if not data.is_file() or data.suffix.lower() in (".toml", ".xlsx", ".xlsm"):
        return
    frame = load(data)
    check_any(frame, data)
    if declared is not None and declared > len(frame):
        raise ConfigError(f"--records {declared:,}: {data} has {len(frame):,} rows only")
