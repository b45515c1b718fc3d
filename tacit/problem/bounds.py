"""Bounds that a user declares on every record: enforced on the data, never taken on trust."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from tacit.arguments import checked
from tacit.clipping import ORDERS, norm_ratio, row_norms
from tacit.errors import ProblemError
from tacit.problem.losses import AbstractLinearLoss, AbstractLoss
from tacit.ranges import Real
from tacit.types import Order

_ROOM = 1.0 + 1e-12
"""A row whose norm exceeds its bound only by rounding is within it."""


@checked(ProblemError)
@dataclass(frozen=True)
class RecordBounds:
    """Bounds on every record, enforced by the code.

    With a loss of bounded slope a bound on rows implies one on gradients, so no clip has to be
    chosen. Proof: docs/proofs/declared_bounds.md.

    Args:
        row: largest norm of a record's features (the intercept included), positive.
        order: norm in which `row` is measured: 1, 2 or `math.inf`.
        target: largest size of a target, positive.
        beyond: "error" refuses data with a record beyond a bound and names it, "clip" scales its
            row (or cuts its target) to the bound. An error reveals something about a record, so it
            belongs where only the owner reads it.

    Raises:
        ProblemError: a bound that is not positive, or another order or rule.

    Example:
        >>> from tacit.problem.losses import Logistic
        >>> RecordBounds(row=2.0).of_gradient(Logistic(), features=9)  # l1, l2 and linf norm
        (6.0, 2.0, 2.0)
    """

    row: Real = math.inf
    order: Order = 2
    target: Real = math.inf
    beyond: Literal["error", "clip"] = "error"

    def __post_init__(self) -> None:
        for name in ("row", "target"):
            if not getattr(self, name) > 0.0:
                raise ProblemError(f"bounds: {name}={getattr(self, name)!r} must be positive")
        if self.order not in ORDERS:
            raise ProblemError(f"bounds: order={self.order!r} must be 1, 2 or math.inf")
        if self.beyond not in ("error", "clip"):
            raise ProblemError(f"bounds: beyond={self.beyond!r} must be 'error' or 'clip'")

    def on_rows(self, table: Float[np.ndarray, "n d"], owner: str) -> Float[np.ndarray, "n d"]:
        """The rows, each within the bound.

        Raises:
            ProblemError: a row beyond it, unless rows are to be clipped; names owner and row.
        """
        norms = row_norms(table, self.order)
        beyond = ~(norms <= self.row * _ROOM)
        if not beyond.any():
            return table
        if self.beyond == "error":
            raise ProblemError(
                f"{owner}: row {int(np.argmax(beyond))} has an l{self.order} norm above the "
                f"declared bound {self.row:g}; rescale the features, declare a larger bound, or "
                "set beyond='clip'"
            )
        # Divided by its largest entry first: the norm of finite numbers may overflow, and the
        # scale of a huge row vanish.
        with np.errstate(under="ignore"):
            unit = table[beyond] / np.max(np.abs(table[beyond]), axis=-1, keepdims=True)
            inside = table.copy()
            inside[beyond] = unit * (self.row / row_norms(unit, self.order)[:, None])
        return inside

    def on_targets(self, column: Float[np.ndarray, " n"], owner: str) -> Float[np.ndarray, " n"]:
        """The targets, each within the bound.

        Raises:
            ProblemError: a target beyond it, unless targets are to be clipped.
        """
        beyond = ~(np.abs(column) <= self.target)
        if beyond.any() and self.beyond == "error":
            raise ProblemError(
                f"{owner}: the target in row {int(np.argmax(beyond))} is larger than the declared "
                f"bound {self.target:g}; rescale the targets, declare a larger bound, or set "
                "beyond='clip'"
            )
        return np.clip(column, -self.target, self.target)

    def of_gradient(self, loss: AbstractLoss, features: int) -> tuple[float, float, float]:
        """Largest l1, l2 and linf norm of one record's gradient, at any parameter vector.

        Infinite for a loss whose slope has no bound, and for one that is not a function of scores.

        Args:
            loss: loss of one record.
            features: number of entries per row.
        """
        if not isinstance(loss, AbstractLinearLoss):
            return (math.inf, math.inf, math.inf)
        found = (
            loss.slope_bound(order) * self.row * norm_ratio(self.order, order, features)
            for order in ORDERS
        )
        # an invalid bound, such as a slope bound that is not a number, bounds nothing
        first, second, largest = (each if each >= 0.0 else math.inf for each in found)
        return first, second, largest
