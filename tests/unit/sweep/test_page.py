"""Lines and panels of the figure of a sweep."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tacit.errors import ConfigError
from tacit.privacy.guarantee import Status
from tacit.privacy.guarantees import Guarantees
from tacit.study import read_study
from tacit.sweep import Grid, Plan, Runs, plan, words
from tacit.sweep.latex import crossed_table
from tacit.sweep.page import check_keys, sweep_data
from tacit.sweep.words import called
from tests.end_to_end import study
from tests.unit.sweep.made_up import ended


def networked(planned: Plan) -> tuple[Plan, list[Runs]]:
    """Two cases, one of a doubtful guarantee, over three graphs and two budgets."""
    doubt = {"status": Status.MODEL, "assumptions": ("so",), "reason": "no"}
    cells = [
        replace(
            cell,
            settings={"case": c, "method": m, "method.step": s, "network": n, "privacy.epsilon": e},
            covered=frozenset({"method", "method.step"}),
            guarantee=Guarantees((replace(cell.worst, **doubt) if c == "B" else cell.worst,)),
        )
        for c, m, s in (("A", "dpsg", 0.1), ("B", "pdop", 0.2))
        for n in ("ring", {"graph": "grid", "rows": 4}, {"graph": "erdos_renyi", "seed": 1})
        for e, cell in zip((1.0, 2.0), planned.cells, strict=False)
    ]
    whole = replace(planned, cells=tuple(cells))
    return whole, ended(whole, *([float(i)] * 3 for i in range(len(cells))))


def test_budgets_are_the_axis_and_a_method_without_one_a_level(planned: Plan) -> None:
    page = sweep_data(planned, ended(planned, [1.0] * 3, [3.0] * 3, [0.5] * 3), None)
    private, level = page.series
    assert page.axis == "epsilon of one run"
    assert (private.name, list(private.x), list(private.y)) == ("dpsg", [1.0, 2.0], [1.0, 3.0])
    assert (level.name, level.level, list(level.y)) == ("dgd", True, [0.5])


def test_without_a_number_that_varies_the_first_other_key_is_the_axis(tmp_path: Path) -> None:
    source = read_study(study.write(tmp_path))
    planned = plan(source, Grid(2, ("dpsg", "dgd"), {"network": ("ring", "complete")}))
    found = ended(planned, [1.0] * 2, [2.0] * 2, [3.0] * 2, [4.0] * 2)
    page = sweep_data(planned, found, None)
    assert page.axis == "network"
    assert [(s.name, list(s.x), list(s.y)) for s in page.series] == [
        ("dpsg", ["ring", "complete"], [1.0, 2.0]),
        ("dgd", ["ring", "complete"], [3.0, 4.0]),
    ]
    # another key is a matter of asking
    page = sweep_data(planned, found, None, over="method", facet="network")
    assert page.facets == ["network ring", "network complete"]
    assert [(s.facet, list(s.x)) for s in page.series] == [
        ("network ring", ["dpsg"]),
        ("network complete", ["dpsg"]),
        ("network ring", ["dgd"]),
        ("network complete", ["dgd"]),
    ]
    with pytest.raises(ConfigError, match="over='method' is not varied here") as error:
        check_keys(replace(planned, cells=()), "method", None)
    assert "there are" in str(error.value)


def test_where_only_methods_differ_each_has_its_place(planned: Plan) -> None:
    page = sweep_data(planned, ended(planned, [1.0] * 3, [2.0] * 3, [3.0] * 3)[1:], None)
    assert page.axis == "" and [list(series.x) for series in page.series] == [
        ["dpsg, budget 2.0"],
        ["dgd"],
    ]


def many(planned: Plan) -> tuple[Plan, list[Runs]]:
    """Nine networks at two budgets, and one method that has neither."""
    cells = [
        replace(planned.cells[0], settings={"method": "dpsg", "network": n, "privacy.epsilon": e})
        for n in range(9)
        for e in (1.0, 2.0)
    ]
    whole = replace(planned, cells=(*cells, planned.cells[2]))
    return whole, ended(whole, *([float(i)] * 3 for i in range(19)))


def test_many_lines_have_panels_and_what_is_in_none_is_in_each(planned: Plan) -> None:
    page = sweep_data(*many(planned), None)
    assert page.facets == [f"network {n}" for n in range(9)] and page.names == ["dpsg", "dgd"]
    assert [series.facet for series in page.series if series.name == "dgd"] == [""]
    few = sweep_data(*many(planned), None, facet="method")
    assert few.facets == ["dpsg", "dgd"] and len(few.names) == 10


def test_a_graph_is_one_line_of_one_look_in_all_panels(planned: Plan) -> None:
    whole, found = networked(planned)
    graphs = ["network ring", "network grid (rows 4)", "network erdos_renyi (seed 1)"]
    doubt = " (model claim, not a proof)"
    page = sweep_data(whole, found, None, facet="case")
    assert page.names == graphs and page.facets == ["A", f"B{doubt}"]
    page = sweep_data(whole, found, None, facet="method")
    assert page.names == graphs and page.facets == ["dpsg", f"pdop{doubt}"]
    # panels whose cells differ in status have it in the names of their lines
    page = sweep_data(whole, found, None, facet="network")
    assert page.names == ["A", f"B{doubt}"]
    # of themselves, panels leave the fewest lines to tell apart
    bare = replace(planned.cells[0], covered=frozenset())
    cells = [
        replace(bare, settings={"method": "dpsg", "method.step": s, "network": n, "run.rounds": r})
        for s, r in ((0.1, 10), (0.2, 10), (0.3, 20), (0.4, 20))
        for n in ("ring", "star", "path")
    ]
    many = replace(
        planned,
        cells=tuple(
            replace(c, settings={**c.settings, "privacy.epsilon": e})
            for c in cells
            for e in (1.0, 2.0)
        ),
    )
    page = sweep_data(many, ended(many, *[[1.0] * 3] * 24), None)
    assert page.names == [f"dpsg, network {graph}" for graph in ("ring", "star", "path")]
    assert page.facets == ["step 0.1", "step 0.2", "step 0.3", "step 0.4"]


def test_where_one_graph_is_renamed_the_others_stand_alone_too(planned: Plan) -> None:
    whole, found = networked(planned)
    named = called(whole.cells, {"grid (rows 4)": "4 by 4 grid"})
    page = sweep_data(whole, found, None, facet="case", names=named)
    assert page.names == ["ring", "4 by 4 grid", "erdos_renyi (seed 1)"]
    text = crossed_table(found, "objective", "case", named)
    assert r"ring & $\leq 1$ & proved" in text and "network" not in text and "budget" not in text
    assert {row["network"] for row in page.cells} == {"ring", "4 by 4 grid", "erdos_renyi (seed 1)"}
    # a number says nothing alone
    assert "step 0.2" in words.label(
        found[-1], only="method.step", names=called(whole.cells, {"0.1": "small"})
    )
