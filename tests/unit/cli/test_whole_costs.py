"""Where each site has one whole cost, nothing that is printed speaks of records."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.report.html import render
from tacit.study._output.stored import read
from tacit.sweep import Grid, plan
from tacit.sweep.caveats import warnings

pytestmark = pytest.mark.long

STUDY = """\
[problem]
x0 = [0.0, 1.0]
parameter_names = ["level", "share"]
constraint = { kind = "box", lower = -3, upper = 3 }
[problem.simulator]
function = "costs_in_words:bowl"
on_failure = "skip"
[partition]
sites = ["north", "south", "west"]
[network]
graph = "coordinator"
[method]
name = "or-zo"
step = 0.1
directions = 4
[privacy]
epsilon = 50.0
delta = 1e-3
clip = 1.0
[run]
rounds = 3
"""
MODULE = "def bowl(x, agent):\n    return float((x[0] - 1) ** 2 + agent * x[1] ** 2)\n"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "costs_in_words.py").write_text(MODULE)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path / "study.toml"


def said(*arguments: str | Path) -> str:
    found = CliRunner().invoke(app, [str(each) for each in arguments])
    assert found.exit_code == 0, found.output
    return found.output


def words(page: str) -> str:
    """What a page says, without scripts and marks."""
    return re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)


def test_a_run_its_page_and_its_account_speak_of_costs(study: Path) -> None:
    results = study.parent / "results"
    told = said("run", study, "--output", results, "--public")
    assert "3 sites minimised the sum of their costs (2 parameters) through a coordinator, " in told
    assert "without showing them to anybody." in told
    assert "Protected: the whole cost function of one site, against" in told
    assert "(computed from private costs, so" in told
    told += json.loads((results / "result.json").read_text())["simulation_only"]["note"]
    data = read(results)
    for page in (data, replace(data, noise="none"), read(results, public=True)):
        told += words(render(page))
    assert "Parameters" in told
    assert "oefficient" not in told.replace("coefficients.csv", "")  # a file of every minimiser
    for command in ("account", "advise"):
        told += said(command, study)
    assert "the answer follows from the study alone" in told
    told = told.replace("protecting single records, where sites have some", "")  # what is advised
    assert re.findall(r".*\b[Rr]ecord.*", told) == []


def test_the_evaluations_of_a_run_are_told_before_it(study: Path) -> None:
    # the module counts its calls: of the run, and of the start and the answer twice, and at most
    # two more that look whether the start is repeated
    (study.parent / "costs_in_words.py").write_text(
        MODULE.replace(
            "    return",
            "    with open(__file__ + '.calls', 'a') as f:\n        f.write('.')\n    return",
        )
    )
    asked = {"once": 0, "per_round": 8 * 3, "total": 8 * 3 * 3, "workers": 1}
    for command in ("account", "advise"):
        assert json.loads(said(command, study, "--json"))["evaluations"] == asked
        assert "24 per round, 72 in all." in said(command, study)
    assert json.loads(said("account", study, "--json", "-r", "5"))["evaluations"]["total"] == 120
    said("run", study, "--output", study.parent / "results")
    calls = len((study.parent / "costs_in_words.py.calls").read_text())
    assert 72 + 2 * 3 <= calls <= 72 + 2 * 3 + 2


def test_a_study_without_simulators_makes_no_evaluations_of_any() -> None:
    from tacit.study import assemble, demo
    from tacit.study.evaluations import evaluations

    assert evaluations(assemble(demo.study())) is None


def test_a_sweep_speaks_of_costs(study: Path) -> None:
    from tacit.study import read_study

    told = " ".join(warnings(plan(read_study(study), Grid()), []))
    assert "Sweep on public or synthetic costs, or on costs that stay with you." in told
    assert "not chosen on the same costs" in told and "record" not in told


def test_a_method_is_described_for_costs_too() -> None:
    told = said("describe", "or-zo")
    assert "evaluates 20 values per record or whole cost and round in 10 dimensions" in told
    assert "with 3 sites of 2,000 records, 100 rounds" in told
    assert "with 3 sites of one whole cost each, 100 rounds" in told
    assert "one cost changes the answer by at most 2," in told
