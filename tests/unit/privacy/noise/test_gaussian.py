"""Discrete Gaussian draws: spread, tiny scales."""

import numpy as np
import pytest

from tacit.errors import PrivacyError
from tacit.privacy.noise.gaussian import discrete_gaussian
from tacit.privacy.noise.stream import SeededStream


@pytest.mark.parametrize("scale", [1.0, 3e3, 2.0**30, 2.0**44])
def test_spread_at_every_scale(scale: float) -> None:
    draws = discrete_gaussian(SeededStream(1), scale, 100_000).astype(float)
    assert draws.std() / scale == pytest.approx(1.0, abs=6 / np.sqrt(2 * 100_000))
    assert abs(draws.mean()) < 6 * scale / np.sqrt(100_000)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 0.05])
def test_a_tiny_scale_gives_zeros(scale: float) -> None:
    assert not discrete_gaussian(SeededStream(0), scale, 1000).any()


def test_the_largest_scale_is_refused() -> None:
    with pytest.raises(PrivacyError, match="cannot be drawn"):
        discrete_gaussian(SeededStream(0), 2.0**45, 1)
