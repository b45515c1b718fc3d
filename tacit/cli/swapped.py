"""A study and a table that stand in each other's place."""

from __future__ import annotations

from pathlib import Path

from tacit.errors import ConfigError
from tacit.study._grammar.toml import named_as_table


def check_places(first: Path, what: str, data: Path | None) -> None:
    """Refuse a table where a study belongs, with the study in its place.

    Args:
        first: path that should be of a study or manifest.
        what: what stands before the path on the command line, such as `tacit check`.
        data: path that should be of a table, after --data.

    Raises:
        ConfigError: by their names they are swapped.
    """
    if named_as_table(first.name) and data is not None and data.suffix.lower() == ".toml":
        raise ConfigError(
            f"{first} and {data} look swapped: the first is a table, and --data a file in TOML; "
            f"write {what} {data} --data {first}"
        )
