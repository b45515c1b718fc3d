"""A loss of one's own."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from tacit.problem import AbstractScalarLoss


class LogCosh(AbstractScalarLoss):
    """`scale^2 log cosh((s - y) / scale)`: squared near 0, linear far away, smooth everywhere.

    Args:
        scale: where the loss becomes linear, positive.
    """

    scale: float = 1.0
    smooth: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    curvature: ClassVar[float] = 1.0

    def encode(self, targets: np.ndarray, where: Any) -> np.ndarray:
        """Any finite number."""
        return targets

    def value(self, scores: Any, targets: Any) -> Any:
        """The loss of every record."""
        residual = (scores - targets) / self.scale
        return self.scale**2 * (jnp.logaddexp(residual, -residual) - jnp.log(2.0))

    def derivative(self, scores: Any, targets: Any) -> Any:
        """`scale tanh((s - y) / scale)`."""
        return self.scale * jnp.tanh((scores - targets) / self.scale)

    def slope_bound(self, order: Any) -> float:
        """The scale."""
        return float(self.scale)
