"""The discrete Laplace law.

`P(k)` is proportional to `exp(-|k|/b)` on the integers. A proposal of scale `b` with the low part
`l` is kept with probability `exp(-l/b)`, which is at least `exp(-1/16)`.

Proof of how far the result is from the law: docs/proofs/safe_noise.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from jaxtyping import Float64, Int64

from tacit.privacy.noise.proposals import LARGEST_SCALE, check_draws, check_scale, drawn
from tacit.privacy.noise.stream import Stream


def discrete_laplace(stream: Stream, scale: float, count: int) -> Int64[np.ndarray, " count"]:
    """Independent draws from the discrete Laplace law.

    Args:
        stream: stream of uniform words.
        scale: `b`, positive, at most 2^45.
        count: number of draws, at least 0.

    Returns:
        Integers below 2^52 in size; the law of each is within total variation 2^-133 of the exact
        one.

    Raises:
        PrivacyError: no stream, or a number out of range.

    Example:
        >>> from tacit.privacy.noise.stream import SeededStream
        >>> draws = discrete_laplace(SeededStream(0), scale=10.0, count=100_000)
        >>> bool(abs(draws.std() / 10.0 / 2**0.5 - 1) < 0.02)
        True
    """
    check_draws(stream, scale, count)
    check_scale("Laplace", scale, fits=0.0 < scale <= LARGEST_SCALE)
    return drawn(stream, LaplaceLaw(scale), count)


@dataclass(frozen=True)
class LaplaceLaw:
    """What the discrete Laplace law keeps of proposals of its own scale.

    Attributes:
        spread: scale `b`.
    """

    spread: float

    def chance(
        self, sizes: Int64[np.ndarray, " n"], low: Int64[np.ndarray, " n"]
    ) -> Float64[np.ndarray, " n"]:
        return np.exp(low / -self.spread)

    def exponent(self, size: int, low: int) -> Fraction:
        return low / Fraction(self.spread)
