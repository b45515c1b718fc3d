"""What all discrete draws have in common: how many, from what, and what is refused."""

from typing import Any

import numpy as np
import pytest

from tacit.errors import PrivacyError
from tacit.privacy.noise.gaussian import discrete_gaussian
from tacit.privacy.noise.laplace import discrete_laplace
from tacit.privacy.noise.stream import SeededStream

pytestmark = pytest.mark.parametrize("draw", [discrete_gaussian, discrete_laplace])


@pytest.mark.parametrize("count", [0, 1, 3])
def test_few_draws(draw: Any, count: int) -> None:
    assert draw(SeededStream(3), 10.0, count).shape == (count,)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan"), 2.0**45 + 1])
def test_a_scale_out_of_range_is_refused(draw: Any, scale: float) -> None:
    with pytest.raises(PrivacyError, match="cannot be drawn"):
        draw(SeededStream(0), scale, 1)


@pytest.mark.parametrize("stream", [None, np.random.default_rng(0), 7])
def test_noise_comes_from_a_stream(draw: Any, stream: Any) -> None:
    with pytest.raises(PrivacyError, match=r"stream is .*; give a stream of random words"):
        draw(stream, 1.0, 3)


@pytest.mark.parametrize("given", [{"scale": "x"}, {"count": -1}, {"count": 2.5}])
def test_numbers_of_draws_are_checked(draw: Any, given: Any) -> None:
    with pytest.raises(PrivacyError, match=next(iter(given))):
        draw(SeededStream(0), **({"scale": 1.0, "count": 3} | given))
