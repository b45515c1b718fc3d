"""Panels and pages of figures that were drawn anew."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tacit.report.curve_table import write_curves
from tacit.report.reproduction import (
    Curve,
    Panel,
    Reproduction,
    Shown,
    Verdict,
    compared,
    draw,
    write_paper,
)

SHORT = Panel("Few", "iteration", "error", [Curve("a", [1, 7, 20], [0.1, 0.5, 2.0])], log="xy")


def test_a_logarithmic_axis_has_its_numbers_written_out() -> None:
    layout: Any = draw(SHORT).layout
    # plotly's own marks between powers of ten are bare digits: 2 for 20
    assert layout.xaxis.ticktext == ("1", "2", "5", "10", "20")
    assert layout.yaxis.ticktext == ("0.1", "0.2", "0.5", "1", "2")
    narrow = Panel("Many", "iteration", "error", [Curve("a", [1, 20_000], [0.3, 0.4])], log="xy")
    layout = draw(narrow).layout
    assert layout.xaxis.ticktext == ("1", "10", "100", "1000", "10000")
    # no power of ten lies within
    assert len(layout.yaxis.ticktext) >= 3 and "0.3" in layout.yaxis.ticktext


@pytest.mark.parametrize("across", [2, 3])
def test_panels_stand_beside_each_other_as_in_the_paper(tmp_path: Path, across: int) -> None:
    found = Reproduction(Verdict.UNDECIDED, "So.", published=[SHORT] * across, across=across)
    page = write_paper(
        tmp_path / "p.html",
        title="p",
        citation="A, B: C.",
        shown=[Shown("p/fig1", "errors", found)],
        fast=False,
        environment={},
    ).read_text()
    assert ('class="columns three"' in page) == (across == 3)


def test_a_table_has_no_column_of_dashes(tmp_path: Path) -> None:
    def headings(*rows: Any) -> tuple[str, list[str]]:
        found = Reproduction(Verdict.UNDECIDED, "So.", comparison=rows)
        page = write_paper(
            tmp_path / "p.html",
            title="p",
            citation="A, B: C.",
            shown=[Shown("p/fig1", "errors", found)],
            fast=False,
            environment={},
        ).read_text()
        [title] = re.findall("<h3>(.*)</h3>\\n", page)
        return title, re.findall("<th[^>]*>([^<]*)</th>", page)

    bare = compared("last", None, 2.0, true_epsilon=float("nan"))
    assert headings(bare, bare) == ("Our numbers", ["What", "Ours"])
    title, columns = headings(bare, compared("first", 4.0, 2.0))
    assert title.startswith("Comparison with the paper")
    assert columns == ["What", "Paper", "Ours", "Ratio"]


def test_the_numbers_of_curves_can_be_read(tmp_path: Path) -> None:
    band = Curve("=a, b", ["few", "many"], [1.0, 2.0], low=[0.5, 1.5], high=[1.5, 2.5])
    panel = Panel("Groups", "size", "error", [band])
    found = Reproduction(Verdict.UNDECIDED, "So.", published=[SHORT], certified=[panel])
    rows = pd.read_csv(write_curves(tmp_path / "p-fig1.csv", found))
    assert rows["half"].tolist() == ["published"] * 3 + ["certified"] * 2
    assert rows["x"].tolist() == ["1", "7", "20", "few", "many"]
    assert rows["y"].tolist() == [0.1, 0.5, 2.0, 1.0, 2.0]
    assert rows["low"][3:].tolist() == [0.5, 1.5] and rows["high"][:3].isna().all()
    # a spreadsheet must not take a name for a formula
    assert rows["curve"][3] == "'=a, b"
