"""Draws by rejection, from proposals that take few random bits however large the scale is.

A proposal is a sign and a size `g = h + l`. Its high part `h`, a multiple of `w = 2^m` with
`w <= b/16`, is `w` times a geometric number: `P(h)` is proportional to `exp(-h/b)`, and the bits of
such a number are independent, because that is a product over the bits of `h`. Its low part `l` is
uniform on `0 .. w - 1`. Zero with a minus sign is no proposal. A law keeps a proposal with the
probability that turns this into `P(k)`; the number rejected is independent of what is kept.

Each bit of `h` is one comparison of a uniform number with a threshold, so a proposal takes equally
long whatever its value is. The probability of keeping it is computed in floating point with a
bounded error; a uniform number close enough to it for the error to matter is compared exactly.

Proof: docs/proofs/safe_noise.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float64, Int64

from tacit import checks
from tacit.errors import PrivacyError
from tacit.privacy.noise.stream import Stream
from tacit.privacy.noise.threshold import (
    FAR,
    LEADING_BITS,
    TIE_BITS,
    below,
    exponential_threshold,
    logistic_threshold,
    rest_is_below,
)
from tacit.ranges import numeric

LARGEST_SCALE = 2.0**45
"""Keeps every draw below 2^52."""

MARGIN = 2.0**-36
"""Bound on the relative error of a floating-point probability of keeping (proved: 2^-39)."""

WORD_BITS = 53
"""Leading bits of a uniform number, all of which a float64 holds."""

_FINE = 4
"""The high part is a multiple of at most `b / 2^_FINE`."""

_BLOCK = 1 << 14
"""Largest number of proposals at a time: their words fit the processor's cache."""


@runtime_checkable
class Law(Protocol):
    """Which proposals a law keeps.

    Attributes:
        spread: scale `b` of the proposals, positive, at most 2^45.
    """

    @property
    def spread(self) -> float: ...

    def chance(
        self, sizes: Int64[np.ndarray, " n"], low: Int64[np.ndarray, " n"]
    ) -> Float64[np.ndarray, " n"]:
        """Probability of keeping each proposal, within a relative error of `MARGIN`.

        Args:
            sizes: sizes `g` of the proposals, below 2^52.
            low: their low parts `l`.
        """
        ...

    def exponent(self, size: int, low: int) -> Fraction:
        """The `x` of one proposal of which `chance` is `exp(-x)`, exactly; at least 0."""
        ...


def check_draws(stream: Stream, scale: float, count: int) -> None:
    """Refuse what is no stream, or not one number; fast, since releases call it.

    Raises:
        PrivacyError: another argument.
    """
    remedy = "give a stream of random words, such as SeededStream(0) of tacit.privacy.noise.stream"
    checks.instance("stream", stream, Stream, remedy, PrivacyError)
    if np.ndim(scale) or not numeric(scale):
        raise PrivacyError(f"scale={checks.shown(scale)} must be one number")
    checks.whole("count", count, 0, PrivacyError)


def check_scale(law: str, scale: float, *, fits: bool) -> None:
    """Refuse a scale whose draws would not all stay below 2^52.

    Raises:
        PrivacyError: it does not fit.
    """
    if not fits:
        raise PrivacyError(
            f"discrete {law} noise of scale {scale!r} grid steps cannot be drawn: the scale must "
            "be positive and at most 2^45, so that every draw stays below 2^52; choose another grid"
        )


class Proposals(NamedTuple):
    """Proposals, each entry of shape `(n,)`.

    Attributes:
        sizes: sizes `g`, below 2^52.
        low: low parts `l` of the sizes.
        signs: 1 or -1; size 0 with sign -1 is to be rejected.
    """

    sizes: Int64[np.ndarray, " n"]
    low: Int64[np.ndarray, " n"]
    signs: Int64[np.ndarray, " n"]


def drawn(stream: Stream, law: Law, count: int) -> Int64[np.ndarray, " count"]:
    """Independent draws from a law.

    Args:
        stream: stream of uniform words.
        law: the law.
        count: number of draws, at least 0.

    Returns:
        Integers below 2^52 in size.
    """
    draws = np.empty(count, np.int64)
    filled = 0
    while filled < count:
        # more than are missing, since few rounds of many take less time than many of few
        some = proposals(stream, law.spread, min(3 * (count - filled) // 2 + 16, _BLOCK))
        kept = (some.signs * some.sizes)[accepted(stream, some, law)][: count - filled]
        draws[filled : filled + kept.size] = kept
        filled += kept.size
    return draws


def proposals(stream: Stream, spread: float, count: int) -> Proposals:
    """Independent proposals.

    Args:
        stream: stream of uniform words.
        spread: scale `b`, positive, at most 2^45.
        count: number of proposals.
    """
    shift, thresholds = high_bits(spread)
    high = np.zeros(count, np.int64)
    for row, bits in enumerate(below(stream, thresholds, count)):
        high |= bits.astype(np.int64) << (row + shift)
    words = stream.words(np.uint64, count)
    # the lowest bit is the sign, and the low part comes from those above it
    low = (words >> np.uint64(1) & np.uint64((1 << shift) - 1)).astype(np.int64)
    signs = 1 - 2 * (words & np.uint64(1)).astype(np.int64)
    return Proposals(high | low, low, signs)


@lru_cache(maxsize=64)
def high_bits(spread: float) -> tuple[int, tuple[int, ...]]:
    """`m`, and the thresholds of the bits of `h`, the lowest first.

    They are cached, since a run has few scales and a round draws only a few numbers. Bits whose
    chance is below `exp(-FAR)` are omitted: they are 0.

    Args:
        spread: scale `b`, positive, at most 2^45.
    """
    shift = max(0, math.frexp(spread)[1] - 1 - _FINE)  # frexp(b)[1] - 1 is floor(log2(b))
    rate = 1 / Fraction(spread)
    bits = max(0, math.ceil(math.log2(FAR * spread)) - shift)
    return shift, tuple(
        logistic_threshold(2 ** (i + shift) * rate, LEADING_BITS + TIE_BITS) for i in range(bits)
    )


def accepted(stream: Stream, some: Proposals, law: Law) -> Bool[np.ndarray, " n"]:
    """Which proposals are kept.

    Args:
        stream: stream of uniform words.
        some: proposals.
        law: law that keeps them.
    """
    words = stream.words(np.uint64, some.sizes.size) >> np.uint64(64 - WORD_BITS)
    lower = words * 2.0**-WORD_BITS  # the uniform number lies in [lower, lower + 2^-53)
    chance = law.chance(some.sizes, some.low)
    result = lower + 2.0**-WORD_BITS <= chance * (1 - MARGIN)
    for i in np.flatnonzero(~result & (lower < chance * (1 + MARGIN))):
        threshold = keeping_threshold(law, int(some.sizes[i]), int(some.low[i]))
        leading, word = threshold >> TIE_BITS, int(words[i])
        result[i] = word < leading or (word == leading and rest_is_below(stream, threshold))
    return result & ((some.sizes > 0) | (some.signs > 0))


def keeping_threshold(law: Law, size: int, low: int) -> int:
    """The probability of keeping one proposal, as a threshold of `53 + TIE_BITS` bits."""
    return exponential_threshold(law.exponent(size, low), WORD_BITS + TIE_BITS)
