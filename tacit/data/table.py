"""From a loaded table to numbers, by a schema's declarations and nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Shaped

from tacit import checks
from tacit.arguments import checked
from tacit.data.columns import (
    Frame,
    check_distinct,
    codes_of,
    column_of,
    distinct,
    finite,
    infinite,
    numbers,
    show,
    where,
)
from tacit.data.feature import AbstractFeature, Boolean, Categorical, Feature, Numeric
from tacit.data.frames import Table, from_frame
from tacit.data.maps import mapped, trusted_map, why_not
from tacit.data.missing import drop_missing, rule_of
from tacit.data.rewriting import rewritten
from tacit.data.rules import Missing, Number, as_levels, level_key
from tacit.data.schema import Altered, Prepared, Schema
from tacit.data.target import (
    COMPARISONS,
    AbstractTarget,
    BinaryTarget,
    ClassTarget,
    NumericTarget,
    Target,
)
from tacit.data.values import names_of, trusted, values_of
from tacit.errors import ProblemError

Piece: TypeAlias = tuple[list[str], Float[np.ndarray, "n m"]]


@checked(ProblemError, own="frame")
def prepare(frame: Table, schema: Schema) -> Prepared:
    """Turn the declared columns into float64 numbers.

    Rows are named in messages by the frame's index: the line of a CSV file, or the row number.

    Args:
        frame: table from one of the loaders, or of pandas, polars or Arrow (`from_frame`).
        schema: declaration of each column.

    Raises:
        ProblemError: a column that is absent, duplicated, or not of its declared kind; a
            missing, infinite or undeclared value. Names column, first row, value and remedy.

    Example:
        >>> import pandas as pd
        >>> from tacit.data.schema import BinaryTarget, Numeric, Schema
        >>> from tacit.data.table import prepare
        >>> frame = pd.DataFrame({"age": [30, 90, 150], "ill": ["no", "yes", "yes"]})
        >>> schema = Schema({"age": Numeric(0, 120)}, BinaryTarget("ill", positive="yes"))
        >>> prepare(frame, schema).features.tolist()
        [[-0.5, 1.0], [0.5, 1.0], [1.0, 1.0]]
    """
    frame = frame if isinstance(frame, pd.DataFrame) else from_frame(frame)
    check_columns(frame, schema)
    check_any(frame)
    frame, schema = rewritten(frame, schema, strict=True)
    assumptions = list(schema.assumptions)
    complete = drop_missing(frame, schema, assumptions)
    prepared = numbers_of(complete, schema, assumptions, strict=True)
    if prepared.altered is not None:
        dropped = len(frame) - len(complete)
        prepared = replace(prepared, altered=replace(prepared.altered, dropped=dropped))
    target = schema.target
    if not isinstance(target, BinaryTarget) or target.threshold or target.negative is not None:
        return prepared
    if not prepared.targets.any():
        raise ProblemError(
            f"positive={target.positive!r} matches no record of the target {target.name!r}: "
            "correct it, or declare negative= as well if there may be no positive record"
        )
    return prepared


def numbers_of(
    frame: Frame, schema: Schema, assumptions: list[str], *, strict: bool = False
) -> Prepared:
    """`prepare` for records that lack no required value.

    Args:
        frame: table with all columns of the schema; it may have no rows.
        schema: declaration of each column.
        assumptions: assumptions so far; more are appended.
        strict: whether a record that another package's map does not take is refused. Otherwise its
            features are not numbers.

    Raises:
        ProblemError: as for `prepare`, for values.
    """
    moved: dict[str, int] = {}
    raised: dict[str, int] = {}
    taken: dict[str, Feature] = {}
    names, features = _features(frame, schema, assumptions, moved, raised, taken)
    notes: list[str] = []
    if schema.map is not None:
        rows = features[:, : len(names)]
        made, found = mapped(schema.map, schema, tuple(names), rows)
        bad = np.flatnonzero(np.isnan(found).any(axis=1)).tolist() if strict else []
        if bad:
            why = why_not(schema.map, schema, made, rows[bad[0]])
            raise ProblemError(
                f"{where(frame, bad[0])}: {why}; correct it, or leave the record out"
            )
        names, ones = list(made), np.ones((len(found), int(schema.intercept)))
        features = np.column_stack([found, ones])
        assumptions += trusted_map(schema.map)
    if schema.intercept:
        names.append("intercept")
    repeated = next((name for name, times in Counter(names).items() if times > 1), None)
    if repeated is not None:
        raise ProblemError(
            f"feature name {repeated!r} occurs twice after preparation: rename the column or "
            "level, or set intercept=False if the data bring a constant column of their own"
        )
    if schema.row_norm is not None:
        _bound_rows(features, schema.row_norm)
        notes.append(f"each row of features was scaled down to l2 norm {schema.row_norm:g} or less")
    target = schema.target
    targets = np.zeros(len(frame))
    if target is not None:
        targets = _target(frame, target, schema.decimal, moved)
    assumptions += [] if target is None else trusted(target, target.name)
    classes = target.levels if isinstance(target, ClassTarget) else ()
    return Prepared(
        features=features,
        targets=targets,
        feature_names=tuple(names),
        sites=None if schema.site is None else sites_of(column_of(frame, schema.site)),
        assumptions=tuple(assumptions),
        notes=tuple(notes),
        levels=tuple(level_key(level) for level in classes),
        altered=Altered(len(frame), 0, moved, raised),
        taken=taken,
        labelled=target is not None,
    )


def check_columns(frame: Frame, schema: Schema) -> None:
    """Refuse a table that lacks a column of the schema, or has one twice."""
    check_distinct(frame.columns, "the table")
    wanted = [*schema.features, *([] if schema.target is None else [schema.target.name])]
    if schema.site is not None:
        wanted.append(schema.site)
    present = [str(name) for name in frame.columns]
    for name in wanted:
        if name not in frame.columns:
            hint = checks.hint(name, present, f"it has {', '.join(present[:12])}")
            raise ProblemError(f"the table has no column {name!r}; {hint}")


def check_any(frame: Frame, source: object = "the table") -> None:
    """Refuse a table without records.

    Args:
        frame: table.
        source: where it comes from, for the message.

    Raises:
        ProblemError: it has none.
    """
    if len(frame) == 0:
        raise ProblemError(f"{source} has no records: give at least one row below the header")


def _features(
    frame: Frame,
    schema: Schema,
    assumptions: list[str],
    moved: dict[str, int],
    raised: dict[str, int],
    taken: dict[str, Feature],
) -> tuple[list[str], Float[np.ndarray, "n d"]]:
    numeric = [name for name, f in schema.features.items() if isinstance(f, Numeric | Boolean)]
    column = {name: j for j, name in enumerate(numeric)}
    block = _block(frame, schema, numeric)
    absent = np.isnan(block)
    _scale(block, absent, schema, numeric, assumptions, moved, raised, taken)
    names: list[str] = []
    sources: list[Float[np.ndarray, " n"]] = []
    for name, feature in schema.features.items():
        if isinstance(feature, Categorical):
            if feature.levels is None:
                feature = taken[name] = _levelled(frame, name, feature, assumptions)
            labels, columns = _one_hot(frame, name, feature, rule_of(feature, schema))
            names += labels
            sources += list(columns.T)
            continue
        if isinstance(feature, AbstractFeature):
            names += names_of(feature, name)
            sources += list(values_of(column_of(frame, name), feature).T)
            assumptions += trusted(feature, name)
            continue
        names.append(name)
        sources.append(block[:, column[name]])
        if rule_of(feature, schema) == "indicator":
            names.append(f"{name}=missing")
            sources.append(absent[:, column[name]].astype(float))
    if names == numeric and not schema.intercept:
        return names, block
    features = np.ones((len(frame), len(names) + schema.intercept))
    if names == numeric:
        features[:, : len(names)] = block
    else:
        for j, source in enumerate(sources):
            features[:, j] = source
    return names, features


def _block(frame: Frame, schema: Schema, names: list[str]) -> Float[np.ndarray, "n m"]:
    """Numeric and boolean columns as one array, with NaN where a value is missing."""
    kinds = frame.dtypes[names]
    if all(isinstance(kind, np.dtype) and kind.kind in "buif" for kind in kinds):
        # One conversion for all columns: an image has hundreds of them.
        block = np.array(frame[names].to_numpy(), dtype=np.float64, order="C")
    else:
        block = np.empty((len(frame), len(names)))
        for j, name in enumerate(names):
            flags = isinstance(schema.features[name], Boolean)
            remedy = "declare its levels= instead of bounds="
            block[:, j] = numbers(column_of(frame, name), remedy, flags, schema.decimal)
    bad = np.argwhere(np.isinf(block))
    if len(bad):
        row, j = (int(i) for i in bad[0])
        raise infinite(frame, names[j], row)
    for j, name in enumerate(names):
        if isinstance(schema.features[name], Boolean):
            _check_boolean(column_of(frame, name), block[:, j])
    return block


def _check_boolean(column: pd.Series, values: Float[np.ndarray, " n"]) -> None:
    bad = np.flatnonzero(~np.isnan(values) & (values != 0) & (values != 1))
    if len(bad):
        present = np.unique(values[~np.isnan(values)])
        remedy = (
            "declare it as Numeric(lower, upper), or, if a yes or no is wanted (as of an event), "
            f"make it one before: table[{column.name!r}] == 1"
        )
        if len(present) == 2:
            levels = ", ".join(f"{each:g}" for each in present)
            remedy = f"declare it as Categorical([{levels}]), of which the second counts as true"
        raise ProblemError(
            f"column {column.name!r} is declared Boolean, but {where(column, bad[0])} holds "
            f"{show(column.iloc[bad[0]])}: {remedy}"
        )


def _scale(
    block: Float[np.ndarray, "n m"],
    absent: Bool[np.ndarray, "n m"],
    schema: Schema,
    names: list[str],
    assumptions: list[str],
    moved: dict[str, int],
    raised: dict[str, int],
    taken: dict[str, Feature],
) -> None:
    """Fill, clip and map every column of the block, in place; count what the clip moves."""
    constants = np.empty((4, len(names)))
    fill = np.empty(len(names))
    for j, name in enumerate(names):
        feature = schema.features[name]
        rule = rule_of(feature, schema)
        if isinstance(feature, Numeric):
            count = len(assumptions)
            low, high, centre, unit = constants_of(name, feature, block[:, j], assumptions)
            if len(assumptions) > count:
                filled = replace(feature, lower=low, upper=high, standardise=False)
                if feature.standardise:
                    filled = replace(filled, mean=centre, deviation=unit)
                taken[name] = filled
        else:
            low, high, centre, unit = 0.0, 1.0, 0.0, 1.0
        fill[j] = rule if isinstance(rule, int | float) else (low + high) / 2
        if not low <= fill[j] <= high:
            raise ProblemError(
                f"missing={rule!r} lies outside the bounds [{low:g}, {high:g}] of column {name!r}"
            )
        constants[:, j] = low, high, centre, unit
    if absent.any():
        np.copyto(block, fill, where=absent)
    low, high, centre, unit = constants
    below, above = (np.count_nonzero(each, axis=0) for each in (block < low, block > high))
    for found, counts in ((moved, below + above), (raised, below)):
        found |= {name: int(count) for name, count in zip(names, counts, strict=True) if count}
    np.clip(block, low, high, out=block)
    block -= centre
    block /= unit


def constants_of(
    name: str, feature: Numeric, values: Float[np.ndarray, " n"], assumptions: list[str]
) -> tuple[float, float, float, float]:
    """Bounds of the clip, then centre and unit of the affine map."""
    low = None if feature.lower is None else float(feature.lower)
    high = None if feature.upper is None else float(feature.upper)
    if low is None or high is None or feature.standardise:
        values = values[~np.isnan(values)]
        if len(values) == 0:
            raise ProblemError(f"column {name!r} has no value at all: leave it out")
    if low is None:
        low = float(values.min())
        assumptions.append(f"the minimum of column {name} was taken from the data: assumed public")
    if high is None:
        high = float(values.max())
        assumptions.append(f"the maximum of column {name} was taken from the data: assumed public")
    if not low < high:
        raise ProblemError(
            f"column {name!r} has the bounds [{low:g}, {high:g}], which leave no room: "
            "declare lower below upper, or leave the column out"
        )
    if feature.standardise:
        clipped = np.clip(values, low, high)
        assumptions.append(
            f"mean and standard deviation of column {name} were taken from the data: assumed public"
        )
        return low, high, float(clipped.mean()), float(clipped.std()) or 1.0
    if feature.mean is not None and feature.deviation is not None:
        return low, high, float(feature.mean), float(feature.deviation)
    start, end = feature.to
    unit = (high - low) / (end - start)
    return low, high, low - start * unit, unit


def _levelled(frame: Frame, name: str, feature: Categorical, assumptions: list[str]) -> Categorical:
    """A declaration with the levels that the records have."""
    levels = tuple(sorted({level_key(value) for value in distinct(column_of(frame, name))[1]}))
    assumptions.append(f"the levels of column {name} were taken from the data: assumed public")
    return replace(feature, levels=levels)


_ZERO = "set other='zero', by which such a value counts as none of the levels"


def _one_hot(frame: Frame, name: str, feature: Categorical, rule: Missing) -> Piece:
    column, levels = column_of(frame, name), feature.levels
    assert levels is not None
    codes = codes_of(column, levels, strict=feature.other == "error", remedy=_ZERO)
    columns = (codes[:, None] == np.arange(len(levels))).astype(float)
    labels = [f"{name}={level_key(level)}" for level in levels]
    if feature.drop_first:
        labels, columns = labels[1:], columns[:, 1:]
    if rule == "indicator":
        labels.append(f"{name}=missing")
        columns = np.column_stack([columns, column.isna().to_numpy(dtype=float)])
    return labels, columns


def _target(
    frame: Frame, target: Target, decimal: str, moved: dict[str, int]
) -> Shaped[np.ndarray, " n"]:
    column = column_of(frame, target.name)
    if isinstance(target, AbstractTarget):
        return values_of(column, target)[:, 0]
    if isinstance(target, ClassTarget):
        return codes_of(column, target.levels, strict=True, remedy="leave the record out")
    if isinstance(target, NumericTarget):
        values = finite(frame, target.name, "declare a BinaryTarget or ClassTarget", decimal)
        if count := np.count_nonzero((values < target.lower) | (values > target.upper)):
            moved[target.name] = int(count)
        values = np.clip(values, target.lower, target.upper)
        if target.to is None:
            return values
        start, end = target.to
        return start + (values - target.lower) * ((end - start) / (target.upper - target.lower))
    if target.threshold is not None:
        comparison, bound = target.threshold
        remedy = "name the positive values instead of a threshold"
        values = finite(frame, target.name, remedy, decimal)
        return COMPARISONS[comparison](values, bound).astype(float)
    positive = as_levels(target.positive)
    if target.negative is not None:
        levels = (*positive, *as_levels(target.negative))
        codes = codes_of(column, levels, strict=True, remedy="leave the record out")
        return (codes < len(positive)).astype(float)
    return (codes_of(column, positive, strict=False, remedy="") >= 0).astype(float)


def sites_of(column: pd.Series) -> Shaped[np.ndarray, " n"]:
    """The site of each record, from a column without missing values.

    Raises:
        ProblemError: a name with a NUL character.
    """
    positions, values = distinct(column)
    names = [level_key(value) for value in values]
    if any("\0" in name for name in names):  # at the end of a name, NumPy would drop it
        row = next(row for row, place in enumerate(positions) if "\0" in names[place])
        raise ProblemError(
            f"column {column.name!r}: {where(column, row)} holds a NUL character; take it out"
        )
    return np.array(names)[positions]


def _bound_rows(features: Float[np.ndarray, "n d"], bound: Number) -> None:
    norms = np.linalg.norm(features, axis=1)
    # Slightly below the bound, so that rounding cannot lift a row above it.
    factors = np.minimum(1.0, bound * (1 - 1e-12) / np.maximum(norms, np.finfo(float).tiny))
    features *= np.where(norms > bound * (1 - 1e-12), factors, 1.0)[:, None]
