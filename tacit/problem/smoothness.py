"""How smooth and how curved objectives are: this decides which methods and steps converge."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from tacit.arguments import checked
from tacit.errors import ProblemError
from tacit.problem.convex_cost import ConvexCost
from tacit.problem.cost import Cost
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.losses import AbstractLinearLoss
from tacit.problem.task import Task


@checked(ProblemError)
def smooth(problem: Task) -> bool:
    """Whether all gradients are continuous, as the losses declare; a black box counts as smooth.

    Args:
        problem: task with any objectives.

    Example:
        >>> from tacit.problem import Hinge, Logistic, empirical_risk
        >>> rows, answers = [[[1.0]], [[2.0]]], [[1.0], [0.0]]
        >>> [smooth(empirical_risk(rows, answers, loss)) for loss in (Logistic(), Hinge())]
        [True, False]
    """
    objectives = problem.objectives
    if isinstance(objectives, EmpiricalRisk):
        return objectives.loss.smooth
    return objectives.smooth if isinstance(objectives, Cost | ConvexCost) else True


@checked(ProblemError)
def curvature(problem: Task) -> Float[np.ndarray, " agents"]:
    """Upper bound of the second derivative of every `f_k` along any direction.

    It is the loss's own bound times the largest eigenvalue of `rows' rows`, over the normaliser. It
    depends on private data, so a step size derived from it belongs to runs without privacy.

    Args:
        problem: task with any objectives.

    Returns:
        Bounds, shape `(K,)`; infinite where none exists (hinge, quantile, Poisson, user functions),
        and for rows so long that their squares overflow.

    Example:
        >>> from tacit.problem import Squared, empirical_risk
        >>> curvature(empirical_risk([[[1.0], [3.0]], [[2.0]]], [[0.0, 0.0], [0.0]], Squared()))
        array([10.,  8.])
    """
    risk = problem.objectives
    if not isinstance(risk, EmpiricalRisk) or not isinstance(risk.loss, AbstractLinearLoss):
        return np.full(problem.agents, math.inf)
    if math.isinf(risk.loss.curvature):
        return np.full(problem.agents, math.inf)
    rows = np.asarray(risk.features) * np.asarray(risk.mask)[..., None]
    with np.errstate(over="ignore"):  # then there is no finite bound
        largest = np.linalg.norm(rows, ord=2, axis=(1, 2)) ** 2
        return risk.loss.curvature * largest / problem.normaliser
