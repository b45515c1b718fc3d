"""Panels and pages of figures that were drawn anew."""

from pathlib import Path
from typing import Any

import pytest

from tacit.report.reproduction import Curve, Panel, Reproduction, Shown, Verdict, draw, write_paper

SHORT = Panel("Few", "iteration", "error", [Curve("a", [1, 7, 20], [0.1, 0.5, 2.0])], log="xy")


def test_a_short_logarithmic_axis_has_its_numbers_written_out() -> None:
    layout: Any = draw(SHORT).layout
    # plotly's own marks between powers of ten are bare digits: 2 for 20
    assert {1.0, 2.0, 5.0, 10.0, 20.0} <= set(layout.xaxis.tickvals)
    assert layout.yaxis.tickvals[:4] == pytest.approx((0.1, 0.2, 0.5, 1.0))
    assert layout.xaxis.tickformat == "~g" and layout.xaxis.dtick is None
    long = Panel("Many", "iteration", "error", [Curve("a", [1, 20_000], [1.0, 1.1])], log="xy")
    layout = draw(long).layout
    assert layout.xaxis.tickvals is None and layout.xaxis.dtick == 1
    assert layout.yaxis.dtick == 1


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
