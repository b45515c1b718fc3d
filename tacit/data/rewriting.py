"""Values that are rewritten one by one before anything reads them: recoded levels, and dates."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tacit.data.columns import Frame, column_of, distinct, read_numbers, show, where
from tacit.data.dates import read_dates
from tacit.data.feature import Boolean, Categorical, Date, Feature
from tacit.data.rules import level_key
from tacit.data.schema import Schema
from tacit.data.target import BinaryTarget, ClassTarget
from tacit.errors import ProblemError


def without_dates(schema: Schema) -> Schema:
    """The schema with every date as its number of days."""
    if not any(isinstance(each, Date) for each in schema.features.values()):
        return schema
    features: dict[str, Feature] = {
        name: each.number if isinstance(each, Date) else each
        for name, each in schema.features.items()
    }
    return replace(schema, features=features)


def rewritten(frame: Frame, schema: Schema, *, strict: bool) -> tuple[Frame, Schema]:
    """The table with levels recoded and dates as numbers of days, and its schema without dates.

    What a value becomes depends on this value and its declaration only.

    Args:
        frame: table with all columns of the schema.
        schema: declaration of each column.
        strict: whether a value that is not a date is refused. Otherwise it stays, and is no number.

    Raises:
        ProblemError: such a value, if strict; names column, row, value and remedy.
    """
    made: dict[str, pd.Series] = {}
    declared = dict(schema.features)
    target = schema.target
    for name, each in (declared if target is None else declared | {target.name: target}).items():
        if codes := getattr(each, "missing_values", ()):
            made[name] = without_codes(column_of(frame, name), codes)
        column = made.get(name, column_of(frame, name))
        if isinstance(each, Date):
            made[name] = _dated(column, each, strict)
        elif isinstance(each, _RECODED) and each.map is not None:
            made[name] = recoded(column, each.map)
    if isinstance(target, BinaryTarget) and isinstance(target.positive, bool):
        column = made.get(target.name, column_of(frame, target.name))
        made[target.name] = _truths(column)
    return (frame.assign(**made) if made else frame), without_dates(schema)


_RECODED = (Categorical, Boolean, BinaryTarget, ClassTarget)


def without_codes(column: pd.Series, codes: Iterable[Any]) -> pd.Series:
    """The column with some of its values missing.

    Args:
        column: column of a table.
        codes: values that mean a missing one.
    """
    known = {level_key(code) for code in codes}
    positions, values = distinct(column)
    table = np.array([*(level_key(value) in known for value in values), False])
    return column.mask(table[positions])


def recoded(column: pd.Series, recoding: Mapping[Any, Any]) -> pd.Series:
    """The column with some of its values rewritten.

    Args:
        column: column of a table.
        recoding: what values become; the empty text means a missing one.
    """
    known = {level_key(value): level for value, level in recoding.items()}
    positions, values = distinct(column)
    table = np.full(len(values) + 1, None, dtype=object)
    for at, value in enumerate(values):
        level = known.get(level_key(value), value)
        table[at] = None if isinstance(level, str) and level == "" else level
    return pd.Series(table[positions], index=column.index, name=column.name, dtype=object)


def dated(column: pd.Series, written: str) -> pd.Series:
    """The column with texts that are dates, written in this way, as dates.

    Args:
        column: column of a table.
        written: how texts write dates, as `Date.format`.
    """
    positions, values = distinct(column)
    table = np.full(len(values) + 1, None, dtype=object)
    for at, value in enumerate(values):
        with suppress(ValueError):
            text = isinstance(value, str)
            value = datetime.datetime.strptime(value.strip(), written) if text else value
        table[at] = value
    return pd.Series(table[positions], index=column.index, name=column.name, dtype=object)


def _truths(column: pd.Series) -> pd.Series:
    """The column with words for true and false as truth values."""
    truth = read_numbers(column, flags=True)[0]
    found = column.astype(object)
    return found.mask(truth == 1, True).mask(truth == 0, False)


def _dated(column: pd.Series, feature: Date, strict: bool) -> pd.Series:
    days, wrong = read_dates(column, feature.format)
    found = pd.Series(days, index=column.index, name=column.name)
    bad = np.flatnonzero(wrong)
    if not len(bad):
        return found
    if strict:
        how = "ISO 8601 (2024-12-31)" if feature.format is None else f"format={feature.format!r}"
        raise ProblemError(
            f"column {column.name!r}: {where(column, bad[0])} holds {show(column.iloc[bad[0]])}, "
            f"which is not a date in {how}; correct the value or the format, or leave the record "
            "out"
        )
    return found.astype(object).where(~wrong, "not a date")
