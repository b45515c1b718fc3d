"""The page of a sweep in a real browser: drawn, readable on a phone and in the dark, silent."""

from pathlib import Path
from typing import Any

from tacit.report.sweep import write_sweep
from tests.browser.conftest import DESKTOP, Visit
from tests.browser.test_audit import OVERFLOW
from tests.browser.test_report import until
from tests.unit.report.sweep_sample import sweep_sample


def test_it_is_drawn_and_can_be_read_on_a_phone_and_in_the_dark(
    browser: Any, tmp_path: Path
) -> None:
    window = browser.new_context(viewport=DESKTOP)
    opened = Visit(
        window.new_page(), write_sweep(tmp_path / "report.html", sweep_sample()).as_uri()
    )
    page = opened.open()
    assert page.locator("#cells-figure .scatterlayer .trace").count() == 2
    assert page.locator("#cells-figure .errorbar").count() == 2
    assert opened.logged == []
    assert {url.partition(":")[0] for url in opened.requests} == {"file"}
    assert page.get_by_text("Runs add up.").is_visible()
    page.set_viewport_size({"width": 1100, "height": 800})
    table = page.locator("#cells .scroll")
    assert table.evaluate("box => box.scrollWidth - box.clientWidth") <= 0
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 800})
    figure = page.locator("#cells-figure .main-svg").first
    until(lambda: figure.bounding_box()["width"] < 390)
    assert page.evaluate(OVERFLOW) <= 0
    window.close()
