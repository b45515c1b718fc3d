"""The minimisations of DP-IADMM in closed form, and the printed penalty schedule."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.method._schedule import positive
from tacit.privacy.query import own_public
from tacit.ranges import NotNegativeOne, Number, Numbers, PositiveOne
from tacit.types import Index, Scalar, Vector

_LARGEST = 1e9
"""The largest penalty of the printed schedule."""

_MOST = 3000.0
"""Power at which any schedule has reached that, while 1.2 to this power is still finite."""


@checked(ConfigError)
class GrowingPenalty(eqx.Module):
    """The penalty as printed: `rho_t = min(1e9, c1 1.2^floor(t / Tc) + c2 / epsilon)`.

    Source: Ryu, Kim (2021), section 4, eq (21). The defaults are those for MNIST; for FEMNIST the
    paper has `c1 = 0.005`, `c2 = 0.05`, `Tc = 2000`.

    Args:
        epsilon: the paper's epsilon per iteration; positive, infinite without noise.
        base: constant `c1`, positive.
        inverse: coefficient `c2` of `1 / epsilon`, at least 0.
        every: number of rounds `Tc` between increases, at least 1.

    Raises:
        ConfigError: a number out of range.

    Example:
        >>> schedule = GrowingPenalty(epsilon=0.05)
        >>> float(schedule(0)), round(float(schedule(9_999)), 9)
        (102.0, 102.4)
    """

    epsilon: Number
    base: PositiveOne = 2.0
    inverse: NotNegativeOne = 5.0
    every: PositiveOne = 10_000

    def __check_init__(self) -> None:
        if isinstance(self.epsilon, int | float) and not self.epsilon > 0:
            raise ConfigError(f"epsilon={self.epsilon!r} must be positive (infinite for no noise)")

    def __call__(self, round: Index | Float[Array, ""]) -> Any:
        """The penalty of a round; the first is round 0, which the paper calls t = 1."""
        numbers = (self.epsilon, self.base, self.inverse, self.every)
        if isinstance(round, int):  # accounting, in plain Python
            epsilon, base, inverse, every = (own_public(number, 0) for number in numbers)
            times = min(math.floor((round + 1.0) / every), _MOST)
            return min(_LARGEST, base * 1.2**times + inverse / epsilon)
        epsilon, base, inverse, every = numbers
        times = jnp.minimum(jnp.floor((round + 1.0) / every), _MOST)
        return jnp.minimum(_LARGEST, base * 1.2**times + inverse / epsilon)


Penalty: TypeAlias = Numbers | GrowingPenalty
"""A number for all rounds, or a schedule."""


def check_penalty(penalty: Penalty) -> None:
    """Refuse anything but a positive number or a schedule.

    Raises:
        ConfigError: naming the value.
    """
    if not isinstance(penalty, GrowingPenalty):
        positive("penalty", penalty)


def penalty_at(penalty: Penalty, round: Index) -> Any:
    """The penalty of a round: a number for all rounds, or a schedule."""
    return penalty(round) if isinstance(penalty, GrowingPenalty) else penalty


def proximal_point(
    w: Vector, dual: Vector, slope: Vector, z: Vector, penalty: Scalar, eta: Scalar
) -> Vector:
    """`argmin_u slope'u + (rho/2) ||w - u + dual/rho||^2 + ||u - z||^2 / (2 eta)`.

    On a convex set the minimiser is the projection of this point, as the quadratic is isotropic.

    Source: Ryu, Kim (2021), section 2, eq (5); section 3, eq (8).
    """
    rho, weight = jnp.asarray(penalty), jnp.asarray(1.0 / eta)
    return (rho * w + dual - slope + weight * z) / (rho + weight)


def linearised_point(w: Vector, dual: Vector, slope: Vector, penalty: Scalar) -> Vector:
    """`argmin_u slope'u + (rho/2) ||w - u + dual/rho||^2`."""
    return w + (dual - slope) / penalty


def within_cube(point: Vector, z: Vector, radius: Scalar) -> Vector:
    """The point of `||u - z||_inf <= radius` nearest to `point`, coordinate by coordinate.

    Source: Ryu, Kim (2021), section 2, eq (6b).
    """
    return jnp.clip(jnp.asarray(point), z - radius, z + radius)


def within_ball(point: Vector, z: Vector, radius: Scalar) -> Vector:
    """The point of `||u - z||_2 <= radius` nearest to `point`."""
    centre = jnp.asarray(z)
    move = jnp.asarray(point) - centre
    length = jnp.maximum(jnp.linalg.norm(move), jnp.finfo(move.dtype).tiny)
    return centre + move * jnp.minimum(1.0, radius / length)
