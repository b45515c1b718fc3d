"""The grid on which values are released: its step, and the sensitivity counted in steps.

A value is rounded to a multiple of `gamma = 2^k`. Rounding moves each coordinate by at most half a
step, so two neighbours `D` apart are at most `D/gamma + n` steps apart in the l1 norm and
`D/gamma + sqrt(n)` in the l2 norm, in `n` dimensions. From then on everything is an integer below
2^53, which a float64 holds exactly, as it does its product with a power of two.

Proof: docs/proofs/safe_noise.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from jaxtyping import Float64, Int64

from tacit.errors import PrivacyError
from tacit.privacy.noise.proposals import LARGEST_SCALE
from tacit.ranges import Listed

LARGEST_VALUE = 2**52
"""Largest size of a rounded value in steps; with noise below 2^52 the sum stays below 2^53."""

_FINE = Fraction(1, 2**20)
"""Fraction of the sensitivity that rounding adds on a freely chosen grid."""

_SMOOTH = Fraction(1, 2**10)
"""Largest step of such a grid, as a fraction of the noise scale."""

_EXPONENTS = range(-900, 901)
"""Powers of two whose products with integers below 2^53 are normal numbers."""


@dataclass(frozen=True)
class Grid:
    """Multiples of `2^exponent` in `dimension` dimensions, and a sensitivity in its steps.

    Attributes:
        exponent: `k`; the step is `2^k`.
        sensitivity: sensitivity of the rounded value, in steps.
        order: norm of the sensitivity, 1 or 2.
        dimension: number of coordinates of a value.

    Example:
        >>> grid = Grid.for_release(
        ...     sensitivity=0.3, order=2, dimension=4, noise_scale=3.0, largest=1.0)
        >>> grid.step, grid.sensitivity
        (1.1920928955078125e-07, 2516585)
        >>> grid.value(grid.rounded([0.1, 0.2, 0.3, 0.5])).round(4).tolist()
        [0.1, 0.2, 0.3, 0.5]
    """

    exponent: int
    sensitivity: int
    order: int
    dimension: int

    @classmethod
    def for_release(
        cls,
        sensitivity: float,
        order: int,
        dimension: int,
        noise_scale: float,
        largest: float,
    ) -> Grid:
        """The grid for one kind of release, from public constants only.

        Rounding should add less than a millionth to the sensitivity, and the step should be below a
        thousandth of the noise. Where noise or values would then need 2^52 steps or more, the grid
        is coarser.

        Args:
            sensitivity: sensitivity of the value before rounding, positive, including
                `rounding.sum_error`.
            order: norm of the sensitivity, 1 or 2.
            dimension: number of coordinates, at least 1.
            noise_scale: wanted noise scale, in the value's unit, positive.
            largest: public bound on the size of every coordinate, positive. A coordinate that
                exceeds it after all may be released as the end of the grid, which costs accuracy
                and no privacy.

        Raises:
            PrivacyError: an argument out of range, or no grid holds the values and their noise and
                is fine enough for both the sensitivity and the noise.
        """
        _check(sensitivity, order, dimension, noise_scale, largest)
        spread = _spread(order, dimension)
        moved, noise = Fraction(sensitivity), Fraction(noise_scale)
        wanted = min(_FINE * moved / spread, _SMOOTH * noise)
        needed = max(
            # The noise grows as much as rounding increases the sensitivity: at most threefold.
            4 * noise / Fraction(LARGEST_SCALE),
            Fraction(largest) / LARGEST_VALUE,
            4 * moved / LARGEST_VALUE,
        )
        exponent = max(_floor_log2(wanted), _ceil_log2(needed))
        step = Fraction(2) ** exponent
        _check_fit(exponent, step, spread, moved, noise, Fraction(largest))
        return cls(exponent, math.ceil(moved / step + spread), order, dimension)

    @property
    def step(self) -> float:
        """Distance `gamma` between neighbouring grid points."""
        return 2.0**self.exponent

    def scale_for(self, noise_multiplier: float) -> float:
        """Noise scale in steps that gives a noise multiplier, rounded up.

        Args:
            noise_multiplier: noise scale over sensitivity, positive.
        """
        exact = Fraction(noise_multiplier) * self.sensitivity
        scale = float(exact)
        return scale if Fraction(scale) >= exact else math.nextafter(scale, math.inf)

    def noise_multiplier(self, scale: float) -> float:
        """Noise multiplier of a noise scale in steps, rounded down.

        Args:
            scale: noise scale in steps, positive.
        """
        exact = Fraction(scale) / self.sensitivity
        multiplier = float(exact)
        return multiplier if Fraction(multiplier) <= exact else math.nextafter(multiplier, 0.0)

    def rounded(self, value: Listed) -> Int64[np.ndarray, " n"]:
        """The nearest grid points, in steps; coordinates beyond the grid are clamped to its end.

        Args:
            value: value to round, any shape with `dimension` entries, finite.

        Raises:
            PrivacyError: another number of entries, or entries that are not finite, which no
                clipped query gives.
        """
        flat = np.asarray(value, dtype=np.float64).reshape(-1)
        if flat.size != self.dimension:
            raise PrivacyError(
                f"a value with {flat.size} entries cannot be released on a grid made for "
                f"{self.dimension}: its sensitivity in steps would be another; make a grid for "
                "this dimension"
            )
        if not np.isfinite(flat).all():
            raise PrivacyError(
                "a value to be released has entries that are not finite, so its query does not "
                "keep the bound that its noise is made for; nothing was released. Clip every "
                "record's contribution, as tacit's queries do."
            )
        with np.errstate(over="ignore", under="ignore"):
            steps = np.rint(np.ldexp(flat, -self.exponent))
        return np.clip(steps, -float(LARGEST_VALUE), float(LARGEST_VALUE)).astype(np.int64)

    def value(self, steps: Int64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
        """Steps converted back to the value's unit; exact.

        Args:
            steps: grid points in steps, below 2^53 in size.
        """
        return np.ldexp(steps.astype(np.float64), self.exponent)


def _spread(order: int, dimension: int) -> Fraction:
    """How much further apart rounding may move two neighbours, in steps; the root rounded up."""
    if order == 1:
        return Fraction(dimension)
    root = math.isqrt(dimension)
    if root * root == dimension:
        return Fraction(root)
    return Fraction(math.isqrt(dimension << 40) + 1, 1 << 20)


def _check(
    sensitivity: float, order: int, dimension: int, noise_scale: float, largest: float
) -> None:
    if order not in (1, 2):
        raise PrivacyError(f"order={order!r} must be 1 (Laplace noise) or 2 (Gaussian noise)")
    if dimension < 1:
        raise PrivacyError(f"dimension={dimension!r} must be at least 1")
    sizes = {"sensitivity": sensitivity, "noise_scale": noise_scale, "largest": largest}
    for name, value in sizes.items():
        if not 0.0 < value < math.inf:
            raise PrivacyError(
                f"{name}={value!r} must be positive and finite for a release with noise"
            )


def _check_fit(
    exponent: int,
    step: Fraction,
    spread: Fraction,
    sensitivity: Fraction,
    noise: Fraction,
    largest: Fraction,
) -> None:
    """Refuse the grid if its step is too coarse: what it must hold rules out a finer one."""
    if exponent not in _EXPONENTS:
        raise PrivacyError(
            f"sensitivity {float(sensitivity):.4g} and noise scale {float(noise):.4g} need a grid "
            f"of step 2^{exponent}, whose points a float64 does not hold exactly; change the unit "
            "of the value (scale the objective)"
        )
    if spread * step > sensitivity:
        raise PrivacyError(
            f"rounding to a grid whose 2^52 steps hold noise of scale {float(noise):.4g} (and "
            f"values up to {float(largest):.4g}) would more than double the sensitivity "
            f"{float(sensitivity):.4g}: take less noise or fewer coordinates a release, or state a "
            "smaller bound on the values"
        )
    if step > noise:
        raise PrivacyError(
            f"noise of scale {float(noise):.4g} is finer than the finest grid whose 2^52 steps "
            f"hold values up to {float(max(largest, sensitivity)):.4g}: take more noise "
            "(a smaller epsilon), or state a smaller bound on the values"
        )


def _floor_log2(value: Fraction) -> int:
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= value else exponent - 1


def _ceil_log2(value: Fraction) -> int:
    return -_floor_log2(1 / value)
