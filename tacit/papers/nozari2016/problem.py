"""Example III.2 of Nozari, Tallapragada, Cortes: logistic regression with two parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize
from scipy.special import expit, zeta

from tacit.method import CurvatureBounds, LegendreBasis

AGENTS, RECORDS = 10, 100
STRENGTH = 0.01
"""Ridge parameter `lambda` of every record."""

HALF = 5.0
"""Half the width of the box, `D = X`."""

Q, P = 1.1, 0.55
"""Exponents of the norm and of the noise."""


class Costs:
    """The private costs of all agents, their sum, and its minimiser on the box.

    Record `j` of agent `a` has features uniform in [0, 1]^d, a fair label, and the cost
    `log(1 + exp(-label features'x)) + lambda/2 ||x||^2`.

    Args:
        rng: generator that draws the records.
        dimension: number of parameters.
    """

    def __init__(self, rng: np.random.Generator, dimension: int = 2) -> None:
        self.rows = rng.random((AGENTS, RECORDS, dimension))
        self.labels = rng.choice([-1.0, 1.0], (AGENTS, RECORDS))
        self.best = on_box(self.total, dimension)

    def losses(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n agents records"]:
        """Losses of every record at every point, without the ridge."""
        scores = np.einsum("nd,ajd->naj", points, self.rows)
        return np.logaddexp(0.0, -self.labels * scores)

    def total(self, x: Float[np.ndarray, " d"]) -> tuple[float, Float[np.ndarray, " d"]]:
        """Value and gradient of the sum over agents."""
        margins = self.labels * (self.rows @ x)
        pulls = -self.labels * expit(-margins)
        ridge = AGENTS * RECORDS * STRENGTH
        value = np.logaddexp(0.0, -margins).sum() + ridge / 2.0 * x @ x
        return float(value), np.einsum("aj,ajd->d", pulls, self.rows) + ridge * x

    def missed(self, x: Float[np.ndarray, " d"]) -> tuple[float, float]:
        """Distance to the minimiser, and excess of the value."""
        return float(np.linalg.norm(x - self.best)), self.total(x)[0] - self.total(self.best)[0]


def on_box(value_and_gradient: Callable[[Any], Any], dimension: int) -> Float[np.ndarray, " d"]:
    """The minimiser of a convex function on the box."""
    start, bounds = np.zeros(dimension), [(-HALF, HALF)] * dimension
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000}
    return minimize(value_and_gradient, start, jac=True, bounds=bounds, options=options).x


def legendre(degree: int) -> LegendreBasis:
    """The basis of a total degree on the box of the example."""
    return LegendreBasis([-HALF, -HALF], [HALF, HALF], degree)


def allowed() -> CurvatureBounds:
    """`alpha = N lambda`, `beta = N (lambda + 1/2)`, `u = sqrt(2) N (lambda r + sigma(2 r))`.

    The paper prints `beta = 22734.6` and `u = 3.1e6`, which hold but are larger than necessary; see
    docs/errata.md.
    """
    steepest = math.sqrt(2.0) * RECORDS * (HALF * STRENGTH + float(expit(2.0 * HALF)))
    return CurvatureBounds(RECORDS * STRENGTH, RECORDS * (STRENGTH + 0.5), steepest)


def noise_scale(epsilon: float) -> float:
    """`gamma = sqrt(zeta(2(q-p))) / epsilon`, epsilon per unit of distance: theorem V.2."""
    return math.sqrt(float(zeta(2.0 * (Q - P)))) / epsilon
