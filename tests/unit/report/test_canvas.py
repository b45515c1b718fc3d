"""Pages and figures where Plotly is not installed."""

import sys

import pytest

from tacit.errors import ConfigError
from tacit.report import render
from tacit.report.audit import render_audit, trade_off
from tacit.report.canvas import without_figures
from tests.unit.report.audit_sample import audit_sample
from tests.unit.report.sample import sample

NOTE = "pip install 'tacit[report]'"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("plotly", "plotly.graph_objects"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("bare")
def test_a_page_has_no_script_and_says_what_its_figures_would_show() -> None:
    page = render(sample())
    assert "<script" not in page and "script-src" not in page and 'class="plot"' not in page
    assert page.count(NOTE) == 1 and page.count("<figure>") > 3
    assert "<table>" in page and 'id="machine"' in page and "At the end:" in page
    assert NOTE in render_audit(audit_sample())
    assert NOTE in without_figures()


def test_with_plotly_nothing_is_said() -> None:
    assert NOTE not in render(sample()) + render_audit(audit_sample())
    assert without_figures() == ""


@pytest.mark.usefixtures("bare")
def test_a_figure_names_the_extra() -> None:
    curve = audit_sample().curve
    with pytest.raises(ConfigError, match=r"figures need plotly; .*'tacit\[report\]'"):
        trade_off(curve)
