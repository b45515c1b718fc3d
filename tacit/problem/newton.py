"""The last digits of a reference solution, by Newton's method on the proximal fixed point.

A point minimises `smooth + h` if and only if `r(x) = x - prox_h(x - t grad(x), t) = 0`. Soft
thresholds and projections are piecewise smooth, so Newton steps with any of their derivatives converge
quadratically from nearby (Qi and Sun 1993, A nonsmooth version of Newton's method).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.problem.composite import (
    Composite,
    gradient_and_hessian,
    prox_and_jacobian,
    value_and_gradient,
)

LARGEST = 5_000_000
"""Number of rows times parameters up to which second derivatives are formed."""


@dataclass(frozen=True)
class Polished:
    """Where Newton's method ended.

    Attributes:
        x: the point.
        gradient: of the smooth part.
        move: the step that Newton's method would make next: how far the solution seems to be.
        decrease: by how much that step should lower the objective.
    """

    x: np.ndarray
    gradient: np.ndarray
    move: float
    decrease: float


def polish(whole: Composite, start: np.ndarray, steps: int = 50) -> Polished:
    """Newton steps from `start`, each halved until the fixed-point residual shrinks."""
    x = start
    gradient, hessian = (np.asarray(each) for each in gradient_and_hessian(whole, x))
    step = 1.0 / max(float(np.linalg.norm(hessian, 2)), 1e-12)
    residual, slope = _residual(whole, x, gradient, hessian, step)
    for _ in range(steps):
        move = np.linalg.lstsq(slope, -residual, rcond=1e-13)[0]
        if np.linalg.norm(move) <= 1e-15 * (1.0 + np.linalg.norm(x)):
            break
        accepted = None
        for fraction in (1.0, 0.5, 0.25, 0.1, 0.01):
            candidate = x + fraction * move
            trial = np.asarray(value_and_gradient(whole, candidate)[1])
            fixed = _fixed_point(whole, candidate, trial, step)
            if np.linalg.norm(candidate - fixed) < np.linalg.norm(residual):
                accepted = candidate
                break
        if accepted is None:
            break
        x = accepted
        gradient, hessian = (np.asarray(each) for each in gradient_and_hessian(whole, x))
        residual, slope = _residual(whole, x, gradient, hessian, step)
    move = np.linalg.lstsq(slope, -residual, rcond=1e-13)[0]
    decrease = float(abs(residual @ move)) / step
    return Polished(x - residual, gradient, float(np.linalg.norm(move)), decrease)


def _fixed_point(whole: Composite, x: np.ndarray, gradient: np.ndarray, step: float) -> np.ndarray:
    return np.asarray(prox_and_jacobian(whole.rest, x - step * gradient, step)[0])


def _residual(
    whole: Composite, x: np.ndarray, gradient: np.ndarray, hessian: np.ndarray, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """`r(x)` and its matrix of derivatives, `I - D (I - t H)`."""
    fixed, inner = prox_and_jacobian(whole.rest, x - step * gradient, step)
    identity = np.eye(len(x))
    return x - np.asarray(fixed), identity - np.asarray(inner) @ (identity - step * hessian)
