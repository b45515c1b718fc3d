"""How far floating-point sums may be from the sums for which a sensitivity is proved."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, TypeAlias

from tacit.arguments import checked
from tacit.errors import PrivacyError
from tacit.ranges import Count, Range, Whole

DOUBLE = 2.0**-53
"""Unit roundoff of float64."""

_OTHER_OPERATIONS = 32
"""Roundings other than a norm's sum, with room: scaling, root, factor and clip; sensitivity."""


_Positive: TypeAlias = Annotated[float, Range(above=0.0, axes=0)]
_NotNegative: TypeAlias = Annotated[float, Range(least=0.0, axes=0)]


@checked(PrivacyError)
def sum_error(
    records: Whole, contribution: _NotNegative, dimension: Count, roundoff: _Positive = DOUBLE
) -> float:
    """What rounding errors can add to the sensitivity of a clipped sum, rounded up.

    With `g(k) = k u / (1 - k u)`: a clipped vector of `p` entries is longer than its clip by at
    most the factor `1 + g(p + 32)`, and the sum of `m` such vectors, in whatever order it is taken,
    is wrong by at most `g(m + 4)` times the sum of their norms (Higham 2002, section 4.2 and lemma
    3.1), in the l1 and in the l2 norm; of two neighbours each errs by that much. The proof:
    docs/proofs/safe_noise.md.

    Args:
        records: `m`, maximum number of records in a sum, at least 0.
        contribution: largest norm of what one record adds to the answer: clip over normaliser,
            at least 0.
        dimension: `p`, number of entries in a record's vector, at least 1.
        roundoff: `u`, unit roundoff of the arithmetic, 2^-53 for float64.

    Raises:
        PrivacyError: a number out of range, or too many records for their sum to have a
            correct digit.

    Example:
        >>> sum_error(records=1000, contribution=1e-3, dimension=20) < 1e-3 * 1e-9
        True
    """
    u, m = Fraction(roundoff), records
    if max(m, dimension) * u * 4 >= 1:
        raise PrivacyError(
            f"a floating-point sum of {records} records in {dimension} dimensions (unit roundoff "
            f"{roundoff:.3g}) may have no correct digit, so its sensitivity has no bound; sum "
            "fewer records or in float64"
        )
    clip = _growth(dimension + _OTHER_OPERATIONS, u)
    sums = 2 * m * _growth(m + 4, u) * (1 + clip)
    # Each operation may also underflow, to an error below the smallest normal number.
    tiny = Fraction(2) ** -1022 * (m + dimension + _OTHER_OPERATIONS) * dimension * 4
    return math.nextafter(float(Fraction(contribution) * (2 * clip + sums) + tiny), math.inf)


def _growth(operations: int, roundoff: Fraction) -> Fraction:
    return operations * roundoff / (1 - operations * roundoff)
