"""The page of a sweep, and what is drawn on it."""

from __future__ import annotations

import json
import math
from pathlib import Path

from tacit.report.sweep import NAMED, Series, alternative, caption, draw, height, write_sweep
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


def test_every_line_is_drawn_and_looks_like_no_other() -> None:
    many = [Series(str(n), [0.5, 1.0], [0.1 * n] * 2, [0.0] * 2) for n in range(40)]
    data = sweep_sample(series=many)
    lines = draw(data).data
    assert len({(t.line.color, t.line.dash, t.marker.symbol) for t in lines}) == len(lines) == 40
    assert f"{40 - NAMED} more lines, whose numbers are in the table" in alternative(data)
    assert height(data) > height(sweep_sample())
    assert "level line" in caption(sweep_sample()) and "level line" not in caption(data)


def test_panels_share_axes_looks_and_what_belongs_to_none() -> None:
    data = sweep_sample(
        series=[
            Series("dpsg", [0.5, 1.0], [0.7, 0.8], [0.0] * 2, facet="network ring"),
            Series("dpsg", [0.5, 1.0], [0.6, 0.9], [0.0] * 2, facet="network <grid>"),
            Series("dgd", [None], [0.9], [math.nan], level=True),
        ]
    )
    figure = draw(data)
    assert [note.text for note in figure.layout.annotations] == [
        "network ring",
        "network &lt;grid&gt;",
    ]
    assert [(t.name, t.yaxis, t.showlegend) for t in figure.data] == [
        ("dpsg", "y", True),
        ("dgd", "y", True),
        ("dpsg", "y2", False),
        ("dgd", "y2", False),
    ]
    assert figure.data[0].line == figure.data[2].line
    assert figure.layout.xaxis2.matches == "x" and figure.layout.yaxis2.matches == "y"
    assert figure.layout.xaxis.title.text is None and figure.layout.xaxis2.title.text
    beside = draw(data, across=2)
    assert beside.layout.xaxis.title.text and beside.layout.height < figure.layout.height
    assert "same axes; what is the same in all of them is drawn in each" in caption(data)
    assert "network ring, dpsg from 0.7 to 0.8" in alternative(data)


def test_the_lowest_panel_of_every_column_has_ticks_and_titles_fit() -> None:
    facets = [f"method {name}" for name in ("dpsg", "pdop", "pvp", "dgd", "extra")]
    lines = [Series("ring", [0.5, 1.0, 2.0, 4.0], [0.7] * 4, [0.0] * 4, facet=f) for f in facets]
    long = "relative squared distance from the pooled fit"
    figure = draw(sweep_sample(measure=long, series=lines), across=2)
    # five panels: the fourth is the lowest of the second column
    shown = [figure.layout[f"xaxis{n or ''}"] for n in ("", 2, 3, 4, 5)]
    assert [axis.showticklabels is not False for axis in shown] == [False, False, False, True, True]
    assert [bool(axis.title.text) for axis in shown] == [False, False, False, True, True]
    assert max(map(len, figure.layout.yaxis.title.text.split("<br>"))) <= 30
    # doubled budgets stand at equal distances
    assert figure.layout.xaxis.type == "log"
    assert list(figure.layout.xaxis.ticktext) == ["0.5", "1", "2", "4"]
    sizes = [Series("ring", [4.0, 8.0, 12.0], [0.7] * 3, [0.0] * 3)]
    assert draw(sweep_sample(series=sizes)).layout.xaxis.type is None


def test_names_on_the_axis_keep_their_order_and_stand_side_by_side() -> None:
    lines = [Series("dpsg", ["ring", "grid"], [0.7, 0.8], [0.1] * 2)]
    level = Series("gd", [None], [0.9], [math.nan], level=True)
    figure = draw(sweep_sample(axis="network", series=[*lines, level]))
    assert list(figure.layout.xaxis.categoryarray) == ["ring", "grid"]
    assert figure.data[0].mode == "markers" and list(figure.data[1].x) == ["ring", "grid"]
    assert figure.layout.scattermode == "group"


def test_the_page_says_what_the_numbers_do_not(tmp_path: Path) -> None:
    text = write_sweep(tmp_path / "report.html", sweep_sample()).read_text()
    for said in ("Simulation only.", "Runs add up.", "30 runs", "simulation only", "proved"):
        assert said in text
    assert "Visits &lt;b&gt;" in text and "&lt;/pre&gt;&lt;script&gt;" in text
    assert alternative(sweep_sample()) in text.replace("&lt;", "<").replace("&gt;", ">")
