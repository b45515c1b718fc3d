import json
import math
import re

import numpy as np
import pytest

from tacit.errors import RuntimeFailure
from tacit.method import Comparison
from tacit.report import NetworkPicture, released_only, render, write_report
from tacit.report.words import banner, ending, explanation
from tests.unit.report.sample import sample


def text(page):
    """The page without its scripts, styles and figures."""
    return re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)


def drawn(page):
    """The figures of the page."""
    (data,) = re.findall(r'id="figures">(.*?)</script>', page)
    return json.loads(data, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


@pytest.fixture(scope="module")
def page():
    """The page of the sample, with everything that a simulation may show."""
    return render(sample())


def test_the_page_says_what_was_run(page):
    words = text(page)
    for part in (
        "Any outpatient visit: eight sites, one model",
        "Everything that a site sends is (1, 1e-6)-differentially private.",
        "proved · simulated noise",
        "The number of records of every site is public.",
        "Ring: 8 sites, 8 links.",
        "gradient of its own records, each clipped",
        "At the end: 1 of a budget of 1.",
        "The agreed model keeps 99% of what the pooled fit gains over the base rate.",
        "The agreed model keeps 90% of what the pooled fit gains over the base rate.",
        "Linux x86_64, 2 cores",
        "model.npz",
    ):
        assert part in words


def test_every_figure_has_its_place_and_its_words(page):
    names = list(drawn(page))
    assert names == [
        "network-figure",
        "gap-figure",
        "consensus-figure",
        "accuracy-figure-1",
        "accuracy-figure-2",
        "coefficients-figure",
        "spending-figure",
    ]
    for name in names:
        (label,) = re.findall(rf'id="{name}" role="img" aria-label="(.*?)"', page)
        assert len(label) > 20
    assert "agreed by the sites 0.669" in page


def test_a_simulation_is_marked_wherever_it_shows_what_was_not_released(page):
    page = text(page)
    assert "Do not publish it as a private output." in page
    # Findings, gap, the numbers, two metrics, coefficients drawn and coefficients listed.
    assert page.count(">simulation only<") == 7
    consensus = page[page.index("Disagreement between sites") :][:200]
    assert "simulation only" not in consensus


def test_a_public_page_holds_nothing_that_was_not_released():
    page = render(sample(public=True))
    assert "simulation only" not in text(page)
    assert "· releases only" in page
    for secret in ("0.671", "0.440", "held-out", "Objective gap", "Accuracy", "20190"):
        assert secret not in text(page)
    assert set(drawn(page)) == {
        "network-figure",
        "consensus-figure",
        "coefficients-figure",
        "spending-figure",
    }
    assert "pooled" not in json.dumps(drawn(page))
    assert "0.420" in page


def test_a_history_with_nothing_to_draw_is_an_open_table():
    """Black boxes behind a coordinator: no objective is measured, and all sites agree."""
    full = sample()
    kept = ("round", "evaluations", "bytes", "epsilon")
    page = render(sample(history={k: v for k, v in full.history.items() if k in kept}))
    section = page[page.index('<section id="convergence"') :].split("</section>")[0]
    assert "Training history</h2>" in section and "<table>" in section
    assert "<figure" not in section and "<details" not in section and "consensus" not in section
    drawn = render(full)
    section = drawn[drawn.index('<section id="convergence"') :].split("</section>")[0]
    assert "Convergence and consensus</h2>" in section and "<details" in section


COMPARISON = Comparison("binomial", np.array([0.2, 0.4, 0.6]), np.array([0.0, 1.0, 1.0]))


@pytest.mark.parametrize(
    ("noise", "public", "warning"),
    [
        ("simulated", False, "Simulation:"),
        ("simulated", True, "Simulation: this page shows releases only"),
        ("secure", False, "Internal:"),
        ("none", False, "No noise was added:"),
        ("none", True, "No noise was added:"),
    ],
)
def test_the_banner_fits_the_noise(noise, public, warning):
    assert banner(sample(noise=noise, public=public)).startswith(warning)


@pytest.mark.parametrize(
    "held",
    ["findings", "accuracy", "objective_gap", "pooled", "comparison", None],
    ids=lambda held: held or "-",
)
def test_the_banner_of_a_simulation_names_private_values_only_where_some_are_shown(held):
    full = sample()
    bare = {
        "findings": (),
        "accuracy": None,
        "history": {name: full.history[name] for name in ("round", "bytes", "epsilon")},
        "coefficients": [{"feature": "age", "agreed": 0.5}],
    }
    shown = {
        "findings": {"findings": full.findings},
        "accuracy": {"accuracy": full.accuracy},
        "objective_gap": {"history": full.history},
        "pooled": {"coefficients": full.coefficients},
        "comparison": {"comparison": COMPARISON},
    }
    said = banner(sample(**{**bare, **shown.get(held, {})}))
    assert ("simulation only" in said) == (held is not None)
    assert ("seed" in said) == (held is None)


def test_a_public_page_of_a_deployment_needs_no_banner():
    assert banner(sample(noise="secure", public=True)) == ""


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("proved", "follows from a theorem"),
        ("proved", "apart from the assumptions listed here"),
        ("model", "would hold only if all the assumptions"),
        ("per_release", "bound one release"),
        ("refuted", "claimed guarantee is false"),
        ("none", "without protection"),
    ],
)
def test_every_status_is_explained(status, words):
    assert words in dict(explanation(sample(guarantee_status=status)))["Status"]


@pytest.mark.parametrize(
    ("status", "condition", "bound"),
    [
        ("model", "if the model were true", "If the model were true, it would bound"),
        ("refuted", "claimed and refuted", "It was claimed to bound"),
        ("per_release", "for one release only", "how much one message, taken alone"),
    ],
)
def test_what_is_no_proof_is_qualified_wherever_its_epsilon_stands(status, condition, bound):
    data = sample(guarantee_status=status)
    terms = dict(explanation(data))
    assert (
        terms[f"Epsilon = 1, {condition}"].startswith(bound)
        or bound in terms[f"Epsilon = 1, {condition}"]
    )
    assert f"Delta = 1e-6, {condition}" in terms
    page = text(render(data))
    assert f"<dt>Epsilon, {condition}</dt>" in page
    assert f"The guarantee of each site, {condition}." in page
    assert f"Covered files, {condition}" in page
    assert f"({condition})" in page[page.index("after each round") :]


def test_a_proof_is_not_qualified():
    terms = dict(explanation(sample()))
    assert terms["Epsilon = 1"].startswith("It bounds how much the messages")
    assert "<dt>Epsilon</dt>" in text(render(sample()))


def test_the_objective_is_not_drawn_beside_its_gap():
    history = dict(sample().history)
    history["objective"] = [4.7 + gap for gap in history["objective_gap"]]
    both = {trace["name"] for trace in drawn(render(sample(history=history)))["gap-figure"]["data"]}
    assert both == {"Objective gap", "Distance"}
    del history["objective_gap"]
    alone = {
        trace["name"] for trace in drawn(render(sample(history=history)))["gap-figure"]["data"]
    }
    assert alone == {"Objective", "Distance"}


@pytest.mark.not_quick
def test_the_page_says_what_distance_is_and_where_answers_are_means():
    assert "answering zero scores the number of sites" in text(render(sample()))
    history = {name: each for name, each in sample().history.items() if name != "distance"}
    assert "answering zero" not in text(render(sample(history=history)))
    told = "From halfway on"
    assert told in text(render(sample(averaged=True)))
    assert told not in text(render(sample()))


def test_an_answer_comes_before_the_guarantee():
    page = render(sample(answer=[{"level": "a", "n": 3.0}], answer_sentence="Counts by level."))
    assert page.index('<section id="answer"') < page.index('<section id="guarantee"')
    links = [page.index(f'href="#{each}"') for each in ("summary", "answer", "guarantee")]
    assert links == sorted(links)
    refused = render(sample(answer_sentence="There is no answer."))
    assert refused.count("There is no answer.") == 1 and 'id="answer"' in refused


def test_coefficients_of_a_run_without_noise_are_not_called_noisy():
    assert "coefficients include noise" in text(render(sample()))
    page = text(render(sample(noise="none", guarantee_status="none")))
    assert "released without noise" in page


def test_a_public_page_does_not_say_how_long_the_run_took():
    assert "<dt>Time</dt>" in render(sample())
    assert "<dt>Time</dt>" not in render(sample(public=True))


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        ("finished", ""),
        ("diverged at round 17", "The run diverged at round 17."),
        (
            "2 of 3 trials diverged, the first at round 4",
            "2 of 3 trials diverged, the first at round 4.",
        ),
    ],
)
def test_how_a_run_ended(status, sentence):
    assert ending(status) == sentence
    assert ('class="alert"' in render(sample(status=status))) == bool(sentence)


def test_epsilon_is_explained_with_its_own_factor():
    terms = dict(explanation(sample()))
    assert "a factor e^1 = 2.718" in terms["Epsilon = 1"]
    assert "Delta = 1e-6" in terms


@pytest.mark.parametrize("epsilon", [math.inf, 1e4])
def test_a_huge_epsilon_is_explained_too(epsilon):
    terms = explanation(sample(guarantee_table=[{"owner": "a", "epsilon": epsilon}]))
    name, meaning = terms[0]
    assert "no finite bound" in meaning if math.isinf(epsilon) else "= ∞" in meaning
    assert name.startswith("Epsilon")


def test_what_users_write_is_shown_and_never_run():
    bad = "<script>alert(1)</script>"
    page = render(
        sample(
            title=bad,
            summary=(bad,),
            environment={bad: bad},
            network=NetworkPicture([bad, "b"], [(0, 1)], bad),
            coefficients=[{"feature": bad, "agreed": 1.0}],
            accuracy=[{"name": bad, bad: 0.5}],
        )
    )
    assert bad not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert page.count("<script") == 3


def test_the_page_allows_its_own_scripts_and_no_request(page):
    (policy,) = re.findall(r'Content-Security-Policy" content="(.*?)"', page)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "http" not in policy
    assert not re.findall(r'(?:src|href)="(?!#|data:)', text(page))


def test_numbers_that_json_does_not_have_leave_gaps():
    page = render(
        sample(
            history={
                "round": np.array([0, 1, 2]),
                "distance": np.array([1.0, math.nan, math.inf]),
                "epsilon": np.array([0.0, 0.5, math.inf]),
            },
            status="diverged at round 2",
        )
    )
    assert drawn(page)["gap-figure"]["data"][0]["y"] == [1.0, None, None]
    assert "The run diverged at round 2." in page
    assert "NaN" not in text(page)
    assert ">nan<" not in page


def test_the_least_report_has_no_empty_sections():
    page = render(
        sample(
            network=None, phases=(), history={}, accuracy=None, coefficients=(), files=(),
            guarantee_table=(), assumptions=(), findings=(), environment={}, summary=(),
        )
    )  # fmt: skip
    assert drawn(page) == {}
    assert re.findall(r'<section id="(.*?)"', page) == ["guarantee", "machine"]


def test_ten_thousand_sites_stay_readable():
    count = 10_000
    names = [f"site {i}" for i in range(count)]
    page = render(
        sample(
            network=NetworkPicture(names, [(i, (i + 1) % count) for i in range(count)], "ring"),
            guarantee_table=[
                {"owner": name, "epsilon": 1.0 + i / count} for i, name in enumerate(names)
            ],
            coefficients=[{"feature": f"x{i}", "agreed": 1.0 / (i + 1)} for i in range(500)],
        )
    )
    assert "Drawn: the 200 nearest to site 0." in page
    assert "guarantee.json has 9,975 more" in page
    assert "site 9999" in page
    assert "Drawn: the 30 largest of 500." in page
    assert "The 200 largest of 500 coefficients" in page
    assert len(text(page)) < 100_000


def test_a_coordinator_is_said():
    star = NetworkPicture([str(i) for i in range(300)], [], "star", coordinated=True)
    page = render(sample(network=star))
    assert "Star: 300 sites, one coordinator. Drawn: the first 200." in page


def test_the_same_run_gives_the_same_page(page):
    assert render(sample()) == page


def test_the_page_is_written_whole(page, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("older")
    assert write_report(path, sample()) == path
    assert path.read_text(encoding="utf-8") == page
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_size < 2_500_000


def test_a_page_that_cannot_be_written_says_where(tmp_path):
    with pytest.raises(RuntimeFailure, match=r"nowhere.*No such file.*directory that exists"):
        write_report(tmp_path / "nowhere" / "report.html", sample())


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    taken = tmp_path / "report.html"
    taken.mkdir()
    with pytest.raises(RuntimeFailure, match="could not be written"):
        write_report(taken, sample())
    assert list(tmp_path.iterdir()) == [taken]


def test_a_regression_beside_its_records_is_for_simulations_only():
    page = render(sample(comparison=COMPARISON))
    assert "calibration-figure" in page and "roc-figure" in page
    assert "Do not publish it unless the records are public" in page
    shown = render(released_only(sample(comparison=COMPARISON)))
    assert "calibration-figure" not in shown and "roc-figure" not in shown
    counts = render(sample(comparison=Comparison("poisson", *[np.arange(3.0)] * 2)))
    assert "calibration-figure" in counts and "roc-figure" not in counts
