"""What is checked before a budget is set: what it promises, and its file of records."""

from __future__ import annotations

import sys
from pathlib import Path

from tacit.privacy import caution


def warn_of(epsilon: float, delta: float) -> None:
    """Warn on standard error of a budget that promises next to nothing."""
    for told in (caution.warning(epsilon), caution.delta_warning(delta, remedy="")):
        if told:
            print(told, file=sys.stderr)


def check_table(data: Path) -> None:
    """Refuse a file that is no table.

    A TOML file is a cost of its owner's, and of a workbook the study may name another sheet. The
    number of rows decides nothing: where it is private, a larger one is declared.

    Raises:
        ProblemError: a file that cannot be read.
    """
    from tacit.data.loaders import load
    from tacit.data.table import check_any

    if not data.is_file() or data.suffix.lower() in (".toml", ".xlsx", ".xlsm"):
        return
    check_any(load(data), data)
