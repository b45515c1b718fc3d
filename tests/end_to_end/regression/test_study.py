"""A regression in a study, by every command and from Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tacit
from tacit.cli import app
from tacit.errors import ConfigError
from tacit.privacy.ledger import Ledger
from tacit.study import assemble, execute, read_study
from tests.end_to_end.regression.visits import (
    DECLARED,
    SEED,
    SITES,
    close_to_the_truth,
    visits,
    written,
)
from tests.end_to_end.study import told


@pytest.mark.long
def test_what_a_study_costs_is_known_beforehand(tmp_path: Path) -> None:
    study = written(tmp_path)
    planned, ran = told("account", study), told("run", study)
    assert planned["format"].startswith("tacit-account")
    owner = ran["guarantee"]["owners"][0]
    assert owner["epsilon"] == pytest.approx(2.0, rel=1e-6)
    assert ran["rounds"] == owner["releases"] == 4
    close_to_the_truth(pd.read_csv(tmp_path / "results" / "coefficients.csv"))


@pytest.mark.long
def test_offsets_and_weights_are_the_same_typed_written_and_called(
    fitted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(fitted)
    formula = "ill ~ C(sex) + offset(log(age))"
    given = ("--family", "binomial", "-e", "2", "--site", "site", *DECLARED, *SEED)
    more = ("--weights", "age", "--study", "mine.toml", "--output", "fit")
    told("fit", "visits.csv", formula, *given, *more)
    assert 'weights = "age"' in Path("mine.toml").read_text()
    # which would count every record once
    assert "calibration-figure" not in Path("fit/report.html").read_text()
    table = pd.read_csv("fit/coefficients.csv")
    told("run", "mine.toml", "--output", "again")
    pd.testing.assert_frame_equal(pd.read_csv("again/coefficients.csv"), table)
    found = tacit.glm(
        formula,
        visits(),
        columns={
            "age": tacit.data.Numeric(20, 80),
            "sex": tacit.data.Categorical(["f", "m"]),
            "ill": tacit.data.Boolean(),
        },
        family="binomial",
        weights="age",
        epsilon=2.0,
        missing="drop",
        seed=0,
    ).to_frame()
    np.testing.assert_array_equal(found["coefficient"], table["coefficient"])


@pytest.mark.long
def test_a_ledger_is_charged_once_for_a_run(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "clinics.ledger") as ledger:
        for site in SITES:
            ledger.set_budget(site, "visits", epsilon=2.5, delta=1e-5)
    charged = ("masks = true\n", 'masks = true\nledger = "clinics.ledger"\ndataset = "visits"\n')
    study = written(tmp_path, charged)
    assert told("run", study)["ledger"]["repeated"] is False
    assert told("run", study, "--force")["ledger"]["repeated"] is True
    study.write_text(study.read_text().replace("age + C(sex)", "age"))
    assert CliRunner().invoke(app, ["run", str(study), "--force"]).exit_code == 2


@pytest.mark.slow
def test_the_claim_survives_an_audit(tmp_path: Path) -> None:
    found = told("audit", written(tmp_path), "--trials", "1000", "--output", tmp_path / "audit")
    assert found["refuted"] is False and not any(each["failed"] for each in found["checks"])
    assert 0.5 < found["lower_bound"] < 2.0


def test_it_is_described_and_listed() -> None:
    found = told("describe", "glm")
    assert (found["oracle"], found["traits"]["masks"]) == ("rows", "yes")
    assert [each["name"] for each in found["parameters"]] == ["sums", "covariance"]
    assert found["status"] == "proved with [privacy]; none without"


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("~ age", "~ agee", r"\[model\].*'agee'"),
        ("ill ~ age", "ill age", r"\[model\] formula"),
        ('"binomial"', '"bin"', r"\[model\] family"),
        ('"binomial"', '"poisson"', r"\[model\].*'ill'"),
        ('"binomial"', '"binomial"\nweights = "agee"', r"\[model\].*'agee'"),
        ('"binomial"', '"binomial"\nweights = "sex"', r"\[model\].*'sex' has levels"),
        ("[privacy]", '[method]\nname = "dpsg"\n[privacy]', r"\[method\] name"),
        ("[privacy]", '[method]\nname = "glm"\nsums = 5\n[privacy]', r"\[method\] sums"),
        ("[privacy]", "[run]\nrounds = 7\n[privacy]", r"\[run\] rounds"),
        ("[privacy]", "[run]\nhold_out = 0.1\n[privacy]", r"\[run\] hold_out"),
        ("[privacy]", "[problem]\nloss = 'logistic'\n[privacy]", r"\[problem\] loss"),
        ("[partition]", "[data.target]\ncolumn = 'ill'\npositive = 'x'\n[partition]", "target"),
        ("epsilon = 2.0", "epsilon = 2.0\nclip = 3.0", r"\[privacy\].*clip"),
        ("epsilon = 2.0", "epsilon = 2.0\nnoise = 'laplace'", r"\[privacy\].*noise"),
        ("epsilon = 2.0", "epsilon = 2.0\nrelation = 'add_remove'", "relation"),
        ("[model]", "[modell]", r"modell. unknown key"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, old: str, new: str, where: str) -> None:
    study = written(tmp_path, (old, new))
    with pytest.raises(ConfigError, match=where) as caught:
        execute(assemble(read_study(study)))
    assert "study.toml" in str(caught.value)


@pytest.mark.long
def test_records_that_come_and_go_over_a_graph(tmp_path: Path) -> None:
    study = written(
        tmp_path,
        ("[model]", '[network]\ngraph = "ring"\nexact_sum = "tree"\n[model]'),
        ("masks = true", 'relation = "add_remove"'),
        ("[partition]", "[problem]\nsize = 2000\n[partition]"),
    )
    answer: Any = execute(assemble(read_study(study))).result.answer
    close_to_the_truth(answer.frame())


@pytest.mark.long
def test_of_several_draws_it_is_counted_how_many_gave_intervals(tmp_path: Path) -> None:
    from tacit.study import assemble, execute, read_study
    from tacit.study._output.words import findings

    noisy = ("epsilon = 2.0", "epsilon = 0.2")
    path = written(tmp_path, noisy, ("[privacy]", "[run]\ntrials = 8\nseed = 1\n\n[privacy]"))
    outcome = execute(assemble(read_study(path)))
    answers = outcome.result.answers
    assert len(answers) == 8 and answers[0] == outcome.result.answer
    printed = sum(getattr(each, "refusal", each) is None for each in answers)
    assert 0 < printed < 8
    assert f"{printed} of 8 draws of the noise gave intervals; the first is shown." in findings(
        outcome
    )
