"""Discrete Gaussian draws: spread, tiny scales, refusals."""

from typing import Any

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


@pytest.mark.parametrize("count", [0, 1, 3])
def test_few_draws(count: int) -> None:
    assert discrete_gaussian(SeededStream(3), 10.0, count).shape == (count,)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan"), 2.0**45])
def test_a_scale_out_of_range_is_refused(scale: float) -> None:
    with pytest.raises(PrivacyError, match="cannot be drawn"):
        discrete_gaussian(SeededStream(0), scale, 1)


@pytest.mark.parametrize("stream", [None, np.random.default_rng(0), 7])
def test_noise_comes_from_a_stream(stream: Any) -> None:
    with pytest.raises(PrivacyError, match=r"stream is .*; give a stream of random words"):
        discrete_gaussian(stream, 1.0, 3)


@pytest.mark.parametrize("given", [{"scale": "x"}, {"count": -1}, {"count": 2.5}])
def test_numbers_of_draws_are_checked(given: Any) -> None:
    with pytest.raises(PrivacyError, match=next(iter(given))):
        discrete_gaussian(SeededStream(0), **({"scale": 1.0, "count": 3} | given))
