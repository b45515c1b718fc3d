"""Formatting numbers for print: few digits, and 1e-6 rather than 1e-06.

Rounding up never understates a cost, and rounding down never overstates a lower bound.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import SupportsFloat


def short(value: SupportsFloat, digits: int = 6) -> str:
    """`value` with at most the given number of significant digits.

    Args:
        value: any number; may be infinite.
        digits: number of significant digits, at least 1.

    Example:
        >>> short(1e-6), short(0.25), short(3e20)
        ('1e-6', '0.25', '3e20')
    """
    mantissa, mark, exponent = f"{float(value):.{digits}g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else mantissa


def rounded_up(value: float, digits: int = 4) -> str:
    """`value` with at most the given number of significant digits, rounded up.

    Args:
        value: number to format, at least 0; may be infinite.
        digits: number of significant digits, at least 1.

    Example:
        >>> rounded_up(1.00001), rounded_up(1e-6), rounded_up(633.929851)
        ('1.001', '1e-6', '634')
    """
    if math.isinf(value):
        return "infinite"
    # repr is the shortest decimal that reads back as this number: 1e-6 is not rounded up for its
    # binary tail.
    up = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(repr(float(value))))
    plain = 10**digits <= float(up) < 1e12
    return f"{int(up):,}" if plain else short(float(up), digits)


def rounded_down(value: float, digits: int = 3) -> str:
    """`value` with at most the given number of significant digits, rounded down: a lower bound.

    Example:
        >>> rounded_down(1.2399)
        '1.23'
    """
    if math.isinf(value):
        return "infinite"
    down = Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(Decimal(repr(float(value))))
    return short(float(down), digits)
