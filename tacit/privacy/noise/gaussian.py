"""The discrete Gaussian law, by rejection from the discrete Laplace one.

`P(k)` is proportional to `exp(-k^2 / (2 s^2))` on the integers. Canonne, Kamath and Steinke (2020),
algorithm 3: draw `y` from the discrete Laplace law with the integer scale `t = floor(s) + 1` and
keep it with probability `exp(-(|y| - s^2/t)^2 / (2 s^2))`. At least a quarter of the proposals are
kept, and the number rejected is independent of the value that is kept.

That probability is computed in floating point with a bounded error; a uniform number close enough
to it for the error to matter is compared again exactly. Proof:
docs/proofs/safe_noise.md.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from jaxtyping import Bool, Float64, Int64

from tacit.errors import PrivacyError
from tacit.privacy.noise.laplace import LARGEST_SCALE, discrete_laplace
from tacit.privacy.noise.stream import Stream
from tacit.privacy.noise.threshold import TIE_BITS, exponential_threshold, rest_is_below

MARGIN = 2.0**-36
"""Bound on the relative error of a floating-point acceptance probability (proved: 2^-40)."""

_WORD_BITS = 53
"""Leading bits of a uniform number, all of which a float64 holds."""

_BLOCK = 1 << 16
"""Number of proposals drawn at a time."""


def discrete_gaussian(stream: Stream, scale: float, count: int) -> Int64[np.ndarray, " count"]:
    """Independent draws from the discrete Gaussian law.

    Args:
        stream: stream of uniform words.
        scale: `s`, positive, below 2^45; for a scale above 1 nearly the standard deviation.
        count: number of draws, at least 0.

    Returns:
        Integers below 2^52 in size; the law of each is within total variation 2^-133 of the exact
        one.

    Raises:
        PrivacyError: a scale out of range.

    Example:
        >>> from tacit.privacy.noise.stream import SeededStream
        >>> draws = discrete_gaussian(SeededStream(0), scale=10.0, count=100_000)
        >>> bool(abs(draws.std() / 10.0 - 1) < 0.02)
        True
    """
    if not 0.0 < scale < LARGEST_SCALE:
        raise PrivacyError(
            f"discrete Gaussian noise of scale {scale!r} grid steps cannot be drawn: the scale "
            "must be positive and below 2^45, so that every draw stays below 2^52; choose another "
            "grid"
        )
    proposal_scale = math.floor(scale) + 1
    draws = np.empty(count, np.int64)
    filled = 0
    while filled < count:
        proposed = discrete_laplace(stream, float(proposal_scale), min(count - filled, _BLOCK))
        kept = proposed[accepted(stream, np.abs(proposed), scale)]
        draws[filled : filled + kept.size] = kept
        filled += kept.size
    return draws


def accepted(
    stream: Stream, sizes: Int64[np.ndarray, " n"], scale: float
) -> Bool[np.ndarray, " n"]:
    """Which proposals are kept.

    Args:
        stream: stream of uniform words.
        sizes: absolute values `|y|`, below 2^52.
        scale: parameter `s` of the law.
    """
    words = stream.words(np.uint64, sizes.size) >> (64 - _WORD_BITS)
    lower = words * 2.0**-_WORD_BITS  # the uniform number lies in [lower, lower + 2^-53)
    chance = acceptance(sizes, scale)
    result = lower + 2.0**-_WORD_BITS <= chance * (1 - MARGIN)
    for i in np.flatnonzero(~result & (lower < chance * (1 + MARGIN))):
        threshold = acceptance_threshold(int(sizes[i]), scale)
        leading, word = threshold >> TIE_BITS, int(words[i])
        result[i] = word < leading or (word == leading and rest_is_below(stream, threshold))
    return result


def acceptance(sizes: Int64[np.ndarray, " n"], scale: float) -> Float64[np.ndarray, " n"]:
    """Probability of keeping each proposal, within a relative error of `MARGIN`."""
    with np.errstate(over="ignore"):  # exp(-infinity) = 0 is correct here
        away = sizes / scale - scale / (math.floor(scale) + 1)
        return np.exp(-0.5 * away * away)


def acceptance_threshold(size: int, scale: float) -> int:
    """The same probability exactly, as a threshold of `53 + TIE_BITS` bits."""
    s, t = Fraction(scale), math.floor(scale) + 1
    exponent = (size * t - s**2) ** 2 / (2 * (s * t) ** 2)
    return exponential_threshold(exponent, _WORD_BITS + TIE_BITS)
