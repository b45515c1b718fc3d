"""The page of a sweep, and what is drawn on it."""

from __future__ import annotations

import json
import math
from pathlib import Path

from tacit.report.sweep import MOST, Series, alternative, caption, draw, write_sweep
from tests.unit.report.sweep_sample import sweep_sample


def test_lines_have_intervals_and_a_level_reaches_across() -> None:
    figure = json.loads(str(draw(sweep_sample()).to_json()))
    line, level = figure["data"]
    assert line["y"] == [0.7, 0.8] and line["error_y"]["array"] == [0.02, 0.0]
    assert level["x"] == [0.5, 1.0] and level["y"] == [0.9, 0.9] and "error_y" not in level
    assert "<" not in level["name"]
    assert figure["layout"]["xaxis"].get("type") != "log"


def test_budgets_over_a_factor_of_ten_stand_on_a_logarithmic_axis() -> None:
    data = sweep_sample(series=[Series("dpsg", [0.1, 1.0, 10.0], [3.0, 0.2, 0.01], [0.0] * 3)])
    assert draw(data).layout.xaxis.type == "log" and draw(data).layout.yaxis.type is None
    steep = sweep_sample(series=data.series, logarithmic=True)
    assert draw(steep).layout.yaxis.type == "log"
    # what is not positive has no place there
    below = [Series("dpsg", [0.1, 1.0], [3.0, -0.2], [0.0] * 2)]
    assert draw(sweep_sample(series=below, logarithmic=True)).layout.yaxis.type is None


def test_a_cell_without_any_finished_run_leaves_a_gap() -> None:
    data = sweep_sample(series=[Series("dpsg", [0.5, 1.0], [math.nan, 0.8], [math.nan, 0.1])])
    assert list(draw(data).data[0].y) == [None, 0.8]
    assert "NaN" not in str(draw(data).to_json())


def test_only_level_lines_make_a_figure_too() -> None:
    data = sweep_sample(axis="", series=[Series("dgd", ["dgd"], [0.9], [0.1])])
    assert list(draw(data).data[0].x) == ["dgd"] and draw(data).data[0].mode == "markers"


def test_more_lines_than_can_be_told_apart_are_named() -> None:
    many = [Series(str(n), [0.5, 1.0], [0.1 * n] * 2, [0.0] * 2) for n in range(MOST + 3)]
    data = sweep_sample(series=many)
    assert len(draw(data).data) == MOST
    assert f"The first {MOST} of {MOST + 3} lines are drawn" in caption(data)
    assert "level line" in caption(sweep_sample()) and "level line" not in caption(data)


def test_the_page_says_what_the_numbers_do_not(tmp_path: Path) -> None:
    text = write_sweep(tmp_path / "report.html", sweep_sample()).read_text()
    for said in ("Simulation only.", "Runs add up.", "30 runs", "simulation only", "proved"):
        assert said in text
    assert "Visits &lt;b&gt;" in text and "&lt;/pre&gt;&lt;script&gt;" in text
    assert alternative(sweep_sample()) in text.replace("&lt;", "<").replace("&gt;", ">")
