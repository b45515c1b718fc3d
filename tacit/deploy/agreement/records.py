"""An owner's records as a study reads them, before there are keys: needs no extra."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.data.schema import Schema
from tacit.errors import ProblemError
from tacit.privacy.facts import Fact, public
from tacit.problem.erm import EmpiricalRisk
from tacit.study.build import build_method
from tacit.study.own_table import load_own
from tacit.study.read import Source

if TYPE_CHECKING:
    from tacit.data.total import Total


_OWN = "docs/your_data.md has an example"
"""Where files of owners about their tables are described."""


@dataclass(frozen=True, eq=False)
class Table:
    """An owner's table as a study reads it.

    Attributes:
        frame: the table.
        declared: what the study declares of its columns.
        total: its records as a run uses them.
    """

    frame: Any
    declared: Schema
    total: Total


def read_table(source: Source, data: Path) -> Table:
    """Read an owner's table.

    Args:
        source: the study.
        data: path of the table, or of the file that says how it is written (`OwnTable`).

    Raises:
        ConfigError: columns that do not fit the study.
        ProblemError: a file that cannot be read.
    """
    from tacit.data.total import prepare_total

    # in a file of the owner's: an error about it is no error in the study
    frame, decimal = load_own(data, source.study.data)
    with source.section("data"):
        declared = replace(_declared(source, frame), decimal=decimal)
        return Table(frame, declared, prepare_total(frame, declared))


def read_records(source: Source, data: Path) -> tuple[Total, int]:
    """An owner's records as a run uses them, and the number of rows in the table."""
    table = read_table(source, data)
    return table.total, len(table.frame)


def _declared(source: Source, frame: Any) -> Schema:
    from tacit.study.tables import schema

    return replace(schema(source, list(map(str, frame.columns))), site=None)


def unfit_records(table: Table) -> str:
    """Which records of an owner do not fit a study: private, only for the owner, before a run.

    Args:
        table: the owner's table.

    Returns:
        The number of such records, all values that do not fit, and what is wrong with the first;
        empty if all fit.
    """
    from tacit.data.columns import Undeclared, Unread, listed
    from tacit.data.table import prepare
    from tacit.data.total import unfit_values

    unfit, declared = table.total.unfit, table.declared
    if not unfit.any():
        return ""
    frame = table.frame.iloc[table.total.rows]
    values = "; ".join(
        f"{name}: {listed(found)}" for name, found in unfit_values(frame, declared).items()
    )
    each = f" Values that do not fit: {values}." if values else ""
    try:
        prepare(frame, declared)
    except Undeclared as error:
        told = (
            f"{error.first}; correct it, or say in a file about your table what it means: "
            f"map = {error.recoding} ({_OWN})"
        )
    except Unread as error:
        written = "map, missing_values"
        if error.comma:
            written = 'decimal = "," if its comma marks the decimals'
        told = (
            f"{error.first}; correct it, or say in a file about your table how it is written: "
            f"{written} ({_OWN})"
        )
    except ProblemError as error:
        told = str(error)
    else:  # pragma: no cover - the two agree on what fits
        told = "of several kinds"
    return (
        f"{int(unfit.sum()):,} of {len(unfit):,} records do not fit the study; in a run they count "
        f"and contribute nothing.{each} The first: {told}"
    )


def odd_values(table: Table) -> tuple[dict[str, list[str]], dict[str, dict[str, str]]]:
    """What looks like codes and like spellings that the study does not declare.

    Private, only for the owner.

    Args:
        table: the owner's table.

    Returns:
        By column of numbers, those far outside all others; by column of levels, those that differ
        from a more frequent one only in case or blanks, and that one.
    """
    from tacit.data.oddities import odd
    from tacit.data.rewriting import rewritten

    frame, _ = rewritten(table.frame, table.declared, strict=False)
    return odd(frame, table.declared.features, table.declared.decimal)


def repeated_persons(source: Source, table: Table) -> tuple[str, ...]:
    """Columns that say who a record is about, with a value that several of an owner's records have.

    None where the study protects all records of a person. Private, only for the owner.

    Args:
        source: the study.
        table: the owner's table.
    """
    from tacit.data.guessing import several_of_one

    privacy = source.study.privacy
    if privacy is None or privacy.records_per_person > 1:
        return ()
    declared = table.declared.features
    return tuple(name for name in several_of_one(table.frame) if name not in declared)


def counts_are_public(source: Source, names: Sequence[str]) -> bool:
    """Whether the declared numbers of records are exact, not upper bounds: a whole cost is one.

    Args:
        source: the study.
        names: names of the agents.
    """
    method = build_method(source, names)
    if method.privacy is None or source.costs:
        return True
    # a study's problem consists of records
    return Fact.RECORDS in public(method.protects(EmpiricalRisk), method.privacy.relation)
