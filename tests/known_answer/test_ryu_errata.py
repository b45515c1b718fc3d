"""What Ryu, Kim (2021) print about convergence, beside what holds: each test fails as printed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar


def printed_right_side(
    agents: int, width: float, gamma: float, *, width_is_squared: bool = False
) -> float:
    """Eq (19a) at T = 1 for costs of zero, `lambda^1 = 0` and `rho = 1`, with `U2 = width`.

    As corrected, `P U2^2` stands for `U2` and `sqrt(P) U2` where it is multiplied by `gamma`.
    """
    squared = agents * width**2 if width_is_squared else width
    apart = math.sqrt(agents) * width if width_is_squared else width
    return squared / 2.0 + gamma * apart + squared / 2.0 + gamma**2 / 2.0


def test_theorem_2_is_exceeded_by_copies_that_begin_apart() -> None:
    # costs of zero, so U1 = U3 = 0 and no noise; W = [0, 10], half of the copies at either end
    agents, width, gamma = 100, 10.0, 10.0
    copies = np.repeat([0.0, width], agents // 2)
    w = copies.mean()  # eq (4a) with multipliers of zero
    left = gamma * float(np.linalg.norm(w - copies))
    assert left == pytest.approx(500.0)
    assert printed_right_side(agents, width, gamma) == pytest.approx(160.0)
    assert left < printed_right_side(agents, width, gamma, width_is_squared=True)


def test_lemma_2_is_an_inequality() -> None:
    """Eq (31) has an equals sign where its proof, eq (32d), drops `||lam~ - lam||^2 / (2 rho)`."""
    rng = np.random.default_rng(0)
    agents, size, rho = 3, 2, 1.7
    z, later, target, dual, any_dual = rng.normal(size=(5, agents, size))
    goal = rng.normal(size=size)
    w = (z - dual / rho).mean(axis=0)  # eq (4a)
    early = dual + rho * (w - z)  # lam~, after eq (17)
    new = dual + rho * (w - later)  # eq (4c)
    # eq (30a), less F(z^t) - F(z), which stands on both sides
    left = -np.sum(new * (later - target)) + np.sum(early * (w - goal))
    # <x~ - x, G x> with G of eq (29)
    skew = np.sum((w - goal) * any_dual) - np.sum((z - target) * any_dual)
    skew += np.sum((early - any_dual) * (target - goal))
    right = skew - np.sum(any_dual * (later - z))
    right += rho / 2.0 * (np.sum((target - later) ** 2) - np.sum((target - z) ** 2))
    right += (np.sum((any_dual - new) ** 2) - np.sum((any_dual - dual) ** 2)) / (2.0 * rho)
    dropped = np.sum((early - dual) ** 2) / (2.0 * rho)
    assert dropped > 0.1
    assert left == pytest.approx(right + dropped, rel=1e-12)


@pytest.mark.parametrize("sharpness", [1e2, 1e4])
def test_the_barrier_of_an_equality_does_not_vanish(sharpness: float) -> None:
    """Eq (23b) needs a point with all `h_m < 0`, which `h = x` and `h = -x` together have not."""

    def smoothed(x: float) -> float:
        barrier = np.logaddexp(0.0, sharpness * x) + np.logaddexp(0.0, -sharpness * x)
        return (x - 1.0) ** 2 / 2.0 + float(barrier)

    found = minimize_scalar(smoothed, bounds=(-1.0, 1.0), method="bounded", options={"xatol": 1e-9})
    # the minimiser goes to that on x = 0, as proposition 1 says; the value stays 2 log 2 above 1/2
    assert abs(found.x) < 10.0 / sharpness
    assert found.fun - 0.5 == pytest.approx(2.0 * math.log(2.0), abs=20.0 / sharpness)
