"""Assumptions that several methods share, refused in words where they do not hold."""

from __future__ import annotations

from typing import Any

from tacit.errors import ProblemError
from tacit.problem.smoothness import smooth


def check_smooth(name: str, problem: Any) -> None:
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
