"""Losses of one record, each with its derivative in closed form.

Most losses see a record only through its score `s = row @ x`; for those the gradient of a record is
`derivative(s, target) * row`, which makes the gradients of many records, and their norms, cheap.

Conventions: `Squared` is `(s - y)^2` without a half and `L2` is `||x||^2` without a half, so that
ridge regression reads `||Xx - y||^2 + strength ||x||^2`; `Huber` carries the usual half.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, ArrayLike

from tacit.arguments import checked
from tacit.clipping import ORDERS
from tacit.errors import ProblemError
from tacit.ranges import Count, Numbers, One
from tacit.types import Order, Params

Where = Callable[[int], str]
"""Names a row for an error message: `row -> "row 3 of agent 'north'"`."""


@checked(ProblemError)
class AbstractLoss(eqx.Module):
    """Loss of one record. Your own package can add one to studies: docs/extend.md.

    Attributes:
        smooth: whether the gradient is continuous everywhere.
        convex: whether the loss is convex in the parameters.
    """

    smooth: eqx.AbstractVar[bool]
    convex: eqx.AbstractVar[bool]

    @abc.abstractmethod
    def dimension(self, features: int) -> int:
        """Length of the parameter vector for rows with this many features."""

    @abc.abstractmethod
    def encode(self, targets: np.ndarray, where: Where) -> np.ndarray:
        """Targets as the loss needs them.

        Args:
            targets: finite numbers, shape `(n,)`.
            where: function that names a row for the error message.

        Raises:
            ProblemError: a target that has no meaning for this loss.
        """


class AbstractLinearLoss(AbstractLoss):
    """A loss that sees a record only through its score, `s = row @ x`.

    Attributes:
        curvature: least upper bound of the second derivative in the score; may be infinite.
    """

    curvature: eqx.AbstractVar[float]

    @abc.abstractmethod
    def weights(self, x: Params, features: int) -> Any:
        """The parameter vector in the shape that multiplies a row from the right."""

    @abc.abstractmethod
    def value(self, scores: Numbers, targets: ArrayLike) -> Array:
        """Loss of every record, shape `(n,)`."""

    @abc.abstractmethod
    def derivative(self, scores: Numbers, targets: ArrayLike) -> Array:
        """(Sub)derivative in the score, in the shape of `scores`."""

    def slope_bound(self, order: Order) -> float:
        """Largest norm of `derivative` over all scores and targets; infinite where unbounded.

        Args:
            order: order of the norm, 1, 2 or infinity; matters only if a record has several scores.
        """
        return math.inf


class AbstractScalarLoss(AbstractLinearLoss):
    """A linear loss with one score per record: the parameters are one weight per feature."""

    def dimension(self, features: int) -> int:
        """One parameter per feature."""
        return features

    def weights(self, x: Params, features: int) -> Any:
        """The parameter vector itself."""
        return x


class Squared(AbstractScalarLoss):
    """`(s - y)^2`, for least squares.

    Example:
        >>> float(Squared().value(3.0, 1.0))
        4.0
    """

    smooth: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    curvature: ClassVar[float] = 2.0

    def encode(self, targets: np.ndarray, where: Where) -> np.ndarray:
        """Any finite number."""
        return targets

    def value(self, scores: Numbers, targets: ArrayLike) -> Array:
        """`(s - y)^2`."""
        return jnp.square(jnp.asarray(scores) - targets)

    def derivative(self, scores: Numbers, targets: ArrayLike) -> Array:
        """`2 (s - y)`."""
        return 2.0 * (jnp.asarray(scores) - targets)


class Logistic(AbstractScalarLoss):
    """`log(1 + exp(s)) - y s` with `y` in {0, 1}: minus the log-likelihood of a yes/no answer.

    Targets may also come as -1 and +1; they are stored as 0 and 1.

    Example:
        >>> round(float(Logistic().value(0.0, 1.0)), 6)
        0.693147
    """

    smooth: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    curvature: ClassVar[float] = 0.25

    def encode(self, targets: np.ndarray, where: Where) -> np.ndarray:
        """0 and 1, or -1 and +1, as 0 and 1."""
        return _binary("logistic", targets, where)

    def value(self, scores: Numbers, targets: ArrayLike) -> Array:
        """`log(1 + exp(s)) - y s`, without overflow for large scores."""
        return jax.nn.softplus(jnp.asarray(scores)) - targets * scores

    def derivative(self, scores: Numbers, targets: ArrayLike) -> Array:
        """`1 / (1 + exp(-s)) - y`."""
        return jax.nn.sigmoid(jnp.asarray(scores)) - targets

    def slope_bound(self, order: Order) -> float:
        """1: a probability minus 0 or 1."""
        return 1.0


class Softmax(AbstractLinearLoss):
    """`log sum_c exp(s_c) - s_y`: minus the log-likelihood of one of several classes.

    The parameter vector is a matrix `(features, classes)` laid out row by row.

    Args:
        classes: number of classes, at least 2; targets are 0 .. classes - 1.
    """

    classes: int = eqx.field(static=True)
    smooth: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    curvature: ClassVar[float] = 0.5

    def __check_init__(self) -> None:
        if self.classes < 2:
            raise ProblemError(f"softmax: classes={self.classes} must be at least 2")

    def dimension(self, features: int) -> int:
        """One parameter per feature and class."""
        return features * self.classes

    def weights(self, x: Params, features: int) -> Any:
        """A matrix, shape `(features, classes)`."""
        return jnp.reshape(x, (features, self.classes))

    def encode(self, targets: np.ndarray, where: Where) -> np.ndarray:
        """Whole numbers 0 .. classes - 1."""
        wrong = (targets != np.round(targets)) | (targets < 0) | (targets >= self.classes)
        wanted = f"be one of the classes 0 .. {self.classes - 1}"
        _refuse("softmax", targets, wrong, where, wanted)
        return targets

    def value(self, scores: Numbers, targets: ArrayLike) -> Array:
        """`log sum_c exp(s_c) - s_y`, without overflow for large scores."""
        own = jnp.sum(jnp.where(self._one_hot(targets), scores, 0.0), axis=-1)
        return jax.nn.logsumexp(jnp.asarray(scores), axis=-1) - own

    def derivative(self, scores: Numbers, targets: ArrayLike) -> Array:
        """`softmax(s) - onehot(y)`."""
        return jax.nn.softmax(jnp.asarray(scores), axis=-1) - self._one_hot(targets)

    def slope_bound(self, order: Order) -> float:
        """2, `sqrt(2)` or 1: the own class lacks what the other classes have in excess."""
        return (2.0, math.sqrt(2.0), 1.0)[ORDERS.index(order)]

    def _one_hot(self, targets: ArrayLike) -> Array:
        return jnp.asarray(targets)[..., None] == jnp.arange(self.classes)


class Huber(AbstractScalarLoss):
    """`r^2 / 2` for `|r| <= threshold`, linear beyond, with `r = s - y`.

    After Huber (1964), Robust estimation of a location parameter.

    Args:
        threshold: residual at which the linear part begins, positive, in units of the target.
    """

    threshold: One = eqx.field(default=1.0, converter=np.float64)
    smooth: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    curvature: ClassVar[float] = 1.0

    def __check_init__(self) -> None:
        _within("huber", "threshold", self.threshold, 0.0, math.inf)

    def encode(self, targets: np.ndarray, where: Where) -> np.ndarray:
        """Any finite number."""
        return targets

    def value(self, scores: Numbers, targets: ArrayLike) -> Array:
        """`r c - c^2 / 2` with `c = clip(r, -threshold, threshold)`: both branches at once."""
        residual = jnp.asarray(scores) - targets
        clipped = jnp.clip(residual, -self.threshold, self.threshold)
        return clipped * (residual - clipped / 2.0)

    def derivative(self, scores: Numbers, targets: ArrayLike) -> Array:
        """`clip(s - y, -threshold, threshold)`."""
        return jnp.clip(jnp.asarray(scores) - targets, -self.threshold, self.threshold)

    def slope_bound(self, order: Order) -> float:
        """The threshold."""
        return float(self.threshold)


class Hinge(AbstractScalarLoss):
    """`max(0, 1 - y s)` with `y` in {-1, +1}: the support vector machine.

    Targets may also come as 0 and 1; they are stored as -1 and +1.
    """

    smooth: ClassVar[bool] = False
    convex: ClassVar[bool] = True
    curvature: ClassVar[float] = math.inf

    def encode(self, targets: np.ndarray, where: Where) -> np.ndarray:
        """0 and 1, or -1 and +1, as -1 and +1."""
        return 2.0 * _binary("hinge", targets, where) - 1.0

    def value(self, scores: Numbers, targets: ArrayLike) -> Array:
        """`max(0, 1 - y s)`."""
        return jnp.maximum(0.0, 1.0 - targets * jnp.asarray(scores))

    def derivative(self, scores: Numbers, targets: ArrayLike) -> Array:
        """`-y` inside the margin, else 0."""
        inside = targets * jnp.asarray(scores) < 1.0
        return jnp.where(inside, -jnp.asarray(targets), 0.0)

    def slope_bound(self, order: Order) -> float:
        """1."""
        return 1.0


class Quantile(AbstractScalarLoss):
    """`level * max(r, 0) + (1 - level) * max(-r, 0)` with `r = y - s`: the conditional quantile.

    After Koenker, Bassett (1978), Regression quantiles.

    Args:
        level: level of the quantile, in (0, 1).
    """

    level: One = eqx.field(default=0.5, converter=np.float64)
    smooth: ClassVar[bool] = False
    convex: ClassVar[bool] = True
    curvature: ClassVar[float] = math.inf

    def __check_init__(self) -> None:
        _within("quantile", "level", self.level, 0.0, 1.0)

    def encode(self, targets: np.ndarray, where: Where) -> np.ndarray:
        """Any finite number."""
        return targets

    def value(self, scores: Numbers, targets: ArrayLike) -> Array:
        """`max(level r, (level - 1) r)`."""
        residual = targets - jnp.asarray(scores)
        return jnp.maximum(self.level * residual, (self.level - 1.0) * residual)

    def derivative(self, scores: Numbers, targets: ArrayLike) -> Array:
        """`-level` below the target, `1 - level` above it, 0 on it."""
        residual = targets - jnp.asarray(scores)
        slope = jnp.where(residual > 0, -self.level, 1.0 - self.level)
        return jnp.where(residual == 0, 0.0, slope)

    def slope_bound(self, order: Order) -> float:
        """The larger of `level` and `1 - level`."""
        return max(float(self.level), 1.0 - float(self.level))


class Poisson(AbstractScalarLoss):
    """`exp(s) - y s`: minus the log-likelihood of a count, up to a constant, with log link.

    Its slope has no bound, so step sizes and clips matter more than with the other losses.
    """

    smooth: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    curvature: ClassVar[float] = math.inf

    def encode(self, targets: np.ndarray, where: Where) -> np.ndarray:
        """Non-negative numbers."""
        _refuse("poisson", targets, targets < 0, where, "not be negative: it is a count")
        return targets

    def value(self, scores: Numbers, targets: ArrayLike) -> Array:
        """`exp(s) - y s`."""
        return jnp.exp(jnp.asarray(scores)) - targets * scores

    def derivative(self, scores: Numbers, targets: ArrayLike) -> Array:
        """`exp(s) - y`."""
        return jnp.exp(jnp.asarray(scores)) - targets


class JaxLoss(AbstractLoss):
    """Any loss of one record that is written in JAX.

    Define the function once and keep it: every new lambda compiles again.

    Args:
        function: `(x, row, target) -> scalar`, differentiated by JAX.
        parameters: length of `x`; one parameter per feature by default.
        smooth: whether the gradient is continuous, as you declare; used by the reference solution.
        convex: whether the loss is convex in `x`, as you declare; used by the reference solution.

    Example:
        >>> def cosh(x, row, target):
        ...     return jnp.log(jnp.cosh(row @ x - target))
        >>> JaxLoss(cosh, smooth=True, convex=True).dimension(3)
        3
    """

    function: Callable[..., Any] = eqx.field(static=True)
    parameters: Count | None = eqx.field(static=True, default=None)
    smooth: bool = eqx.field(static=True, default=True, kw_only=True)
    convex: bool = eqx.field(static=True, default=False, kw_only=True)

    def dimension(self, features: int) -> int:
        """The declared number, else one parameter per feature."""
        return features if self.parameters is None else self.parameters

    def encode(self, targets: np.ndarray, where: Where) -> np.ndarray:
        """Any finite number."""
        return targets


LOSSES: dict[str, type[AbstractLinearLoss]] = {
    "squared": Squared,
    "logistic": Logistic,
    "softmax": Softmax,
    "huber": Huber,
    "hinge": Hinge,
    "quantile": Quantile,
    "poisson": Poisson,
}
"""The losses that a study file can name."""


def _binary(loss: str, targets: np.ndarray, where: Where) -> np.ndarray:
    signed = bool(np.any(targets == -1))
    wrong = ~np.isin(targets, (-1.0, 1.0) if signed else (0.0, 1.0))
    _refuse(loss, targets, wrong, where, "be 0 or 1 (or, throughout, -1 or +1)")
    return (targets > 0).astype(np.float64)


def _refuse(loss: str, targets: np.ndarray, wrong: np.ndarray, where: Where, wanted: str) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ProblemError(
            f"{loss}: the target in {where(row)} is {targets[row]:g}; it must {wanted}"
        )


def _within(loss: str, name: str, value: Any, low: float, high: float) -> None:
    if isinstance(value, Tracer):
        return
    if np.ndim(value) == 0 and not low < value < high:
        raise ProblemError(f"{loss}: {name}={float(value):g} must be above {low:g}, below {high:g}")
