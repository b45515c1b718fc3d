"""The paper's way to choose the parameters of PDOP: one after the other, by its theorem 10.

At the minimum of eq (15) in one of `c`, `q` and `p`, with the other two fixed, its derivative
vanishes. The paper prints three such conditions, two of them with errors.

They are conditions (I) to (III) in section 4.5 of Huang, Mitra, Vaidya (2015).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.arguments import checked
from tacit.checks import whole
from tacit.errors import ConfigError
from tacit.method._schedule import positive
from tacit.method.forms import Form, as_printed, between
from tacit.papers.huang2015.bounds import printed_accuracy
from tacit.papers.huang2015.tuning import PDOPConstants, Tuned
from tacit.ranges import Numbers

_GRID = 400
"""Number of points between which a change of sign is sought."""


@checked(ConfigError)
def step_condition(
    step: float,
    ratio: float,
    noise_ratio: float,
    constants: PDOPConstants,
    *,
    form: Form = "corrected",
) -> tuple[float, float]:
    r"""Both sides of condition (I), which are equal at the best `c` for given `q` and `p`.

    As printed:

    .. math::

        C_1 C_3 \exp\left(-\frac{C_3 c}{1 - q}\right) = 2 C_2^2 c \left(\frac{1}{1 - q^2}
            + \frac{8 n p^2}{\varepsilon^2 (p - q)^2 (1 - p^2)}\right)

    Corrected, the left side is divided by `1 - q`.

    Source: Huang, Mitra, Vaidya (2015), section 4.5, condition (I).

    Args:
        step: first step size `c`, positive.
        ratio: step ratio `q`, in (0, 1).
        noise_ratio: noise ratio `p`, in (q, 1).
        constants: constants `C1`, `C2`, `C3`, `n` and epsilon.
        form: form of the result, "printed" or "corrected".

    Raises:
        ConfigError: a number out of its range.
    """
    left, right = _step_sides(
        *_checked(step, ratio, noise_ratio), constants, printed=as_printed(form)
    )
    return float(left), float(right)


@checked(ConfigError)
def ratio_condition(
    step: float,
    ratio: float,
    noise_ratio: float,
    constants: PDOPConstants,
    *,
    form: Form = "corrected",
) -> tuple[float, float]:
    r"""Both sides of condition (II), which are equal at the best `q` for given `c` and `p`.

    As printed:

    .. math::

        \frac{C_1 C_3 c}{1 - q^2} \exp\left(-\frac{C_3 c}{1 - q}\right)
            = \frac{2 q^2 C_2^2 c^2}{(1 - q^2)^2}
            + \frac{16 C_2^2 n c^2 p^2}{\varepsilon^2 (p - q)^3 (1 - p^2)}

    Corrected, the left side has `(1-q)^2` for `1-q^2`, and the right `2 q` for `2 q^2`.

    Source: Huang, Mitra, Vaidya (2015), section 4.5, condition (II).

    Args:
        step: first step size `c`, positive.
        ratio: step ratio `q`, in (0, 1).
        noise_ratio: noise ratio `p`, in (q, 1).
        constants: constants `C1`, `C2`, `C3`, `n` and epsilon.
        form: form of the result, "printed" or "corrected".

    Raises:
        ConfigError: a number out of its range.
    """
    left, right = _ratio_sides(
        *_checked(step, ratio, noise_ratio), constants, printed=as_printed(form)
    )
    return float(left), float(right)


@checked(ConfigError)
def noise_ratio_condition(ratio: float, noise_ratio: float) -> tuple[float, float]:
    r"""Both sides of condition (III), which are equal at the best `p`: that is `q^(1/3)`.

    It holds as printed:

    .. math:: q (1 - p^2) = p^2 (p - q)

    Source: Huang, Mitra, Vaidya (2015), section 4.5, condition (III).

    Args:
        ratio: step ratio `q`, in (0, 1).
        noise_ratio: noise ratio `p`, in (q, 1).

    Raises:
        ConfigError: a number out of its range.

    Example:
        >>> left, right = noise_ratio_condition(0.125, 0.5)
        >>> left == right
        True
    """
    _, q, p = _checked(1.0, ratio, noise_ratio)
    return q * (1.0 - p**2), p**2 * (p - q)


@checked(ConfigError)
def coordinate_heuristic(
    constants: PDOPConstants,
    *,
    seed: int = 0,
    sweeps: int = 50,
    form: Form = "corrected",
) -> Tuned:
    """Parameters found one at a time: two are fixed, while the third solves its condition.

    Starts at random, with a random order in every sweep. Where condition (II) has no solution
    below `p`, as is common at a small epsilon, `q` is unchanged. The conditions are those of
    theorem 10, by which the resulting step hardly moves the agents.

    Source: Huang, Mitra, Vaidya (2015), section 4.5, conditions (I), (II), (III). Steps (i) to
    (iii) of its heuristic: how the start is drawn, and how often a step is repeated, are not
    printed.

    Args:
        constants: constants of the class of problems.
        seed: seed of the start and the order.
        sweeps: number of times that all three are tuned.
        form: "printed" for the conditions as they stand, "corrected" for the derivatives of (15).

    Returns:
        The parameters, and their accuracy by eq (15).

    Raises:
        ConfigError: fewer than one sweep.

    Example:
        >>> rendezvous = PDOPConstants(
        ...     epsilon=10.0, dimension=2, agents=10, curvature=2.0, gradient_bound=32**0.5,
        ...     diameter=8**0.5,
        ... )
        >>> found = coordinate_heuristic(rendezvous, form="printed")
        >>> round(found.step, 3), round(found.ratio, 3), round(found.noise_ratio, 3)
        (0.045, 0.237, 0.618)
        >>> round(float(np.exp(-2.0 * found.step / (1.0 - found.ratio))), 3)  # kept of the start
        0.888
    """
    whole("sweeps", sweeps, 1, ConfigError)
    printed = as_printed(form)
    draws = np.random.default_rng(seed)
    c, q = draws.uniform() / constants.curvature, draws.uniform()
    p = draws.uniform(q, 1.0)
    for _ in range(sweeps):
        for which in draws.permutation(3):
            if which == 0:
                c = _best_step(q, p, constants, printed)
            elif which == 1:
                q = _best_ratio(c, q, p, constants, printed)
            else:
                p = q ** (1.0 / 3.0)
    return Tuned(c, q, p, _accuracy(c, q, p, constants))


def _step_sides(
    c: Any, q: Any, p: Numbers, constants: PDOPConstants, *, printed: bool
) -> tuple[Any, Any]:
    left = constants.diameter * constants.curvature * np.exp(-constants.curvature * c / (1.0 - q))
    moved = 1.0 / (1.0 - q**2)
    noise = (p / (constants.epsilon * (p - q))) ** 2 / (1.0 - p**2)
    right = 2.0 * constants.gradient_bound**2 * c * (moved + 8.0 * constants.dimension * noise)
    return (left if printed else left / (1.0 - q)), right


def _ratio_sides(
    c: Any, q: Any, p: Numbers, constants: PDOPConstants, *, printed: bool
) -> tuple[Any, Any]:
    left = constants.diameter * constants.curvature * c
    left = left * np.exp(-constants.curvature * c / (1.0 - q))
    left = left / (1.0 - q**2 if printed else (1.0 - q) ** 2)
    pulled = constants.gradient_bound * c
    right = 2.0 * (q**2 if printed else q) * (pulled / (1.0 - q**2)) ** 2
    noise = (pulled * p / constants.epsilon) ** 2 / ((p - q) ** 3 * (1.0 - p**2))
    return left, right + 16.0 * constants.dimension * noise


def _accuracy(c: float, q: float, p: float, constants: PDOPConstants) -> float:
    return printed_accuracy(
        c,
        q,
        p,
        epsilon=constants.epsilon,
        diameter=constants.diameter,
        gradient_bound=constants.gradient_bound,
        curvature=constants.curvature,
        dimension=constants.dimension,
    )


def _best_step(q: float, p: float, constants: PDOPConstants, printed: bool) -> float:
    """The one solution of condition (I): its left side falls with `c`, the right one grows."""

    def slope(c: float) -> float:
        left, right = _step_sides(c, q, p, constants, printed=printed)
        return float(right - left)

    high = 1.0 / constants.curvature
    while slope(high) < 0.0:
        high *= 2.0
    return _root(slope, 0.0, high)


def _best_ratio(c: float, q: float, p: float, constants: PDOPConstants, printed: bool) -> float:
    """The solution of condition (II) at which eq (15) is least, or `q` if there is none."""

    def slope(ratio: Numbers) -> Any:
        left, right = _ratio_sides(c, ratio, p, constants, printed=printed)
        return right - left

    grid = np.linspace(0.0, p, _GRID + 2)[1:-1]
    slopes = slope(grid)
    rising = np.flatnonzero((slopes[:-1] < 0.0) & (slopes[1:] >= 0.0))
    roots = [_root(slope, float(grid[i]), float(grid[i + 1])) for i in rising]
    return min(roots, key=lambda ratio: _accuracy(c, ratio, p, constants), default=q)


def _root(slope: Callable[[float], Any], low: float, high: float) -> float:
    from scipy.optimize import root_scalar

    return float(root_scalar(slope, bracket=(low, high), xtol=1e-15, rtol=1e-14).root)


def _checked(step: float, ratio: float, noise_ratio: float) -> tuple[float, float, float]:
    positive("step", step)
    between(0.0, 1.0, ratio=ratio)
    between(ratio, 1.0, noise_ratio=noise_ratio)
    return step, ratio, noise_ratio
