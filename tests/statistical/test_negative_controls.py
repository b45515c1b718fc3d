"""Every mechanism with a well-known mistake is refuted, and its correct twin is not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.quick import only
from tests.statistical.controls import CONTROLS

MISTAKEN, CORRECT = 60, 30
"""Repetitions. If all of 60 audits refute, the probability of refuting is above 0.95 (with 95 %
confidence, `0.05^(1/60) = 0.951`)."""

MOST = int(stats.binom.ppf(0.999, CORRECT, 0.05))
"""False refutations at an error of 5 %, in all but one of a thousand series."""


QUICK = {"halved noise", "printed PDOP schedule", "local sensitivity of DP-IADMM"}


@pytest.mark.long
@pytest.mark.parametrize("name", only(QUICK, CONTROLS))
def test_the_mistake_is_found_in_the_stated_number_of_runs(name: str) -> None:
    rng = np.random.default_rng(1)
    assert all(CONTROLS[name].refuted(rng, correct=False) for _ in range(MISTAKEN))


@pytest.mark.parametrize("name", only(QUICK, CONTROLS, pytest.mark.long))
def test_the_same_mechanism_without_the_mistake_stands(name: str) -> None:
    rng = np.random.default_rng(2)
    assert sum(CONTROLS[name].refuted(rng, correct=True) for _ in range(CORRECT)) <= MOST


def test_local_sensitivity_tells_two_data_sets_apart_by_the_noise_scale_alone() -> None:
    control = CONTROLS["local sensitivity of DP-IADMM"]
    rng = np.random.default_rng(3)
    here, there = (np.abs(control.outputs(rng, 500, side, False)).mean(axis=1) for side in (0, 1))
    threshold = (here.mean() + there.mean()) / 2.0
    # P(event) - e^epsilon P'(event) is at most delta: this event shows that delta would be large
    assert np.mean(here > threshold) - np.exp(control.epsilon) * np.mean(there > threshold) > 0.37
