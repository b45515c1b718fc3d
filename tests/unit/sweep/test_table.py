"""Means, choices and warnings, from answers that are made up."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import ConfigError
from tacit.privacy.guarantee import Status
from tacit.privacy.guarantees import Guarantees
from tacit.sweep import Plan, Runs, Sweep
from tacit.sweep.caveats import warnings
from tacit.sweep.columns import rows
from tacit.sweep.latex import cells_table, crossed_table
from tacit.sweep.page import sweep_data
from tacit.sweep.table import cells_frame, check_measure, chosen, measures, runs_frame
from tests.unit.sweep.made_up import ended


def test_chunks_are_put_together_and_cut_to_the_seeds(planned: Plan) -> None:
    parts = [
        {"finished": [True, True], "measured": {"objective": [1.0, 2.0]}},
        {"finished": [False, True], "measured": {"objective": [3.0, 4.0]}},
    ]
    found = Runs.of(planned.cells[0], parts, 3)
    assert found.finished.tolist() == [True, True, False]
    assert found.measured["objective"].tolist() == [1.0, 2.0, 3.0]
    # the third diverged
    assert found.mean("objective") == (1.5, pytest.approx(0.5))
    assert all(math.isnan(value) for value in found.mean("auc"))


def test_a_single_run_has_a_mean_and_no_error(planned: Plan) -> None:
    [found, *_] = ended(planned, [1.0, math.inf, math.inf], [1.0] * 3, [1.0] * 3)
    mean, error = found.mean("objective")
    assert mean == 1.0 and math.isnan(error)


def test_a_spread_of_rounding_is_none_where_there_is_no_noise(planned: Plan) -> None:
    same = [0.487, 0.487 + 1e-16, 0.487 - 1e-16]
    noised, _, bare = ended(planned, same, same, same)
    assert bare.mean("objective") == (pytest.approx(0.487), 0.0)
    assert noised.mean("objective")[1] > 0.0
    gaps = replace(
        bare, measured={"objective": np.array(same), "objective_gap": np.array(same) - 0.487}
    )
    assert gaps.mean("objective_gap")[1] == 0.0
    # other draws of a method are no rounding
    [_, _, random] = ended(planned, same, same, [0.487, 0.488, 0.489])
    assert random.mean("objective")[1] == pytest.approx(0.001 / math.sqrt(3))
    [cells, *_] = [row for row in rows([noised, bare], "objective") if row["guarantee"] == "none"]
    assert cells["mean"] == "0.487" and cells["standard_error"] == 0.0


def test_a_score_stands_for_all_where_there_is_one(planned: Plan) -> None:
    rows = [[3.0, 2.0, 1.0]] * 3
    assert chosen(ended(planned, *rows)) == "objective"
    scored = ended(planned, *rows, auc=[0.5, 0.6, 0.7], loss=[1.0] * 3, objective_gap=[1.0] * 3)
    assert measures(scored) == ["auc", "loss", "objective_gap", "objective"]
    assert chosen(scored) == "auc" and chosen(scored, "loss") == "loss"
    undefined = ended(planned, *rows, auc=[math.nan] * 3, objective_gap=[1.0] * 3)
    assert chosen(undefined) == "objective_gap"


def test_a_measure_that_will_not_be_there_is_refused_beforehand(planned: Plan) -> None:
    for name in (None, "auc", "objective_gap"):
        check_measure(planned, name)
    with pytest.raises(ConfigError, match=r"measure='r2' is not measured here; there are auc, acc"):
        check_measure(planned, "r2")


def test_tables_have_settings_numbers_and_guarantees(planned: Plan) -> None:
    found = ended(planned, [1.0, 2.0, 3.0], [1.0, 1.0, math.nan], [0.0] * 3)
    runs = runs_frame(planned, found)
    assert list(runs.columns)[:6] == [
        "cell",
        "method",
        "privacy.epsilon",
        "seed",
        "trial",
        "finished",
    ]
    assert list(runs["cell"]) == [0] * 3 + [1] * 3 + [2] * 3
    cells = cells_frame(found)
    assert list(cells["finished"]) == [3, 2, 3] and list(cells["objective"]) == [2.0, 1.0, 0.0]
    np.testing.assert_allclose(cells["objective_error"], [1 / math.sqrt(3), 0.0, 0.0])
    assert list(cells["guarantee"]) == ["proved", "proved", "none"]


def test_the_warnings_add_up_what_all_runs_spend(planned: Plan) -> None:
    said = " ".join(warnings(planned, ended(planned, [1.0] * 3, [1.0] * 3, [1.0] * 3)))
    assert "publishes all 6 private runs spends epsilon = 9 at delta = 6" in said
    assert "is a release of its own" in said and "dgd" in said
    assert "diverged" not in said and "not a proved bound" not in said


def test_clips_that_shorten_much_are_told_once(planned: Plan) -> None:
    found = ended(planned, [1.0] * 3, [1.0] * 3, [1.0] * 3)
    for shares, told in (((0.05, 0.09, None), ""), ((0.12, 0.9, None), "In 2 of 3 cells")):
        cut = [
            replace(runs, shortened=None if share is None else ("gradients", share))
            for runs, share in zip(found, shares, strict=True)
        ]
        [said] = [each for each in warnings(planned, cut) if "clip" in each] or [""]
        assert said.startswith(told) and bool(said) == bool(told)
    assert "the gradients of 90%, with dpsg, budget 2" in said
    kept = Runs.of(
        planned.cells[0],
        [{"finished": [True], "measured": {}, "shortened": ["coefficients", 0.5]}],
        1,
    )
    assert kept.shortened == ("coefficients", 0.5) and found[0].shortened is None


def test_answers_worse_than_the_start_are_told_with_the_cause(planned: Plan) -> None:
    found = ended(planned, [7.0] * 3, [9.0] * 3, [1.0] * 3)
    rose = [np.array(each) for each in ([True] * 3, [True, True, False], [True, False, False])]
    found = [
        replace(runs, rose=each, cause="the step is too large.")
        for runs, each in zip(found, rose, strict=True)
    ]
    [said] = [each for each in warnings(planned, found) if "larger objective" in each]
    assert said == (
        "In 2 of 3 cells most runs end with a larger objective than they begin with; the largest, "
        "9, with dpsg, budget 2.0. There, the step is too large."
    )
    found[1] = replace(found[1], cause="the noise was added once.")
    assert len([each for each in warnings(planned, found) if "larger objective" in each]) == 2
    fallen = [replace(runs, rose=np.zeros(3, dtype=bool)) for runs in found]
    assert not any("larger objective" in each for each in warnings(planned, fallen))
    part = {"measured": {}, "cause": "so"}
    parts = [part | {"finished": [True] * 2, "rose": [True, False]}] * 2
    kept = Runs.of(planned.cells[0], parts, 3)
    assert (
        kept.rose is not None and kept.rose.tolist() == [True, False, True] and kept.cause == "so"
    )


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ([1.0, 1.01, 0.99] * 3, [1.0, 1.02, 0.98] * 3, True),
        ([1.0, 1.01, 0.99] * 3, [0.7, 0.71, 0.69] * 3, False),
        ([1.0, 2.0, 0.5] * 3, [1.0, 2.0, 0.5] * 3, False),  # not known well enough
        ([1.0] * 3, [1.0] * 3, False),  # too few
        ([0.0] * 9, [0.0] * 9, False),
    ],
)
def test_an_error_that_noise_does_not_limit_is_told(
    planned: Plan, first: list[float], second: list[float], told: bool
) -> None:
    many = replace(planned, seeds=len(first))
    found = ended(many, first, second, second)
    found = [
        replace(runs, measured={"objective_gap": runs.measured["objective"]}) for runs in found
    ]
    said = " ".join(warnings(many, found))
    sentence = "With dpsg, the error is the same within 10% at budget 1 and 2: between them, noise"
    assert (sentence in said) == told


def test_model_claims_and_divergence_are_named(planned: Plan) -> None:
    cell = planned.cells[0]
    claim = replace(cell.worst, status=Status.MODEL, assumptions=("nobody listens",), reason="so")
    doubtful = replace(cell, guarantee=Guarantees((claim,)))
    other = replace(planned, cells=(doubtful, *planned.cells[1:]))
    found = ended(other, [1.0, 1.0, math.inf], [1.0] * 3, [1.0] * 3)
    said = " ".join(warnings(other, found))
    assert "The epsilon of dpsg (model claim, not a proof) is not a proved bound" in said
    assert "1 of 9 runs diverged" in said
    page = sweep_data(other, found, None)
    assert "dpsg (model claim, not a proof)" in [series.name for series in page.series]
    assert page.cells[0]["guarantee"] == "model claim, not a proof"


def test_latex_has_a_row_for_each_cell_or_a_column_for_each_budget(planned: Plan) -> None:
    found = ended(planned, [1.0, 2.0, 3.0], [0.5] * 3, [0.0, 1.0, math.nan])
    assert cells_table(found, ["objective"]).splitlines() == [
        "% simulated: means of 3 runs, plus or minus a standard error",
        "% epsilon and guarantee are those of one run at delta = 1e-6",
        r"\begin{tabular}{lrlrr}",
        r"\toprule",
        r"Method & Epsilon & Guarantee & Objective & Finished \\",
        r"\midrule",
        r"dpsg & $\leq 1$ & proved & $2.00 \pm 0.58$ & 3 of 3 \\",
        r"dpsg & $\leq 2$ & proved & $0.5$ & 3 of 3 \\",
        r"dgd & $\infty$ & none & $0.50 \pm 0.50$ & 2 of 3 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    assert crossed_table(found, "objective", "privacy.epsilon").splitlines()[4:-2] == [
        r" &  & \multicolumn{2}{c}{Budget} \\",
        r"\cmidrule(lr){3-4}",
        r"Objective & Guarantee & 1 & 2 \\",
        r"\midrule",
        r"dpsg & proved & $2.00 \pm 0.58$ & $0.5$ \\",
        r"dgd & none & \multicolumn{2}{c}{$0.50 \pm 0.50$} \\",
    ]
    assert crossed_table(found, "objective", "method").splitlines()[6:-2] == [
        r"Objective & Epsilon & Guarantee & dpsg & dgd \\",
        r"\midrule",
        r"dpsg & $\leq 1$ & proved & $2.00 \pm 0.58$ & -- \\",
        r"dpsg & $\leq 2$ & proved & $0.5$ & -- \\",
        r"dgd & $\infty$ & none & -- & $0.50 \pm 0.50$ \\",
    ]
    only = cells_table(ended(planned, [math.nan] * 3, [1.0] * 3, [1.0] * 3), ["objective"])
    assert "proved & -- & 0 of 3" in only


def test_plots_and_tables_of_a_sweep_are_asked_of_it(planned: Plan, tmp_path: Path) -> None:
    found = tuple(ended(planned, [1.0, 2.0, 3.0], [0.5] * 3, [0.0] * 3))
    swept = Sweep(planned, found, "objective", (), tmp_path)
    assert repr(swept) == f"<Sweep of 3 cells with 3 runs each, objective: {tmp_path}>"
    assert swept.to_latex() == cells_table(found, ["objective"])
    assert swept.to_latex(columns="method") == crossed_table(found, "objective", "method")
    assert [line.name for line in swept.plot().data] == ["dpsg", "dgd"]
    assert len(swept.plot(over="method", facet="privacy.epsilon", across=1).data) == 4
    for call, said in (
        (lambda: swept.plot("auc"), "measure='auc' was not measured; there are objective"),
        (lambda: swept.plot(over="x"), "over='x' is not varied here; there are method, privacy."),
        (lambda: swept.plot(across=0), "across=0 must be at least 1"),
        (lambda: swept.to_latex("auc"), "measure='auc' was not measured"),
        (lambda: swept.to_latex(columns="x"), "columns='x' is not varied here"),
        (lambda: swept.to_latex(names={"dgpd": "D"}), "'dgpd' is no value of this sweep; did you"),
        (lambda: swept.plot(names={"EXTRA": "E"}), "value of this sweep; there are dpsg, dgd, 1"),
        (lambda: swept.plot(names={"dpsg": "A", "dgd": "A"}), "names calls two values 'A'; give"),
        (
            lambda: swept.to_latex("objective", "objective", columns="method"),
            "columns='method' shows one measure, and 2 are given",
        ),
    ):
        with pytest.raises(ConfigError) as error:
            call()
        assert said in str(error.value)
