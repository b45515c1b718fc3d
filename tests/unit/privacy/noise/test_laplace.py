"""Discrete Laplace draws: spread, tiny scales."""

import numpy as np
import pytest

from tacit.privacy.noise.laplace import discrete_laplace
from tacit.privacy.noise.proposals import LARGEST_SCALE
from tacit.privacy.noise.stream import SeededStream


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 0.009])
def test_a_tiny_scale_gives_zeros(scale: float) -> None:
    assert not discrete_laplace(SeededStream(0), scale, 10_000).any()


@pytest.mark.parametrize("scale", [1.0, 3e3, 2.0**30, 2.0**44, LARGEST_SCALE])
def test_spread_at_every_scale(scale: float) -> None:
    draws = discrete_laplace(SeededStream(1), scale, 100_000).astype(float)
    exact = np.sqrt(0.5) / np.sinh(0.5 / scale)
    # a Laplace variance is estimated with standard deviation sqrt(5/n), half of it for the root
    assert draws.std() / exact == pytest.approx(1.0, abs=6 * np.sqrt(5 / 100_000) / 2)
    assert abs(draws.mean()) < 6 * exact / np.sqrt(100_000)
