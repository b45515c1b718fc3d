"""What is said of the rendezvous, from answers made up in both directions, and tiny real runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit.method.pdop_bounds import printed_accuracy
from tacit.report.reproduction import Verdict, draw
from tacit.reproduce import Scale
from tacit.reproduce.huang2015 import fig1, theorem10
from tacit.reproduce.huang2015.drift import drifting
from tacit.reproduce.huang2015.runs import as_printed, certified, drawn, simulated

COUNT = len(fig1.EPSILONS)


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


def answers(errors: Any, scale: Scale = Scale.FAST) -> list[Any]:
    printed = {"claimed": row(errors), "true": row(fig1.PROTOTYPE_TRUE)}
    proved = {name: row(0.03) for name in ("printed", "exact", "total")}
    people = fig1.PROVED_PEOPLE[scale]
    return [*([printed] * (len(fig1.PEOPLE) + 1)), *([proved] * len(people)), row(0.02)]


def test_an_error_that_stands_still_is_not_reproduced() -> None:
    found = fig1.FIG1.told(answers(fig1.PROTOTYPE), Scale.FAST)
    assert found.verdict is Verdict.NOT_REPRODUCED
    assert "1.00 to 1.10 times that of answering with the start" in found.sentence
    assert "a model, a run loses 2 to 200" in found.sentence
    assert "1000 runs" in found.shortened
    assert "0.0 standard errors" in found.notes[0]
    for panel in (*found.published, *found.certified):
        draw(panel)


def test_an_error_that_falls_with_epsilon_is_reproduced() -> None:
    found = fig1.FIG1.told(answers(np.geomspace(1.0, 0.01, COUNT), Scale.FULL), Scale.FULL)
    assert found.verdict is Verdict.REPRODUCED
    assert found.shortened == ""


def test_one_number_of_people_whose_error_stands_still_is_enough() -> None:
    falling, still = row(np.geomspace(1.0, 0.01, COUNT)), row(0.04)
    assert fig1.judged({5: falling, 10: falling})[0] is Verdict.REPRODUCED
    assert fig1.judged({5: falling, 10: still})[0] is Verdict.NOT_REPRODUCED


def test_differences_from_the_prototype_are_in_standard_errors_less_its_rounding() -> None:
    known = fig1.PROTOTYPE
    assert fig1.apart(row(np.add(known, 5e-4)), known) == pytest.approx(0.0, abs=1e-9)
    assert fig1.apart(row(1.1 * np.array(known)), known) > 7.0


def test_theorem_10_is_refuted_only_by_an_error_above_it() -> None:
    rows = {10: row(0.04)}
    held = {1e-8: {"error": 0.2, "printed": 0.4, "corrected": 9.0}}
    broken = {**held, 1e-5: {"error": 1.6, "printed": 0.4, "corrected": 9.0}}
    assert theorem10.judged(rows, held)[0] is Verdict.REPRODUCED
    verdict, sentence = theorem10.judged(rows, broken)
    assert verdict is Verdict.REFUTED and "factor of 4" in sentence and "1e-05" in sentence
    assert theorem10.judged({10: row(0.04, stated=0.03)}, held)[0] is Verdict.REFUTED
    # within three standard errors nothing is said
    assert theorem10.judged({10: row(0.04, stated=0.0395)}, held)[0] is Verdict.REPRODUCED


def test_all_of_theorem_10_is_drawn() -> None:
    printed = [{"claimed": row(0.04)}] * len(fig1.PEOPLE)
    drift = {"error": 1.6, "printed": 0.4, "corrected": 9.0}
    found = theorem10.THEOREM10.told([*printed, *[drift] * len(theorem10.WEIGHTS)], Scale.FULL)
    assert found.verdict is Verdict.REFUTED
    for panel in (*found.published, *found.certified):
        draw(panel)
    assert len(found.comparison) == 3 * len(fig1.PEOPLE) + len(theorem10.WEIGHTS)


def test_the_settings_are_those_of_the_paper() -> None:
    assert fig1.EPSILONS == (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
    assert fig1.TRIALS[Scale.FULL] == 5000 and fig1.PEOPLE == (5, 10, 50)


def test_addresses_lie_in_the_square_at_the_distance_asked_for() -> None:
    places = drawn(10, 0.04)
    assert np.abs(places).max() <= 1.0
    assert np.sum(places.mean(axis=0) ** 2) == pytest.approx(0.04, abs=fig1.ROUNDING)


@pytest.mark.slow
def test_the_printed_noise_loses_epsilon_over_p_and_the_larger_noise_epsilon() -> None:
    found = as_printed(5, 0.1, "complete", [1.0], rounds=5, trials=20)
    claimed, true = found["claimed"], found["true"]
    assert claimed["loss"][0] == pytest.approx(1.0 / claimed["noise_ratio"][0], rel=1e-3)
    assert true["loss"][0] == pytest.approx(1.0, rel=1e-3)
    assert claimed["error"][0] < 2.0 * claimed["start"][0] < true["error"][0]


@pytest.mark.slow
def test_the_certified_runs_stay_within_their_budgets() -> None:
    found = certified(5, 0.1, [10.0], rounds=5, trials=20)
    total = 10.0 / found["printed"]["noise_ratio"][0]
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
