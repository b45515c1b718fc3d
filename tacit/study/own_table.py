"""An owner's table, as the study of all sites expects it.

How a table is written is its owner's own business: it says so in a file that nobody else sees, and
the study stays as it was agreed on. What a value becomes depends on this value only.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit import checks
from tacit.errors import ConfigError
from tacit.study._sections.own_table import OwnColumn, OwnTable
from tacit.study.owner_file import read_owner_file
from tacit.study.reading import Reading, options_of

if TYPE_CHECKING:
    import pandas as pd

_WANTED = 'the file that says how a table is written has path = "visits.csv"'


def load_own(data: Path, section: Any) -> tuple[pd.DataFrame, str]:
    """An owner's table with its values as the study expects them, and its decimal mark.

    Args:
        data: path of the table, or of the file that says how it is written.
        section: the section [data] of the study.

    Raises:
        ConfigError: a file that says something else, or a column that the table does not have.
        ProblemError: a table that cannot be read.
    """
    from tacit.data.loaders import load

    if data.suffix.lower() != ".toml":
        return load(data, **options_of(section, data.name)), section.decimal
    own = read_owner_file(data, OwnTable, _WANTED)
    path = data.parent / own.path
    given = Reading(own.separator, own.encoding, own.decimal, own.sheet)
    try:
        options = options_of(section, path.name) | given.options(path)
    except ConfigError as error:
        raise ConfigError(f"{data}: {error}") from error
    frame = _renamed(load(path, **options), own.columns, data)
    return _rewritten(frame, own), own.decimal or section.decimal


def _renamed(frame: pd.DataFrame, columns: Mapping[str, OwnColumn], data: Path) -> pd.DataFrame:
    """The table with its columns named as in the study."""
    present = [str(each) for each in frame.columns]
    names = {each.name or name: name for name, each in columns.items()}
    for here, name in names.items():
        if here not in present:
            hint = checks.hint(here, present, f"it has {', '.join(present[:12])}")
            raise ConfigError(
                f"{data}: [columns] of {name!r}: the table has no column {here!r}; {hint}"
            )
        if here != name and name in present and name not in names:
            raise ConfigError(
                f"{data}: the table has a column {name!r}, so that {here!r} cannot be it; leave "
                "name out, or delete the other column"
            )
    if len(names) < len(columns):
        raise ConfigError(f"{data}: [columns] names one column of the table twice; name it once")
    return frame.rename(columns=names)


def _rewritten(frame: pd.DataFrame, own: OwnTable) -> pd.DataFrame:
    """The table with codes missing, values mapped, and dates as such."""
    from tacit.data.columns import column_of
    from tacit.data.rewriting import dated, recoded, without_codes

    made: dict[str, pd.Series] = {}
    if own.missing_values:
        for name in map(str, frame.columns):
            made[name] = without_codes(column_of(frame, name), own.missing_values)
    for name, each in own.columns.items():
        column = made.get(name, column_of(frame, name))
        if each.missing_values:
            column = without_codes(column, each.missing_values)
        if each.map:
            column = recoded(column, each.map)
        if each.format is not None:
            column = dated(column, each.format)
        made[name] = column
    return frame.assign(**made)
