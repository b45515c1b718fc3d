"""How far functional perturbation moves the minimiser: figure 2 of its paper, and quadratics.

Ten agents with 100 records each, ridge and logistic loss on [-5, 5]^2, as in Nozari, Tallapragada,
Cortes (2018), example III.2 and section VI: q = 1.1, p = .55, lambda = .01, features uniform in
[0, 1]^2, labels fair. Epsilon is the paper's, per unit of distance between whole costs; one record
is about 42 units. Every released cost is put back into the paper's set by constraint generation.
Then the quadratic mechanism, whose epsilon is of one record. Prints means over the runs.

    python benchmarks/functional_perturbation.py --runs 20 --degrees 2 4 6 14
"""

import argparse
import math
import time

import jax
import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, zeta

from tacit.method import CurvatureBounds, LegendreBasis, QuadraticBasis
from tacit.method.functional_grid import nearest_on_grid

AGENTS, RECORDS, STRENGTH, HALF = 10, 100, 0.01, 5.0
Q, P = 1.1, 0.55
EPSILONS = (0.01, 0.1, 1.0, 10.0, 1000.0)


class Costs:
    """The private costs of all agents, their sum, and its minimiser on the box."""

    def __init__(self, dimension: int, rng: np.random.Generator) -> None:
        self.rows = rng.random((AGENTS, RECORDS, dimension))
        self.labels = rng.choice([-1.0, 1.0], (AGENTS, RECORDS))
        self.best = on_box(self.total, dimension)

    def losses(self, points: np.ndarray) -> np.ndarray:
        """Of every record at every point: `(points, agents, records)`."""
        scores = np.einsum("nd,ajd->naj", points, self.rows)
        return np.logaddexp(0.0, -self.labels * scores)

    def total(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient of the sum over agents."""
        margins = self.labels * (self.rows @ x)
        pulls = -self.labels * expit(-margins)
        ridge = AGENTS * RECORDS * STRENGTH
        value = np.logaddexp(0.0, -margins).sum() + ridge / 2.0 * x @ x
        return float(value), np.einsum("aj,ajd->d", pulls, self.rows) + ridge * x

    def missed(self, x: np.ndarray) -> tuple[float, float]:
        """Distance to the minimiser, and by how much the value is larger."""
        return float(np.linalg.norm(x - self.best)), self.total(x)[0] - self.total(self.best)[0]


def on_box(value_and_gradient, dimension: int) -> np.ndarray:
    """The minimiser of a convex function on the box."""
    start, bounds = np.zeros(dimension), [(-HALF, HALF)] * dimension
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000}
    return minimize(value_and_gradient, start, jac=True, bounds=bounds, options=options).x


def figure_two(degree: int, runs: int) -> None:
    basis = LegendreBasis([-HALF, -HALF], [HALF, HALF], degree)
    slope = math.sqrt(2.0) * RECORDS * (HALF * STRENGTH + expit(2.0 * HALF))
    bounds = CurvatureBounds(RECORDS * STRENGTH, RECORDS * (STRENGTH + 0.5), slope)
    ask = jax.jit(jax.value_and_grad(lambda x, c: c @ basis.functions(x)))
    points, operator = np.asarray(basis.points), np.asarray(basis.operator)
    ridge = RECORDS * STRENGTH / 2.0 * np.sum(points**2, axis=1)
    shares = np.arange(1.0, basis.size + 1.0) ** P
    for epsilon in EPSILONS:
        gamma, missed, began = math.sqrt(zeta(2.0 * (Q - P))) / epsilon, [], time.monotonic()
        for run in range(runs):
            rng = np.random.default_rng(run)
            costs = Costs(2, rng)
            exact = operator @ (costs.losses(points).sum(axis=2) + ridge[:, None])
            noised = exact.T + rng.laplace(size=(AGENTS, basis.size)) * gamma / shares
            released = [nearest_on_grid(basis, bounds.allowed, each) for each in noised]
            total = np.sum(released, axis=0)
            missed.append(
                costs.missed(on_box(lambda x, c=total: tuple(map(np.asarray, ask(x, c))), 2))
            )
        distance, excess = np.mean(missed, axis=0)
        seconds = (time.monotonic() - began) / (runs * AGENTS)
        print(
            f"{degree:6d}  {epsilon:7g}  {distance:10.4f}  {excess:13.4f}  {seconds:12.2f}",
            flush=True,
        )


def quadratic(dimension: int, runs: int, epsilon: float = 10.0) -> None:
    """The quadratic mechanism, clipped at the largest norm of a record in the features' corners."""
    basis = QuadraticBasis([-HALF] * dimension, [HALF] * dimension)
    points, operator = np.asarray(basis.points), np.asarray(basis.operator)
    corners = np.stack(np.meshgrid(*[[0.0, 1.0]] * dimension), axis=-1).reshape(-1, dimension)
    clip = max(
        np.abs((operator @ np.logaddexp(0.0, -label * points @ corners.T))[1:]).sum(axis=0).max()
        for label in (-1.0, 1.0)
    )
    bounds = CurvatureBounds(0.0, RECORDS * dimension / 4.0)
    missed = []
    for run in range(runs):
        rng = np.random.default_rng(run)
        costs = Costs(dimension, rng)
        each = np.tensordot(operator, costs.losses(points), 1)[1:]
        each *= np.minimum(1.0, clip / np.abs(each).sum(axis=0))
        noised = each.sum(axis=2) + rng.laplace(size=each.shape[:2]) * 2.0 * clip / epsilon
        hessian = AGENTS * RECORDS * STRENGTH * np.eye(dimension)
        slope = np.zeros(dimension)
        for agent in range(AGENTS):
            coefficients = bounds.nearest(basis, np.concatenate([[0.0], noised[:, agent]]))
            hessian = hessian + np.asarray(basis.hessian(coefficients))
            slope = slope + np.asarray(coefficients)[1 : 1 + dimension] / HALF
        answer = on_box(
            lambda x, h=hessian, g=slope: (g @ x + x @ h @ x / 2.0, g + h @ x), dimension
        )
        missed.append(costs.missed(answer))
    distance, excess = np.mean(missed, axis=0)
    print(f"{dimension:9d}  {epsilon:14g}  {distance:10.4f}  {excess:13.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--degrees", type=int, nargs="*", default=(2, 4, 6, 14))
    arguments = parser.parse_args()
    with jax.enable_x64(True):
        print("dimension  record epsilon  |x~ - x*|  f(x~) - f(x*)")
        for dimension in (2, 3, 5, 10):
            quadratic(dimension, arguments.runs)
        print("degree  epsilon   |x~ - x*|  f(x~) - f(x*)  s/projection")
        for degree in arguments.degrees:
            figure_two(degree, arguments.runs)


if __name__ == "__main__":
    main()
