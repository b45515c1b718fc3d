"""A verdict needs more than a coin flip: the spread of several trials, or it is undecided."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.papers.decide import below, ratio_above, smaller


def test_one_trial_decides_nothing() -> None:
    # 85.6 with a spread of 4.4 against 83.7 with one of 4.7 is what one trial each may show
    assert below([83.7], [85.6]) is None and below([10.0], [90.0, 91.0]) is None


def test_equal_methods_are_rarely_told_apart() -> None:
    rng = np.random.default_rng(0)

    def four(mean: float) -> list[float]:
        return rng.normal(mean, 4.5, size=4).tolist()

    found = [below(four(85.0), four(85.0)) for _ in range(500)]
    # one-sided, on either side: 2.5 of 500 each
    assert found.count(True) <= 8 and found.count(False) <= 8
    apart = [below(four(40.0), four(85.0)) for _ in range(100)]
    assert apart.count(True) >= 95 and False not in apart


def test_a_run_that_diverged_is_behind() -> None:
    assert below([1.0, np.nan], [2.0, 3.0]) is False
    assert below([1.0, 1.5], [2.0, np.inf]) is True
    assert below([np.inf, 1.0], [np.nan, 1.0]) is None
    # finite still, but their squares are not
    assert below([1.0, 1.1], [1e200, 1.01e200]) is True
    assert below([0.0, 0.0], [0.0, 0.0]) is None


@pytest.mark.parametrize(
    ("first", "said"), [([1.0, 1.1, 0.9], True), ([0.03] * 3, False), ([0.05, 0.2], None)]
)
def test_ratios_are_judged_with_their_spread(first: list[float], said: bool | None) -> None:
    assert ratio_above(10.0, first, [0.01, 0.011, 0.009]) is said


def test_a_mean_that_few_trials_carry_is_not_decided_against() -> None:
    even, heavy = [2.0, 2.1, 1.9, 2.0, 2.0], [1e-3, 1e-3, 1.1e-3, 1e-3, 500.0]
    assert smaller([1e-3, 1.1e-3, 1e-3], even) is True and smaller(even, [1e-3, 1.1e-3]) is False
    # most trials are far below, and the mean is above
    assert smaller(heavy, even) is None and smaller(even, heavy) is None
    assert smaller([100.0, 30.0, 60.0, 500.0, 900.0], even) is False
    assert smaller([1.0, 1.1], [np.inf, 2.0]) is True and smaller([np.nan, 1.0], even) is False
