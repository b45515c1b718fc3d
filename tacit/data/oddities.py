"""What in a table looks like a mistake: codes among numbers, and levels in several spellings.

It is seen in private values: a hint for the owner of the records only, and nothing is changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256

import numpy as np
import pandas as pd

from tacit.data.columns import column_of, read_numbers, show
from tacit.data.feature import Categorical, Feature, Numeric
from tacit.data.guessing import MANY

_CODE = re.compile(r"99+|88+|77+|-9+|-8+|-7+")
"""Whole numbers by which values are often coded as missing."""


COUNTS = ("poisson", "negative_binomial")
"""Families whose targets are whole numbers."""

PRIVATE = "This is computed from the private records: keep it to yourself"
"""Follows what is told of a table to whoever holds all of its records."""

_FAR = 3.0
"""Ratio of a declared number of records to the true one, from which it looks like a mistake."""


def far_codes(column: pd.Series, decimal: str = ".") -> list[str]:
    """Numbers such as 999 or -9 that are far outside all others of a column.

    Far is further from the others than these are apart, or below 0 where no other is.

    Args:
        column: column of numbers, or of text for such.
        decimal: decimal mark of numbers that are text.

    Example:
        >>> far_codes(pd.Series([31.0, 999.0, 77.0, 84.0])), far_codes(pd.Series(["3", "-9", "0"]))
        (['999'], ['-9'])
        >>> far_codes(pd.Series([70.0, 99.0, 85.0]))
        []
    """
    found, wrong = read_numbers(column.dropna(), decimal=decimal)
    values = np.unique(found[~wrong & np.isfinite(found)])
    coded = np.array([_CODE.fullmatch(f"{each:.15g}") is not None for each in values], dtype=bool)
    # a column may have several codes, and an ordinary number may look like one
    while coded.any() and not coded.all():
        low, high = values[~coded].min(), values[~coded].max()
        apart = np.where(values > high, values - high, low - values)
        far = coded & ((apart > high - low) | ((values < 0) & (low >= 0)))
        if (far == coded).all():
            return [f"{each:.15g}" for each in values[coded]]
        coded = far
    return []


def spellings(column: pd.Series) -> dict[str, str]:
    """Levels of a column of text that differ from a more frequent one only in case or blanks.

    Args:
        column: column of text; one with many different values has no levels.

    Returns:
        What would make them one: the other spellings, each with the most frequent.

    Example:
        >>> spellings(pd.Series(["mild", "Mild", "severe ", "mild", "severe", "severe"]))
        {'Mild': 'mild', 'severe ': 'severe'}
    """
    counts = Counter(each for each in column.dropna() if isinstance(each, str))
    alike: dict[str, list[str]] = {}
    for text in sorted(counts, key=lambda text: (-counts[text], text)):
        alike.setdefault(" ".join(text.casefold().split()), []).append(text)
    if len(alike) > MANY:
        return {}
    return {other: first for first, *others in alike.values() for other in others}


def only_value(column: pd.Series) -> str:
    """The one value that a column has, with its name; empty if there are several.

    Example:
        >>> only_value(pd.Series(["no", "no"], name="ill")), only_value(pd.Series([1, 2]))
        ("ill = 'no'", '')
    """
    values = column.dropna().unique()
    return f"{column.name} = {show(values[0])}" if len(values) == 1 else ""


def copies(frame: pd.DataFrame, files: str) -> list[str]:
    """Files with the same records as one before them, both in words.

    Args:
        frame: table of the records of all files.
        files: column of their names; without it there are no copies.

    Example:
        >>> copies(pd.DataFrame({"file": ["a", "b"], "age": [40, 40]}), "file")
        ["'a' and 'b'"]
    """
    if files not in frame:
        return []
    known: dict[bytes, str] = {}
    found: list[str] = []
    for name, part in frame.groupby(files, sort=True):
        records = part.drop(columns=files).to_csv(index=False).encode(errors="replace")
        first = known.setdefault(sha256(records).digest(), str(name))
        if first != name:
            found.append(f"{first!r} and {str(name)!r}")
    return found


def odd(
    frame: pd.DataFrame,
    features: Mapping[str, Feature],
    decimal: str,
    assumed: Collection[str] = (),
) -> tuple[dict[str, list[str]], dict[str, dict[str, str]]]:
    """What looks odd in the declared columns of a table.

    Args:
        frame: table, rewritten as it is declared.
        features: declarations by column.
        decimal: decimal mark of numbers that are text.
        assumed: columns whose levels were read off the table; a level that is declared is meant.

    Returns:
        By column of numbers, its `far_codes`; by column of levels, its `spellings`.
    """
    far: dict[str, list[str]] = {}
    alike: dict[str, dict[str, str]] = {}
    for name, feature in features.items():
        column = column_of(frame, name)
        if isinstance(feature, Numeric) and (codes := far_codes(column, decimal)):
            far[name] = codes
        elif isinstance(feature, Categorical) and (others := spellings(column)):
            known = set() if name in assumed else set(feature.levels or ())
            others = {old: new for old, new in others.items() if old not in known}
            alike |= {name: others} if others else {}
    return far, alike


def too_many_sites(name: str, sites: int, records: int) -> str:
    """What to say of a column of nearly as many sites as records; empty if it has fewer.

    Args:
        name: name of the column.
        sites: number of sites.
        records: number of records.

    Example:
        >>> too_many_sites("age", 1500, 1500)
        "column 'age' has 1,500 sites for 1,500 records: it looks like an identifier"
    """
    if sites <= MANY or records >= 2 * sites:
        return ""
    return (
        f"column {name!r} has {sites:,} sites for {records:,} records: it looks like an identifier"
    )


def far_size(size: int | Sequence[int], counts: Sequence[int]) -> str:
    """What to say of declared numbers of records that are far from those there are; or nothing.

    Args:
        size: declared number near those of the sites' records, or one for each site.
        counts: number of records of each site.

    Example:
        >>> far_size(10, [99, 120])[:68]
        'size=10 is far from the numbers of records of the sites, from 99 to '
    """
    if np.size(size) not in (1, len(counts)) or np.min(size) < 1:  # refused elsewhere
        return ""
    ratio = np.asarray(size, dtype=float) / np.asarray(counts)
    if (np.maximum(ratio, 1.0 / ratio) <= _FAR).all():
        return ""
    return (
        f"size={size!r} is far from the numbers of records of the sites, from {min(counts):,} to "
        f"{max(counts):,}, and what is said of records is about {_FAR:g} times off or more. If "
        "that is not meant, declare what is known without the records"
    )


def fractions(column: pd.Series, decimal: str = ".") -> int:
    """The number of values of a column that are no whole numbers.

    Example:
        >>> fractions(pd.Series(["1", "2.5", None]))
        1
    """
    found, wrong = read_numbers(column.dropna(), decimal=decimal)
    values = found[~wrong & np.isfinite(found)]
    return int(np.count_nonzero(values != np.floor(values)))
