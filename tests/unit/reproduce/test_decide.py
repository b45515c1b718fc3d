"""A verdict needs more than a coin flip: the spread of several trials, or it is undecided."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.report.reproduction import Verdict
from tacit.reproduce.decide import below, ratio_above
from tacit.reproduce.gratton2021.findings import verdict


def test_one_trial_decides_nothing() -> None:
    # 85.6 with a spread of 4.4 against 83.7 with one of 4.7 is what one trial each may show
    assert below([83.7], [85.6]) is None and below([10.0], [90.0, 91.0]) is None
    assert verdict([([1e-6], [1.0])], audited=2.0, claimed=0.15) is Verdict.UNDECIDED


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


@pytest.mark.parametrize(
    ("first", "said"), [([1.0, 1.1, 0.9], True), ([0.03] * 3, False), ([0.05, 0.2], None)]
)
def test_ratios_are_judged_with_their_spread(first: list[float], said: bool | None) -> None:
    assert ratio_above(10.0, first, [0.01, 0.011, 0.009]) is said


def test_leads_that_runs_cannot_tell_are_undecided() -> None:
    ours, clear, unclear = [1e-3, 2e-3, 1.5e-3], [1.0, 2.0, 1.4], [0.01, 0.04, 0.02]
    assert verdict([(ours, clear)], audited=0.1, claimed=0.15) is Verdict.REPRODUCED
    assert verdict([(ours, clear), (ours, unclear)], 2.0, 0.15) is Verdict.UNDECIDED
    assert verdict([(ours, unclear), (ours, ours)], 2.0, 0.15) is Verdict.NOT_REPRODUCED
