"""Probabilities as integers of many bits, and the events that have them.

An event of probability `p` happens when a uniform number of `W` bits is below `floor(p 2^W)`; its
probability is then wrong by less than `2^-W`. The leading bits nearly always decide, so the rest
are drawn only if they tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from tacit.privacy.noise.stream import Stream

TIE_BITS = 128
"""Number of bits drawn when the leading ones tie."""

LEADING_BITS = 16
"""Number of leading bits of a threshold."""

FAR = 100
"""Probabilities below `exp(-FAR) < 2^-144` count as 0."""

_TIE = 2**TIE_BITS
# decimal rounds exp correctly; 90 digits are 299 bits, of which thresholds use 181.
_EXACT = Context(prec=90, Emin=-(10**12), Emax=10**12)


def exponential_threshold(x: Fraction, bits: int) -> int:
    """`floor(exp(-x) 2^bits)`.

    Args:
        x: exponent, at least 0.
        bits: number of bits, at most 200.

    Example:
        >>> exponential_threshold(Fraction(1), 8)  # 256 / e = 94.17...
        94
    """
    return int(_EXACT.multiply(_EXACT.exp(_decimal(-x)), Decimal(2**bits)))


def logistic_threshold(x: Fraction, bits: int) -> int:
    """`floor(2^bits / (1 + exp(x)))`.

    Args:
        x: exponent, in `[0, FAR]`.
        bits: number of bits, at most 200.

    Example:
        >>> logistic_threshold(Fraction(0), 8)
        128
    """
    return int(_EXACT.divide(Decimal(2**bits), _EXACT.add(Decimal(1), _EXACT.exp(_decimal(x)))))


def below(stream: Stream, thresholds: Sequence[int], count: int) -> np.ndarray:
    """Which of independent uniform numbers fall below their threshold, shape `(rows, count)`.

    Args:
        stream: stream of uniform words.
        thresholds: thresholds of `LEADING_BITS + TIE_BITS` bits, one per row.
        count: number of uniform numbers per row.
    """
    leading = np.array([each >> TIE_BITS for each in thresholds], np.uint16)[:, np.newaxis]
    words = stream.words(np.uint16, leading.size * count).reshape(-1, count)
    result = words < leading
    for place in np.flatnonzero(words == leading):
        row, column = divmod(int(place), count)
        result[row, column] = rest_is_below(stream, thresholds[row])
    return result


def rest_is_below(stream: Stream, threshold: int) -> bool:
    """Decide a tie of the leading bits by the `TIE_BITS` bits that follow them."""
    high, low = stream.words(np.uint64, 2)
    return (int(high) << 64 | int(low)) < threshold % _TIE


def _decimal(x: Fraction) -> Decimal:
    return _EXACT.divide(Decimal(x.numerator), Decimal(x.denominator))
