"""The pieces of work: what runs of D-ZOA, baselines and central solvers say."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.papers.gratton2021.contenders import CERTIFIED, PRINTED, SETTINGS
from tacit.papers.gratton2021.gradient_runs import BINS, gradient_entries
from tacit.papers.gratton2021.noise_runs import audited, claimed_deviation, one_iteration
from tacit.papers.gratton2021.runs import d_zoa, proved, published
from tacit.papers.gratton2021.solver_runs import solver, values_a_round


@pytest.mark.slow
def test_a_run_of_d_zoa_says_what_it_took() -> None:
    found = d_zoa("ridge", 0.15, 1e-3, data=0, seed=0, trials=2, rounds=2)
    assert found["rounds"] == [0, 1, 2]
    assert np.shape(found["errors"]) == (3, 2) and np.shape(found["final"]) == (2,)
    assert found["errors"][0] == [5.0, 5.0]
    assert found["evaluations"] == 2 * sum(found["directions"]) * 20 * 100 * 2
    # a data set whose solution is so short that eq (22) allows no direction at all
    assert "rounds to none" in d_zoa("ridge", 0.05, 1e-6, 0, 0, 1, 2)["refused"]


@pytest.mark.slow
def test_a_baseline_is_tuned_elsewhere_and_reported_here() -> None:
    found = published("DPSG", "ridge", [(0.15, 1e-3), (150.0, 1e-3)], [1000], [0, 1], 0, 2, 5)
    noisy, quiet = found["claims"]
    assert len(noisy["tuning"]) == SETTINGS and len(noisy["final"]) == 4
    assert dict(noisy["chosen"]) == dict(PRINTED["DPSG"][int(np.argmin(noisy["tuning"]))])
    assert np.mean(quiet["final"]) < np.mean(noisy["final"])


@pytest.mark.slow
def test_a_proved_method_is_proved() -> None:
    found = proved("DPSG", "lasso", 20, [(2.04, 1e-3)], [1000], [0], 0, 2, 5)["claims"][0]
    assert found["chosen"]["clip"] in {setting["clip"] for setting in CERTIFIED["DPSG"]}
    assert found["rounds"][-1] == 5 and found["final"] == found["errors"][-1]


@pytest.mark.slow
def test_the_iterate_varies_a_thousand_times_less_than_claimed() -> None:
    found = gradient_entries(
        "ridge", 0.15, 1e-3, 0, 1, outer=2, inner=3, seed=0, runs=2, draws=1000
    )
    claimed = [claimed_deviation(0.15, 1e-3, degree, 20) ** 2 for degree in (2, 2, 2, 3, 1)]
    assert found["claimed"] == claimed
    assert all(1000 * v < c for v, c in zip(found["variances"], claimed, strict=True))
    # 2,000 draws of an entry: their standardised mean and variance are those of any law
    middles = (BINS[1:] + BINS[:-1]) / 2
    width = BINS[1] - BINS[0]
    assert np.sum(found["density"]) * width == pytest.approx(1.0)
    assert np.sum(middles**2 * np.asarray(found["density"])) * width == pytest.approx(1.0, abs=0.2)
    assert np.shape(found["correlations"]) == np.shape(found["kurtosis"]) == (2, 10)
    assert np.all(np.asarray(found["correlations"]) > 0.97)


@pytest.mark.slow
def test_one_record_moves_an_iterate_by_many_deviations() -> None:
    found = one_iteration("ridge", 0.15, 1e-3, data=0, owner=0, seed=0, trials=200)
    assert found["mu"] > 10 and found["claimed"] > 30 * found["deviation"]
    bound = audited("ridge", 0.15, 1e-3, data=0, owner=0, seed=0, trials=200)
    assert bound["claim"] <= 0.15 < 1.0 < bound["epsilon"] <= bound["most"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["OR-ZO", "ZOO-ADMM"])
def test_a_central_solver_learns(name: str) -> None:
    found = solver(name, "ridge", [1000], [0], seed=0, trials=1, rounds=40)
    assert len(found["tuning"]) == SETTINGS and found["final"][0] < 5.0
    per_record = found["evaluations"][-1] / found["rounds"][-1]
    assert per_record % values_a_round(name) == 0
