"""The discrete Laplace law, drawn bit by bit.

`P(k) = tanh(1/(2b)) exp(-|k|/b)` on the integers is the law of the difference of two independent
geometric numbers with `P(g) = (1 - e^(-1/b)) e^(-g/b)`, `g = 0, 1, ...`; and the bits of a
geometric number are independent, bit `i` being 1 with probability `1 / (1 + exp(2^i / b))`, because
`exp(-g/b)` is the product of `exp(-2^i/b)` over the bits that are 1. Every bit is one comparison of
a uniform number with a threshold, and a draw takes equally long whatever its value is.

Proof of how far the result is from the law: docs/proofs/safe_noise.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from jaxtyping import Int64

from tacit.errors import PrivacyError
from tacit.privacy.noise.stream import Stream
from tacit.privacy.noise.threshold import (
    FAR,
    LEADING_BITS,
    TIE_BITS,
    below,
    logistic_threshold,
)

LARGEST_SCALE = 2.0**45
"""Keeps every draw below 2^52."""

_BLOCK = 1 << 14
"""Number of draws at a time: their words fit the processor's cache."""


def discrete_laplace(stream: Stream, scale: float, count: int) -> Int64[np.ndarray, " count"]:
    """Independent draws from the discrete Laplace law.

    Args:
        stream: stream of uniform words.
        scale: `b`, positive, at most 2^45.
        count: number of draws, at least 0.

    Returns:
        Integers below 2^52 in size; the law of each is within total variation 2^-137 of the exact
        one.

    Raises:
        PrivacyError: a scale out of range.

    Example:
        >>> from tacit.privacy.noise.stream import SeededStream
        >>> draws = discrete_laplace(SeededStream(0), scale=10.0, count=100_000)
        >>> bool(abs(draws.std() / 10.0 / 2**0.5 - 1) < 0.02)
        True
    """
    thresholds = bit_thresholds(scale)
    draws = np.empty(count, np.int64)
    for start in range(0, count, _BLOCK):
        block = draws[start : start + _BLOCK]
        block[:] = _geometric(stream, thresholds, block.size)
        block -= _geometric(stream, thresholds, block.size)
    return draws


@lru_cache(maxsize=64)
def bit_thresholds(scale: float) -> tuple[int, ...]:
    """Thresholds of the bits of the geometric number, lowest bit first.

    They are cached, since a run has few scales and a round draws only a few numbers.

    Bits whose chance is below `exp(-FAR)` are omitted: they are 0.

    Args:
        scale: `b`, positive, at most 2^45.

    Raises:
        PrivacyError: a scale out of range.
    """
    if not 0.0 < scale <= LARGEST_SCALE:
        raise PrivacyError(
            f"discrete noise of scale {scale!r} grid steps cannot be drawn: the scale must be "
            f"positive and at most 2^45, so that every draw stays below 2^52; choose another grid"
        )
    rate = 1 / Fraction(scale)
    bits = max(0, math.ceil(math.log2(FAR * scale)))
    return tuple(logistic_threshold(2**i * rate, LEADING_BITS + TIE_BITS) for i in range(bits))


def _geometric(
    stream: Stream, thresholds: Sequence[int], count: int
) -> Int64[np.ndarray, " count"]:
    # exact: sums of different powers of two below 2^52
    powers = np.ldexp(1.0, np.arange(len(thresholds)))
    return (powers @ below(stream, thresholds, count).astype(np.float64)).astype(np.int64)
