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
        ProblemError: naming the loss.
    """
    if not smooth(problem):
        loss = type(getattr(problem.objectives, "loss", problem.objectives)).__name__
        raise ProblemError(
            f"{name} needs losses with continuous gradients, and {loss} has kinks. Use DPSG or DGD "
            "with decay, or a smooth loss such as Huber or Logistic."
        )
