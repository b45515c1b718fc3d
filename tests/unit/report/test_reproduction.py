"""Panels and pages of figures that were drawn anew."""

from pathlib import Path
from typing import Any

import pytest

from tacit.report.reproduction import Curve, Panel, Reproduction, Shown, Verdict, draw, write_paper

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
