"""The numbers in a record, from a study's declarations of its columns.

At most the header line of the table is read, and only where a declaration applies to all columns
that match a pattern.
"""

from __future__ import annotations

import fnmatch
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit.advise.columns import Columns
from tacit.data.csv_files import column_names
from tacit.data.feature import FEATURES
from tacit.data.loaders import matching
from tacit.data.values import names_of
from tacit.errors import ConfigError
from tacit.study._sections.common import plain
from tacit.study._sections.data import site_column
from tacit.study.read import Source


def columns(source: Source, features: int | None) -> tuple[Columns, ...]:
    """A study's declarations of the columns of a record, without the intercept.

    Args:
        source: study file.
        features: number of entries per record, an intercept included, if given; the declarations
            are cut, or the last part repeated, to match it.

    Raises:
        ConfigError: a fact that follows from the records only; the message names the option.
    """
    data = source.study.data
    if data.map is not None:
        if features is None:
            with source.section("data", "map"):
                raise ConfigError(
                    "advice draws records by their declared columns, and knows no law of what a "
                    "map makes of them; give parameters, for independent numbers in [-1, 1]"
                )
        return (Columns("numeric", count=features - int(data.intercept)),)
    found: list[Columns] = []
    patterns: list[Columns] = []
    for name, declared in data.features.items():
        each = _one(source, name, declared, data.missing, known=features is not None)
        if "*" not in name:
            found += each
        elif features is not None:
            patterns += each
        else:
            matching = len(_matching(source, name))
            if declared.kind == "categorical":
                found += each * matching
            else:
                found += [replace(part, count=part.count * matching) for part in each]
    if features is None:
        return tuple(found)
    return _fitted(found, patterns, features - int(data.intercept))


def _fitted(found: list[Columns], patterns: list[Columns], width: int) -> tuple[Columns, ...]:
    """The requested number of columns; those of patterns stand for the rest."""
    made: list[Columns] = []
    for each in found:
        rest = width - sum(part.count for part in made)
        if rest > 0:
            made.append(replace(each, count=min(each.count, rest)))
    rest = width - sum(part.count for part in made)
    if rest > 0:
        numbers = [each for each in (*patterns, *found) if each.kind != "levels"]
        like = numbers[0] if numbers else Columns("numeric")
        made.append(replace(like, count=rest))
    return tuple(made)


def _one(source: Source, name: str, declared: Any, rule: Any, *, known: bool) -> list[Columns]:
    """The numbers of one column."""
    own = getattr(declared, "missing", None)
    missing = rule if own is None else own
    more = [Columns("rare")] if missing == "indicator" else []
    if declared.kind == "numeric":
        if declared.deviation is not None or declared.standardise:
            return [Columns("standard"), *more]
        low, high = declared.to
        return [Columns("numeric", low=low, high=high), *more]
    if declared.kind == "date":
        return [Columns("numeric", low=-1.0, high=1.0), *more]
    if declared.kind == "boolean":
        return [Columns("boolean"), *more]
    if declared.kind not in FEATURES:  # only its package knows its numbers
        with source.section("data", "features", name):
            own = source.build("feature", declared.kind, FEATURES)(**plain(declared))
            return [Columns("numeric", count=len(names_of(own, name)))]
    if declared.levels is None:
        if not known:
            with source.section("data", "features", name):
                raise ConfigError(
                    f"column {name!r} takes its levels from the records, which advice does not "
                    "read: declare levels = [...], or give parameters"
                )
        return [Columns("boolean")]
    levels = len(declared.levels)
    return [Columns("levels", levels - int(declared.drop_first), levels=levels), *more]


def _matching(source: Source, pattern: str) -> list[str]:
    """Columns that a pattern stands for, from the table's header line."""
    data = source.study.data
    reserved = {data.target.column, *data.features, site_column(source.study.partition)}
    path = None if data.path is None else source.folder / data.path
    with source.section("data", "features", pattern):
        header = None if path is None else _header(path, data.separator, data.encoding)
        if header is None:
            raise ConfigError(
                f"{pattern!r} stands for columns that only the table names, and its names cannot "
                "be read without its records here; give parameters"
            )
        found = [column for column in fnmatch.filter(header, pattern) if column not in reserved]
        if not found:
            raise ConfigError(f"no column matches {pattern!r} in the first line of {path}")
        return found


def _header(path: Path, separator: str | None, encoding: str | None) -> list[str] | None:
    """The first line of a CSV file, of several the first; `None` for another kind of file."""
    path = next(iter(matching(path)), path)
    name = path.name.lower().removesuffix(".gz")
    if not name.endswith((".csv", ".tsv")):
        return None
    between = separator or ("\t" if name.endswith(".tsv") else None)
    try:
        return column_names(path, between, encoding)
    except OSError as error:
        raise ConfigError(
            f"{path}: its line of column names cannot be read ({error.strerror}); check the path, "
            "or give parameters"
        ) from error
