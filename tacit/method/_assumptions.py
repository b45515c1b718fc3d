"""Assumptions that several methods share, refused in words where they do not hold."""

from __future__ import annotations

from tacit.errors import ProblemError
from tacit.problem.smoothness import smooth
from tacit.problem.task import Task


def check_projection(name: str, problem: Task) -> None:
    """Refuse a set with projections by a solver, for a method that projects before it adds noise.

    The error of such a projection exceeds the noise if the noise is small.

    Raises:
        ProblemError: naming the set.
    """
    if not problem.constraint.exact:
        raise ProblemError(
            f"{name} projects before it adds noise, and its bound holds for exact projections; "
            f"those on a {type(problem.constraint).__name__} are a solver's, on a half disc "
            "wrong by up to 7e-5. Use DPSG, which projects values with noise, or a Box, Ball, "
            "Simplex or Affine set"
        )


def check_smooth(name: str, problem: Task) -> None:
    """Refuse losses with kinks, for a method whose proof needs continuous gradients.

    Raises:
        ProblemError: naming the loss, or for whole costs what declares it.
    """
    if smooth(problem):
        return
    others = "Use DPSG or DGD with decay"
    loss = getattr(problem.objectives, "loss", None)
    if loss is None:  # whole costs, which declare it
        raise ProblemError(
            f"{name} needs costs with continuous gradients, which these are not declared to have "
            f"(smooth=False). {others}, or write smooth=True if they have no kinks."
        )
    raise ProblemError(
        f"{name} needs losses with continuous gradients, and {type(loss).__name__} has kinks. "
        f"{others}, or a smooth loss such as Huber or Logistic."
    )
