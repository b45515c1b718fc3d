"""The pooled problem written in cvxpy and solved by Clarabel, an interior-point method."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.errors import ProblemError
from tacit.problem.constraint import (
    AbstractConstraint,
    Affine,
    Ball,
    Box,
    ConvexSet,
    Free,
    Simplex,
)
from tacit.problem.convex_cost import ConvexCost
from tacit.problem.convex_program import described
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.losses import (
    AbstractLoss,
    Hinge,
    Huber,
    Logistic,
    Poisson,
    Quantile,
    Softmax,
    Squared,
)
from tacit.problem.problem import Problem
from tacit.problem.projection import clarabel, cvxpy
from tacit.problem.regularisers import (
    L1,
    L2,
    AbstractRegulariser,
    ElasticNet,
    GroupL1,
    NoRegulariser,
)


def interior_point(problem: Problem, risk: EmpiricalRisk | ConvexCost) -> tuple[np.ndarray, float]:
    """The minimiser that Clarabel finds, and its lower bound of the minimum (its dual value).

    Raises:
        ProblemError: no feasible point, no finite minimum, or a part that cvxpy cannot express.
    """
    cp = cvxpy()
    x = cp.Variable(problem.dimension)
    if isinstance(risk, ConvexCost):
        build = risk.programs.build
        parts = [described(build, x, agent) for agent in range(problem.agents)]
        cost, own = sum(part[0] for part in parts), [each for part in parts for each in part[1]]
    else:
        cost, own = _risk(cp, risk, x), []
    objective = cp.Minimize(cost + _penalty(cp, problem.regulariser, x))
    program = cp.Problem(objective, [*own, *_constraints(cp, problem.constraint, x)])
    answer = clarabel(program, x)
    if answer.status in (cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE):
        raise ProblemError(
            "the problem has no finite minimum; add a regulariser or a bounded constraint"
        )
    if answer.point is None:
        if isinstance(risk, ConvexCost):
            _check_each(problem, risk)
        whose = "constraint" if not own else "constraints of all agents, and constraint="
        raise ProblemError(
            f"the reference solver ended with status {answer.status!r}; "
            f"check that some point satisfies the {whose}"
        )
    return answer.point, answer.bound


def _check_each(problem: Problem, risk: ConvexCost) -> None:
    """Refuse a cost that is infinite everywhere, by its agent.

    Raises:
        ProblemError: such a cost.
    """
    for agent, name in enumerate(problem.names):
        try:
            risk.programs.prox(np.append(problem.start(), 1.0), agent)
        except ProblemError as error:
            raise ProblemError(
                f"no point meets the constraints of {name}, so its cost is infinite everywhere; "
                "correct those that the function gives for it"
            ) from error


def _risk(cp: Any, risk: EmpiricalRisk, x: Any) -> Any:
    """`sum_k f_k(x)` over all records, each weighted by one over its owner's normaliser."""
    present = np.asarray(risk.mask) > 0
    features, targets = np.asarray(risk.features)[present], np.asarray(risk.targets)[present]
    counts = present.sum(axis=1)
    weights = np.repeat(1.0 / np.asarray(risk.normaliser, dtype=np.float64), counts)
    return _loss(cp, risk.loss, features, targets, weights, x)


def _loss(cp: Any, loss: AbstractLoss, features: Any, targets: Any, weights: Any, x: Any) -> Any:
    if isinstance(loss, Softmax):
        matrix = cp.reshape(x, (features.shape[1], loss.classes), order="C")
        one_hot = weights[:, None] * np.equal.outer(targets, np.arange(loss.classes))
        linear = cp.sum(cp.multiply(features.T @ one_hot, matrix))
        return weights @ cp.log_sum_exp(features @ matrix, axis=1) - linear
    scores = features @ x
    linear = (features.T @ (weights * targets)) @ x
    match loss:
        case Squared():
            return cp.sum_squares(cp.multiply(np.sqrt(weights), scores - targets))
        case Logistic():
            return weights @ cp.logistic(scores) - linear
        case Huber():
            threshold = float(np.ravel(loss.threshold)[0])
            return weights @ cp.huber(scores - targets, threshold) / 2.0
        case Hinge():
            return weights @ cp.pos(1.0 - cp.multiply(targets, scores))
        case Quantile():
            level = float(np.ravel(loss.level)[0])
            residual = targets - scores
            return weights @ cp.maximum(level * residual, (level - 1.0) * residual)
        case Poisson():
            return weights @ cp.exp(scores) - linear
        case _:
            raise ProblemError(
                f"no reference solver knows {type(loss).__name__} with this regulariser and "
                "constraint; declare your loss smooth and convex, or choose another combination"
            )


def _penalty(cp: Any, regulariser: AbstractRegulariser, x: Any) -> Any:
    penalised = [i for i in range(x.shape[0]) if i not in set(regulariser.unpenalised)]
    match regulariser:
        case NoRegulariser():
            return 0.0
        case L1():
            return float(regulariser.strength) * cp.norm1(x[penalised]) if penalised else 0.0
        case L2():
            return float(regulariser.strength) * cp.sum_squares(x[penalised]) if penalised else 0.0
        case ElasticNet():
            l1 = L1(regulariser.l1, unpenalised=regulariser.unpenalised)
            l2 = L2(regulariser.l2, unpenalised=regulariser.unpenalised)
            return _penalty(cp, l1, x) + _penalty(cp, l2, x)
        case GroupL1():
            groups = np.array(regulariser.groups)
            members = [np.flatnonzero(groups == g) for g in range(groups.max(initial=-1) + 1)]
            norms = [np.sqrt(len(group)) * cp.norm2(x[group]) for group in members]
            return float(regulariser.strength) * sum(norms)
        case _:
            raise ProblemError(f"no reference solver knows {type(regulariser).__name__}")


def _constraints(cp: Any, constraint: AbstractConstraint, x: Any) -> list[Any]:
    match constraint:
        case Free():
            return []
        case Box():
            lower = np.broadcast_to(constraint.lower, x.shape)
            upper = np.broadcast_to(constraint.upper, x.shape)
            below, above = np.isfinite(lower), np.isfinite(upper)
            bounds = [x[below] >= lower[below]] if below.any() else []
            return [*bounds, x[above] <= upper[above]] if above.any() else bounds
        case Ball():
            centre = 0.0 if constraint.centre is None else np.asarray(constraint.centre)
            return [cp.norm(x - centre, constraint.order) <= float(constraint.radius)]
        case Simplex():
            return [x >= 0.0, cp.sum(x) == float(constraint.total)]
        case Affine():
            return [np.asarray(constraint.matrix) @ x == np.asarray(constraint.target)]
        case ConvexSet():
            return list(constraint.builder(x))
        case _:
            raise ProblemError(f"no reference solver knows {type(constraint).__name__}")
