"""Discrete Laplace draws: spread, tiny scales, refusals."""

from typing import Any

import numpy as np
import pytest

from tacit.errors import PrivacyError
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


@pytest.mark.parametrize("count", [0, 1, 3])
def test_few_draws(count: int) -> None:
    assert discrete_laplace(SeededStream(3), 10.0, count).shape == (count,)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan"), 2.0**45 + 1])
def test_a_scale_out_of_range_is_refused(scale: float) -> None:
    with pytest.raises(PrivacyError, match="cannot be drawn"):
        discrete_laplace(SeededStream(0), scale, 1)


@pytest.mark.parametrize("stream", [None, np.random.default_rng(0), 7])
def test_noise_comes_from_a_stream(stream: Any) -> None:
    with pytest.raises(PrivacyError, match=r"stream is .*; give a stream of random words"):
        discrete_laplace(stream, 1.0, 3)


@pytest.mark.parametrize("given", [{"scale": "x"}, {"count": -1}, {"count": 2.5}])
def test_numbers_of_draws_are_checked(given: Any) -> None:
    with pytest.raises(PrivacyError, match=next(iter(given))):
        discrete_laplace(SeededStream(0), **({"scale": 1.0, "count": 3} | given))
