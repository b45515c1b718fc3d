"""Sums that are never too small, and budgets decided without loss distributions where possible."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.privacy import accounting
from tacit.privacy.calibration import noise_multiplier
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    ModelClaim,
    NonPrivate,
    NoRelease,
    PoissonSampled,
    Repeated,
)
from tacit.privacy.ledger.spending import SLACK, Spending
from tacit.privacy.tally import Tally

ROOT = Path(__file__).parents[4]
MULTIPLIERS = st.floats(1e-3, 1e9, allow_nan=False)


def spent(events: list[Event]) -> Spending:
    spending = Spending()
    for event in events:
        spending.add(Tally.of([event]))
    return spending


@given(st.lists(MULTIPLIERS, min_size=1, max_size=30))
@settings(max_examples=50, deadline=None)
def test_gaussian_sums_are_never_too_small(multipliers: list[float]) -> None:
    spending = spent([GaussianRelease(z) for z in multipliers])
    exact = sum(1 / Fraction(z) ** 2 for z in multipliers)
    total = Fraction(spending._squares, 2**256)
    assert exact <= total <= exact + Fraction(len(multipliers), 2**256)


@given(st.lists(MULTIPLIERS, min_size=1, max_size=30))
@settings(max_examples=50, deadline=None)
def test_pure_sums_are_never_too_small(multipliers: list[float]) -> None:
    value = spent([LaplaceRelease(b) for b in multipliers]).epsilon(0.0)
    exact = sum(1 / Fraction(b) for b in multipliers)
    assert exact <= Fraction(value) <= exact * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(
    "events",
    [
        [],
        [NoRelease()],
        [GaussianRelease(3.0), GaussianRelease(50.0)],
        [GaussianRelease(3.0), NonPrivate()],
        [LaplaceRelease(30.0)] * 3,
        [Repeated(LaplaceRelease(100.0), 500), DiscreteLaplaceRelease(20.0)],
        [Repeated(PoissonSampled(0.1, LaplaceRelease(2.0)), 40)],
        [DiscreteGaussianRelease(5.0), GaussianRelease(5.0), LaplaceRelease(9.0)],
        [ModelClaim(GaussianRelease(4.0), "t", "a", "r")],
    ],
)
def test_one_by_one_costs_what_all_cost_together(events: list[Event], delta: float) -> None:
    together = accounting.epsilon(events, delta)
    assert spent(events).epsilon(delta) == pytest.approx(together, rel=1e-9)
    half = len(events) // 2
    assert spent(events[:half]).epsilon(delta, Tally.of(events[half:])) == pytest.approx(
        together, rel=1e-9
    )


def test_a_calibrated_laplace_run_is_afforded_release_by_release() -> None:
    """Where only loss distributions show that it fits; they are asked a few times, not 300."""
    z = noise_multiplier(1.0, 1e-6, lambda z: [Repeated(LaplaceRelease(z), 300)])
    spending, one = Spending(), Tally.of([LaplaceRelease(z)])
    before = accounting._composed.cache_info().misses
    for _ in range(300):
        assert spending.fits(1.0, 1e-6, one)
        spending.add(one)
    assert accounting._composed.cache_info().misses - before <= 25
    assert not spending.fits(1.0, 1e-6, Tally.of([Repeated(LaplaceRelease(z), 3)]))
    assert spending.epsilon(1e-6) <= 1.0 + SLACK


def test_what_was_allowed_is_not_used_for_another_budget_or_event() -> None:
    spending, loud = Spending(), Tally.of([LaplaceRelease(40.0)])
    while spending.fits(1.0, 1e-6, loud):
        spending.add(loud)
    assert spending.epsilon(1e-6) <= 1.0 < spending.epsilon(1e-6, loud)
    assert not spending.fits(0.5, 1e-6, loud)
    assert not spending.fits(1.0, 1e-9, loud)
    assert not spending.fits(1.0, 1e-6, Tally.of([LaplaceRelease(39.0)]))
    assert spending.fits(1.0, 1e-6, Tally.of([NoRelease()]))
    assert spending.fits(2.0, 1e-6, loud)


def test_no_accounting_library_is_loaded_for_closed_forms() -> None:
    program = (
        "import sys\n"
        "from tacit.privacy.event import GaussianRelease, LaplaceRelease\n"
        "from tacit.privacy.ledger.spending import Spending\n"
        "from tacit.privacy.tally import Tally\n"
        "for event in GaussianRelease(1e4), LaplaceRelease(1e4):\n"
        "    one = Tally.of([event])\n"
        "    s = Spending()\n"
        "    s.add(one)\n"
        "    assert s.fits(1.0, 1e-6, one)\n"
        "assert 'dp_accounting' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_exposure_is_remembered() -> None:
    spending = spent([NonPrivate()])
    assert math.isinf(spending.epsilon(1e-6))
    assert not spending.fits(1e6, 1e-6, Tally.of([GaussianRelease(1e6)]))
