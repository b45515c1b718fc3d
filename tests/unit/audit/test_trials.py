"""Planning an audit, and families of releases with less noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.audit.family import scaled, with_noise
from tacit.audit.trials import trials_for_power
from tacit.errors import ConfigError
from tacit.privacy import (
    GaussianRelease,
    LaplaceRelease,
    NonPrivate,
    PoissonSampled,
    Repeated,
    delta,
    epsilon,
)


def test_more_power_a_smaller_claim_and_less_of_a_mistake_need_more_runs() -> None:
    base = trials_for_power(1.0, 1e-5)
    assert base is not None and base < 752  # what two separate limits of mu need
    for changes in ({"power": 0.99}, {"factor": 1.5}, {"confidence": 0.99}):
        more = trials_for_power(1.0, 1e-5, **changes)
        assert more is not None and more > base
    smaller = trials_for_power(0.5, 1e-5)
    assert smaller is not None and smaller > base
    assert trials_for_power(0.01, 0.0, factor=1.01, kind="laplace") is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((0.0, 1e-5), "claim=0.0"),
        ((1.0, 0.0), "delta=0.0"),
        ((1.0, 1.0), "delta=1.0"),
    ],
)
def test_wrong_arguments_are_refused(arguments: tuple[float, float], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        trials_for_power(*arguments)
    with pytest.raises(ConfigError, match=r"factor=1\.0"):
        trials_for_power(1.0, 1e-5, factor=1.0)


def test_noise_is_scaled_inside_of_repetitions_and_samples() -> None:
    event = Repeated(PoissonSampled(0.1, GaussianRelease(2.0)), 3)
    assert with_noise(event, 2.0) == Repeated(PoissonSampled(0.1, GaussianRelease(4.0)), 3)
    assert with_noise(NonPrivate(), 2.0) is None
    assert scaled([]) is None and scaled([LaplaceRelease(1.0), NonPrivate()]) is None


def test_the_border_is_the_epsilon_of_releases_that_are_so_far_apart() -> None:
    border = scaled([LaplaceRelease(3.0)])
    assert border is not None
    for true in (0.02, 0.2, 1.0, 4.0):
        apart = 1.0 - math.exp(-true / 2.0)
        assert 0.98 * true <= border(apart, 0.0) <= true
    assert border(0.0, 0.0) == 0.0
    many = [Repeated(LaplaceRelease(20.0), 50)]
    again = scaled(many)
    assert again is not None
    assert again(delta(many, 0.0), 1e-6) == pytest.approx(epsilon(many, 1e-6), rel=0.02)
    assert np.all(np.diff([again(v, 1e-6) for v in (0.05, 0.1, 0.2)]) > 0)
