"""Whether an answer is worth having, and what stood in its way."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit._engine.shortened import shortened
from tacit.data.schema import Altered
from tacit.method import (
    DGD,
    AbstractMethod,
    Checks,
    CoefficientTable,
    FunctionalPerturbation,
    QuadraticBasis,
    Refused,
)
from tacit.method._functional_query import WeightedCoefficients
from tacit.method.answer import Answer
from tacit.method.counts import CountTable
from tacit.privacy import Privacy
from tacit.problem import Squared, empirical_risk
from tacit.study import Outcome, assemble, demo, execute, read_study
from tacit.study._output.words import findings
from tacit.study.hindrances import FOLLOWED, hindrances
from tacit.study.verdict import judged
from tacit.sweep import Grid, plan
from tacit.sweep.chunk import chunk
from tests.end_to_end.study import STUDY, changed, visits, write

REFUSED = Refused("too few records", "twice as many would do")
COUNTS = CountTable(("sex",), ("f",), (10.0,), (1.0,), 1, 1)


def table(refusal: Refused | None) -> CoefficientTable:
    one = np.eye(1)
    return CoefficientTable(
        *(("Intercept",), np.zeros(1), one, one, Checks(0.1, 0.0, 1.0, 0.0)),
        *(refusal, "binomial", "logit", 10, (1.0,)),
    )


@pytest.mark.parametrize(
    ("answer", "loss", "useful", "released"),
    [
        (None, 0.6, True, False),
        (None, 0.7, False, False),
        (None, 0.65, False, False),
        (None, math.nan, False, False),
        (None, math.inf, False, False),
        (None, None, None, True),
        (REFUSED, None, False, True),
        (table(REFUSED), None, False, True),
        (table(None), None, True, True),
        (COUNTS, None, None, True),
    ],
)
def test_the_base_rate_and_intervals_decide(
    answer: Answer | None, loss: float | None, useful: bool | None, released: bool
) -> None:
    scores = None if loss is None else {"loss": loss}
    found = judged(answer, scores, None if loss is None else {"loss": 0.65})
    assert (found.useful, found.released) == (useful, released)
    assert ("simulation only" in str(found)) == (not released)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """A run with a budget, a step and bounds that do not suit its records."""
    text = STUDY
    for old, new in {
        "epsilon = 1.0": "epsilon = 0.05",
        "step = 0.5": "step = 5.0",
        "upper = 100": "upper = 60",
        "clip = 1.0": "clip = 0.6",
    }.items():
        text = changed(old, new, text)
    return execute(assemble(read_study(write(tmp_path_factory.mktemp("bad"), text))))


def shares(outcome: Outcome) -> float | None:
    ready = outcome.assembled
    found = shortened(ready.problem, ready.method, outcome.result.solutions[0])
    return None if found is None else found[1]


def with_method(outcome: Outcome, method: AbstractMethod) -> Outcome:
    """The outcome as if another method had found its answers."""
    task, answers = outcome.assembled.problem, outcome.result.solutions[0]
    return replace(
        outcome,
        assembled=replace(outcome.assembled, method=method),
        result=replace(outcome.result, shortened=shortened(task, method, answers)),
    )


def test_the_runs_of_the_demo_draw_different_noise() -> None:
    assert demo.study().study.run.seed != demo.regression().study.run.seed


def test_a_model_that_is_worse_than_the_base_rate_is_told_first(outcome: Outcome) -> None:
    assert outcome.verdict.useful is False
    assert "worse than knowing the base rate" in findings(outcome)[0]
    assert str(outcome).endswith(str(outcome.verdict))


def test_what_is_counted_is_what_numpy_counts(outcome: Outcome) -> None:
    risk: Any = outcome.assembled.problem.objectives
    rows, mask = np.asarray(risk.features), np.asarray(risk.mask) > 0
    signs = np.where(np.asarray(risk.targets) > 0, 1.0, -1.0)
    scores = np.einsum("kij,kj->ki", rows, outcome.result.solutions[0])
    norms = np.linalg.norm(rows, axis=2) / (1.0 + np.exp(signs * scores))
    share = shares(outcome)
    assert outcome.result.shortened == ("gradients", share)
    assert share is not None and 0.1 < share < 1.0
    assert share == pytest.approx(np.mean(norms[mask] > 0.6))
    frame = visits()
    old = int(np.sum(np.asarray(frame["age"]) > 60))
    said = " ".join(hindrances(outcome))
    assert f"{share:.0%} of the records" in said
    assert "20 of 600 records lack a value" in said
    assert f"age {old:,}, of 580 records" in said
    assert said.endswith(FOLLOWED.format(held="records"))


def test_a_clip_that_shortens_coefficients_is_told(outcome: Outcome) -> None:
    basis, told = QuadraticBasis([-1.0] * 4, [1.0] * 4), []
    for clip in (0.2, 100.0):
        budget = Privacy(clip=clip, epsilon=1.0, delta=0.0, noise="laplace")
        method = FunctionalPerturbation(DGD(step=0.1), basis, privacy=budget)
        one = with_method(outcome, method)
        told.append((shares(one), " ".join(findings(one))))
    (share, said), (none, silent) = told
    assert share is not None and share > 0.1 and none == 0.0
    assert f"The clip shortens the coefficients of {share:.0%} of the records" in said
    assert "coefficients" not in silent


def test_a_sweep_counts_what_a_run_counts(tmp_path: Path) -> None:
    text = changed("clip = 1.0", "clip = 0.2", STUDY)
    source = read_study(write(tmp_path, text))
    cell = plan(source, Grid(1)).cells[0]
    found = chunk(dict(cell.study), 1, 0, 1, data=str(tmp_path / "visits.csv"))
    assert found["shortened"][0] == "gradients"
    assert found["shortened"][1] == pytest.approx(shares(execute(assemble(source))))
    assert chunk(dict(cell.study), 1, 1, 1, data=str(tmp_path / "visits.csv"))["shortened"] is None


def test_shortened_coefficients_are_counted_by_the_query_itself() -> None:
    rows = np.array([[1.0, 0.0], [0.1, 0.0]])
    risk = empirical_risk([rows] * 2, [np.zeros(2)] * 2, Squared()).agent(0)
    basis = QuadraticBasis([-1.0, -1.0], [1.0, 1.0])
    with jax.enable_x64(True):
        free = WeightedCoefficients(basis, 1e6, 0.0)
        lengths = np.asarray(free.lengths(risk, 0))
        values = jax.vmap(risk.losses)(jnp.asarray(basis.points))
        weighted = np.asarray(basis.project(values)[1:].T * basis.weights(0.0)[1:])
    np.testing.assert_allclose(lengths, np.abs(weighted).sum(axis=1), rtol=1e-12)
    assert lengths[0] > lengths[1] > 0.0


@pytest.mark.parametrize(
    ("objective", "told"),
    [
        ([3.0, 2.0, 1.0, 1.2], ""),
        ([3.0, 3.0, 3.001, 3.0], "is 3 at the end and 3 at the start"),
        ([3.0, 1.0, 2.0, 2.5], "was 1 after round 1 and is 2.5"),
        ([3.0, 4.0, 5.0, 6.0], "never fell and is 6"),
        ([3.0, 1.0, 2.0, math.nan], ""),
    ],
)
def test_an_objective_that_rises_again_blames_the_step(
    outcome: Outcome, objective: list[float], told: str
) -> None:
    history = outcome.result.history
    other = replace(
        history,
        rounds=history.rounds[:4],
        measured={"objective": np.array(objective)[:, None]},
        evaluations=history.evaluations[:4],
        bytes=history.bytes[:4],
        epsilon=history.epsilon[:4],
    )
    said = hindrances(replace(outcome, result=replace(outcome.result, history=other)))
    steps = [each for each in said if "step" in each]
    assert bool(steps) == bool(told)
    assert told in " ".join(steps)


def test_of_times_only_those_below_the_first_are_amiss() -> None:
    altered = Altered(10, 0, {"age": 2, "years": 5}, {"age": 1, "years": 3})
    assert altered.amiss("years") == {"age": 2, "years": 3}
    assert altered.amiss(None) == {"age": 2, "years": 5}
    assert replace(altered, raised={}).amiss("years") == {"age": 2}


@pytest.mark.parametrize(("late", "told"), [(9, False), (10, True)])
def test_times_that_nearly_all_lie_beyond_the_last_one_are_told(
    outcome: Outcome, monkeypatch: pytest.MonkeyPatch, late: int, told: bool
) -> None:
    monkeypatch.setattr("tacit.study.hindrances.time_of", lambda method: "years")
    altered = Altered(10, 0, {"years": late})
    said = " ".join(
        hindrances(replace(outcome, assembled=replace(outcome.assembled, altered=altered)))
    )
    assert ("10 of 10 records are followed beyond the upper bound of years" in said) is told
    assert "were moved to them" not in said


def test_nothing_is_said_of_a_run_that_went_well(outcome: Outcome) -> None:
    assembled = replace(outcome.assembled, altered=None)
    calm = replace(
        outcome.result,
        solutions=np.zeros_like(outcome.result.solutions),
        history=replace(outcome.result.history, measured={}),
    )
    # at 0 every slope is one half, and rows are shorter than twice this clip
    wide = with_method(
        replace(outcome, assembled=assembled, result=calm), _clipping(assembled.method, 2.0)
    )
    assert shares(wide) == 0.0 and hindrances(wide) == []


def _clipping(method: Any, clip: float) -> AbstractMethod:
    return replace(method, privacy=replace(method.privacy, clip=clip))


def test_where_no_gradient_is_clipped_there_is_no_share(outcome: Outcome) -> None:
    assembled = replace(outcome.assembled, method=DGD(step=0.5))
    assert shares(replace(outcome, assembled=assembled)) is None
