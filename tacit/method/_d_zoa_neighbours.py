"""Neighbouring data that satisfy the D-ZOA paper's assumption: gradients of length at most c1.

A record with small features and a large target has a nearly constant gradient, `2 (x'b - y) x`, so
it can have the longest gradient that the theorem allows, wherever the iterates are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.method.worst_case import LinearUnits, Neighbours
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.losses import Squared
from tacit.problem.task import Task

GRADIENT_BOUND = 1.0
"""`c1`: the longest gradient of a record that theorem 1 of Gratton et al. (2021) allows.

Source: Gratton et al. (2021), section IV-D, assumption 1.
"""

REACH = 10.0
"""Norm of the parameters up to which no gradient of these records exceeds `c1`."""

_SMALL = 0.01
"""Norm of the features of the record that is replaced."""


def bounded_neighbours(problem: Task, owner: int) -> Neighbours:
    """Data with gradients of length at most `c1`, and the same with one record's target negated.

    With the squared loss they are the problem's records, scaled down until no gradient is longer
    than `c1` for parameters of norm up to `REACH`, and the owner's first record is the one with
    small features and a large target. With any other loss they are linear losses, of which one has
    a gradient of length `c1`: the theorem speaks of every convex loss.

    Args:
        problem: problem of the audited method.
        owner: the agent whose data are audited.
    """
    objectives = problem.objectives
    if not (isinstance(objectives, EmpiricalRisk) and isinstance(objectives.loss, Squared)):
        gradients = np.zeros((problem.agents, 1, problem.dimension))
        gradients[owner, 0, 0] = GRADIENT_BOUND
        return Neighbours(
            LinearUnits(problem.normaliser, gradients),
            LinearUnits(problem.normaliser, -gradients),
            (owner,),
            f"one linear loss whose gradient has length {GRADIENT_BOUND:g}, replaced by its "
            "opposite, all other losses zero",
            others_zero=True,
        )
    features = np.array(objectives.features)
    targets = np.array(objectives.targets)
    length = np.linalg.norm(features, axis=-1)
    longest = 2.0 * length * (length * REACH + np.abs(targets)) / GRADIENT_BOUND
    scale = 1.0 / np.sqrt(np.maximum(longest, 1.0))
    features, targets = scale[..., None] * features, scale * targets
    features[owner, 0] = 0.0
    features[owner, 0, 0] = _SMALL
    targets[owner, 0] = GRADIENT_BOUND / (2.0 * _SMALL) - _SMALL * REACH
    opposite = targets.copy()
    opposite[owner, 0] *= -1.0

    def risk(answers: Any) -> EmpiricalRisk:
        return EmpiricalRisk(
            normaliser=objectives.normaliser,
            features=features,
            targets=answers,
            mask=objectives.mask,
            loss=objectives.loss,
        )

    return Neighbours(
        risk(targets),
        risk(opposite),
        (owner,),
        f"one record's target negated, with features of norm {_SMALL:g}; the gradient of every "
        f"record is at most {GRADIENT_BOUND:g} for parameters of norm up to {REACH:g}",
    )
