"""How a table's file is read, and how a study names its columns and its place."""

from __future__ import annotations

import json as codec
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tacit.errors import ConfigError

OPTIONS = {
    "separator": ("CSV files", (".csv", ".tsv")),
    "encoding": ("CSV files", (".csv", ".tsv")),
    "sheet": ("Excel workbooks", (".xlsx", ".xlsm")),
}
"""Keys that say how a file is read, the files that they are for, and how the names of these end."""


@dataclass(frozen=True)
class Reading:
    """How a file is read, if not in the default way.

    Attributes:
        separator: column separator of a CSV file, one character; `None` for what its line of column
            names has.
        encoding: character encoding of a CSV file; `None` to recognise it.
        decimal: decimal mark, a point or a comma; `None` to read it off the records.
        sheet: sheet of an Excel workbook; `None` for the first.
    """

    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    sheet: str | None = None

    def options(self, data: Path) -> dict[str, str]:
        """Arguments of the loader.

        Raises:
            ConfigError: another decimal mark, or a file of another kind.
        """
        if self.decimal not in (".", ",", None):
            raise ConfigError(f"decimal={self.decimal!r} must be . or ,")
        given = {key: getattr(self, key) for key in OPTIONS if getattr(self, key) is not None}
        for key in given:
            files, suffixes = OPTIONS[key]
            if not data.name.lower().removesuffix(".gz").endswith(suffixes):
                raise ConfigError(f"{key}={given[key]!r} is for {files}, not {data}; leave it out")
        return given

    def settled(self, table: Any) -> tuple[Reading, tuple[str, ...]]:
        """With the decimal mark of a table, and what was read off the records for it, if anything.

        Args:
            table: table as it was loaded.
        """
        from tacit.data.csv_dialect import decimal_of

        if self.decimal is not None:
            return self, ()
        decimal = decimal_of(table)
        told = f"the decimal mark {decimal!r} was read off the records: assumed public"
        return replace(self, decimal=decimal), (told,) if decimal == "," else ()

    def lines(self) -> str:
        """These options as lines of a study file."""
        return "".join(
            f"{key} = {codec.dumps(value, ensure_ascii=False)}\n"
            for key, value in vars(self).items()
            if value is not None and value != "."
        )


AS_USUAL = Reading()
"""Nothing is given."""


def options_of(given: Any, name: str) -> dict[str, str]:
    """What is given of how a file of this name is read, as options of its loader.

    Args:
        given: the section [data] of a study, or a `Reading`.
        name: name of the file.
    """
    kind = name.lower().removesuffix(".gz")
    return {
        key: value
        for key, (_, suffixes) in OPTIONS.items()
        if kind.endswith(suffixes) and (value := getattr(given, key)) is not None
    }


def relative(data: Path, folder: Path) -> str:
    """The data's path as seen from the study file's folder, if it lies below it."""
    try:
        return data.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        return str(data.resolve())


def key_of(name: str) -> str:
    """A TOML key: bare where it can be."""
    bare = re.fullmatch(r"[A-Za-z0-9_-]+", name)
    return name if bare else codec.dumps(name, ensure_ascii=False)
