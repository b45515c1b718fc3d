"""Exact composition of Gaussian releases, in closed form.

Releasing `k` values with noise multipliers `z_1 .. z_k`, each chosen with knowledge of the earlier
ones, is exactly as private as one Gaussian release of mean `mu = sqrt(sum 1/z_i^2)` and unit
variance (Dong, Roth, Su 2022, theorem 1 and corollary 2). Its privacy curve is (Balle, Wang 2018,
theorem 8)

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float

Real: TypeAlias = float | Float[np.ndarray, "*shape"]
"""A number or an array of them."""

_HALVINGS = 120
_LAST_BIT = 2.0**-52

_HUGE = 1e8
"""Above this the closed form loses its digits."""


def log_delta(mu: Real, epsilon: Real) -> Float[np.ndarray, "*shape"]:
    """Natural logarithm of the smallest `delta` at which a `mu`-Gaussian-DP release is private.

    Args:
        mu: Gaussian-DP parameter, positive.
        epsilon: privacy parameter, at least 0; broadcasts against `mu`.

    Example:
        >>> round(float(np.exp(log_delta(1.0, 0.0))), 6)  # total variation, 2 Phi(1/2) - 1
        0.382925
    """
    from scipy.special import erfcx, log_ndtr

    mu, epsilon = np.asarray(mu, dtype=float), np.asarray(epsilon, dtype=float)
    upper, lower = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # Phi(-x) = exp(-x^2/2) erfcx(x/sqrt 2) / 2 and lower^2 = upper^2 + 2 epsilon: the
        # exponentials cancel before they can underflow. Far in the right tail, where erfcx
        # overflows, Phi(upper) is near 1.
        first = erfcx(-upper / math.sqrt(2))
        # add the last bits that a difference of close numbers may lack: never too little
        tails = first - erfcx(-lower / math.sqrt(2)) + 8.0 * _LAST_BIT * first
        left = -(upper**2) / 2 - math.log(2) + np.log(tails)
        right = log_ndtr(upper) + np.log1p(-np.exp(epsilon + log_ndtr(lower) - log_ndtr(upper)))
        # beyond this, upper and lower have no digits left: use the tail of the loss, N(mu^2/2,
        # mu^2)
        above = np.maximum((epsilon - mu**2 / 2) / mu - 8.0 * _LAST_BIT * mu, 0.0)
        far = -(above**2) / 2
    return np.where(mu > _HUGE, far, np.where(upper < 5.0, left, right))


def epsilon_from_mu(mu: Real, delta: float) -> Float[np.ndarray, "*shape"]:
    """Smallest `epsilon` at which a `mu`-Gaussian-DP release is `(epsilon, delta)`-DP.

    Args:
        mu: Gaussian-DP parameter, any shape, at least 0 (0 for no release).
        delta: privacy parameter, in (0, 1).

    Example:
        >>> round(float(epsilon_from_mu(1.0, 1e-5)), 8)
        4.3771781
    """
    mu = np.asarray(mu, dtype=float)
    safe = np.where(mu > 0, mu, 1.0)
    # The privacy loss is N(mu^2/2, mu^2), whose tail is below exp(-t^2/2).
    high = safe**2 / 2 + safe * (math.sqrt(2 * math.log(1 / delta)) + 16.0 * _LAST_BIT * safe)
    _, high = _bisect(lambda e: log_delta(safe, e) <= math.log(delta), np.zeros_like(safe), high)
    free = (mu == 0) | (log_delta(safe, 0.0) <= math.log(delta))
    return np.where(free, 0.0, high)


def mu_from_epsilon(epsilon: float, delta: float) -> float:
    """Largest `mu` for which a `mu`-Gaussian-DP release is `(epsilon, delta)`-DP.

    Args:
        epsilon: privacy parameter, at least 0.
        delta: privacy parameter, in [1e-12, 1).

    Example:
        >>> round(float(np.sqrt(20_000) / mu_from_epsilon(1.0, 1e-6)), 6)
        597.459818
    """
    high = 1.0
    while log_delta(high, epsilon) <= math.log(delta):
        high *= 2.0
    # Bisected downwards: the test holds from the root on, so `low` is on the private side.
    low, _ = _bisect(lambda mu: log_delta(mu, epsilon) > math.log(delta), 0.0, high)
    return float(low)


def _bisect(
    holds: Callable[[Any], Any], low: Any, high: Any
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """Bracket, elementwise, of the least value that passes a monotone test; it does at `high`."""
    low, high = np.asarray(low), np.asarray(high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        true = holds(middle)
        low, high = np.where(true, low, middle), np.where(true, middle, high)
        if np.all(high - low <= _LAST_BIT * high):
            break
    return low, high
