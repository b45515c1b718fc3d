"""Dates: what a declaration says, and the numbers that columns of them become."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from tacit import checks
from tacit.errors import ProblemError

if TYPE_CHECKING:
    import pandas as pd

_EPOCH = datetime.date(1970, 1, 1)
_MIDNIGHT = datetime.datetime(1970, 1, 1)

FORMATS = (
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%Y/%m/%d",
    "%d.%m.%y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
)
"""Ways to write dates that are looked for, besides ISO 8601."""


def day_of(name: str, given: datetime.date | str) -> datetime.date:
    """A declared day.

    Raises:
        ProblemError: text that is not a date in ISO 8601.
    """
    if isinstance(given, datetime.datetime):
        return given.date()
    if isinstance(given, datetime.date):
        return given
    try:
        return datetime.date.fromisoformat(given)
    except ValueError:
        raise ProblemError(
            f"{name}={checks.shown(given)} must be a date in ISO 8601, such as '2024-12-31'"
        ) from None


def days_since_1970(day: datetime.date) -> float:
    """The number by which a day is stored."""
    return float((day - _EPOCH).days)


def check_format(given: str) -> None:
    """Refuse a format in which no date can be written and read back.

    Raises:
        ProblemError: such a format.
    """
    day = datetime.datetime(2024, 12, 31)
    try:
        # without a year it tells no day; from Python 3.13 on, reading such a text warns, too
        good = day.strftime(given) != day.replace(year=2020).strftime(given)
        good = good and datetime.datetime.strptime(day.strftime(given), given) == day
    except ValueError:
        good = False
    if not good:
        raise ProblemError(
            f"format={checks.shown(given)} must say where day, month and year stand, in the codes "
            "of strptime: '%d.%m.%Y' for 31.12.2024, '%m/%d/%Y' for 12/31/2024"
        )


def read_dates(
    column: pd.Series, written: str | None
) -> tuple[Float[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Days since 1970, NaN where missing or not a date; and which values are not dates.

    The result for a value depends on this value only.

    Args:
        column: dates, or texts that represent dates.
        written: how texts write them; ISO 8601 when `None`.
    """
    from tacit.data.columns import distinct

    positions, values = distinct(column)
    table = np.array([*(_days(value, written) for value in values), np.nan])
    days = table[positions]
    return days, np.isnan(days) & (positions >= 0)


def formats_of(column: pd.Series) -> list[str | None]:
    """The ways in which all values of a column are dates, `None` for ISO 8601; none for others.

    For a first look at a table: the answer is read off the records.

    Example:
        >>> import pandas as pd
        >>> formats_of(pd.Series(["31.12.2024", None, "01.02.2023"]))
        ['%d.%m.%Y']
    """
    from tacit.data.columns import distinct

    _, values = distinct(column)
    texts = any(isinstance(value, str) for value in values)
    return [
        written
        for written in ((None, *FORMATS) if texts else (None,))
        if values and not any(np.isnan(_days(value, written)) for value in values)
    ]


def _days(value: object, written: str | None) -> float:
    """One value as a number of days, NaN if it is not a date."""
    if isinstance(value, str):
        text = value.strip()
        try:
            if written is None:
                value = datetime.datetime.fromisoformat(text) if "-" in text else text
            else:
                value = datetime.datetime.strptime(text, written)
        except ValueError:
            return np.nan
    if isinstance(value, datetime.datetime):
        # a time with a zone counts as it is written
        return (value.replace(tzinfo=None) - _MIDNIGHT) / datetime.timedelta(days=1)
    if isinstance(value, datetime.date):
        return days_since_1970(value)
    return np.nan
