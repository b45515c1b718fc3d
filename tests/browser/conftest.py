"""A real browser, the one that is installed: nothing is downloaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tacit.report import ReportData, write_report
from tests.standing import made, three
from tests.unit.report.sample import sample

__all__ = ["made", "three"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

DESKTOP = {"width": 1280, "height": 900}

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium with an empty profile."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        missing(f"no browser on this machine (looked for {', '.join(BROWSERS)})")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        missing(f"{error}; install tacit's extra 'dev'")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield running
        running.close()


def missing(reason: str) -> None:
    """Skip, or fail where the browser is required."""
    if os.environ.get("TACIT_REQUIRE_BROWSER") == "1":
        pytest.fail(f"TACIT_REQUIRE_BROWSER=1, but {reason}")
    pytest.skip(reason)


class Visit:
    """A page that is open, and all that it logged and asked for."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address = page, address
        self.logged: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.logged.append(message.text))
        page.on("pageerror", lambda error: self.logged.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self) -> Any:
        """Load the page and wait until its figures are drawn."""
        self.page.goto(self.address)
        self.page.wait_for_selector("html[data-figures=drawn]")
        return self.page


@pytest.fixture(scope="session")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Visit]]:
    """Opens the report of some data in a window of its own."""
    windows = []

    def start(data: ReportData, **options: Any) -> Visit:
        report = write_report(tmp_path_factory.mktemp("page") / "report.html", data)
        window = browser.new_context(viewport=DESKTOP, **options)
        windows.append(window)
        visited = Visit(window.new_page(), report.as_uri())
        if options.get("java_script_enabled", True):
            visited.open()
        else:
            visited.page.goto(visited.address)
        return visited

    yield start
    for window in windows:
        window.close()


@pytest.fixture(scope="session")
def shared(visit: Callable[..., Visit]) -> Visit:
    """The sample's page, opened once: unpacking Plotly takes a second or two."""
    return visit(sample())


@pytest.fixture
def desktop(shared: Visit) -> Visit:
    """The sample's page on a desk: the window's size and the medium as new."""
    shared.page.set_viewport_size(DESKTOP)
    shared.page.emulate_media(media="null", color_scheme="light")
    return shared
