"""What is said of the rendezvous, from answers made up in both directions, and tiny real runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tacit.papers import Scale
from tacit.papers.huang2015 import claims, fig1, runs
from tacit.papers.huang2015.bounds import printed_accuracy
from tacit.papers.huang2015.drift import drifting
from tacit.papers.huang2015.runs import as_printed, certified, drawn, fixed, simulated
from tacit.report.reproduction import Verdict, draw

COUNT = len(fig1.EPSILONS)
EVERY = (*fig1.SMALLER, *fig1.EPSILONS)


def row(errors: Any, *, start: float = 0.04, stated: float = 2.8) -> dict[str, list[float]]:
    """A row as the runs answer it."""
    errors = np.broadcast_to(np.asarray(errors, dtype=float), COUNT)
    return {
        "error": errors.tolist(),
        "deviation": (0.01 * errors).tolist(),
        "start": [start] * COUNT,
        "loss": (np.array(fig1.EPSILONS) * 20.0).tolist(),
        "stated": [stated] * COUNT,
        "step": [0.1] * COUNT,
        "ratio": [0.1] * COUNT,
        "noise_ratio": [0.05] * COUNT,
    }


def same(power: float = 2.0, *, square: float = 1.0, silent: float = 0.03) -> dict[str, Any]:
    """Errors whose noise falls as a power of epsilon, as far as a square lets them."""
    noise = np.minimum(0.01 * (EVERY[-1] / np.array(EVERY)) ** power, square)
    return {
        "error": (silent + noise).tolist(),
        "deviation": (0.01 * noise).tolist(),
        "silent": silent,
    }


def answers(errors: Any, scale: Scale = Scale.FAST) -> list[Any]:
    printed = {name: row(errors) for name in ("claimed", "least", "true")}
    proved = {name: row(0.03) for name in ("least", "exact", "total")}
    people = fig1.PROVED_PEOPLE[scale]
    runs = [*([printed] * (len(fig1.PEOPLE) + 1)), *([proved] * len(people)), row(0.02), same()]
    return [*runs, *[{"error": 1.6, "printed": 0.4, "corrected": 9.0}] * len(fig1.WEIGHTS)]


def test_there_is_one_verdict_for_each_claim_of_the_paper() -> None:
    found = fig1.FIG1.told(answers(0.04), Scale.FAST)
    assert [(claim.place[:11], claim.verdict) for claim in found.claims] == [
        ("section 4.4", Verdict.REPRODUCED),
        ("section 4.4", Verdict.NOT_REPRODUCED),
        ("section 4.4", Verdict.REFUTED),
    ]
    assert found.verdict is Verdict.REFUTED
    assert "1.00 to 1.00 times that of answering with the start" in found.sentence
    assert "a model, a run loses 2 to 200" in found.notes[0]
    assert "1000 runs" in found.shortened
    for panel in (*found.published, *found.certified):
        draw(panel)
    assert len(found.comparison) == 4 * COUNT + len(fig1.WEIGHTS)
    assert fig1.FIG1.told(answers(0.04, Scale.FULL), Scale.FULL).shortened == ""


def test_the_order_of_the_accuracy_in_epsilon_is_judged_in_both_directions() -> None:
    assert claims.order(EVERY, same(2.0)).verdict is Verdict.REPRODUCED
    # O(1/eps^2) bounds from above: what grows more slowly is of that order, too
    assert claims.order(EVERY, same(1.0)).verdict is Verdict.REPRODUCED
    steep = claims.order(EVERY, same(3.0))
    assert steep.verdict is Verdict.NOT_REPRODUCED and "grows 8.0 times" in steep.found
    # without noise that shows nothing can be said
    silent = same() | {"silent": same()["error"][-1]}
    assert claims.order(EVERY, silent).verdict is Verdict.UNDECIDED


def test_an_error_without_bounds_is_told_from_one_that_a_square_holds() -> None:
    assert claims.boundless(EVERY, same()).verdict is Verdict.NOT_REPRODUCED
    assert claims.boundless(EVERY, same(square=np.inf)).verdict is Verdict.REPRODUCED


def test_theorem_10_is_refuted_only_by_an_error_above_it() -> None:
    rows = {10: row(0.04)}
    held = {1e-8: {"error": 0.2, "printed": 0.4, "corrected": 9.0}}
    broken = {**held, 1e-5: {"error": 1.6, "printed": 0.4, "corrected": 9.0}}
    assert claims.theorem10(rows, held).verdict is Verdict.REPRODUCED
    refuted = claims.theorem10(rows, broken)
    assert refuted.verdict is Verdict.REFUTED
    assert "factor of 4" in refuted.found and "1e-05" in refuted.found
    assert claims.theorem10({10: row(0.04, stated=0.03)}, held).verdict is Verdict.REFUTED
    # within three standard errors nothing is said
    assert claims.theorem10({10: row(0.04, stated=0.0395)}, held).verdict is Verdict.REPRODUCED


def test_the_settings_are_those_of_the_paper() -> None:
    assert fig1.EPSILONS == (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
    assert fig1.TRIALS[Scale.FULL] == 5000
    # (III) of section 4.5 is solved by the last parameter that the heuristic moves, or its ratio
    tuned = runs.chosen(10, 10.0, fig1.ROUNDS)
    assert (tuned.step, tuned.ratio) == pytest.approx((0.045, 0.237), abs=5e-4)


def test_errors_are_those_of_the_mean_of_all_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = np.array([[[1.0, 0.0], [-1.0, 0.0]], [[1.0, 1.0], [1.0, 0.0]]])
    result = SimpleNamespace(
        solutions=ends, guarantee=SimpleNamespace(worst=SimpleNamespace(epsilon=1.0))
    )
    monkeypatch.setattr(runs.tacit, "run", lambda *args, **settings: result)
    places = np.array([[0.5, 0.0], [-0.5, 0.0]])
    found = runs._scored(places, "complete", None, 1, 2)
    # 0 where both are at opposite ends, and ||(1, .5)||^2 where they agree
    assert found["error"] == pytest.approx((0.0 + 1.25) / 2.0)


def test_addresses_lie_in_the_square_at_the_distance_asked_for() -> None:
    places = drawn(10, 0.04)
    assert np.abs(places).max() <= 1.0
    assert np.sum(places.mean(axis=0) ** 2) == pytest.approx(0.04, abs=5e-4)


@pytest.mark.slow
def test_the_printed_noise_loses_epsilon_over_p_and_the_larger_noise_epsilon() -> None:
    found = as_printed(5, 0.1, "complete", [1.0], rounds=5, trials=20)
    least, true = found["least"], found["true"]
    for row in (least, found["claimed"]):
        assert row["loss"][0] == pytest.approx(1.0 / row["noise_ratio"][0], rel=0.05)
    assert true["loss"][0] == pytest.approx(1.0, rel=1e-3)
    assert least["error"][0] < 2.0 * least["start"][0] < true["error"][0]


@pytest.mark.long
def test_one_setting_is_run_at_every_epsilon_and_without_noise() -> None:
    found = fixed(3, 0.1, 10.0, [0.1], rounds=2, trials=10)
    assert len(found["error"]) == 1
    assert found["error"][0] > 3.0 * found["silent"]


@pytest.mark.slow
def test_the_certified_runs_stay_within_their_budgets() -> None:
    found = certified(5, 0.1, [10.0], rounds=5, trials=20)
    total = 10.0 / runs.chosen(5, 10.0, 5).noise_ratio
    assert found["exact"]["loss"][0] <= 10.0 < found["total"]["loss"][0] <= total
    one_step = simulated(5, 0.1, [10.0], trials=20)
    assert one_step["loss"][0] <= total
    assert one_step["error"][0] < one_step["start"][0]


@pytest.mark.slow
def test_two_people_who_hardly_hear_each_other_drift_apart() -> None:
    step, ratio = 6e-4, 1.0 - 2e-4
    found = drifting(1e-8, step, ratio, 10_000)
    assert found["printed"] == pytest.approx(
        printed_accuracy(
            step,
            ratio,
            ratio ** (1 / 3),
            epsilon=1e9,
            diameter=2.0,
            gradient_bound=18.0,
            curvature=1.0,
            dimension=1,
        )
    )
    assert found["printed"] < found["error"] < found["corrected"]
