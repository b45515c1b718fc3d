"""Preparing records so that nothing reveals whether one is invalid: for sites in a run.

`prepare` refuses a table for one invalid value, and anyone who sees that a site does not start
learns about that record. Here an invalid record becomes a row of zeros with the target 0. It still
counts, and it contributes nothing: the gradient of a loss of `row @ x` is a multiple of the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from tacit.data.columns import Frame, codes_of, column_of, found_in, read_numbers
from tacit.data.feature import AbstractFeature, Boolean, Categorical
from tacit.data.maps import trusted_map
from tacit.data.missing import missing_rules, of_dropping
from tacit.data.rewriting import rewritten
from tacit.data.rules import as_levels
from tacit.data.schema import Prepared, Schema
from tacit.data.table import check_columns, numbers_of
from tacit.data.target import AbstractTarget, BinaryTarget, ClassTarget
from tacit.data.values import read_values, trusted


@dataclass(frozen=True, eq=False)
class Total:
    """Prepared records, with invalid ones emptied.

    Attributes:
        prepared: one row per record that was not dropped, in order; possibly none.
        unfit: whether each of these rows is empty because its record is invalid, shape `(n,)`.
            Private: for the owner's eyes only.
        rows: indices of these records in the table, shape `(n,)`; the others were dropped.
        moved: number of values that were beyond a declared bound and moved to it, by column.
            Private.
    """

    prepared: Prepared
    unfit: Bool[np.ndarray, " n"]
    rows: Int[np.ndarray, " n"]
    moved: Mapping[str, int]


def prepare_total(frame: Frame, schema: Schema) -> Total:
    """Turn the declared columns into numbers, whatever they contain.

    As `prepare` for every valid record. One that `prepare` refuses (not a number, infinite, not
    among the declared values, missing where that is an error) is emptied; without a target its
    entries are NaN, which no statistic counts. Targets without a positive value, and tables
    without rows, are accepted.

    Args:
        frame: table from one of the loaders.
        schema: declaration of each column, with declared bounds and levels.

    Raises:
        ProblemError: a column that is absent, or whose type is neither numbers nor texts; never
            anything that a single record decides.

    Example:
        >>> import pandas as pd
        >>> from tacit.data.schema import BinaryTarget, Numeric, Schema
        >>> frame = pd.DataFrame({"age": ["30", "old", "150"], "ill": ["no", "yes", "yes"]})
        >>> schema = Schema({"age": Numeric(0, 120)}, BinaryTarget("ill", positive="yes"))
        >>> total = prepare_total(frame, schema)
        >>> total.prepared.features.tolist(), total.prepared.targets.tolist()
        ([[-0.5, 1.0], [0.0, 0.0], [1.0, 1.0]], [0.0, 0.0, 1.0])
        >>> total.unfit.tolist()
        [False, True, False]
    """
    check_columns(frame, schema)
    frame, schema = rewritten(frame, schema, strict=False)
    rules = missing_rules(schema)
    unfit, dropped = _wrong(frame, schema), np.zeros(len(frame), dtype=bool)
    for name, rule in rules.items():
        absent = column_of(frame, name).isna().to_numpy()
        if rule == "drop":
            dropped |= absent
        elif rule == "error":
            unfit |= absent
    good = numbers_of(
        frame.iloc[np.flatnonzero(~dropped & ~unfit)],
        schema,
        [*schema.assumptions, *of_dropping(rules)],
    )
    mapped = ~np.isnan(good.features).any(axis=1)  # another package's map may not take a record
    unfit[np.flatnonzero(~dropped & ~unfit)] = ~mapped
    kept = unfit[~dropped]
    # a row of zeros has no gradient; where nothing is minimised it could be counted
    empty = 0.0 if schema.target is not None else np.nan
    features = np.full((len(kept), good.features.shape[1]), empty)
    targets = np.zeros(len(kept), dtype=good.targets.dtype)
    features[~kept], targets[~kept] = good.features[mapped], good.targets[mapped]
    prepared = Prepared(
        features=features,
        targets=targets,
        feature_names=good.feature_names,
        assumptions=good.assumptions,
        notes=good.notes,
        levels=good.levels,
        labelled=good.labelled,
    )
    moved = {} if good.altered is None else good.altered.moved
    return Total(prepared, kept, np.flatnonzero(~dropped), moved)


def assumed(schema: Schema) -> tuple[str, ...]:
    """What a guarantee assumes of records that `prepare_total` takes: from declarations alone.

    Args:
        schema: declaration of each column, with declared bounds and levels.
    """
    target = schema.target
    return (
        *schema.assumptions,
        *of_dropping(missing_rules(schema)),
        *(each for name, kind in schema.features.items() for each in trusted(kind, name)),
        *(() if schema.map is None else trusted_map(schema.map)),
        *(() if target is None else trusted(target, target.name)),
    )


def unfit_values(frame: Frame, schema: Schema) -> dict[str, dict[str, int]]:
    """The different values that are not of their column's kind, and how many records have each.

    Args:
        frame: table from one of the loaders.
        schema: declaration of each column, with declared bounds and levels.

    Returns:
        By column, as the values are shown. Private: for the owner's eyes only.
    """
    made, schema = rewritten(frame, schema, strict=False)
    found = {
        name: found_in(column_of(frame, name), rows) for name, rows in _by_column(made, schema)
    }
    return {name: values for name, values in found.items() if values}


def lacking(frame: Frame, schema: Schema) -> dict[str, int]:
    """How many records are dropped because they lack a value, by column: one may lack several.

    Args:
        frame: table from one of the loaders.
        schema: declaration of each column, with declared bounds and levels.

    Returns:
        By column that lacks any, most records first. Private: for the owner's eyes only.
    """
    made, schema = rewritten(frame, schema, strict=False)
    found = {
        name: int(column_of(made, name).isna().sum())
        for name, rule in missing_rules(schema).items()
        if rule == "drop"
    }
    return {
        name: found[name]
        for name in sorted(found, key=found.__getitem__, reverse=True)
        if found[name]
    }


def _wrong(frame: Frame, schema: Schema) -> Bool[np.ndarray, " n"]:
    """Which records have a value, in any column, that is not of its kind."""
    wrong = np.zeros(len(frame), dtype=bool)
    for _, rows in _by_column(frame, schema):
        wrong |= rows
    return wrong


def _by_column(frame: Frame, schema: Schema) -> Iterator[tuple[str, Bool[np.ndarray, " n"]]]:
    """Which records have a value that is not of its kind, by column."""
    for name, feature in schema.features.items():
        if isinstance(feature, AbstractFeature):
            yield name, read_values(column_of(frame, name), feature)[1]
        elif not isinstance(feature, Categorical):
            yield name, _no_number(frame, name, schema, isinstance(feature, Boolean))
        elif feature.levels is not None and feature.other == "error":
            yield name, _other(frame, name, feature.levels)
    target = schema.target
    if target is None:
        return
    if isinstance(target, AbstractTarget):
        yield target.name, read_values(column_of(frame, target.name), target)[1]
    elif isinstance(target, ClassTarget):
        yield target.name, _other(frame, target.name, target.levels)
    elif not isinstance(target, BinaryTarget) or target.threshold is not None:
        yield target.name, _no_number(frame, target.name, schema)
    elif target.negative is not None:  # otherwise everything that is not positive is negative
        levels = (*as_levels(target.positive), *as_levels(target.negative))
        yield target.name, _other(frame, target.name, levels)


def _no_number(
    frame: Frame, name: str, schema: Schema, flags: bool = False
) -> Bool[np.ndarray, " n"]:
    values, bad = read_numbers(column_of(frame, name), flags=flags, decimal=schema.decimal)
    beyond = np.isinf(values)
    if flags:
        beyond |= ~np.isnan(values) & (values != 0) & (values != 1)
    return bad | beyond


def _other(frame: Frame, name: str, levels: object) -> Bool[np.ndarray, " n"]:
    column = column_of(frame, name)
    codes = codes_of(column, as_levels(levels), strict=False, remedy="")
    return (codes < 0) & column.notna().to_numpy()
