"""The planner of the documentation in a real browser: its numbers and words are tacit's own.

Screenshots stay in pytest's temporary directory, to be looked at.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import math
import shutil
from pathlib import Path
from typing import Any

import jax
import numpy as np
import planner_facts
import pytest

import tacit
from tacit import network, problem
from tacit.errors import PrivacyError
from tacit.privacy import GaussianRelease, Masks, Privacy, Repeated, accounting, caution
from tacit.privacy import noise_multiplier as needed
from tacit.privacy.digits import rounded_up
from tacit.privacy.gaussian_dp import epsilon_from_mu, mu_from_epsilon
from tacit.privacy.masks import worst_masked_mu
from tacit.privacy.plan import plan_noise
from tacit.privacy.plan_shared import plan_masks
from tacit.report import masking
from tacit.study import assemble, mean_noise, read_study
from tacit.study.cost_noise import cost_noise
from tacit.study.run import Assembled
from tests.browser.test_report import CONTRAST, OVERFLOW

pytestmark = pytest.mark.long

DOCS = Path(__file__).parents[2] / "docs"

CLOSE = 1e-9
"""Largest relative difference between a number of the page and tacit's."""

PLAIN = {
    "what": "regression",
    "noise": "masked",
    "records": 20_000,
    "sites": 8,
    "colluders": 1,
    "epsilon": 1.0,
    "delta": 1e-6,
    "relation": "replace_one",
    "parameters": 10,
    "sums": 4,
    "family": "binomial",
    "yes": 0.5,
    "vif": 1.0,
    "rounds": 60,
    "clip": 1.0,
}
"""What the page shows when it is opened."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The planner in a page with the style of the site."""
    folder = tmp_path_factory.mktemp("planner")
    shutil.copytree(DOCS / "_static", folder / "_static")
    found = importlib.util.find_spec("furo")
    assert found is not None and found.origin is not None
    style = Path(found.origin).parent / "theme" / "furo" / "static" / "styles" / "furo.css"
    shutil.copy(style, folder / "_static" / "furo.css")
    head = (
        '<meta charset="utf-8"><title>Planner</title>'
        '<meta name="viewport" content="width=device-width">'
        '<link rel="stylesheet" href="_static/furo.css">'
    )
    # the heading of a page has an id of its own
    section = f'<section id="planner"><h1>Planner</h1>{planner_facts.page()}</section>'
    shown = f'<article style="margin: 1rem">{section}</article>'
    body = f'<body data-theme="auto">{shown}</body>'
    (folder / "planner.html").write_text(f'<html lang="en"><head>{head}</head>{body}</html>')
    return (folder / "planner.html").as_uri()


@pytest.fixture(scope="module")
def window(browser: Any) -> Any:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield context
    context.close()


@pytest.fixture
def page(window: Any, address: str) -> Any:
    """The page as new, which must log nothing and ask for nothing but its own files."""
    opened = window.new_page()
    logged: list[str] = []
    asked: list[str] = []
    opened.on("console", lambda message: logged.append(message.text))
    opened.on("pageerror", lambda error: logged.append(str(error)))
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(address)
    yield opened
    opened.close()
    assert logged == []
    assert all(each.startswith(address.rpartition("/")[0]) for each in asked)


def grid() -> list[dict[str, Any]]:
    """Settings of every kind: first the extremes, then a draw of all that the page takes."""
    rng = np.random.default_rng(0)
    one = [
        PLAIN | {"what": what, "epsilon": epsilon, "delta": delta, "noise": noise}
        for what, epsilon, delta, noise in itertools.product(
            ("mean", "regression"), (1e-3, 1.0, 50.0, 1e3), (1e-12, 1e-5), ("local", "masked")
        )
    ]
    one += [PLAIN | {"what": "mean", "rounds": 10**6, "sites": 200, "records": 10**10}]
    one += [PLAIN | {"sites": 2, "colluders": 0, "records": 2, "parameters": 2, "delta": 0.1}]
    for _ in range(190):
        sites = int(rng.choice([2, 3, 8, 25, 60]))
        one.append(
            {
                "what": str(rng.choice(["mean", "regression"])),
                "noise": str(rng.choice(["local", "masked", "central"])),
                "records": int(sites * 10 ** rng.uniform(0.5, 8) + rng.integers(sites)),
                "sites": sites,
                "colluders": int(rng.integers(0, sites - 1)),
                "epsilon": float(10 ** rng.uniform(-3, 2)),
                "delta": float(10 ** rng.uniform(-12, -1)),
                "relation": str(rng.choice(["replace_one", "add_remove"])),
                "parameters": int(rng.choice([2, 5, 10, planner_facts.MOST_COLUMNS + 1])),
                "sums": int(rng.choice([3, 4])),
                "family": str(rng.choice(["binomial", "gaussian"])),
                "yes": float(rng.uniform(0.01, 0.99)),
                "vif": float(10 ** rng.uniform(0, 2)),
                "rounds": int(10 ** rng.uniform(0, 5)),
                "clip": float(10 ** rng.uniform(-4, 4)),
            }
        )
    return one


def means(s: dict[str, Any]) -> dict[str, dict[str, float]]:
    """What tacit's plans say of a mean in every round."""
    each = s["records"] // s["sites"]
    shared = {key: s[key] for key in ("epsilon", "rounds", "delta")} | {"large_delta": True}
    kept = {"clip": s["clip"], "relation": s["relation"]}
    site = plan_noise(records=each, **kept, **shared)
    curator = plan_noise(records=each * s["sites"], **kept, **shared)
    pairs = ~np.eye(s["sites"], dtype=bool)
    shares = plan_masks(pairs, coalition=s["colluders"], **shared)
    assert site.sensitivity and curator.noise_scale
    made = {
        "local": (site.noise_multiplier, site.noise_scale, shares.local),
        "masked": (
            shares.masked.noise_multiplier,
            shares.masked.noise_multiplier * site.sensitivity,
            shares.masked,
        ),
        "central": (curator.noise_multiplier, curator.noise_scale, shares.central),
    }
    found = {}
    for way, (multiplier, scale, noise) in made.items():
        mean = curator.noise_scale * math.sqrt(noise.relative_variance)
        found[way] = {
            "multiplier": multiplier,
            "scale": scale,
            "mean": mean,
            "sum": mean * each * s["sites"],
            "length": mean * math.sqrt(s["parameters"]),
        }
    alone = [Repeated(GaussianRelease(shares.masked.noise_multiplier), s["rounds"])]
    found["masked"]["alone"] = accounting.epsilon(alone, s["delta"])
    return found


@functools.cache
def regression(columns: int, family: str, relation: str, sums: int) -> Any:
    return planner_facts.regression(columns, family, Privacy(1.0, 1.0, relation=relation), sums)


@functools.cache
def units(method: Any) -> tuple[float, ...]:
    """Units, factors and noise of the last sum, per noise of 1 in its vector."""
    by = np.ones(2)
    with jax.enable_x64(True):
        unit, informed = method.family.units(by)
        factor, ratio = method.family.spread(by, by)
        spread = method.queries[-1].spread(1.0)[0]
        score = spread * method.score(-1).units[0] * unit
        blurred = spread * method.curvature_unit * informed
        return tuple(float(each) for each in (score, blurred, factor, ratio))


@functools.cache
def kept() -> list[tuple[float, float]]:
    return planner_facts.kept()


def regressions(s: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The forecast of docs/planner.md, from the method and tacit's calibration."""
    method = regression(s["parameters"] - 1, s["family"], s["relation"], s["sums"])
    sites, logistic = s["sites"], method.family.logistic
    unit, informed, factor, ratio = units(method)
    z = needed(
        s["epsilon"], s["delta"], lambda z: [GaussianRelease(z * each) for each in method.times]
    )
    learned = worst_masked_mu(~np.eye(sites, dtype=bool), s["colluders"])
    records = s["records"] // sites * sites
    weight = s["yes"] * (1 - s["yes"]) if logistic else 1.0
    column, row = kept()[s["parameters"] - 2]
    information = records * weight * factor * column / s["vif"]
    sampling = ratio * information * (1.0 if logistic else row)
    parts = np.array(method.shares[-2:]) / sum(method.shares[-2:])
    found = {}
    for way, told in (("local", 1.0), ("masked", learned), ("central", 1 / math.sqrt(sites))):
        sums = np.array([z * told * times * math.sqrt(sites) for times in method.times[-2:]])
        noise = 1.0 / np.sum(1.0 / (unit * sums) ** 2)
        variance = (sampling + noise) / information**2
        pooled = 1.0 / (records * weight / 3.0 / s["vif"])
        multiplier = z if way == "central" else z * told
        blurred = informed * np.hypot(*(parts * sums))
        found[way] = {
            "multiplier": multiplier,
            "scale": multiplier,
            "score": math.sqrt(noise),
            "width": math.sqrt(variance / pooled),
            "curvature": blurred * math.sqrt(2 * method.width) / information,
        }
    alone = [GaussianRelease(z * learned * each) for each in method.times]
    found["masked"]["alone"] = accounting.epsilon(alone, s["delta"])
    return found


def test_all_numbers_are_those_of_tacit(page: Any) -> None:
    settings = grid()
    assert len(settings) >= 200
    plans = page.evaluate("settings => settings.map(tacitPlanner.plan)", settings)
    worst = 0.0
    for s, plan in zip(settings, plans, strict=True):
        wanted = means(s) if s["what"] == "mean" else regressions(s)
        for way, numbers in wanted.items():
            for name, number in numbers.items():
                apart = abs(plan[way][name] / number - 1.0)
                assert apart <= CLOSE, (s, way, name, plan[way][name], number)
                worst = max(worst, apart)
    assert worst > 0.0


def test_the_closed_form_is_tacits_far_into_the_tails(page: Any) -> None:
    mus = [1e-6, 1e-4, 0.01, 0.3, 1.0, 5.0, 30.0, 1e4, 3e8]
    deltas = [1e-12, 1e-9, 1e-5, 0.1, 0.9]
    epsilons = [1e-4, 1e-2, 1.0, 10.0, 700.0, 1e5]
    theirs = page.evaluate(
        """([mus, deltas, epsilons]) => [
          deltas.flatMap((delta) => mus.map((mu) => tacitPlanner.epsilonFromMu(mu, delta))),
          deltas.flatMap((delta) => epsilons.map((e) => tacitPlanner.muFromEpsilon(e, delta)))]""",
        [mus, deltas, epsilons],
    )
    ours = [epsilon_from_mu(np.array(mus), delta).tolist() for delta in deltas]
    np.testing.assert_allclose(theirs[0], list(itertools.chain(*ours)), rtol=CLOSE)
    ours = [[mu_from_epsilon(each, delta) for each in epsilons] for delta in deltas]
    np.testing.assert_allclose(theirs[1], list(itertools.chain(*ours)), rtol=CLOSE)


def test_numbers_in_words_are_rounded_as_tacit_rounds_them(page: Any) -> None:
    numbers = [1, 0.99991, 1.00001, 1e-6, 1.919e-7, 633.929851, 12345.6, 9999.5, 1e12, 1.2e-4, 1e-5]
    numbers += [1234567.5, 5e11, 0.3, 2.5e-12, 99999, 700.0]
    assert page.evaluate("numbers => numbers.map(tacitPlanner.roundedUp)", numbers) == [
        rounded_up(each) for each in numbers
    ]
    epsilons = [1.0, 9.99, 10.0, 12.5, 20.0, 30.0, 700.0, 1e5]
    assert page.evaluate("numbers => numbers.map(tacitPlanner.warning)", epsilons) == [
        caution.warning(each) for each in epsilons
    ]


RUNS = [
    {"what": "mean", "noise": "local", "sites": 3, "rounds": 1},
    {"what": "mean", "noise": "masked", "sites": 5, "colluders": 3, "epsilon": 11.0},
    {"noise": "masked", "sites": 6, "colluders": 1, "sums": 3},
    {"noise": "masked", "sites": 4, "colluders": 0, "relation": "add_remove"},
]


@pytest.mark.parametrize("run", range(len(RUNS)))
def test_noise_and_words_are_those_of_a_run(page: Any, run: int) -> None:
    changed = RUNS[run]
    s = PLAIN | {"records": 100 * changed["sites"], "parameters": 2, "delta": 1e-5} | changed
    masks = Masks(coalition=s["colluders"]) if s["noise"] == "masked" else None
    budget = Privacy(1.0, s["epsilon"], s["delta"], relation=s["relation"], masks=masks)
    if s["what"] == "mean":
        agreed = planner_facts.means(budget, s["sites"], 100, s["rounds"])
        phase = len(agreed.scales) - 1
    else:
        agreed = planner_facts.fits(budget, s["sites"], 100, s["sums"])
        phase = s["sums"]
    plan, words = page.evaluate("s => [tacitPlanner.plan(s), tacitPlanner.guarantee(s)]", s)
    assert words["sentence"] == agreed.guarantee.sentence()
    worst = agreed.guarantee.worst
    assert (words["unit"], words["status"]) == (worst.unit.value, worst.status.value)
    assert words["relation"].replace("-", "_") == worst.relation.value
    assert f"against {words['adversary']}. Status" in words["sentence"]
    own = plan[s["noise"]]
    scale = float(np.max(agreed.scales[phase]))
    assert own["scale"] == pytest.approx(scale, rel=1e-6)
    if s["what"] == "mean":
        assert own["mean"] == pytest.approx(float(agreed.spread(phase)), rel=1e-6)


@pytest.mark.parametrize(
    ("family", "epsilon"),
    [("binomial", 1.0), pytest.param("gaussian", 2.0, marks=pytest.mark.slow)],
)
def test_the_forecast_is_near_what_fits_report(page: Any, family: str, epsilon: float) -> None:
    columns, records, sites = 4, 20_000, 8
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (records, columns))
    predictor = x @ np.full(columns, 0.2)
    chance = 1 / (1 + np.exp(-predictor))
    yes = rng.random(records) < chance
    y = yes.astype(float) if family == "binomial" else predictor + rng.normal(size=records)
    budget = Privacy(1.0, epsilon, masks=Masks())
    method = planner_facts.regression(columns, family, budget)
    scale = method.target.scale
    assert scale is not None
    table = np.column_stack([x, (np.clip(y, scale.lower, scale.upper) - scale.centre) / scale.unit])
    schema = planner_facts.schema(columns, family)
    task = problem.record_tables(np.array_split(table, sites), schema)
    net = network.Coordinator(sites)
    answer: Any = tacit.run(task, net, method, rounds=4, seed=0).answer
    rows = np.column_stack([np.ones(records), x])
    weight = chance * (1 - chance) if family == "binomial" else np.ones(records)
    pooled = np.sqrt(np.diag(np.linalg.inv(rows.T @ (rows * weight[:, None]))))
    widths = answer.standard_errors[1:] / pooled[1:]
    s = PLAIN | {"family": family, "epsilon": epsilon, "parameters": columns + 1}
    planned = page.evaluate("s => tacitPlanner.plan(s)", s)["masked"]
    assert planned["width"] == pytest.approx(float(np.mean(widths)), rel=0.05)
    assert planned["curvature"] == pytest.approx(answer.checks.curvature, rel=0.2)


def test_impossible_settings_say_why(page: Any) -> None:
    wrong = {
        "sites": ("1", "At least 2 sites"),
        "colluders": ("7", "At most 6 of 8 sites"),
        "epsilon": ("0", "A positive number"),
        "delta": ("0.001", "Not below one over the 2,500 records of a site"),
        "records": ("7", "at least one record per site"),
        "parameters": ("1", "from 2"),
        "yes": ("1", "Between 0 and 1"),
        "vif": ("0.5", "1 or more"),
    }
    for name, (value, why) in wrong.items():
        field = page.locator(f"[name={name}]")
        before = field.input_value()
        field.fill(value)
        assert why in page.locator(f"#{name}-wrong").inner_text()
        assert field.get_attribute("aria-invalid") == "true"
        assert page.locator("#planner-answer").inner_text().startswith("No plan: see ")
        assert not page.locator("#planner-result").is_visible()
        field.fill(before)
        assert page.locator(f"#{name}-wrong").inner_text() == ""
        assert page.locator("#planner-result").is_visible()
    for text in ("", "a tenth", "1e-13", "1"):
        page.locator("[name=delta]").fill(text)
        assert "from 1e-12 and below 1" in page.locator("#delta-wrong").inner_text()


def test_a_delta_is_refused_where_tacit_refuses_it(page: Any) -> None:
    settings = grid()
    refused = page.evaluate("all => all.map((s) => 'delta' in tacitPlanner.problems(s))", settings)
    for s, found in zip(settings, refused, strict=True):
        try:
            caution.check_delta(s["delta"], s["records"] // s["sites"], "records", "")
        except PrivacyError:
            assert found, s
        else:
            assert not found, s
    assert 0 < sum(refused) < len(settings)


def test_it_is_used_with_a_keyboard_and_read_aloud(page: Any) -> None:
    for control in page.locator(".planner form :is(input, select)").all():
        assert control.evaluate("each => each.labels.length") == 1
        hints = (control.get_attribute("aria-describedby") or "").split()
        assert all(page.locator(f"#{hint}").count() == 1 for hint in hints)
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.value") == "regression"
    page.keyboard.press("ArrowDown")
    assert page.get_by_label("A mean or sum in every round").is_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowUp")
    assert page.get_by_label("Local noise").is_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowUp")
    assert page.get_by_label("Records", exact=True).input_value() == "21000"
    seen = []
    for _ in range(8):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.name || document.activeElement.role"))
    assert seen[:3] == ["sites", "colluders", "epsilon"] and seen[-2:] == ["rounds", "clip"]
    page.keyboard.press("Tab")
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert label == "The three ways beside each other"
    spoken = page.locator("#planner-answer")
    assert spoken.get_attribute("aria-live") == "polite"
    assert spoken.inner_text().startswith("Local noise: every entry of the mean is off by ")


def test_what_is_shown_is_what_was_computed(page: Any) -> None:
    plan = page.evaluate("s => tacitPlanner.plan(s)", PLAIN)
    for row, way in enumerate(("local", "masked", "central")):
        cells = page.locator("tbody tr").nth(row).locator("td")
        shown = [float(each.get_attribute("data-value")) for each in cells.all()]
        assert shown == [plan[way][key] for key in ("width", "curvature", "multiplier", "score")]
    assert page.locator("tr.chosen th").inner_text() == "Secure aggregation"
    width = f"{plan['masked']['width']:.3g} times as wide"
    assert width in page.locator("#planner-answer").inner_text()
    assert page.locator("svg polyline").count() == 3
    page.get_by_label("Central noise").check()
    assert "there is no guarantee" in page.locator("blockquote").inner_text()
    page.locator("[name=epsilon]").fill("0.05")
    page.locator("[name=records]").fill("2000")
    assert "would probably be withheld" in page.locator("#planner-answer").inner_text()


def test_a_link_keeps_the_settings(page: Any, address: str) -> None:
    page.get_by_label("A mean or sum in every round").check()
    page.locator("[name=rounds]").fill("7")
    link, answer = page.evaluate("location.href"), page.locator("#planner-answer").inner_text()
    page.goto("about:blank")
    page.goto(link)
    assert page.locator("#planner-answer").inner_text() == answer
    assert "For each of the 8 agents: the whole run (7 releases)" in (
        page.locator("blockquote").inner_text()
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_legible_and_fits_on_a_phone(page: Any, scheme: str, tmp_path: Path) -> None:
    page.emulate_media(color_scheme=scheme)
    texts = (".hint", "label", ".answer", "td", "caption", "dd", "#planner-note", "svg text")
    for what, width in itertools.product(("mean", "regression"), (320, 390, 1280)):
        page.set_viewport_size({"width": width, "height": 900})
        page.locator(f"[name=what][value={what}]").check()
        page.screenshot(full_page=True, path=tmp_path / f"{scheme}-{what}-{width}.png")
        assert page.evaluate(OVERFLOW) == 0
        contrasts = {text: page.evaluate(CONTRAST, f".planner {text}") for text in texts}
        assert {text: c for text, c in contrasts.items() if c < 4.5} == {}
    page.locator("[name=sites]").fill("1")
    assert page.evaluate(CONTRAST, "#sites-wrong") >= 4.5


def buildings() -> Assembled:
    """A study of whole costs with masks."""
    return assemble(read_study(DOCS.parent / "examples" / "buildings" / "study.toml"))


@pytest.mark.parametrize("what", ["mean", "regression"])
def test_on_a_phone_the_whole_table_is_seen_at_once(page: Any, what: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator(f"[name=what][value={what}]").check()
    assert page.locator(".scroll").evaluate("box => box.scrollWidth - box.clientWidth") == 0


def test_the_three_ways_have_the_colours_of_reports(page: Any) -> None:
    noise = mean_noise(buildings())
    assert noise is not None
    drawn = {trace.name: trace.line.color for trace in masking.ways(noise).data if trace.line.color}
    shown = {
        way: page.locator(f"svg polyline.{way}").evaluate(
            "line => '#' + getComputedStyle(line).stroke.match(/[0-9]+/g).slice(0, 3)"
            ".map(c => Number(c).toString(16).padStart(2, '0')).join('')"
        )
        for way in ("local", "masked", "central")
    }
    assert shown["local"] == drawn["local noise"] and shown["central"] == drawn["central noise"]
    assert shown["masked"] == drawn["secure aggregation"]


def test_a_plan_of_whole_costs_is_what_advise_forecasts(page: Any) -> None:
    wanted = {"records": 5, "sites": 5, "epsilon": 8, "delta": 1e-3, "rounds": 30, "clip": 1}
    page.get_by_label("A mean or sum in every round").check()
    for name, value in wanted.items():
        page.locator(f"[name={name}]").fill(str(value))
    cell = page.locator("tr.chosen td").first
    seen = float(cell.get_attribute("data-value")) / math.sqrt(30)
    assert seen == pytest.approx(cost_noise(buildings()).noise[0], rel=1e-6)


def test_the_answer_leads_to_a_number_that_is_wrong(page: Any) -> None:
    page.locator("[name=records]").fill("7")
    page.locator("[name=vif]").fill("0.5")
    answer = page.locator("#planner-answer")
    assert answer.inner_text() == "No plan: see Records, Variance inflation."
    answer.get_by_role("button", name="Records").click()
    assert page.locator("[name=records]").evaluate("field => field === document.activeElement")
