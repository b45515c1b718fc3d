"""Noise of stochastic simulators, and the finite-difference step that suits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float

from tacit.arguments import checked
from tacit.errors import ProblemError
from tacit.problem.boxes import BlackBox, computed
from tacit.problem.problem import Problem
from tacit.ranges import Count, Listed, Positive, Range

_GROWTH = 4.0
"""Factor between the moves that are tried in turn."""

_SIGNAL = 4.0
"""How many times the part of the noise a mean square must be before curvature is read off it."""


@dataclass(frozen=True)
class Noise:
    """What repeated evaluations say about the noise of black boxes.

    Attributes:
        deviation: standard deviation of one value of each agent's cost, shape `(agents,)`.
        curvature: root mean square of the second derivative of each agent's cost along random
            directions, shape `(agents,)`.
        smoothing: length of the move for which a difference quotient has the smallest error.
        error: root mean square error of such a quotient.
        evaluations: number of evaluations that this took.
    """

    deviation: Float[np.ndarray, " agents"]
    curvature: Float[np.ndarray, " agents"]
    smoothing: float
    error: float
    evaluations: int


@checked(ProblemError)
def measure_noise(
    problem: Problem,
    x: Annotated[Listed | None, Range(optional=True)] = None,
    *,
    repeats: Annotated[int, Range(least=2.0)] = 10,
    directions: Count = 10,
    widest: Positive = 1.0,
    seed: Annotated[int, Range(least=0.0)] = 0,
) -> Noise:
    """Measure the noise of black boxes, and choose the finite-difference step from it.

    A quotient `(f(x + h d) - f(x)) / h` along a unit direction `d`, of values with standard
    deviation `s` and a second derivative of size `m`, has a mean squared error of about
    `2 s^2 / h^2 + m^2 h^2 / 4`, which is smallest at `h = 8^(1/4) sqrt(s / m)`. Here `s` is
    estimated from repeated values at `x`, and `m` from second differences along random directions,
    with the shortest move at which they stand out from the noise. Without noise, `s` is what
    rounding leaves.

    The result depends on the costs. Where these are private, measure a public test case or another
    model instead: a step that was chosen by private values is not covered by any guarantee.

    Args:
        problem: problem of black boxes; their workers are used, their cache is not.
        x: point, shape `(p,)`; the starting point by default.
        repeats: evaluations at the point, at least 2.
        directions: number of random directions, at least 1.
        widest: longest move that is tried, positive.
        seed: of the directions, at least 0.

    Raises:
        ProblemError: objectives that are no black boxes or have several values, or a curvature that
            noise hides within `widest`.
        OracleError: an evaluation that failed.

    Example:
        >>> from tacit.problem import black_box_problem
        >>> rng = np.random.default_rng(0)
        >>> def simulate(x, agent):
        ...     return float(x @ x) + 0.01 * rng.normal()
        >>> found = measure_noise(black_box_problem(simulate, 2, x0=[1.0, 1.0], stochastic=True))
        >>> 0.05 < found.smoothing < 0.25  # 8^(1/4) sqrt(0.01 / 2) is 0.119
        True
    """
    box = problem.objectives
    if not isinstance(box, BlackBox) or box.units != 1:
        raise ProblemError(
            "measure_noise takes a problem of whole costs that are black boxes; make one with "
            "problem.black_box_problem(function, number of agents, x0)"
        )
    point = problem.start() if x is None else np.asarray(x, dtype=np.float64)
    if point.shape != (problem.dimension,):
        raise ProblemError(f"x has shape {point.shape}; the problem has {problem.dimension} values")
    agents, before = np.arange(problem.agents)[:, None], box.calls

    def values(points: Float[np.ndarray, "m p"]) -> Float[np.ndarray, "agents m"]:
        owners = np.broadcast_to(agents, (len(agents), len(points)))
        found = computed(lambda: box.host.evaluate(points[None], owners, fresh=True), box)
        if np.isnan(found).any():
            raise ProblemError(
                "some evaluations were skipped, so their noise is not known; choose a point where "
                "all succeed, or let each be tried more than once, such as tries=3"
            )
        return found[..., 0]

    level = values(np.tile(point, (repeats, 1)))
    # values that are all 0 are rounded, too, as soon as the point moves
    rounding = np.finfo(np.float64).eps * np.maximum(np.abs(level).max(axis=1), 1e-8)
    deviation = np.maximum(np.std(level, axis=1, ddof=1), rounding)
    drawn = np.random.default_rng(seed).normal(size=(directions, problem.dimension))
    units = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    # a second difference of values, of which the middle one is a mean
    hidden = (2.0 + 4.0 / repeats) * np.mean(deviation**2)
    move = min(float(np.mean(deviation**2)) ** 0.125, widest)
    while True:
        sides = values(np.concatenate([point + move * units, point - move * units]))
        bent = sides[:, :directions] + sides[:, directions:] - 2.0 * level.mean(axis=1)[:, None]
        if np.mean(bent**2) >= _SIGNAL * hidden:
            break
        if move >= widest:
            if not np.any(sides - level.mean(axis=1)[:, None]) and not np.any(np.ptp(level, 1)):
                raise ProblemError(
                    f"every value of a cost is the same at the point and within moves of {widest:g}"
                    ": there is no noise to measure, and nothing to minimise; check that the "
                    "function uses x, or raise widest"
                )
            raise ProblemError(
                f"noise hides the curvature within moves of {widest:g}; raise widest if the "
                "parameters may move further, or average several simulations in one evaluation"
            )
        move = min(_GROWTH * move, widest)
    excess = np.mean(bent**2, axis=1) - (2.0 + 4.0 / repeats) * deviation**2
    curvature = np.sqrt(np.maximum(excess, 0.0)) / move**2
    noise = float(np.sqrt(np.mean(deviation**2)))
    steep = float(np.sqrt(max(np.mean(bent**2) - hidden, 0.0))) / move**2
    return Noise(
        deviation=deviation,
        curvature=curvature,
        smoothing=8.0**0.25 * (noise / steep) ** 0.5,
        error=2.0**0.25 * (noise * steep) ** 0.5,
        evaluations=box.calls - before,
    )
