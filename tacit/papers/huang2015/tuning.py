"""Choosing step, ratio and noise ratio of PDOP by predicted accuracy, before any data are read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.papers.huang2015.bounds import (
    corrected_accuracy,
    exact_accuracy,
    noise_variances,
    printed_accuracy,
)
from tacit.ranges import Range

Objective: TypeAlias = Literal["printed", "corrected", "exact"]
"""Theorem 10 as printed, the bound that holds, or the formula for quadratics with one Hessian."""

Accuracy: TypeAlias = Callable[[float, float, float], float]
"""Function of step, ratio and noise ratio that returns a mean squared error, e.g. by simulation."""

_RATIO = (1e-4, 1.0 - 1e-4)
"""Smallest and largest `q` tried."""

_STEP = (1e-7, 1.0)
"""Smallest and largest `c` tried, in units of one over the curvature."""


@checked(ConfigError)
@dataclass(frozen=True)
class PDOPConstants:
    """Declared constants of a class of problems: the only values that tuning may use.

    Attributes:
        epsilon: pure epsilon of the whole run, positive.
        dimension: dimension `n`.
        agents: number of agents `N`.
        curvature: curvature `h` (`C3`), positive.
        gradient_bound: largest l2 norm `C2` of a gradient on the set.
        diameter: diameter `C1` of the set.
        distance: largest l1 distance `G` of two gradients; `2 C2 sqrt(n)` if `None`.
        start: initial distance `||x0 - x*||`, or its root mean square if known; `C1` if `None`.
            "printed" takes `C1`.
        rounds: number of rounds of the run; the printed theorem is about infinitely many.
        contraction: factor by which one round of mixing shrinks disagreement, for "corrected".

    Raises:
        ConfigError: a number out of its range.
    """

    epsilon: float
    dimension: int
    agents: int
    curvature: float
    gradient_bound: float
    diameter: float
    distance: Annotated[float, Range(least=0.0)] | None = None
    start: Annotated[float, Range(least=0.0)] | None = None
    rounds: int = 100
    contraction: Annotated[float, Range(least=0.0, most=1.0)] = 0.0

    def __post_init__(self) -> None:
        for name in ("epsilon", "dimension", "agents", "curvature", "gradient_bound", "diameter"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ConfigError(f"{name}={value!r} must be positive and finite")
        if self.rounds < 1:
            raise ConfigError(f"rounds={self.rounds!r} must be at least 1")

    @property
    def moved(self) -> float:
        """Largest l1 distance `G` of two gradients."""
        if self.distance is not None:
            return self.distance
        return 2.0 * self.gradient_bound * math.sqrt(self.dimension)


@dataclass(frozen=True)
class Tuned:
    """The parameters found, and their value of the objective.

    Attributes:
        step: first step size `c`.
        ratio: step ratio `q`.
        noise_ratio: noise ratio `p`.
        accuracy: mean squared error, bounded or exact or as printed.
    """

    step: float
    ratio: float
    noise_ratio: float
    accuracy: float


@checked(ConfigError)
def tune_pdop(
    constants: PDOPConstants,
    objective: Objective | Accuracy = "exact",
    *,
    evaluations: int = 3000,
) -> Tuned:
    """Step, ratio and noise ratio with the smallest mean squared error.

    Uses declared constants only, so it costs no budget. "printed" minimises theorem 10 of the
    paper, for reproduction: it finds a step so small that the algorithm hardly leaves its start.
    (The paper's own heuristic, section 4.5, moves one parameter at a time to a local optimum.)
    "exact" is right without a constraint; where a box matters, give a function that simulates.

    Args:
        constants: constants of the class of problems.
        objective: name of a formula, or a function `(step, ratio, noise_ratio) -> error`.
        evaluations: largest number of evaluations of the objective.

    Raises:
        ConfigError: fewer than 100 evaluations.

    Example:
        >>> rendezvous = PDOPConstants(
        ...     epsilon=1.0, dimension=2, agents=1000, curvature=2.0, gradient_bound=4 * 2**0.5,
        ...     diameter=2 * 2**0.5, distance=8.0,
        ... )
        >>> found = {name: tune_pdop(rendezvous, name) for name in ("printed", "exact")}
        >>> found["printed"].step < 0.01 < found["exact"].step
        True
    """
    from scipy.optimize import direct, minimize

    if evaluations < 100:
        raise ConfigError(f"evaluations={evaluations!r} must be at least 100")
    accuracy = objective if callable(objective) else _formula(constants, objective)

    def error(point: Any) -> float:
        return float(accuracy(*_parameters(point, constants.curvature)))

    bounds = [(math.log(_STEP[0]), 0.0), (_logit(_RATIO[0]), _logit(_RATIO[1])), (-7.0, 7.0)]
    # a global search, and a local one from its best point
    coarse = direct(error, bounds, maxfun=evaluations * 2 // 3, maxiter=evaluations)
    fine = minimize(
        error,
        coarse.x,
        method="Nelder-Mead",
        bounds=bounds,
        options={"maxfev": evaluations // 3, "xatol": 1e-6, "fatol": 1e-12},
    )
    best = fine if fine.fun <= coarse.fun else coarse
    return Tuned(*_parameters(best.x, constants.curvature), accuracy=float(best.fun))


def _formula(constants: PDOPConstants, objective: Objective) -> Accuracy:
    if objective == "printed":
        return partial(
            printed_accuracy,
            epsilon=constants.epsilon,
            diameter=constants.diameter,
            gradient_bound=constants.gradient_bound,
            curvature=constants.curvature,
            dimension=constants.dimension,
        )

    def accuracy(step: float, ratio: float, noise_ratio: float) -> float:
        steps = step * ratio ** np.arange(constants.rounds)
        variances = noise_variances(
            steps, distance=constants.moved, noise_ratio=noise_ratio, epsilon=constants.epsilon
        )
        common = {
            "curvature": constants.curvature,
            "start": constants.diameter if constants.start is None else constants.start,
            "dimension": constants.dimension,
            "agents": constants.agents,
        }
        if objective == "exact":
            return exact_accuracy(steps, variances, **common)
        return corrected_accuracy(
            steps,
            variances,
            **common,
            gradient_bound=constants.gradient_bound,
            contraction=constants.contraction,
        )

    return accuracy


def _parameters(point: Any, curvature: float) -> tuple[float, float, float]:
    """`c`, `q` and `p` from unbounded coordinates, with `q < p < 1`."""
    step = math.exp(float(point[0])) / curvature
    ratio = _share(float(point[1]))
    return step, ratio, ratio + (1.0 - ratio) * _share(float(point[2]))


def _share(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-logit))


def _logit(share: float) -> float:
    return math.log(share / (1.0 - share))
