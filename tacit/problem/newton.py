"""The last digits of a reference solution, by Newton's method on the proximal fixed point.

A point minimises `smooth + h` if and only if `r(x) = x - prox_h(x - t grad(x), t) = 0`. Soft
thresholds and projections are piecewise smooth, so Newton steps with any of their derivatives
converge quadratically from nearby (Qi and Sun 1993, A nonsmooth version of Newton's method).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.errors import ProblemError
from tacit.problem.composite import (
    Composite,
    gradient_and_hessian,
    prox,
    prox_and_jacobian,
    value_and_gradient,
)

LARGEST = 5_000_000
"""Number of rows times parameters up to which second derivatives are formed."""


@dataclass(frozen=True)
class Polished:
    """The point at which Newton's method ended.

    Attributes:
        x: the point, shape `(p,)`.
        converged: whether the steps shrank and the point is nearly fixed; otherwise there may be
            no minimiser at all.
        decrease: predicted decrease of the objective by one more step.
    """

    x: np.ndarray
    converged: bool
    decrease: float


def polish(whole: Composite, start: np.ndarray, steps: int = 50) -> Polished:
    """Newton steps from `start`, each shortened until the fixed-point residual shrinks."""
    x, last = start, 0.0
    gradient, hessian = _derivatives(whole, x)
    step = _step(hessian)
    residual, slope = _residual(whole, x, gradient, hessian, step)
    for _ in range(steps):
        move = _newton(slope, residual)
        if np.linalg.norm(move) <= 1e-15 * (1.0 + np.linalg.norm(x)):
            break
        candidate = _shorter(whole, x, move, float(np.linalg.norm(residual)), step)
        if candidate is None:
            break
        x, last = candidate, float(np.linalg.norm(candidate - x))
        gradient, hessian = _derivatives(whole, x)
        residual, slope = _residual(whole, x, gradient, hessian, step)
    x = x - residual
    # Where the objective only flattens out, gradient and curvature fade together: a step measured
    # by the curvature found here is still long, and so was the previous one.
    gradient, hessian = _derivatives(whole, x)
    step = _step(hessian)
    residual, slope = _residual(whole, x, gradient, hessian, step)
    size = float(np.linalg.norm(x))
    still = float(np.linalg.norm(residual)) <= 1e-6 * (1.0 + size)
    shrank = last <= 1e-3 * max(size, 1e-6)
    decrease = float(abs(residual @ _newton(slope, residual))) / step
    return Polished(x, still and shrank, decrease)


def _derivatives(whole: Composite, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    gradient, hessian = gradient_and_hessian(whole, x)
    return np.asarray(gradient), np.asarray(hessian)


def _step(hessian: np.ndarray) -> float:
    """One over the largest curvature: the proximal step that suits this point."""
    _check_finite(hessian)
    return 1.0 / max(float(np.linalg.norm(hessian, 2)), 1e-100)


def _newton(slope: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """The shortest solution of `slope @ move = -residual`; columns may be collinear."""
    _check_finite(slope, residual)
    return np.linalg.lstsq(slope, -residual, rcond=1e-13)[0]


def _check_finite(*derivatives: np.ndarray) -> None:
    """Refuse numbers that are not finite; what NumPy does with them is not the same everywhere.

    Raises:
        ProblemError: such numbers.
    """
    if not all(np.isfinite(each).all() for each in derivatives):
        raise ProblemError(
            "the objective's derivatives are not finite near the best point that was found: "
            "either features or targets are too large to square (rescale them, or declare "
            "bounds), or a loss of your own has no derivative there"
        )


def _shorter(
    whole: Composite, x: np.ndarray, move: np.ndarray, residual: float, step: float
) -> np.ndarray | None:
    """The first of some fractions of a move after which the residual is smaller."""
    for fraction in (1.0, 0.5, 0.25, 0.1, 0.01):
        candidate = x + fraction * move
        gradient = np.asarray(value_and_gradient(whole, candidate)[1])
        fixed = np.asarray(prox(whole.rest, candidate - step * gradient, np.float64(step)))
        if np.linalg.norm(candidate - fixed) < residual:
            return candidate
    return None


def _residual(
    whole: Composite, x: np.ndarray, gradient: np.ndarray, hessian: np.ndarray, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """`r(x)` and its matrix of derivatives, `I - D (I - t H) = (I - D) + D t H`."""
    fixed, inner = prox_and_jacobian(whole.rest, x - step * gradient, np.float64(step))
    inner = np.asarray(inner)
    return x - np.asarray(fixed), np.eye(len(x)) - inner + step * inner @ hessian
