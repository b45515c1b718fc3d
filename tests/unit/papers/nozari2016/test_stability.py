"""Which schedules of steps and noise stay private for ever."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tacit.errors import ConfigError
from tacit.papers.nozari2016 import check_stability_privacy


@pytest.mark.parametrize(("rounds", "epsilon"), [(10, 4.29), (100, 134.0), (1000, 4219.0)])
def test_a_constant_step_with_vanishing_noise_is_never_private(rounds: int, epsilon: float) -> None:
    # step x distance = 0.2, and message t = 2, 3, ... carries step t - 1 in noise 1 / sqrt(t)
    t = np.arange(2.0, rounds + 1.0)
    verdict = check_stability_privacy(np.full(t.size, 0.1), 1.0 / np.sqrt(t), distance=2.0)
    assert not verdict.private
    assert verdict.limit == math.inf
    assert verdict.epsilon[-1] == pytest.approx(epsilon, rel=2e-3)
    assert "grows without bound" in str(verdict)
    assert f"{rounds - 1:,} rounds" in str(verdict)


ROUNDS = np.arange(1.0, 1001.0)


@pytest.mark.parametrize(
    ("step", "scale", "private"),
    [
        (ROUNDS**0.0, ROUNDS**0.0, False),  # noise that stays, a step that stays
        (1.0 / ROUNDS, ROUNDS**0.0, False),  # the harmonic sum
        (1.0 / ROUNDS, ROUNDS**-0.5, False),
        (ROUNDS**-1.2, ROUNDS**0.0, True),
        (ROUNDS**-2.0, ROUNDS**-0.5, True),
        (0.9**ROUNDS, 0.95**ROUNDS, True),  # PDOP: the step shrinks faster than the noise
        (0.95**ROUNDS, 0.9**ROUNDS, False),
        (np.where(ROUNDS < 100, 1.0, 0.0), ROUNDS**0.0, True),  # it stops
        (np.where(ROUNDS < 100, 0.0, 1.0) * (ROUNDS > 500), ROUNDS**0.0, False),  # it starts late
    ],
)
def test_the_verdict_is_that_of_the_series(
    step: np.ndarray, scale: np.ndarray, private: bool
) -> None:
    verdict = check_stability_privacy(step, scale)
    assert verdict.private is private
    assert ("summable" in str(verdict)) is private
    np.testing.assert_allclose(verdict.epsilon, np.cumsum(step / scale))


def test_the_limit_is_extrapolated() -> None:
    verdict = check_stability_privacy(ROUNDS**-2.0, ROUNDS**0.0)
    assert verdict.limit == pytest.approx(math.pi**2 / 6.0, rel=1e-3)
    assert verdict.epsilon[-1] < verdict.limit


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((np.ones(7), np.ones(7)), "8 or more"),
        ((np.ones(9), np.ones(8)), "same rounds"),
        ((-np.ones(8), np.ones(8)), "steps"),
        ((np.ones(8), np.zeros(8)), "noise_scales"),
    ],
)
def test_arguments_are_checked(arguments: tuple[Any, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        check_stability_privacy(*arguments)
    with pytest.raises(ConfigError, match="distance"):
        check_stability_privacy(np.ones(8), np.ones(8), distance=0.0)
