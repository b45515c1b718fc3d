"""The report in a real browser: drawn, readable on a phone, in the dark and on paper, and silent.

Screenshots and the printed page stay in pytest's temporary directory, to be looked at.
"""

import time

import pytest

from tacit.report import NetworkPicture
from tests.unit.report.sample import sample

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

DRAWINGS = """() => [...document.querySelectorAll(".plot")].map((plot) => {
  const box = plot.getBoundingClientRect();
  const svg = plot.querySelector(".main-svg")?.getBoundingClientRect();
  return {
    id: plot.id,
    marks: plot.querySelectorAll(".trace path").length,
    fits: Boolean(svg) && svg.width > 100 && svg.height > 100
      && svg.left >= box.left - 1 && svg.right <= box.right + 1,
  };
})"""

CONTRAST = """(selector) => {
  const luminance = (colour) => {
    const channels = colour.match(/[0-9.]+/g).slice(0, 3).map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2];
  };
  const element = document.querySelector(selector);
  const style = getComputedStyle(element);
  const ink = luminance(element instanceof SVGElement ? style.fill : style.color);
  let ground = element;
  while (getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)") {
    ground = ground.parentElement;
  }
  const paper = luminance(getComputedStyle(ground).backgroundColor);
  return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
}"""

REQUEST = """() => new Promise((resolve) => {
  addEventListener("securitypolicyviolation", (event) => resolve(event.violatedDirective));
  fetch("https://example.org/").catch(() => undefined);
})"""
"""Tries a request and tells which rule of the page refused it."""

PATIENCE = 10.0
"""Seconds to wait for what the page does in its own time."""

TEXTS = ("#summary p", ".caption", ".status", ".tag", ".banner", "nav a", "td", ".xtick text")
"""One of every kind of text."""


def drawn(page):
    """How many figures have marks and lie within their frames."""
    return sum(figure["fits"] and figure["marks"] > 0 for figure in page.evaluate(DRAWINGS))


def until(holds):
    """Wait until something holds, and fail if it does not."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "the page did not get there in time"
        time.sleep(0.05)


@pytest.mark.long
def test_a_click_opens_the_explanation(desktop, tmp_path):
    page = desktop.page
    folded = page.screenshot(full_page=True, path=tmp_path / "desktop.png")
    meaning = page.get_by_text("changes the odds of one version of the unit")
    assert not meaning.is_visible()
    page.get_by_text("What this means").click()
    assert meaning.is_visible()
    assert "a factor e^1 = 2.718" in page.locator("#meaning").inner_text()
    assert page.screenshot(full_page=True, path=tmp_path / "opened.png") != folded
    page.get_by_text("What this means").click()
    assert not meaning.is_visible()
    assert desktop.logged == []


def test_the_page_logs_nothing_and_asks_for_nothing(desktop):
    for name in ("network-figure", "gap-figure", "spending-figure"):
        desktop.page.locator(f"#{name}").hover()
    desktop.page.wait_for_timeout(200)
    assert desktop.logged == []
    assert desktop.requests == [desktop.address]


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_figures_are_drawn_and_nothing_runs_over_the_edge(desktop, width, tmp_path):
    page = desktop.page
    page.set_viewport_size({"width": width, "height": 900})
    until(lambda: drawn(page) == 7)
    page.screenshot(full_page=True, path=tmp_path / f"{width}.png")
    assert page.evaluate(OVERFLOW) == 0


def test_on_a_phone_a_wide_table_scrolls_in_its_own_box(desktop):
    page = desktop.page
    page.set_viewport_size({"width": 390, "height": 844})
    box = page.locator("#guarantee .scroll")
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") > 0
    box.evaluate("box => box.scrollTo(100, 0)")
    assert box.evaluate("box => box.scrollLeft") == 100
    assert page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") >= 16


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_legible_in_the_light_and_in_the_dark(desktop, scheme, tmp_path):
    page = desktop.page
    page.emulate_media(color_scheme=scheme)
    page.screenshot(full_page=True, path=tmp_path / f"{scheme}.png")
    contrasts = {text: page.evaluate(CONTRAST, text) for text in TEXTS}
    assert {text: c for text, c in contrasts.items() if c < 4.5} == {}


def test_the_contents_lead_to_their_sections(desktop):
    page = desktop.page
    links = page.locator("nav a")
    for link in links.all():
        assert page.locator(link.get_attribute("href")).count() == 1
    page.get_by_role("link", name="Releases").click()
    title = page.locator("#releases h2")
    until(lambda: 0 <= title.bounding_box()["y"] < page.viewport_size["height"])


@pytest.mark.parametrize("width", [390, 1280])
def test_on_paper_figures_fit_and_explanations_stand_open(desktop, width, tmp_path):
    page = desktop.page
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark")
    until(lambda: drawn(page) == 7)
    printed = page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert printed.startswith(b"%PDF")
    assert 3 <= printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") <= 10
    assert page.locator("#meaning").get_attribute("open") is None
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 680, "height": 960})
    page.screenshot(full_page=True, path=tmp_path / "paper.png")
    assert not page.locator("nav").is_visible()
    assert page.get_by_text("changes the odds of one version of the unit").is_visible()
    until(lambda: drawn(page) == 7)
    assert page.evaluate(OVERFLOW) == 0
    assert min(page.evaluate(CONTRAST, text) for text in TEXTS if text != "nav a") >= 4.5
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#meaning").get_attribute("open") is None


@pytest.mark.long
def test_what_users_write_is_shown_as_text(visit):
    bad = "<img src=x onerror='window.attacked=1'><script>window.attacked=1</script>"
    visited = visit(
        sample(
            title=bad,
            network=NetworkPicture([bad, "b"], [(0, 1)], bad),
            guarantee_table=[{"owner": bad, "epsilon": 1.0}],
            coefficients=[{"feature": bad, "agreed": 0.5}],
            accuracy=[{"name": bad, "auc": 0.5}],
        )
    )
    assert visited.page.evaluate("window.attacked") is None
    assert visited.page.locator("h1").inner_text() == bad
    assert visited.logged == []
    assert visited.requests == [visited.address]


@pytest.mark.long
def test_a_public_page_says_so_and_could_not_ask_the_network_if_it_wanted_to(visit, tmp_path):
    page = visit(sample(public=True)).page
    page.screenshot(full_page=True, path=tmp_path / "public.png")
    assert page.get_by_text("simulation only").count() == 0
    assert page.locator(".banner").inner_text().startswith("Simulation: this page shows")
    assert drawn(page) == 4
    assert page.evaluate(REQUEST) == "connect-src"


@pytest.mark.long
def test_ten_thousand_sites_are_drawn(visit, tmp_path):
    count = 10_000
    picture = NetworkPicture(
        [f"site {i}" for i in range(count)],
        [(i, (i + step) % count) for i in range(count) for step in (1, 2)],
        "circulant graph",
    )
    visited = visit(sample(network=picture))
    visited.page.screenshot(path=tmp_path / "large.png")
    assert visited.page.locator("#network-figure .points path").count() == 200
    assert visited.logged == []


def test_without_scripts_the_words_and_tables_stand(visit):
    page = visit(sample(), java_script_enabled=False).page
    assert page.locator(".sentence").is_visible()
    assert page.locator(".undrawn").is_visible()
    assert page.locator("#releases td").count() > 5


NARROWEST = """() => Math.min(...[...document.querySelectorAll("#members .list > *")]
  .map((each) => each.clientWidth))"""
"""Width of the narrowest label or value among the facts of a run, in pixels."""


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_on_a_phone_a_list_of_facts_is_readable(visit, scheme, tmp_path):
    facts = {
        "Run id": "5e" * 32,
        "Epsilon charged to the ledger for this run": 8.0,
        "Wait for a silent member": "60 s, then go on without it",
    }
    members = [{"member": "north", "role": "site", "fingerprint": "b5c7 " * 8}]
    page = visit(sample(members=members, agreement=facts), color_scheme=scheme).page
    for width, least in ((320, 90), (390, 100), (1280, 100)):
        page.set_viewport_size({"width": width, "height": 900})
        page.locator("#members").screenshot(path=tmp_path / f"{scheme}-{width}.png")
        assert page.evaluate(NARROWEST) >= least
        until(lambda: page.evaluate(OVERFLOW) == 0)
