"""Reading one column of a table as numbers or as levels, with messages that name the row."""

from __future__ import annotations

import json as codec
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from tacit import checks
from tacit.data.rules import TRUTHS, level_key
from tacit.errors import ProblemError

Frame: TypeAlias = pd.DataFrame

_MOST = 10
"""Values that a message names."""


_SURE = 0.85
"""Similarity from which on a value is taken for a level in another writing."""


class Unread(ProblemError):
    """A value that cannot be read as its column is declared.

    Args:
        first: the first such value, and where.
        more: all of them.
        remedy: what to do where the declaration can be changed.
        comma: whether it is a number if its comma marks the decimals.
    """

    def __init__(self, first: str, more: str, remedy: str, comma: bool = False) -> None:
        self.first, self.what, self.comma = first, f"{first}{more}", comma
        super().__init__(f"{self.what}; {remedy}")

    def with_remedies(self, remedies: str) -> ProblemError:
        """The same error where something else can be done."""
        return ProblemError(f"{self.what}; {remedies}")


class Undeclared(ProblemError):
    """A value that is not among the declared ones.

    Args:
        first: the first such value, and where.
        more: all of them.
        column: name of the column.
        recoding: a table of TOML that rewrites the values, as `recoding` makes it.
        remedy: what else to do where the declaration can be changed.
        meant: the declared value that is surely meant, or the empty text.
    """

    def __init__(
        self, first: str, more: str, column: str, recoding: str, remedy: str, meant: str
    ) -> None:
        remedies = (
            f"correct it, declare the value, rewrite it (in a study map = {recoding}, where "
            f'"" is missing; in Python by replace of pandas), or {remedy}'
        )
        self.first, self.what = first, f"{first}{more}"
        super().__init__(_with(self.what, remedies, meant))
        self.column, self.recoding, self.meant = column, recoding, meant

    def with_remedies(self, remedies: str) -> ProblemError:
        """The same error where something else can be done."""
        return ProblemError(_with(self.what, remedies, self.meant))


def _with(what: str, remedies: str, meant: str) -> str:
    if not meant:
        return f"{what}; {remedies}"
    return f"{what}; did you mean {meant!r}? {remedies[0].upper()}{remedies[1:]}"


def where(frame: Frame | pd.Series, row: int | np.integer) -> str:
    """The `row`-th record as the user finds it: "line 7" of a CSV file, otherwise "row 5"."""
    return f"{frame.index.name or 'row'} {frame.index[int(row)]}"


def check_distinct(names: Iterable[str], source: str) -> None:
    """Refuse column names that occur twice, with the remedy."""
    seen: dict[str, int] = {}
    for position, name in enumerate(names):
        if name in seen:
            raise ProblemError(
                f"{source}: column name {name!r} occurs twice (columns {seen[name] + 1} and "
                f"{position + 1}); {_missing_header(name)}rename one of them"
            )
        seen[name] = position


def _missing_header(name: str) -> str:
    """A hint for a name that is a value, as in a table without a line of names, or that is none."""
    if not name.strip():
        return (
            "names are read off the first line: if a title stands above them, delete it; if not, "
        )
    return (
        "" if np.isnan(_number(name, False, ".")) else "add the line of names if it is missing, or "
    )


def column_of(frame: Frame, name: str) -> pd.Series:
    """The one column of that name."""
    column = frame[name]
    assert isinstance(column, pd.Series)  # names are distinct
    return column


def is_text(column: pd.Series) -> bool:
    """Whether all values of a column are text or missing.

    Columns of text have a type of their own since pandas 3, and are objects before.
    """
    if isinstance(column.dtype, pd.StringDtype):
        return True
    objects = pd.api.types.is_object_dtype(column.dtype)
    return objects and pd.api.types.infer_dtype(column, skipna=True) == "string"


def check_cells(frame: Frame, name: str) -> None:
    """Refuse a column that holds lists, dicts or arrays."""
    column = column_of(frame, name)
    if column.dtype != object:
        return
    several = column.map(lambda value: isinstance(value, list | tuple | dict | set | np.ndarray))
    if several.any():
        row = int(several.to_numpy().argmax())
        raise ProblemError(
            f"column {name!r} holds a {type(column.iloc[row]).__name__} in {where(frame, row)}, "
            "and a cell has one value; make a column of each, or leave it out"
        )


def numbers(
    column: pd.Series, remedy: str, flags: bool = False, decimal: str = "."
) -> Float[np.ndarray, " n"]:
    """`read_numbers` for a column in which every value is a real number or missing.

    Args:
        column: numbers, or texts that represent numbers.
        remedy: end of the error message.
        flags: as for `read_numbers`.
        decimal: as for `read_numbers`.

    Raises:
        ProblemError: values that are not real numbers.
    """
    values, wrong = read_numbers(column, remedy, flags, decimal)
    bad = np.flatnonzero(wrong)
    if len(bad):
        value = column.iloc[bad[0]]
        more = others(column, wrong)
        if flags:
            raise Unread(
                f"column {column.name!r} is declared Boolean, but {where(column, bad[0])} holds "
                f"{show(value)}, which is no word for true or false that is known",
                more,
                f"correct the value, declare what it means (map), or {remedy}",
            )
        raise Unread(
            f"column {column.name!r} is not numeric: {where(column, bad[0])} holds {show(value)}",
            more,
            f"{_other_mark(value, decimal)}correct the value, declare it as a code of missing "
            f"values (missing_values), or {remedy}",
            comma=decimal == "." and with_comma(value),
        )
    return values


def read_numbers(
    column: pd.Series, remedy: str = "leave it out", flags: bool = False, decimal: str = "."
) -> tuple[Float[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """The values as float64, NaN where missing or not a number; and which are not numbers.

    The result for a value depends on this value only, never on the others in its column.

    Args:
        column: numbers, or texts that represent numbers.
        remedy: end of the error message.
        flags: whether words for true and false (`rules.WORDS`) mean the numbers 1 and 0.
        decimal: decimal mark in texts, a point or a comma; the other one is not allowed.

    Raises:
        ProblemError: a column whose type is neither numbers nor texts.
    """
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        column, kind = column.astype(object), np.dtype(object)
    plain = pd.api.types.is_bool_dtype(kind) or pd.api.types.is_numeric_dtype(kind)
    if is_text(column):
        positions, texts = distinct(column)
        values = np.array([*(_number(text, flags, decimal) for text in texts), np.nan])
        values = values[positions]
    elif pd.api.types.is_object_dtype(kind):
        values = np.array([_number(value, flags, decimal) for value in column], dtype=np.float64)
    elif plain and not pd.api.types.is_complex_dtype(kind):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        if pd.api.types.is_datetime64_any_dtype(kind):
            raise ProblemError(
                f"column {column.name!r} holds dates; declare it as data.Date(earliest, latest)"
            )
        raise ProblemError(
            f"column {column.name!r} holds values of type {kind}, which are not real numbers: "
            f"convert it before, or {remedy}"
        )
    return values, np.isnan(values) & column.notna().to_numpy()


def _number(value: Any, flags: bool, decimal: str) -> float:
    """One value as a number, NaN if it is not one."""
    if isinstance(value, str):
        if flags and value.strip().lower() in TRUTHS:
            return TRUTHS[value.strip().lower()]
        if "_" in value:  # Python reads "1_000" as a number, tables do not
            return np.nan
        if decimal == ",":  # a point may then separate thousands
            value = "" if "." in value else value.replace(",", ".")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _other_mark(value: Any, decimal: str) -> str:
    """The remedy for a text that represents a number with the other decimal mark."""
    if not isinstance(value, str):
        return ""
    if decimal == "," and "." in value:
        return "with decimal=',' a number has no point: leave out marks of thousands; "
    if decimal == "." and with_comma(value):
        return "if the comma marks its decimals, set decimal=','; "
    return ""


def with_comma(value: Any) -> bool:
    """Whether a value is a text that is a number if its comma marks the decimals.

    Example:
        >>> with_comma("0,89"), with_comma("0.89"), with_comma("1,234,567")
        (True, False, False)
    """
    return isinstance(value, str) and "," in value and not np.isnan(_number(value, False, ","))


def distinct(column: pd.Series) -> tuple[Int[np.ndarray, " n"], list[Any]]:
    """Position of each value among the different ones, -1 for a missing one, and these.

    Where a column holds values of several types, True, 1 and 1.0 are different ones here: for a
    hash they are one, and that of the first record would decide how all others are read.
    """
    if not pd.api.types.is_object_dtype(column.dtype):
        positions, found = pd.factorize(column)
        return positions, list(found)
    # pandas would compare texts in a column of objects up to a NUL character only
    known: dict[tuple[type, str], int] = {}
    positions, found = np.full(len(column), -1), []
    present = np.flatnonzero(column.notna())
    for row, value in zip(present, column.iloc[present], strict=True):
        key = (type(value), str(value))
        if key not in known:
            known[key] = len(found)
            found.append(value)
        positions[row] = known[key]
    return positions, found


def codes_of(
    column: pd.Series, levels: Sequence[Any], strict: bool, remedy: str
) -> Int[np.ndarray, " n"]:
    """Position of each value among the levels, -1 for a missing (or, if not strict, other) one."""
    known = {level_key(level): code for code, level in enumerate(levels)}
    positions, values = distinct(column)
    table = np.array([*(known.get(level_key(value), -1) for value in values), -1])
    codes = table[positions]
    unknown = (codes < 0) & (positions >= 0)
    other = np.flatnonzero(unknown)
    if strict and len(other):
        shown = ", ".join(repr(level) for level in levels[:8]) + (", ..." if levels[8:] else "")
        raise Undeclared(
            f"column {column.name!r}: {where(column, other[0])} holds "
            f"{show(column.iloc[other[0]])}, which is not among the declared values ({shown})",
            others(column, unknown),
            str(column.name),
            recoding(column, unknown, levels),
            remedy,
            _close(column.iloc[other[0]], levels),
        )
    return codes


def found_in(column: pd.Series, rows: Bool[np.ndarray, " n"]) -> dict[str, int]:
    """The different values in some rows, as they are shown, and how many rows hold each."""
    positions, values = distinct(pd.Series(column[rows]))
    counts = np.bincount(positions[positions >= 0], minlength=len(values))
    return {show(values[at]): int(counts[at]) for at in np.argsort(-counts, kind="stable")}


def others(column: pd.Series, rows: Bool[np.ndarray, " n"]) -> str:
    """All values in rows that are refused, for a message about the first of them."""
    found = found_in(column, rows)
    if len(found) == 1 and sum(found.values()) == 1:
        return ""
    return f" (in all: {listed(found)})"


def listed(found: Mapping[str, int]) -> str:
    """Values and their numbers of records, at most ten of them.

    Example:
        >>> listed({"'n/a'": 1203, "'?'": 2})
        "'n/a' (1,203), '?' (2)"
    """
    each = ", ".join(f"{value} ({count:,})" for value, count in list(found.items())[:_MOST])
    left = len(found) - _MOST
    return each if left <= 0 else f"{each} and {left:,} other values"


def recoding(column: pd.Series, rows: Bool[np.ndarray, " n"], levels: Sequence[Any] = ()) -> str:
    """A table of TOML that rewrites all values in some rows, to be completed.

    Args:
        column: values of the column.
        rows: which of them to rewrite.
        levels: declared values; one that is close is written in.
    """
    _, values = distinct(pd.Series(column[rows]))
    return as_map({level_key(value): _close(value, levels) for value in values[:_MOST]})


def as_map(given: Mapping[str, str]) -> str:
    """A recoding as a table of TOML, as `map` of a column and --map take it.

    Example:
        >>> as_map({"YES ": "yes"})
        '{ "YES " = "yes" }'
    """
    pairs = (f"{_quoted(old)} = {_quoted(new)}" for old, new in given.items())
    return "{ " + ", ".join(pairs) + " }"


def _quoted(text: str) -> str:
    return codec.dumps(text, ensure_ascii=False)


def _close(value: Any, levels: Sequence[Any]) -> str:
    """The level that is surely meant, or the empty text: "drug C" is not "drug A"."""
    found = checks.close(level_key(value), [level_key(level) for level in levels], _SURE)
    return found[0] if found else ""


def finite(frame: Frame, name: str, remedy: str, decimal: str) -> Float[np.ndarray, " n"]:
    """`numbers` of a column that must not be infinite anywhere."""
    values = numbers(column_of(frame, name), remedy, decimal=decimal)
    bad = np.flatnonzero(np.isinf(values))
    if len(bad):
        raise infinite(frame, name, int(bad[0]))
    return values


def infinite(frame: Frame | pd.Series, name: str, row: int | np.integer) -> ProblemError:
    """The error for an infinite value, to be raised."""
    return ProblemError(
        f"column {name!r} has an infinite value in {where(frame, row)}: put a finite number there, "
        "or leave it empty, which is then missing"
    )


def show(value: object) -> str:
    """A value for a message, shortened to 40 characters."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 40 else text[:37] + "..."
