"""The unit in which a figure shows the effect of a number, beside those of levels."""

from __future__ import annotations

import math


def per(span: float) -> tuple[float, str]:
    """A readable unit of a column, and how it is named behind the column.

    One unit more of an age hardly shows, and its whole declared range is beyond all records.

    Args:
        span: distance between the declared bounds, positive; 1 for levels, which stay as they are.

    Example:
        >>> per(82.0), per(2.7), per(1.0)
        ((10.0, ' per 10'), (0.1, ' per 0.1'), (1.0, ''))
    """
    if span == 1.0:
        return 1.0, ""
    unit = float(f"1e{math.floor(math.log10(span / 4.0))}")
    return unit, f" per {unit:g}"
