"""What new records lack, and what of them is moved, before a fitted table predicts from them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.cells import Column, columns_of
from tacit.data.columns import Undeclared, Unread, column_of
from tacit.data.missing import missing_rules
from tacit.data.rewriting import rewritten
from tacit.data.schema import Schema
from tacit.data.table import Prepared, check_columns, prepare

if TYPE_CHECKING:
    import pandas as pd


def read(
    data: pd.DataFrame, schema: Schema, names: Iterable[str]
) -> tuple[dict[str, Column], np.ndarray, np.ndarray, Mapping[str, int]]:
    """These columns, which records are complete in them, these as numbers, and values moved.

    Args:
        data: table of new records.
        schema: declarations of the fit.
        names: columns to read.

    Raises:
        ProblemError: a column that is absent or not of its declared kind.
    """
    schema = declared(schema, names)
    known = complete(data, schema)
    if not known.any():
        return columns_of(schema), known, np.zeros((0, 0)), {}
    found = prepared(data.iloc[np.flatnonzero(known)], schema)
    return columns_of(schema), known, found.features, moved(found)


def declared(schema: Schema, names: Iterable[str]) -> Schema:
    """The declarations of these columns."""
    used = set(names)
    return Schema(
        {name: each for name, each in schema.features.items() if name in used},
        None,
        intercept=False,
        missing=schema.missing,
        decimal=schema.decimal,
    )


def complete(data: pd.DataFrame, schema: Schema) -> Any:
    """Which records have every value without which the fit leaves out or refuses, shape `(n,)`."""
    check_columns(data, schema)
    data = rewritten(data, schema, strict=False)[0]
    found = np.ones(len(data), dtype=bool)
    for name, rule in missing_rules(schema).items():
        if rule in ("drop", "error"):
            found &= column_of(data, name).notna().to_numpy()
    return found


def values_moved(data: pd.DataFrame, schema: Schema) -> Mapping[str, int]:
    """How many values of complete records are beyond a declared bound, by column."""
    known = complete(data, schema)
    return moved(prepared(data.iloc[np.flatnonzero(known)], schema)) if known.any() else {}


def moved(records: Prepared) -> Mapping[str, int]:
    """How many values were moved to a declared bound, by column."""
    return {} if records.altered is None else records.altered.moved


def tell_moved(values: Mapping[str, int]) -> None:
    """Warn whoever called `predict` of values that it moves to a declared bound."""
    if values:
        each = ", ".join(f"{name} {count:,}" for name, count in values.items())
        warnings.warn(f"values beyond declared bounds are moved to them: {each}", stacklevel=3)


def prepared(data: pd.DataFrame, schema: Schema) -> Prepared:
    """Complete records, prepared as those of the fit.

    Raises:
        ProblemError: what `prepare` refuses. The declarations are those of the fit, so an
            undeclared value has to be changed in the table.
    """
    try:
        return prepare(data, schema)
    except Undeclared as error:
        raise error.with_remedies(
            "the fit knows no others: put one of them in its place, leave it empty as a missing "
            "one, or leave the record out"
        ) from None
    except Unread as error:
        comma = "if its comma marks the decimals, load the table with decimal=','; "
        raise error.with_remedies(
            f"{comma if error.comma else ''}correct the value, leave it empty as a missing one, or "
            "leave the record out"
        ) from None
