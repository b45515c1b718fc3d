"""First stages of the reference that need derivatives only: SciPy, or proximal gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.errors import ProblemError
from tacit.problem.composite import Composite, prox, value_and_gradient
from tacit.problem.constraint import Box
from tacit.problem.regularisers import L1


def quasi_newton(whole: Composite, start: np.ndarray) -> np.ndarray:
    """L-BFGS-B of SciPy, for a box or no constraint and l1 or nothing as the rest.

    With an l1 part, `x = u - v` with `u, v >= 0` makes the objective differentiable:
    `|x| <= u + v`, with equality at the minimum.
    """
    from scipy.optimize import minimize

    size, constraint, rest = len(start), whole.rest.constraint, whole.rest.regulariser
    lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
    if isinstance(constraint, Box):
        lower, upper = (
            np.broadcast_to(constraint.lower, size),
            np.broadcast_to(constraint.upper, size),
        )
    options = {"maxiter": 3000, "maxfun": 3000, "maxcor": 20, "ftol": 1e-15, "gtol": 1e-10}

    def function(x: np.ndarray) -> tuple[Any, np.ndarray]:
        value, gradient = value_and_gradient(whole, x)
        return float(value), np.asarray(gradient)

    if not isinstance(rest, L1):
        clipped = np.clip(start, lower, upper)
        return minimize(
            function,
            clipped,
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(lower, upper, strict=True)),
            options=options,
        ).x

    strength = np.full(size, float(rest.strength))
    strength[list(rest.unpenalised)] = 0.0

    def split(both: np.ndarray) -> tuple[Any, np.ndarray]:
        positive, negative = both[:size], both[size:]
        value, gradient = function(positive - negative)
        penalty = strength @ (positive + negative)
        return value + penalty, np.concatenate([strength + gradient, strength - gradient])

    low = np.concatenate([np.maximum(lower, 0.0), np.maximum(-upper, 0.0)])
    high = np.concatenate([np.maximum(upper, 0.0), np.maximum(-lower, 0.0)])
    both = np.clip(np.concatenate([start, -start]), low, high)
    found = minimize(
        split,
        both,
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)),
        options=options,
    ).x
    return found[:size] - found[size:]


def proximal_gradient(whole: Composite, start: np.ndarray, rounds: int = 5000) -> np.ndarray:
    """Accelerated proximal gradients with backtracking and restarts, for any exact proximal map.

    Source: Beck, Teboulle (2009), eqs (4.1), (4.2), (4.3); O'Donoghue, Candes (2015), section 3.2.
    The restarts are those of the second. It stops at about six digits; Newton's method adds the
    rest.
    """
    x = ahead = np.asarray(prox(whole.rest, start, np.float64(0.0)))
    momentum, step = 1.0, 1.0
    for _ in range(rounds):
        here, gradient = (np.asarray(each) for each in value_and_gradient(whole, ahead))
        while True:
            new = np.asarray(prox(whole.rest, ahead - step * gradient, np.float64(step)))
            move = new - ahead
            bound = here + gradient @ move + move @ move / (2.0 * step)
            if float(value_and_gradient(whole, new)[0]) <= bound + 1e-13 * abs(bound):
                break
            step /= 2.0
            if step < 1e-30:
                raise ProblemError(
                    "no step lowers the objective: the gradient of the loss is wrong or not finite"
                )
        if np.linalg.norm(move) <= 1e-7 * (1.0 + np.linalg.norm(new)):
            return new
        if (ahead - new) @ (new - x) > 0.0:
            momentum = 1.0
        grown = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = new + (momentum - 1.0) / grown * (new - x)
        x, momentum = new, grown
    return x
