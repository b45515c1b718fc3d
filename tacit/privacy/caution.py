"""When a guarantee is hardly one: a delta that lets records be given away, a huge epsilon."""

from __future__ import annotations

import math

from tacit.errors import PrivacyError
from tacit.privacy.digits import short

DELTA = 1e-6
"""The delta of a budget that states none; the only place where it is written."""

LARGE_EPSILON = 10.0
"""Epsilon from which on a guarantee is printed with a warning."""

LARGE_DELTA = 1e-3
"""Delta from which on a warning is printed if the number of units is unknown."""


def check_delta(delta: float, units: int, kind: str, accepted: str) -> None:
    """Refuse a delta at which units may be given away.

    Publishing one of `N` units at random, whole, has delta = 1/N at epsilon 0.

    Args:
        delta: delta of the whole run.
        units: public number `N` of units that the guarantee is about; below 2 if the number is not
            known.
        kind: name of the units, as in "records of clinic".
        accepted: how to request it all the same.

    Raises:
        PrivacyError: a delta of at least one over their number.

    Example:
        >>> check_delta(1e-6, 1000, "records", "")
    """
    if units >= 2 and delta * units >= 1.0:
        raise PrivacyError(
            f"delta={short(delta)} is not below one over the {units:,} {kind}: publishing one of "
            f"them whole, chosen at random, would satisfy it. Take a delta far below "
            f"{1.0 / units:.2g}, such as {short(0.01 / units, 1)}; {accepted}"
        )


def warning(epsilon: float) -> str:
    """A warning about a large epsilon, in plain words; empty for a smaller one.

    Example:
        >>> warning(1.0)
        ''
        >>> warning(10.0)[:47]
        'Warning: an epsilon of 10 or more promises next'
    """
    if not LARGE_EPSILON <= epsilon < math.inf:
        return ""
    power = epsilon / math.log(10.0)
    factor = f"{math.exp(epsilon):,.0f}" if power < 9.0 else f"10^{math.ceil(power):,}"
    return (
        f"Warning: an epsilon of {LARGE_EPSILON:g} or more promises next to nothing. What is seen "
        f"may be up to {factor} times as likely with the data in question as without them."
    )


def delta_warning(delta: float, remedy: str = "; --records holds it against that") -> str:
    """A warning about a large delta if the number of units is not known; empty otherwise.

    Args:
        delta: delta that is promised.
        remedy: how to state the number, after the advice.

    Example:
        >>> delta_warning(1e-6)
        ''
        >>> delta_warning(0.5)[:60]
        'Warning: publishing one of every 2 records whole, chosen at '
    """
    if delta < LARGE_DELTA:
        return ""
    return (
        f"Warning: publishing one of every {math.ceil(1.0 / delta):,} records whole, chosen at "
        f"random, would satisfy a delta of {short(delta)}. Take a delta far below one over the "
        f"number of records{remedy}."
    )
