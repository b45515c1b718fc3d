"""The discrete Gaussian law.

`P(k)` is proportional to `exp(-k^2 / (2 s^2))` on the integers. As in Canonne, Kamath and Steinke
(2020), algorithm 3, proposals have the scale `t = floor(s) + 1` of a discrete Laplace law and are
kept with probability `exp(-(g - s^2/t)^2 / (2 s^2))`, `g` being their size; `exp(-l/t)`, by which
the size is Laplacian, is part of the same decision. More than one in six is kept, and nearly three
in four at a large scale.

Proof of how far the result is from the law: docs/proofs/safe_noise.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from jaxtyping import Float64, Int64

from tacit.privacy.noise.proposals import LARGEST_SCALE, check_draws, check_scale, drawn
from tacit.privacy.noise.stream import Stream


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
        PrivacyError: no stream, or a number out of range.

    Example:
        >>> from tacit.privacy.noise.stream import SeededStream
        >>> draws = discrete_gaussian(SeededStream(0), scale=10.0, count=100_000)
        >>> bool(abs(draws.std() / 10.0 - 1) < 0.02)
        True
    """
    check_draws(stream, scale, count)
    check_scale("Gaussian", scale, fits=0.0 < scale < LARGEST_SCALE)
    return drawn(stream, GaussianLaw(scale), count)


@dataclass(frozen=True)
class GaussianLaw:
    """What the discrete Gaussian law keeps.

    Attributes:
        scale: scale `s`.
    """

    scale: float

    @property
    def spread(self) -> float:
        """Scale `t` of the proposals."""
        return math.floor(self.scale) + 1.0

    def chance(
        self, sizes: Int64[np.ndarray, " n"], low: Int64[np.ndarray, " n"]
    ) -> Float64[np.ndarray, " n"]:
        with np.errstate(over="ignore"):  # exp(-infinity) = 0 is correct here
            away = sizes / self.scale - self.scale / self.spread
            return np.exp(-(0.5 * away * away + low / self.spread))

    def exponent(self, size: int, low: int) -> Fraction:
        s, t = Fraction(self.scale), Fraction(self.spread)
        return (size / s - s / t) ** 2 / 2 + low / t
