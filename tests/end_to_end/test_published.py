"""Methods as published can be named in studies, and claim no more than their papers do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.study.parts import published
from tests.end_to_end.site_study import STUDY, a_study

RUN = CliRunner()
BOX = 'loss = "logistic"\nconstraint = { kind = "box", lower = -5.0, upper = 5.0 }'
PRINTED = '{ name = "dp-iadmm-trust", penalty = 5.0, trust_region = "printed" }'
CASES = {
    "d-zoa-as-published": (
        "ring",
        "epsilon = 0.5\nstep = 0.1\ninner_steps = 20\ndirections = 8",
        "model",
    ),
    "dp-admm-as-published": ("coordinator", "epsilon = 0.5", "per_release"),
    "dp-iadmm-as-published": ("coordinator", f"epsilon = 0.5\nmethod = {PRINTED}", "per_release"),
    "dvp-as-published": ("ring", "epsilon = 0.5", "model"),
    "outp-as-coded": ("coordinator", "epsilon = 0.5", "model"),
    "pdop-as-published": (
        "complete",
        "epsilon = 1.0\nstep = 0.1\nratio = 0.5\nnoise_ratio = 0.8\ngradient_bound = 1.0",
        "model",
    ),
    "pvp-as-published": ("ring", 'epsilon = 0.5\nnoise = "l2_laplace"', "per_release"),
}


def written(folder: Path, name: str, privacy: str = "") -> Path:
    a_study(folder)
    graph, keys, _ = CASES[name]
    text = STUDY[: STUDY.index("NETWORK")]
    text += f'[network]\ngraph = "{graph}"\n[method]\nname = "{name}"\n{keys}\n'
    if name in ("dp-iadmm-as-published", "outp-as-coded"):
        text = text.replace("[problem]", '[problem]\nweighting = "record"')
    if name == "pdop-as-published":
        text = text.replace('loss = "logistic"', BOX)
        text = text.replace('regulariser = { kind = "l2", strength = 1e-2 }\n', "")
    path = folder / "study.toml"
    path.write_text(text + privacy + "[run]\nrounds = 4\nseed = 3\n")
    return path


def test_every_one_has_a_case() -> None:
    assert set(CASES) == set(published())


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "pvp-as-published",
        *(pytest.param(name, marks=pytest.mark.long) for name in CASES if name[:3] != "pvp"),
    ],
)
def test_a_study_runs_it_and_says_what_it_claims(tmp_path: Path, name: str) -> None:
    done = RUN.invoke(app, ["run", str(written(tmp_path, name))])
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "results" / "guarantee.json").read_text())
    assert {each["status"] for each in found["owners"]} == {CASES[name][2]}


def test_its_noise_is_set_by_its_own_keys(tmp_path: Path) -> None:
    path = written(tmp_path, "pvp-as-published", "[privacy]\nclip = 1.0\nepsilon = 1.0\n")
    done = RUN.invoke(app, ["run", str(path)])
    assert done.exit_code == 2
    assert "has the noise that its paper claims, by the keys of [method]" in done.output


@pytest.mark.long
def test_a_sweep_compares_it_with_what_is_proved(tmp_path: Path) -> None:
    path = written(tmp_path, "pvp-as-published")
    text = path.read_text().replace('"pvp-as-published"', '"pvp"').replace("epsilon = 0.5\n", "")
    text = text.replace('noise = "l2_laplace"\n', "")
    path.write_text(text.replace("[run]", "[privacy]\nclip = 1.0\nepsilon = 1.0\n[run]"))
    command = ["sweep", str(path), "--seeds", "2", "--method", "pvp,pvp-as-published"]
    command += ["--set", "pvp-as-published.epsilon=0.2,0.5", "--output", str(tmp_path / "sweep")]
    done = RUN.invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "Finished" not in done.output  # all runs did


@pytest.mark.long
def test_it_is_described_and_listed(tmp_path: Path) -> None:
    listed = json.loads(RUN.invoke(app, ["methods", "--json"]).output)["parts"]
    assert set(CASES) <= {each["name"] for each in listed}
    found = json.loads(RUN.invoke(app, ["describe", "dp-iadmm-as-published", "--json"]).output)
    assert [each["name"] for each in found["parameters"]] == ["method", "epsilon"]
