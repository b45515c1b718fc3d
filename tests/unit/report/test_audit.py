"""The page of an audit, without a browser."""

from pathlib import Path

import pytest

from tacit.errors import ConfigError, RuntimeFailure
from tacit.report import TradeOff, write_audit
from tacit.report.audit import render_audit, trade_off
from tests.unit.report.audit_sample import audit_sample, curve


def test_the_page_says_what_was_found_and_needs_nothing_else(tmp_path: Path) -> None:
    path = write_audit(tmp_path / "audit.html", audit_sample())
    page = path.read_text(encoding="utf-8")
    assert "The audit did not refute the claim; it cannot prove it." in page
    assert "Not refuted" in page and 'class="guarantee unrefuted"' in page
    assert "Clopper-Pearson" in page and "0.82" in page
    assert "default-src 'none'" in page
    assert "stays out of" in page and "http://" not in page.split('id="plotly"')[0]


def test_a_refuted_claim_is_marked_in_words_too() -> None:
    page = render_audit(audit_sample(refuted=True, curve=curve(3.0, 0.3)))
    assert 'class="guarantee refuted"' in page
    assert "the measured curve enters it" in page


def test_what_others_wrote_cannot_end_the_page() -> None:
    page = render_audit(audit_sample(title="</title><script>alert(1)</script>"))
    assert "<script>alert(1)" not in page


def test_the_figure_holds_claim_band_and_measurement() -> None:
    figure = trade_off(curve(1.0, 0.5))
    names = [trace.name for trace in figure.data]
    assert names == [
        "lowest that the claim allows",
        "confidence band",
        "what the audit achieved",
    ]
    claim, band, measured = figure.data
    # the band runs forth along its upper end and back along its lower one
    assert list(band.x) == [*measured.x, *reversed(measured.x)]
    assert band.y[0] >= measured.y[0] >= band.y[-1]
    assert claim.y[50] == pytest.approx(0.3085, abs=1e-4)


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ConfigError, match="differ in length"):
        TradeOff([0.0, 1.0], [1.0, 0.0], [1.0], [1.0, 0.0], [1.0, 0.0])


def test_a_page_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(RuntimeFailure, match="could not be written"):
        write_audit(tmp_path / "missing" / "audit.html", audit_sample())
