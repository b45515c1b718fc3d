"""The page of an audit in a real browser: drawn, readable on a phone and in the dark, silent."""

from pathlib import Path
from typing import Any

import pytest

from tacit.report import write_audit
from tests.browser.conftest import DESKTOP, Visit
from tests.browser.test_report import until
from tests.unit.report.audit_sample import audit_sample, curve

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(params=[False, True], ids=["not refuted", "refuted"])
def opened(browser: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    data = audit_sample(refuted=request.param, curve=curve(2.0 if request.param else 0.3, 0.32))
    window = browser.new_context(viewport=DESKTOP)
    visited = Visit(window.new_page(), write_audit(tmp_path / "audit.html", data).as_uri())
    visited.open()
    yield visited
    window.close()


@pytest.mark.long
def test_the_curve_is_drawn_and_nothing_is_asked_for(opened: Visit, tmp_path: Path) -> None:
    page = opened.page
    page.screenshot(full_page=True, path=tmp_path / "desktop.png")
    assert page.locator("#tradeoff .scatterlayer .trace").count() == 3
    assert page.locator("#tradeoff .js-fill").count() > 1
    assert opened.logged == []
    assert {url.partition(":")[0] for url in opened.requests} == {"file"}
    assert page.get_by_text("Lower bounds on epsilon").is_visible()


@pytest.mark.long
def test_it_can_be_read_on_a_phone_and_in_the_dark(opened: Visit, tmp_path: Path) -> None:
    page = opened.page
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 800})
    figure = page.locator("#tradeoff .main-svg").first
    until(lambda: figure.bounding_box()["width"] < 390)
    page.screenshot(full_page=True, path=tmp_path / "phone.png")
    assert page.evaluate(OVERFLOW) <= 0
