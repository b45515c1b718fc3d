"""Public penalties on the parameters, with their (sub)gradients and proximal maps.

A regulariser includes its strength. `proximal map: prox(v, t) = argmin_x t R(x) + ||x - v||^2 / 2`;
sources: Parikh and Boyd (2014), Proximal algorithms, section 6.5; Yuan and Lin (2006) for groups.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from tacit import checks
from tacit.arguments import checked
from tacit.errors import ProblemError
from tacit.ranges import Number, Numbers
from tacit.types import Params, Scalar

Unpenalised = tuple[int, ...]


@checked(ProblemError)
class AbstractRegulariser(eqx.Module):
    """A convex public penalty.

    Attributes:
        separable: whether the penalty is a sum over coordinates.
        smooth: whether the penalty is differentiable everywhere.
        unpenalised: coordinates without penalty, such as an intercept.
    """

    separable: eqx.AbstractClassVar[bool]
    smooth: eqx.AbstractClassVar[bool]
    unpenalised: eqx.AbstractVar[Unpenalised]

    @abc.abstractmethod
    def value(self, x: Params) -> Float[Array, ""]:
        """`R(x)`."""

    @abc.abstractmethod
    def gradient(self, x: Params) -> Float[Array, " p"]:
        """A subgradient; 0 where the penalty has a kink."""

    @abc.abstractmethod
    def prox(self, v: Params, step: Scalar) -> Float[Array, " p"]:
        """`argmin_x step * R(x) + ||x - v||^2 / 2`."""

    @abc.abstractmethod
    def scaled(self, factor: Numbers) -> AbstractRegulariser:
        """`factor * R`."""

    @abc.abstractmethod
    def sparing(self, coordinates: Sequence[int]) -> AbstractRegulariser:
        """The same penalty without these coordinates."""

    def check(self, dimension: int) -> None:
        """Refuse coordinates that a problem of this dimension does not have."""
        for index in self.unpenalised:
            if not 0 <= index < dimension:
                raise ProblemError(
                    f"unpenalised coordinate {index} does not exist: "
                    f"the problem has {dimension} parameters, counted from 0"
                )


def _strength(value: Any) -> Any:
    if isinstance(value, jax.Array):
        return value
    checks.real("strength", value, ProblemError)
    return np.asarray(value, dtype=np.float64)


def _coordinates(value: Sequence[int]) -> Unpenalised:
    return tuple(sorted({int(index) for index in value}))


class NoRegulariser(AbstractRegulariser):
    """No penalty."""

    separable: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    unpenalised: ClassVar[Unpenalised] = ()

    def value(self, x: Params) -> Float[Array, ""]:
        """0."""
        return jnp.zeros((), jnp.asarray(x).dtype)

    def gradient(self, x: Params) -> Float[Array, " p"]:
        """0."""
        return jnp.zeros_like(jnp.asarray(x))

    def prox(self, v: Params, step: Scalar) -> Float[Array, " p"]:
        """`v`."""
        return jnp.asarray(v)

    def scaled(self, factor: Numbers) -> NoRegulariser:
        """Itself."""
        return self

    def sparing(self, coordinates: Sequence[int]) -> NoRegulariser:
        """Itself."""
        return self


NO_REGULARISER = NoRegulariser()
"""Default wherever a regulariser is taken."""


class L1(AbstractRegulariser):
    """`strength * ||x||_1`: the lasso's penalty.

    Args:
        strength: factor of the penalty, at least 0.
        unpenalised: coordinates without penalty.

    Example:
        >>> print(L1(1.0).prox(np.array([3.0, -0.5]), 1.0))
        [ 2. -0.]
    """

    strength: Number = eqx.field(converter=_strength)
    unpenalised: Unpenalised = eqx.field(
        static=True, default=(), converter=_coordinates, kw_only=True
    )
    separable: ClassVar[bool] = True
    smooth: ClassVar[bool] = False

    def __check_init__(self) -> None:
        _not_negative("l1", "strength", self.strength)

    def check(self, dimension: int) -> None:
        """Refuse several strengths, and coordinates that there are not."""
        _single("l1", "strength", self.strength)
        super().check(dimension)

    def value(self, x: Params) -> Float[Array, ""]:
        """`strength * sum |x_i|`."""
        return jnp.sum(_where(x, self.unpenalised) * jnp.abs(x)) * self.strength

    def gradient(self, x: Params) -> Float[Array, " p"]:
        """`strength * sign(x)`."""
        return self.strength * _where(x, self.unpenalised) * jnp.sign(x)

    def prox(self, v: Params, step: Scalar) -> Float[Array, " p"]:
        """Soft thresholding at `step * strength`."""
        return _soft(v, step * self.strength * _where(v, self.unpenalised))

    def scaled(self, factor: Numbers) -> L1:
        """`factor * R`."""
        return L1(factor * self.strength, unpenalised=self.unpenalised)

    def sparing(self, coordinates: Sequence[int]) -> L1:
        """The same penalty without these coordinates."""
        return L1(self.strength, unpenalised=(*self.unpenalised, *coordinates))


class L2(AbstractRegulariser):
    """`strength * ||x||_2^2`, without a half: ridge's penalty.

    Args:
        strength: factor of the penalty, at least 0.
        unpenalised: coordinates without penalty.

    Example:
        >>> print(L2(0.5).prox(np.array([3.0, -1.0]), 1.0))
        [ 1.5 -0.5]
    """

    strength: Number = eqx.field(converter=_strength)
    unpenalised: Unpenalised = eqx.field(
        static=True, default=(), converter=_coordinates, kw_only=True
    )
    separable: ClassVar[bool] = True
    smooth: ClassVar[bool] = True

    def __check_init__(self) -> None:
        _not_negative("l2", "strength", self.strength)

    def check(self, dimension: int) -> None:
        """Refuse several strengths, and coordinates that there are not."""
        _single("l2", "strength", self.strength)
        super().check(dimension)

    def value(self, x: Params) -> Float[Array, ""]:
        """`strength * sum x_i^2`."""
        return jnp.sum(_where(x, self.unpenalised) * jnp.square(x)) * self.strength

    def gradient(self, x: Params) -> Float[Array, " p"]:
        """`2 * strength * x`."""
        return 2.0 * self.strength * _where(x, self.unpenalised) * jnp.asarray(x)

    def prox(self, v: Params, step: Scalar) -> Float[Array, " p"]:
        """`v / (1 + 2 step strength)`."""
        return jnp.asarray(v) / (1.0 + 2.0 * step * self.strength * _where(v, self.unpenalised))

    def scaled(self, factor: Numbers) -> L2:
        """`factor * R`."""
        return L2(factor * self.strength, unpenalised=self.unpenalised)

    def sparing(self, coordinates: Sequence[int]) -> L2:
        """The same penalty without these coordinates."""
        return L2(self.strength, unpenalised=(*self.unpenalised, *coordinates))


class ElasticNet(AbstractRegulariser):
    """`l1 * ||x||_1 + l2 * ||x||_2^2`.

    Source: Zou, Hastie (2005), Regularization and Variable Selection via the Elastic Net, eq (3).

    Args:
        l1: strength of the first part, at least 0.
        l2: strength of the second part, at least 0.
        unpenalised: coordinates without penalty.
    """

    l1: Number = eqx.field(converter=_strength)
    l2: Number = eqx.field(converter=_strength)
    unpenalised: Unpenalised = eqx.field(
        static=True, default=(), converter=_coordinates, kw_only=True
    )
    separable: ClassVar[bool] = True
    smooth: ClassVar[bool] = False

    def __check_init__(self) -> None:
        _not_negative("elastic_net", "l1", self.l1)
        _not_negative("elastic_net", "l2", self.l2)

    def check(self, dimension: int) -> None:
        """Refuse several strengths, and coordinates that there are not."""
        _single("elastic_net", "l1", self.l1)
        _single("elastic_net", "l2", self.l2)
        super().check(dimension)

    def value(self, x: Params) -> Float[Array, ""]:
        """`sum l1 |x_i| + l2 x_i^2`."""
        terms = self.l1 * jnp.abs(x) + self.l2 * jnp.square(x)
        return jnp.sum(_where(x, self.unpenalised) * terms)

    def gradient(self, x: Params) -> Float[Array, " p"]:
        """`l1 sign(x) + 2 l2 x`."""
        terms = self.l1 * jnp.sign(x) + 2.0 * self.l2 * jnp.asarray(x)
        return _where(x, self.unpenalised) * terms

    def prox(self, v: Params, step: Scalar) -> Float[Array, " p"]:
        """Soft thresholding at `step * l1`, then division by `1 + 2 step l2`."""
        penalised = step * _where(v, self.unpenalised)
        return _soft(v, self.l1 * penalised) / (1.0 + 2.0 * self.l2 * penalised)

    def scaled(self, factor: Numbers) -> ElasticNet:
        """`factor * R`."""
        return ElasticNet(factor * self.l1, factor * self.l2, unpenalised=self.unpenalised)

    def sparing(self, coordinates: Sequence[int]) -> ElasticNet:
        """The same penalty without these coordinates."""
        return ElasticNet(self.l1, self.l2, unpenalised=(*self.unpenalised, *coordinates))


class GroupL1(AbstractRegulariser):
    """`strength * sum_g sqrt(n_g) ||x_g||_2`, `n_g` coordinates: whole groups become 0 together.

    Source: Yuan, Lin (2006), Model Selection and Estimation in Regression with Grouped Variables,
    eq (2.1).

    Args:
        strength: factor of the penalty, at least 0.
        groups: group number of every coordinate, from 0, or -1 for no penalty; length `p`.

    Example:
        >>> print(GroupL1(1.0, (0, 0, -1)).value(np.array([3.0, 4.0, 9.0])) / np.sqrt(2.0))
        5.0
    """

    strength: Numbers
    groups: tuple[int, ...] = eqx.field(static=True)
    unpenalised: Unpenalised = eqx.field(static=True)
    separable: ClassVar[bool] = False
    smooth: ClassVar[bool] = False

    def __init__(self, strength: Number, groups: Sequence[int]) -> None:
        self.strength = _strength(strength)
        self.groups = tuple(int(group) for group in groups)
        self.unpenalised = tuple(i for i, group in enumerate(self.groups) if group < 0)

    def __check_init__(self) -> None:
        _not_negative("group_l1", "strength", self.strength)
        present = {group for group in self.groups if group >= 0}
        if min(self.groups, default=0) < -1 or present != set(range(len(present))):
            raise ProblemError(
                f"group_l1: groups={self.groups} must number the groups 0, 1, 2, ... without a "
                "gap; -1 leaves a coordinate without penalty"
            )

    def check(self, dimension: int) -> None:
        """Refuse several strengths, or groups other than one for each parameter."""
        _single("group_l1", "strength", self.strength)
        if len(self.groups) != dimension:
            raise ProblemError(
                f"group_l1: groups has {len(self.groups)} entries, "
                f"but the problem has {dimension} parameters"
            )

    def value(self, x: Params) -> Float[Array, ""]:
        """`strength * sum_g sqrt(n_g) ||x_g||`."""
        norms, weights = self._norms(jnp.asarray(x))
        return jnp.sum(weights * norms) * self.strength

    def gradient(self, x: Params) -> Float[Array, " p"]:
        """`strength * sqrt(n_g) * x_g / ||x_g||`, 0 for a group at 0."""
        x = jnp.asarray(x)
        norms, weights = self._norms(x)
        slopes = weights * jnp.where(norms > 0, 1.0 / jnp.where(norms > 0, norms, 1.0), 0.0)
        return self._spread(slopes, 0.0) * self.strength * x

    def prox(self, v: Params, step: Scalar) -> Float[Array, " p"]:
        """Each group shrunk towards 0 by `step * strength * sqrt(n_g)`."""
        v = jnp.asarray(v)
        norms, weights = self._norms(v)
        threshold = step * self.strength * weights
        kept = norms > threshold
        shrink = jnp.where(kept, 1.0 - threshold / jnp.where(kept, norms, 1.0), 0.0)
        return self._spread(shrink, 1.0) * v

    def scaled(self, factor: Numbers) -> GroupL1:
        """`factor * R`."""
        return GroupL1(factor * self.strength, self.groups)

    def sparing(self, coordinates: Sequence[int]) -> GroupL1:
        """The same penalty without these coordinates."""
        spared = [-1 if i in set(coordinates) else g for i, g in enumerate(self.groups)]
        order = {group: rank for rank, group in enumerate(sorted(set(spared) - {-1}))}
        return GroupL1(self.strength, tuple(order.get(group, -1) for group in spared))

    def _membership(self) -> np.ndarray:
        """One row per group with 1 at its coordinates, shape `(groups, p)`."""
        return np.equal.outer(np.arange(max(self.groups, default=-1) + 1), np.array(self.groups))

    def _norms(self, x: Array) -> tuple[Array, Array]:
        """Norm of every group and the square root of its size."""
        membership = self._membership()
        squares = jnp.sum(jnp.where(membership, jnp.square(x), 0.0), axis=1)
        positive = squares > 0  # keeps the derivative of sqrt finite for a group at 0
        norms = jnp.where(positive, jnp.sqrt(jnp.where(positive, squares, 1.0)), 0.0)
        return norms, jnp.sqrt(jnp.asarray(membership.sum(axis=1), x.dtype))

    def _spread(self, by_group: Array, otherwise: float) -> Array:
        """One number per group, assigned to its coordinates; `otherwise` to those without one."""
        return jnp.append(by_group, otherwise)[np.array(self.groups)]


REGULARISERS: dict[str, type[AbstractRegulariser]] = {
    "none": NoRegulariser,
    "l1": L1,
    "l2": L2,
    "elastic_net": ElasticNet,
    "group_l1": GroupL1,
}
"""The regularisers that a study file can name."""


def _where(x: Params, unpenalised: Unpenalised) -> Any:
    """1 for a penalised coordinate, 0 for any other; plain 1 when all are penalised."""
    if not unpenalised:
        return 1.0
    penalised = np.ones(np.shape(x)[-1])
    penalised[list(unpenalised)] = 0.0
    return jnp.asarray(penalised, jnp.asarray(x).dtype)


def _soft(v: Params, threshold: Any) -> Float[Array, " p"]:
    return jnp.sign(v) * jnp.maximum(jnp.abs(v) - threshold, 0.0)


def _not_negative(regulariser: str, name: str, value: Any) -> None:
    if isinstance(value, Tracer):
        return
    array = np.asarray(value)
    if np.isnan(array).any() or not np.all((array >= 0) & np.isfinite(array)):
        raise ProblemError(f"{regulariser}: {name}={value} must be finite and at least 0")


def _single(regulariser: str, name: str, value: Any) -> None:
    if np.ndim(value):
        raise ProblemError(
            f"{regulariser}: {name} has shape {np.shape(value)}; it must be one number, for all "
            "parameters alike"
        )
