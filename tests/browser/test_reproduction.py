"""The pages of reproduced papers in a real browser: drawn, readable on a phone, silent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tacit.papers import Scale, reproduce, run
from tacit.papers.huang2015 import fig1
from tacit.papers.target import Paper, Target
from tests.browser.conftest import DESKTOP, Visit
from tests.browser.test_audit import OVERFLOW
from tests.browser.test_report import until
from tests.unit._jobs.pieces import squares
from tests.unit.papers.test_huang2015 import answers


def _filled(name: str) -> Target:
    """A figure as large as a real one, of answers that are made up."""
    made_up = answers(0.04)
    return Target(
        name,
        fig1.FIG1.title,
        lambda scale: squares(1),
        lambda _, scale: fig1.FIG1.told(made_up, Scale.FAST),
    )


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    paper = Paper(
        "someone1999",
        "A. Someone: On squares & roots. 1999.",
        (_filled("someone1999/fig1"), _filled("someone1999/fig2")),
    )
    monkeypatch.setattr(run, "PAPERS", (paper,))
    reproduce(paper.targets, tmp_path, scale=Scale.FAST)
    return tmp_path


@pytest.fixture
def opened(browser: Any, written: Path) -> Any:
    window = browser.new_context(viewport=DESKTOP)
    visited = Visit(window.new_page(), (written / "someone1999.html").as_uri())
    visited.open()
    yield visited
    window.close()


@pytest.mark.long
def test_all_figures_are_drawn_and_nothing_is_asked_for(opened: Visit, tmp_path: Path) -> None:
    page = opened.page
    page.screenshot(full_page=True, path=tmp_path / "desktop.png")
    plots = page.locator(".plot")
    assert plots.count() == 12
    for index in range(plots.count()):
        assert plots.nth(index).locator(".scatterlayer .trace").count() >= 3
    assert page.get_by_text("Claim refuted", exact=False).count() >= 2
    assert page.evaluate(OVERFLOW) <= 0
    assert opened.logged == []
    assert {url.partition(":")[0] for url in opened.requests} == {"file"}


@pytest.mark.long
def test_the_page_can_be_read_on_a_phone(opened: Visit, tmp_path: Path) -> None:
    page = opened.page
    page.set_viewport_size({"width": 390, "height": 800})
    figure = page.locator(".plot .main-svg").first
    until(lambda: figure.bounding_box()["width"] < 390)
    page.screenshot(full_page=True, path=tmp_path / "phone.png")
    assert page.evaluate(OVERFLOW) <= 0


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 390])
def test_the_index_leads_to_every_figure(
    browser: Any, written: Path, width: int, tmp_path: Path
) -> None:
    window = browser.new_context(viewport={"width": width, "height": 800})
    visited = Visit(window.new_page(), (written / "index.html").as_uri())
    page = visited.page
    page.goto(visited.address)
    page.screenshot(full_page=True, path=tmp_path / "index.png")
    assert page.evaluate(OVERFLOW) <= 0
    links = page.locator("a[href^='someone1999.html#']")
    assert {link.get_attribute("href") for link in links.all()} == {
        "someone1999.html#fig1",
        "someone1999.html#fig2",
    }
    assert visited.logged == []
    window.close()
