"""What is checked before a budget is set: what it promises, and its file of records."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path

from tacit import checks
from tacit.privacy import caution


def warn_of(epsilon: float, delta: float) -> None:
    """Warn on standard error of a budget that promises next to nothing."""
    for told in (caution.warning(epsilon), caution.delta_warning(delta, remedy="")):
        if told:
            print(told, file=sys.stderr)


def hint_of(name: str, known: Collection[str]) -> str:
    """Which known name a new one may be meant for, after a clause; empty for none.

    Args:
        name: name of an owner or dataset.
        known: names that have a budget.
    """
    close = [] if name in known else checks.close(name, known, 0.7)
    return f"; did you mean {close[0]!r}?" if close else ""


def check_table(data: Path) -> None:
    """Refuse a file that is neither a table nor, in TOML, one of its owner's about a table or cost.

    The number of rows decides nothing: where it is private, a larger one is declared.

    Raises:
        ProblemError: a table that cannot be read.
        ConfigError: a file that cannot be read as TOML.
    """
    from tacit.data.excel import check_workbook
    from tacit.data.loaders import load
    from tacit.data.table import check_any
    from tacit.study._grammar.toml import parse, read_bytes

    if data.suffix.lower() == ".toml" and data.is_file():
        path = parse(read_bytes(data), str(data)).get("path")
        if not isinstance(path, str):
            return  # it is about a cost
        data = data.parent / path
    if not data.is_file():
        return
    if data.suffix.lower() in (".xlsx", ".xlsm"):
        check_workbook(data)  # the study may name another sheet than the first
    else:
        check_any(load(data), data)
