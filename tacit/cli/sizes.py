"""How many numbers a record becomes, from what a study declares of its columns.

At most the line of column names of the table is read, and only where a declaration holds for all
columns that match a pattern.
"""

from __future__ import annotations

import csv
import fnmatch
import gzip
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np

from tacit.config.data import BooleanFeature, ByColumn, CategoricalFeature, NumericFeature
from tacit.config.read import Source
from tacit.errors import ConfigError


def sizes(
    source: Source, parameters: int | None, row_norm: float | None, scores: int
) -> tuple[int, float]:
    """Number of parameters, and the typical l2 norm of a record's features.

    Args:
        source: a study file.
        parameters: how many, if that was said.
        row_norm: the norm, if that was said.
        scores: of one record: the classes of softmax, else 1.

    Raises:
        ConfigError: a size that follows from the records only; the message names the option.
    """
    data = source.study.data
    columns, power, patterns = 0, 0.0, dict[str, tuple[int, float]]()
    for name, declared in data.features.items():
        size = _one(source, name, declared, data.missing, known=parameters is not None)
        if "*" in name:
            patterns[name] = size
        else:
            columns, power = columns + size[0], power + size[1]
    if data.intercept:
        columns, power = columns + 1, power + 1.0
    if patterns and parameters is None:
        for name, (each, share) in patterns.items():
            matching = len(_matching(source, name))
            columns, power = columns + matching * each, power + matching * share
    elif patterns:
        rest = max(parameters // scores - columns, 0) if parameters else 0
        power += rest * float(np.mean([share / each for each, share in patterns.values()]))
    typical = math.sqrt(power)
    if row_norm is not None:
        typical = row_norm
    elif data.row_norm is not None:
        typical = min(typical, data.row_norm)
    return parameters or columns * scores, typical


def _one(source: Source, name: str, declared: Any, rule: Any, *, known: bool) -> tuple[int, float]:
    """Numbers that a column becomes, and their mean square if values are spread evenly."""
    missing = declared.missing if declared.missing is not None else rule
    more = int(missing == "indicator")
    if isinstance(declared, NumericFeature):
        if declared.deviation is not None or declared.standardise:
            return 1 + more, 1.0
        low, high = declared.to
        return 1 + more, (low * low + low * high + high * high) / 3.0
    if isinstance(declared, BooleanFeature):
        return 1 + more, 0.5
    assert isinstance(declared, CategoricalFeature)
    if declared.levels is None:
        if not known:
            with source.section("data", "features", name):
                raise ConfigError(
                    f"column {name!r} takes its levels from the records, which advice does not "
                    "read: declare levels = [...], or give --parameters"
                )
        return 1, 1.0
    levels = len(declared.levels)
    kept = levels - int(declared.drop_first)
    return kept + more, kept / levels


def _matching(source: Source, pattern: str) -> list[str]:
    """Columns that a pattern stands for, from the table's line of column names."""
    data, site = source.study.data, source.study.partition
    reserved = {data.target.column, *data.features}
    if isinstance(site, ByColumn):
        reserved.add(site.column)
    path = None if data.path is None else source.folder / data.path
    with source.section("data", "features", pattern):
        header = None if path is None else _header(path, data.separator, data.encoding)
        if header is None:
            raise ConfigError(
                f"{pattern!r} stands for columns that only the table names, and its names cannot "
                "be read without its records here; give --parameters"
            )
        found = [column for column in fnmatch.filter(header, pattern) if column not in reserved]
        if not found:
            raise ConfigError(f"no column matches {pattern!r} in the first line of {path}")
        return found


def _header(path: Path, separator: str | None, encoding: str | None) -> list[str] | None:
    """The first line of a CSV file; `None` for another kind of file."""
    name = path.name.lower().removesuffix(".gz")
    if not name.endswith((".csv", ".tsv")):
        return None
    between = separator or ("\t" if name.endswith(".tsv") else ",")
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with opened(path, "rt", encoding=encoding or "utf-8-sig", errors="replace") as file:
            lines = itertools.islice(file, 1)
            return next(csv.reader(lines, delimiter=between), [])
    except OSError as error:
        raise ConfigError(
            f"{path}: its line of column names cannot be read ({error.strerror}); check the path, "
            "or give --parameters"
        ) from error
