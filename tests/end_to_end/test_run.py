"""`tacit run` from a table to a directory of results."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.privacy.guarantees import Guarantees
from tests.end_to_end.study import STUDY, changed, write
from tests.quick import only

RUN = CliRunner()
BY_COLUMN = 'by = "column"\ncolumn = "site"'
FILES = {
    "coefficients.csv",
    "environment.json",
    "guarantee.json",
    "history.csv",
    "model.json",
    "model.npz",
    "report.html",
    "report_public.html",
    "result.json",
    "simulation_only/coefficients.csv",
    "simulation_only/history.csv",
    "simulation_only/report.json",
    "simulation_only/solutions.npz",
    "study.toml",
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Results of a run with two trials, and what was printed."""
    folder = tmp_path_factory.mktemp("run")
    path = write(folder, changed("seed = 0", "trials = 2"))
    done = RUN.invoke(app, ["run", str(path), "--public"])
    assert done.exit_code == 0, done.output
    return folder / "results", done.stdout


def document(path: Path) -> Any:
    """Strict JSON: no NaN, no Infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(path.read_text(), parse_constant=refuse)


def test_all_files_are_there(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found == FILES
    assert sorted(path.name for path in folder.parent.iterdir()) == [
        "results",
        "study.toml",
        "visits.csv",
    ]


def test_it_says_what_was_protected_and_what_is_simulation_only(
    finished: tuple[Path, str],
) -> None:
    _, printed = finished
    assert "4 sites fitted a model of 'visits'" in printed
    assert "epsilon = 1 at delta = 1e-6" in printed
    assert "not a certificate" in printed
    before, after = printed.split("Simulation only")
    assert "held-out" in after
    assert "pooled fit" not in before
    assert "AUC" not in before
    assert "base rate" not in before
    assert "The agreed model is " in after and "than knowing the base rate" in after
    assert "base rate" in after
    assert "report.html" in after


def test_the_result_marks_what_is_simulation_only(finished: tuple[Path, str]) -> None:
    found = document(finished[0] / "result.json")
    assert found["format"] == "tacit-result-1"
    assert found["status"] == "finished"
    assert found["parameters"] == ["age", "sex=m", "smoker", "intercept"]
    assert sorted(found["solutions"]) == ["east", "north", "south", "west"]
    assert sum(found["sites"].values()) + found["simulation_only"]["held_out_records"] == 580
    assert found["releases"][0]["times"] == 20
    simulated = found["simulation_only"]
    assert "not covered" in simulated["note"]
    assert set(simulated["scores"]) == {
        "agreed by the sites",
        "pooled, no privacy",
        "base rate",
    }
    assert simulated["scores"]["base rate"]["auc"] == 0.5
    assert simulated["objective_gap"] > 0
    assert not {"scores", "pooled", "objective", "distance"} & set(found)


def test_the_model_holds_the_first_trial_only(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    found = document(folder / "result.json")
    with np.load(folder / "model.npz") as model:
        assert str(model["format"]) == "tacit-model-1"
        assert model["parameters"].tolist() == found["parameters"]
        np.testing.assert_array_equal(model["solution"], found["solution"])
        assert model["solutions"].shape == (4, 4)
    with np.load(folder / "simulation_only" / "solutions.npz") as trials:
        assert trials["solutions"].shape == (2, 4, 4)
        np.testing.assert_array_equal(trials["solutions"][0].mean(axis=0), found["solution"])


def test_the_history_outside_the_folder_is_public(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    public = pd.read_csv(folder / "history.csv")
    assert public.columns.tolist() == ["round", "consensus", "evaluations", "bytes", "epsilon"]
    assert public["round"].tolist() == list(range(21))
    assert public["epsilon"].iloc[-1] == pytest.approx(1.0, rel=1e-6)
    everything = pd.read_csv(folder / "simulation_only" / "history.csv")
    assert {"objective", "distance", "objective_gap", "trial"} <= set(everything.columns)
    assert len(everything) == 42


def test_coefficients_are_private_ones_and_the_pooled_stand_apart(
    finished: tuple[Path, str],
) -> None:
    folder, _ = finished
    public = (folder / "coefficients.csv").read_text().splitlines()
    assert public[0] == "feature,agreed"
    assert public[1].startswith("age,")
    both = (folder / "simulation_only" / "coefficients.csv").read_text().splitlines()
    assert both[0] == "feature,agreed,pooled"


def test_the_guarantee_lists_the_files_that_it_covers(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    found = document(folder / "guarantee.json")
    assert found["covers"] == [
        "coefficients.csv",
        "guarantee.json",
        "history.csv",
        "model.json",
        "model.npz",
        "report_public.html",
    ]
    assert set(found["covers"]) | set(found["does_not_cover"]) == FILES
    assert not set(found["covers"]) & set(found["does_not_cover"])
    read = Guarantees.from_json((folder / "guarantee.json").read_text())
    assert len(read) == 4
    assert "where a record is replaced, it is by one that has them" in " ".join(read[0].assumptions)


def test_the_public_report_shows_no_pooled_fit(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    private, public = (
        (folder / name).read_text() for name in ("report.html", "report_public.html")
    )
    assert "base rate" in private
    assert "base rate" not in public


def test_study_and_environment_are_kept(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    assert (folder / "study.toml").read_text() == (folder.parent / "study.toml").read_text()
    found = document(folder / "environment.json")
    assert found["format"] == "tacit-environment-1"
    assert "jax" in found


def test_the_same_study_gives_the_same_bits(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    again, path = folder.parent.parent / "again", folder.parent / "again.toml"
    stored = document(folder / "result.json")
    text = (folder.parent / "study.toml").read_text()
    path.write_text(changed("trials = 2", f"trials = 2\nseed = {stored['seed']}", text))
    done = RUN.invoke(app, ["run", str(path), "-o", str(again), "--json"])
    path.unlink()
    assert done.exit_code == 0
    printed = json.loads(done.stdout)
    assert document(again / "guarantee.json")["covers"] == []
    assert printed["solutions"] == stored["solutions"]
    assert printed["output"] == str(again)


def test_results_are_never_overwritten_without_force(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    study = str(folder.parent / "study.toml")
    before = (folder / "result.json").stat().st_mtime_ns
    refused = RUN.invoke(app, ["run", study])
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert (folder / "result.json").stat().st_mtime_ns == before


@pytest.mark.long
def test_force_replaces_results_but_nothing_else(tmp_path: Path) -> None:
    path = write(tmp_path, changed("rounds = 20", "rounds = 2"))
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "thesis.txt").write_text("mine")
    refused = RUN.invoke(app, ["run", str(path), "--force"])
    assert refused.exit_code == 2
    assert "does not remove" in refused.stderr
    (tmp_path / "results" / "thesis.txt").unlink()
    for _ in range(2):
        assert RUN.invoke(app, ["run", str(path), "--force"]).exit_code == 0
    assert (tmp_path / "results" / "report.html").exists()
    assert not (tmp_path / "results" / "report_public.html").exists()


def test_an_error_as_json(tmp_path: Path) -> None:
    done = RUN.invoke(app, ["run", str(tmp_path / "absent.toml"), "--json"])
    assert done.exit_code == 2
    found = json.loads(done.stdout)
    assert found["exit_code"] == 2
    assert "no such study file" in found["error"]


def test_divergence_is_a_status_with_results(tmp_path: Path) -> None:
    text = changed('"dpsg"\nstep = 0.5', '"dgd"\nstep = 1e200').replace(
        "[privacy]\nepsilon = 1.0\ndelta = 1e-6\nclip = 1.0\n", ""
    )
    text = text.replace('loss = "logistic"', 'loss = "squared"')
    done = RUN.invoke(app, ["run", str(write(tmp_path, text))])
    assert done.exit_code == 3
    assert "diverged at round" in done.stdout
    assert document(tmp_path / "results" / "result.json")["status"].startswith("diverged")
    assert document(tmp_path / "results" / "guarantee.json")["covers"] == []


def test_a_step_that_is_far_too_large_does_not_end_well(tmp_path: Path) -> None:
    done = RUN.invoke(app, ["run", str(write(tmp_path, changed("step = 0.5", "step = 1e9")))])
    assert done.exit_code == 3
    assert "diverged at round" in done.stdout and "raise divergence in [run]" in done.stdout


OTHERS = {
    "classes": (
        {
            'positive = "> 0"': "levels = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n",
            '"logistic"': '"softmax"',
        },
        "accuracy",
    ),
    "coordinator": (
        {
            'positive = "> 0"': "lower = 0\nupper = 10",
            '"logistic"': '{ kind = "huber", threshold = 0.5 }',
            '"ring"': '"coordinator"',
            '"dpsg"': '"gradient-descent"',
        },
        "rmse",
    ),
    "mapped": (
        {
            'missing = "drop"': 'missing = "drop"\n'
            'map = { kind = "terms", formula = "bs(age, df=3) * sex" }',
            "drop_first = true\n": "",
        },
        "auc",
    ),
    "laplace": (
        {
            BY_COLUMN: 'by = "dirichlet"\nsites = 4\nconcentration = 1.0',
            '"ring"': '"ring"\nvarying = { kind = "link_failure", probability = 0.2 }',
            "clip = 1.0": "clip = [0.5, 1.0, 1.0, 1.0]\nnoise = 'laplace'",
        },
        "auc",
    ),
    "zeroth order": (
        {
            BY_COLUMN: 'by = "label"\nsites = 4',
            '"dpsg"\nstep = 0.5': '"d-zoa"\nestimator = "scalar"',
            "epsilon = 1.0": "epsilon = { 'site 1'=1, 'site 0'=2, 'site 3'=3, 'site 2'=1 }",
        },
        "auc",
    ),
}


@pytest.mark.parametrize("kind", only(["mapped"], OTHERS))
def test_other_studies(kind: str, tmp_path: Path) -> None:
    changes, score = OTHERS[kind]
    text = STUDY
    for old, new in changes.items():
        text = changed(old, new, text)
    done = RUN.invoke(app, ["run", str(write(tmp_path, text)), "--json"])
    assert done.exit_code == 0, done.stderr
    scores = json.loads(done.stdout)["simulation_only"]["scores"]
    assert np.isfinite(scores["agreed by the sites"][score])


@pytest.mark.long
def test_a_model_that_is_not_worth_having_can_have_an_exit_code(tmp_path: Path) -> None:
    study = write(tmp_path, changed("epsilon = 1.0", "epsilon = 0.05"))
    command = ["run", str(study), "--force", "--json"]
    assert RUN.invoke(app, command).exit_code == 0
    done = RUN.invoke(app, [*command, "--fail-if-useless"])
    assert done.exit_code == 5
    assert "worse than knowing the base rate" in done.stderr
    assert json.loads(done.stdout)["simulation_only"]["useful"] is False
    assert (tmp_path / "results" / "report.html").exists()
    study.write_text(study.read_text().replace("epsilon = 0.05", "epsilon = 1000.0"))
    assert RUN.invoke(app, [*command, "--fail-if-useless"]).exit_code == 0
    study.write_text(study.read_text().replace("hold_out = 0.2\n", ""))
    done = RUN.invoke(app, [*command, "--fail-if-useless"])
    assert done.exit_code == 2 and "hold_out" in done.stderr
