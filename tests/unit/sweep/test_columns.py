"""Columns of the table of cells, on the page and on the console."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit.cli.sweeping import _tell
from tacit.privacy.guarantees import Guarantees
from tacit.study import read_study
from tacit.sweep import Grid, Plan, Sweep, plan
from tacit.sweep.columns import alike, rows
from tacit.sweep.page import sweep_data
from tests.end_to_end import study
from tests.unit.sweep.made_up import ended


def test_what_varies_and_the_results_stand_before_what_is_the_same(tmp_path: Path) -> None:
    source = read_study(study.write(tmp_path))
    grid = Grid(2, (), {"run.rounds": (10,), "method.step": (0.1, 0.2)})
    planned = plan(source, grid)
    page = sweep_data(planned, ended(planned, *[[1.0] * 2] * 2), None)
    (cells,) = map(tuple, {tuple(row) for row in page.cells})
    assert cells == ("step", "epsilon", "guarantee", "mean", "standard_error")
    assert page.alike == "In all cells: method dpsg, rounds 10. Delta is 1e-6."
    (others,) = {tuple(row) for row in rows(ended(planned, *[[1.0] * 2] * 2), "x", brief=True)}
    assert others == ("step", "mean", "standard_error")


def test_a_budget_has_a_column_only_where_epsilon_is_another(planned: Plan) -> None:
    found = ended(planned, [1.0, 2.0, math.nan], [1.0] * 3, [1.0] * 3)
    assert [tuple(row.values())[:3] for row in rows(found, "objective")] == [
        ("dpsg", 1.0, "proved"),
        ("dpsg", 2.0, "proved"),
        ("dgd", math.inf, "none"),
    ]
    assert [row["finished"] for row in rows(found, "objective")] == ["2 of 3", "3 of 3", "3 of 3"]
    cell = found[0].cell
    less = replace(cell, guarantee=Guarantees((replace(cell.worst, epsilon=0.7, delta=1e-7),)))
    found[0] = replace(found[0], cell=less)
    first = rows(found, "objective")[0]
    assert [first[name] for name in ("budget", "epsilon", "delta")] == [1.0, 0.7, 1e-7]
    assert alike(found) == ""
    # one cell has all columns: nothing tells it apart
    assert list(rows(found[2:], "objective")[0])[:2] == ["method", "epsilon"]


def test_the_console_prints_the_table_of_the_page(planned: Plan, capsys: Any) -> None:
    found = tuple(ended(planned, [1.0, 2.0, 3.0], [0.5] * 3, [0.0] * 3))
    called = replace(planned, grid=replace(planned.grid, names={"dpsg": "Ours"}))
    _tell(Sweep(called, found, "objective", (), Path("out")))
    printed = capsys.readouterr().out
    tops = "Method Epsilon Guarantee per run Mean Standard error"
    assert tops in " ".join(printed.split()) and "Delta is 1e-6." in printed
    assert "Ours" in printed and "dpsg" not in printed
