"""What options declare about a table, for commands that write a study from both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tacit.data.feature import Boolean, Categorical, Date, Feature, Numeric
from tacit.data.rules import level_key
from tacit.errors import ConfigError, ProblemError

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


def column_of_sites(data: Path, site: str | None) -> str | None:
    """The column of sites: the one that is given, or that of the names of several files."""
    from tacit.data.loaders import FILE, several

    return FILE if site is None and several(data) else site


def rewrite(
    frame: pd.DataFrame,
    named: Mapping[str, str],
    maps: Mapping[str, Mapping[str, str]],
    missing_values: Sequence[str],
    site: str | None,
) -> None:
    """Rewrite columns of a table as the study will have them rewritten.

    Args:
        frame: table of all records, which is changed.
        named: columns to rewrite, and what names each, for the message.
        maps: what values are rewritten to, by column.
        missing_values: values that mean a missing one in every column but that of sites.
        site: column of sites.

    Raises:
        ProblemError: a column that the table does not have.
    """
    from tacit.data.rewriting import recoded, without_codes
    from tacit.data.undeclared import column_named

    for name, who in (dict.fromkeys(maps, "--map names") | dict(named)).items():
        column = column_named(frame, name, who)
        if missing_values and name != site:
            column = without_codes(column, missing_values)
        frame[name] = recoded(column, maps[name]) if name in maps else column


def asked_for(
    option: str, given: Mapping[str, T], frame: pd.DataFrame, asked: Collection[str]
) -> dict[str, T]:
    """What an option says of the columns that are asked for.

    The same options may serve several commands, so what one says of other columns is not used.

    Args:
        option: name of the option.
        given: what is said, by column.
        frame: table of all records.
        asked: columns that are asked for.

    Raises:
        ProblemError: a column that the table does not have.
    """
    from tacit.data.undeclared import column_named

    for name in given:
        if name not in asked:
            column_named(frame, name, f"{option} declares")
    return {name: each for name, each in given.items() if name in asked}


_TRUTHS = ["false", "true"]
"""Levels that declare a column of true and false."""


def declared_by(
    frame: pd.DataFrame,
    bounds: Mapping[str, tuple[Any, Any]],
    levels: Mapping[str, Sequence[str]],
) -> tuple[dict[str, Feature], dict[str, str]]:
    """Declarations by options, and what was read off the records for them: formats of dates.

    Args:
        frame: table of all records.
        bounds: bounds of numbers or dates, by column.
        levels: levels, by column.

    Raises:
        ConfigError: a declaration that is not valid; the message names the option.
    """
    from tacit.data.undeclared import column_named, format_of

    declared: dict[str, Feature] = {}
    formats: dict[str, str] = {}
    for name, (low, high) in bounds.items():
        with _of_option("bounds", name):
            if isinstance(low, int | float) and isinstance(high, int | float):
                declared[name] = Numeric(low, high)
            elif isinstance(low, date) and isinstance(high, date):
                written = format_of(name, column_named(frame, name))
                declared[name] = Date(low, high, written)
                formats |= {} if written is None else {name: f"format {written}"}
    for name, each in levels.items():
        with _of_option("levels", name):
            if name in declared:
                raise ConfigError(f"{name!r} has bounds as well; leave one of the two out")
            declared[name] = Boolean() if list(each) == _TRUTHS else Categorical(each)
    return declared, formats


def mapped(
    features: Mapping[str, Feature], maps: Mapping[str, Mapping[str, str]], rewritten: Iterable[str]
) -> dict[str, Feature]:
    """Declarations that rewrite values as the options say.

    Args:
        features: declarations by column.
        maps: what values are rewritten to, by column.
        rewritten: columns to which that applies, all of them declared.

    Raises:
        ConfigError: a column of numbers or dates, or a map to what is no level.
    """
    found = dict(features)
    for name in rewritten:
        kind = found[name]
        if not isinstance(kind, Categorical | Boolean):
            raise ConfigError(
                f"--map of {name!r}: the column holds numbers or dates, of which only codes of "
                "missing values are rewritten: --missing-values"
            )
        with _of_option("map", name):
            found[name] = replace(kind, map=maps[name])
    return found


def sites_in(frame: pd.DataFrame, site: str) -> dict[str, int]:
    """The sites in a column, and the number of records of each.

    Raises:
        ProblemError: a column that the table does not have.
    """
    from tacit.data.undeclared import column_named

    counts = Counter(map(level_key, column_named(frame, site, "--site is").dropna()))
    return dict(sorted(counts.items()))


@contextmanager
def _of_option(option: str, column: str) -> Generator[None, None, None]:
    """Declarations come from options here, so that errors about them are about options."""
    try:
        yield
    except (ProblemError, ConfigError) as error:
        said = str(error).removeprefix(f"{option}=")
        raise ConfigError(f"--{option} of {column!r}: {said}") from error
