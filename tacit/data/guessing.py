"""A first look at a table that nobody has declared yet: what its columns seem to hold.

What is found here is read off the records. It is for a draft that its owner completes, or is said
to be assumed public; `prepare` never uses it.
"""

from __future__ import annotations

import datetime
import re
from typing import Literal

import pandas as pd

from tacit.data.columns import column_of, is_text, read_numbers
from tacit.data.dates import formats_of
from tacit.data.rules import TRUTHS, WORDS

MANY = 40
"""Text with more values than this is unlikely to be a category."""

_CODES = 5
"""A column of numbers with more texts than these is unlikely to have codes for missing values."""

_NAMES = re.compile(
    "id|pid|mrn|ssn|uuid|guid|nhsnumber|row|unnamed"
    "|name|surname|firstname|lastname|fullname|vorname|nachname|email|phone|telefon"
    "|(patient(en)?|person(en)?|subject|proband(en)?|participant|teilnehmer)"
    "(id|nr|nummer|number|no|key|code|name)?"
    "|(pat|case|fall|record|visit)(id|nr|nummer|number|no|key)"
)
"""Names of columns that say who a record is about, without anything but letters."""

_DIGITS = re.compile(r"[-+]?\d+([.,]\d+)?")

_NUMBERING = re.compile(
    r"(?:.*[\W_\d])?(?:id|ids|nr|no|nummer|number|uuid|guid|key)", re.IGNORECASE
)
"""Other names of columns that may number records."""


def guess_kinds(frame: pd.DataFrame, decimal: str = ".") -> pd.DataFrame:
    """The frame with text columns of numbers, or of words for true and false, converted to these.

    For a first look at a table. Never prepare the result: a single record with another value turns
    its column back to text.
    """
    return frame.assign(**{str(name): _guessed(column, decimal) for name, column in frame.items()})


def _guessed(column: pd.Series, decimal: str) -> pd.Series:
    if pd.api.types.is_object_dtype(column.dtype):  # cells of a workbook
        column = column.infer_objects()
    if not is_text(column) or column.isna().all():
        return column
    words = column.str.strip().str.lower()
    distinct = set(words.dropna())
    if distinct <= {"true", "false"} or any(distinct == set(pair) for pair in WORDS):
        return words.map({word: bool(truth) for word, truth in TRUTHS.items()})
    if decimal == ",":  # a point is then not part of a number
        words = words.str.replace(".", "?", regex=False).str.replace(",", ".", regex=False)
    try:
        return pd.Series(pd.to_numeric(words))
    except ValueError:  # for pandas 2 also of numbers that are too large for it, such as 1e400
        numbers, wrong = read_numbers(column, decimal=decimal)
        return column if wrong.any() else pd.Series(numbers, column.index, name=column.name)


def of_zero_and_one(frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Columns of numbers that are 0 and 1 only, as truth values.

    Args:
        frame: frame as `guess_kinds` returns it.

    Example:
        >>> list(of_zero_and_one(pd.DataFrame({"ill": [0, 1, 1], "age": [0, 1, 2], "all": 1})))
        ['ill']
    """
    return {
        str(name): column.map({0: False, 1: True})
        for name, column in frame.items()
        if kind_of(column) == "numeric" and set(column.dropna().unique()) == {0, 1}
    }


def codes_among_numbers(frame: pd.DataFrame, decimal: str = ".") -> dict[str, list[str]]:
    """Texts in columns of which at least half are numbers: by column, those that are few.

    They probably mean that a value is missing.

    Args:
        frame: frame as `guess_kinds` returns it.
        decimal: decimal mark of numbers.

    Example:
        >>> codes_among_numbers(pd.DataFrame({"crp": ["1.5", "n/a", "3"], "sex": list("mfm")}))
        {'crp': ['n/a']}
    """
    found: dict[str, list[str]] = {}
    for name, column in frame.items():
        if not is_text(column):
            continue
        present = column.dropna()
        wrong = read_numbers(present, decimal=decimal)[1]
        texts = sorted(set(present.to_numpy(dtype=object)[wrong]))
        if texts and 2 * wrong.sum() <= len(present) and len(texts) <= _CODES:
            found[str(name)] = texts
    return found


def kind_of(column: pd.Series) -> Literal["boolean", "numeric", "date", "categorical"]:
    """The kind of feature that a column of such a frame would be declared as."""
    values = column.dropna().infer_objects()
    if pd.api.types.is_bool_dtype(values.dtype):
        return "boolean"
    if pd.api.types.is_numeric_dtype(values.dtype):
        return "numeric"
    dated = not values.empty and all(isinstance(each, datetime.date) for each in values)
    return "date" if dated or formats_of(values) else "categorical"


def names_like_values(table: pd.DataFrame) -> list[str]:
    """Names of columns that are numbers or values of their column, if at least half are.

    The line of names is then probably missing, and a record stands in its place.

    Args:
        table: table as its loader returns it.

    Example:
        >>> names_like_values(pd.DataFrame({"north": ["south", "north"], "84": ["31", "50"]}))
        ['north', '84']
    """
    found = [
        str(name)
        for name, column in table.items()
        if _DIGITS.fullmatch(str(name)) or (column.astype(str) == str(name)).any()
    ]
    return found if 2 * len(found) >= len(table.columns) else []


def columns_there(frame: pd.DataFrame) -> str:
    """What to say of the columns of a table that lacks one: which it has, if they are names.

    Where a record stands in the place of the names, it is not repeated.

    Example:
        >>> columns_there(pd.DataFrame({"age": [31, 50], "arm": ["a", "b"]}))
        'it has age, arm'
    """
    if names_like_values(frame):
        return (
            "its names of columns look like values: is the line of names missing in the table? "
            "Then add it"
        )
    return f"it has {', '.join([str(each) for each in frame.columns][:12])}"


def identifiers(frame: pd.DataFrame) -> dict[str, bool]:
    """Columns that say who a record is about, and whether their values told so, not their names.

    Args:
        frame: frame as `guess_kinds` returns it.

    Example:
        >>> identifiers(pd.DataFrame({"Patienten-ID": ["P1", "P1"], "age": [30, 31]}))
        {'Patienten-ID': False}
    """
    found: dict[str, bool] = {}
    for name in map(str, frame.columns):
        if _says_who(name):
            found[name] = False
        elif _unique(column_of(frame, name), bool(_NUMBERING.fullmatch(name))):
            found[name] = True
    return found


def several_of_one(frame: pd.DataFrame) -> tuple[str, ...]:
    """Columns whose names say who a record is about, and of which several records have one value.

    Args:
        frame: frame as it was loaded.

    Example:
        >>> several_of_one(pd.DataFrame({"Patienten-ID": ["P1", "P1"], "age": [30, 30]}))
        ('Patienten-ID',)
    """
    names = [name for name in map(str, frame.columns) if _says_who(name)]
    return tuple(name for name in names if column_of(frame, name).dropna().duplicated().any())


def _says_who(name: str) -> bool:
    return _NAMES.fullmatch(re.sub(r"[\W\d_]", "", name.casefold())) is not None


def _unique(column: pd.Series, numbering: bool) -> bool:
    """Whether a column of many records has another value in each, as only an identifier has."""
    if len(column) <= MANY or column.nunique() < len(column):
        return False
    kind = kind_of(column)
    if kind != "numeric":
        return kind == "categorical"
    whole = bool((column % 1 == 0).all())
    return whole and (numbering or column.max() - column.min() == len(column) - 1)
