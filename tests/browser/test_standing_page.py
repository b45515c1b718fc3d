"""The status page of a site in a real browser: what it shows, and what it refuses."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tacit.deploy.files import write_json
from tacit.deploy.operate.watch import starting
from tacit.deploy.standing.entries import Entry
from tacit.deploy.standing.page import Page
from tests.browser.test_report import CONTRAST, OVERFLOW, REQUEST
from tests.standing import Three

pytestmark = pytest.mark.long

HOSTILE = "<img src=x onerror=alert(1)> & a study with a very-long-word-" + 12 * "without-end-"

TEXTS = (
    "h1",
    "#agent",
    "h2",
    "h3",
    ".state",
    ".soft",
    ".wait",
    ".bad",
    ".good",
    "td",
    "th",
    "code",
)


def running(entry: Entry, site: Path) -> None:
    """Write what an agent and a member write while they are in a run."""
    entry.state_folder.mkdir()
    (entry.state_folder / "journal.db").touch()
    starting(entry.state_folder / "status.json", entry.manifest, "north", 5)
    path = entry.state_folder / "status.json"
    around = {"silent_seconds": 0.4, "waited_seconds": 0.012, "finished": False}
    more = {"south": around, "west": {**around, "silent_seconds": 130.0}}
    now = {"state": "running", "round": 3, "waiting_for": ["west"], "neighbours": more}
    write_json(path, json.loads(path.read_text()) | now)
    write_json(
        site / "serving.json",
        {"time": time.time() + 600.0, "doing": "runs", "run": entry.run, "page": "", "heard": {}},
    )


@pytest.fixture
def address(three: Three) -> Iterator[str]:
    """A page with a run in every state."""
    site = three.sites["north"]
    failed = three.proposed("One that failed")
    write_json(failed.folder / "failure.json", {"told": "the table has 387 records"})
    three.offered("One to be approved")
    over = three.proposed("One that has ended")
    over.state_folder.mkdir()
    (over.state_folder / "result.json").write_text("{}")
    over.report.touch()
    over.bundle.touch()
    three.proposed(HOSTILE)
    going = three.approved("west", three.approved("south", three.proposed("One that runs")))
    running(three.queues["north"].take(going.manifest), site.folder)
    with Page(site) as page:
        yield page.address


def opened(browser: Any, address: str, **options: Any) -> tuple[Any, list[str], list[str]]:
    """The page in a window of its own, what it logs, and what it asks for."""
    page = browser.new_context(**options).new_page()
    logged: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: logged.append(message.text))
    page.on("pageerror", lambda error: logged.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_selector("html[data-shown=yes]")
    return page, logged, asked


def test_it_shows_every_run_with_whom_it_waits_for_and_budgets(browser: Any, address: str) -> None:
    page, logged, asked = opened(browser, address)
    titles = page.locator("#runs h3").all_text_contents()
    assert titles[0] == "One that runs"
    assert titles[1] == "One to be approved"
    assert HOSTILE in titles  # as text
    assert page.locator("img").count() == 0
    text = page.locator("main").inner_text()
    for told in (
        "Round 3 of 5",
        "Waits for west",
        "2 min ago",
        "12 ms",
        "Waits for your approval",
        "tacit site approve",
        "failed: tacit site list says why",
        "Waits for south, west",
        "Signed bundle: ",
        "Epsilon 0 of 5 spent, at delta 1e-6",
        "With all approved runs at most",
    ):
        assert told in text, (told, text)
    assert "387" not in text
    assert page.locator("progress").evaluate("bar => bar.value / bar.max") == 0.6
    widths = page.locator(".bar rect").evaluate_all(
        "bars => bars.map((b) => b.width.baseVal.value)"
    )
    assert widths[0] > widths[1] == 0
    assert page.title() == "north: tacit"
    page.wait_for_timeout(2500)  # it asks again
    assert sum(each.endswith("status.json") for each in asked) >= 2
    assert all(each.startswith(address) for each in asked)
    assert logged == []


@pytest.mark.parametrize(
    ("doing", "told"),
    [
        ("pausing", "The agent pauses for an upgrade as soon as no run needs it."),
        ("paused", "The agent is paused for an upgrade."),
    ],
)
def test_it_says_which_version_a_run_that_waits_needs(
    browser: Any, three: Three, doing: str, told: str
) -> None:
    site = three.sites["north"]
    going = three.approved("west", three.approved("south", three.proposed("One that waits")))
    run = three.queues["north"].take(going.manifest).run
    said = {"versions": {"south": "1.2.3", "west": "upgrading"}, "begun": {run: {"south": "1.2.3"}}}
    now = {"time": time.time() + 600.0, "doing": doing, "run": None, "page": "", "heard": {}}
    write_json(site.folder / "serving.json", now | said)
    with Page(site) as shown:
        page, logged, _ = opened(browser, shown.address)
        text = page.locator("main").inner_text()
        assert page.locator("#agent").inner_text() == told
    assert "south began it with tacit 1.2.3" in text
    assert "Begins when all have one version of tacit" not in text
    write_json(site.folder / "serving.json", now | said | {"begun": {}})
    with Page(site) as shown:
        text = opened(browser, shown.address)[0].locator("main").inner_text()
    assert "Begins when all have one version of tacit" in text
    assert "west has none, as it is upgraded" in text
    assert logged == []


def test_another_host_gets_nothing_and_the_page_may_ask_nobody_else(
    browser: Any, address: str
) -> None:
    page, *_ = opened(browser, address)
    assert page.evaluate(REQUEST) == "connect-src"
    other = page.context.new_page()
    found = other.goto(address.replace("127.0.0.1", "evil.localhost"))  # leads here, too
    assert found.status == 421
    assert "north" not in other.content()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_is_legible(
    browser: Any, address: str, width: int, scheme: str, tmp_path: Path
) -> None:
    size = {"width": width, "height": 844}
    page, *_ = opened(browser, address, viewport=size, color_scheme=scheme)
    page.screenshot(full_page=True, path=tmp_path / "page.png")
    assert page.evaluate(OVERFLOW) == 0
    contrasts = {text: page.evaluate(CONTRAST, text) for text in TEXTS}
    assert {text: each for text, each in contrasts.items() if each < 4.5} == {}


def test_it_says_when_the_agent_no_longer_answers(browser: Any, three: Three) -> None:
    with Page(three.sites["north"]) as page:
        shown, *_ = opened(browser, page.address)
    shown.wait_for_selector("html[data-shown=failed]")
    assert "does not answer" in shown.locator("#agent").inner_text()
