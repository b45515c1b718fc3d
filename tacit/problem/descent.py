"""First stages of the reference solution that need derivatives only: SciPy, or proximal gradients."""

from __future__ import annotations

import numpy as np

from tacit.problem.composite import Composite, total, value_and_gradient
from tacit.problem.constraint import Box
from tacit.problem.regularisers import L1


def quasi_newton(whole: Composite, start: np.ndarray) -> np.ndarray:
    """L-BFGS-B of SciPy, for a box or no constraint and l1 or nothing as the rest.

    With an l1 part, `x = u - v` with `u, v >= 0` makes the objective differentiable:
    `|x| <= u + v`, with equality at the minimum.
    """
    from scipy.optimize import Bounds, minimize

    size, constraint, rest = len(start), whole.rest.constraint, whole.rest.regulariser
    lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
    if isinstance(constraint, Box):
        lower, upper = np.broadcast_to(constraint.lower, size), np.broadcast_to(constraint.upper, size)
    options = {"maxiter": 5000, "maxfun": 20000, "maxcor": 20, "ftol": 1e-15, "gtol": 1e-10}

    def function(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = value_and_gradient(whole, x)
        return float(value), np.asarray(gradient)

    if not isinstance(rest, L1):
        clipped = np.clip(start, lower, upper)
        return minimize(
            function, clipped, jac=True, method="L-BFGS-B", bounds=Bounds(lower, upper), options=options
        ).x

    strength = np.full(size, float(rest.strength))
    strength[list(rest.unpenalised)] = 0.0

    def split(both: np.ndarray) -> tuple[float, np.ndarray]:
        positive, negative = both[:size], both[size:]
        value, gradient = function(positive - negative)
        penalty = strength @ (positive + negative)
        return value + penalty, np.concatenate([strength + gradient, strength - gradient])

    low = np.concatenate([np.maximum(lower, 0.0), np.maximum(-upper, 0.0)])
    high = np.concatenate([np.maximum(upper, 0.0), np.maximum(-lower, 0.0)])
    both = np.clip(np.concatenate([start, -start]), low, high)
    found = minimize(
        split, both, jac=True, method="L-BFGS-B", bounds=Bounds(low, high), options=options
    ).x
    return found[:size] - found[size:]


def proximal_gradient(whole: Composite, start: np.ndarray, rounds: int = 5000) -> np.ndarray:
    """Accelerated proximal gradients with backtracking and restarts, for any exact proximal map.

    Source: Beck and Teboulle (2009), A fast iterative shrinkage-thresholding algorithm; restarts as in
    O'Donoghue and Candes (2015).
    """
    x = ahead = np.asarray(whole.rest.project(start))
    momentum, step, value = 1.0, 1.0, total(whole, x)
    for _ in range(rounds):
        here, gradient = (np.asarray(each) for each in value_and_gradient(whole, ahead))
        while True:
            new = np.asarray(whole.rest.prox(ahead - step * gradient, step))
            move = new - ahead
            bound = here + gradient @ move + move @ move / (2.0 * step)
            reached = float(value_and_gradient(whole, new)[0])
            if reached <= bound + 1e-14 * abs(bound) or step < 1e-16:
                break
            step /= 2.0
        if np.linalg.norm(move) <= 1e-11 * (1.0 + np.linalg.norm(new)):
            return new
        new_value = reached + float(whole.rest.value(new))
        if new_value > value:
            momentum = 1.0
        grown = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = new + (momentum - 1.0) / grown * (new - x)
        x, momentum, value = new, grown, new_value
        step *= 1.1
    return x
