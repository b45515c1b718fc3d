"""A report is written again from the results, to the letter."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.errors import ConfigError
from tacit.method import Comparison, load_model
from tacit.report import render
from tacit.study import assemble, execute, read_study
from tacit.study._output import Destination, write
from tacit.study._output.names import PUBLIC_REPORT, REPORT, SIMULATION_ONLY
from tacit.study._output.stored import NAME, read, rewrite, store
from tests.end_to_end.study import changed, visits
from tests.end_to_end.study import write as write_study
from tests.unit.report.sample import sample


@pytest.mark.long
def test_a_model_predicts_by_the_bounds_that_its_records_told(tmp_path: Path) -> None:
    write_study(tmp_path)
    path = tmp_path / "study.toml"
    text = path.read_text()
    for declared, public in (
        ("lower = 0\nupper = 100", 'statistics = "public"\nstandardise = true'),
        ('levels = ["f", "m"]', 'kind = "categorical"\nstatistics = "public"'),
    ):
        assert declared in text
        text = text.replace(declared, public)
    path.write_text(text)
    outcome = execute(assemble(read_study(path)))
    destination = Destination(tmp_path / "results")
    destination.prepare()
    write(outcome, destination)
    columns = json.loads((destination.path / "model.json").read_text())["columns"]
    records = visits().dropna(subset=["age"])
    ages = records["age"]
    assert (columns["age"]["lower"], columns["age"]["upper"]) == (ages.min(), ages.max())
    assert columns["age"]["mean"] == pytest.approx(ages.mean())
    assert columns["age"]["statistics"] == columns["sex"]["statistics"] == "public"
    assert columns["sex"]["levels"] == ["f", "m"]
    model, one = load_model(destination.path / "model.json"), records.iloc[[0]]
    # of one row as among all: no bound is taken from new records
    np.testing.assert_allclose(model.predict(one)["mean"], model.predict(records)["mean"].iloc[0])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / SIMULATION_ONLY).mkdir()
    return tmp_path


def test_a_run_can_be_reported_again_and_published_later(tmp_path: Path) -> None:
    text = changed("seed = 0\n", "")
    outcome = execute(assemble(read_study(write_study(tmp_path, text))))
    both, one = (Destination(tmp_path / name) for name in ("both", "one"))
    for destination, public in ((both, True), (one, False)):
        destination.prepare()
        write(outcome, destination, public=public)
    page = (one.path / REPORT).read_text()
    (one.path / REPORT).unlink()
    assert rewrite(one.path) == one.path / REPORT
    assert (one.path / REPORT).read_text() == page
    done = CliRunner().invoke(app, ["report", str(one.path), "--public", "--json"])
    assert json.loads(done.stdout)["file"] == str(one.path / PUBLIC_REPORT)
    expected = (both.path / PUBLIC_REPORT).read_text()
    assert (one.path / PUBLIC_REPORT).read_text() == expected
    for name in ("guarantee.json",):
        assert (one.path / name).read_bytes() == (both.path / name).read_bytes()
    covered = json.loads((one.path / "guarantee.json").read_text())["covers"]
    assert {PUBLIC_REPORT, "model.json"} <= set(covered)
    model = load_model(one.path / "model.json")
    np.testing.assert_array_equal(model.values, outcome.result.solution)
    assert model.study == hashlib.sha256(text.encode()).hexdigest()
    rows = visits()
    predicted = model.predict(rows)["mean"]
    assert predicted.isna().tolist() == rows.isna().any(axis=1).tolist()
    assert predicted.dropna().between(0.0, 1.0).all()


@pytest.mark.parametrize("change", [{}, {"guarantee_status": "none", "noise": "none"}])
def test_what_is_stored_renders_the_same(folder: Path, change: dict[str, Any]) -> None:
    history = {"round": [0, 1], "epsilon": [0.0, math.inf], "distance": [math.nan, 0.5]}
    records = Comparison("binomial", np.array([0.2, 0.4]), np.array([0.0, 1.0]))
    data = sample(history=history, comparison=records, **change)
    store(folder, data, "finished")
    json.loads(
        (folder / SIMULATION_ONLY / NAME).read_text(),
        parse_constant=lambda name: pytest.fail(f"{name} is not JSON"),
    )
    assert render(read(folder)) == render(data)


def test_a_public_page_holds_nothing_of_single_records(folder: Path) -> None:
    records = Comparison("binomial", np.array([0.2, 0.4]), np.array([0.0, 1.0]))
    store(folder, sample(comparison=records, files=("model.npz",)), "diverged at round 3")
    data = read(folder, public=True)
    assert data.comparison is None
    assert data.status == "diverged at round 3"
    assert data.files == ("model.npz", PUBLIC_REPORT)
    assert "simulation only" not in render(data).partition("<script")[0]


def test_what_is_not_there_or_damaged_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="Run the study again with --force"):
        read(folder)
    path = folder / SIMULATION_ONLY / NAME
    for text in ("{", "[]", "{}", '{"format": "tacit-report-1", "report": {"title": 3}}'):
        path.write_text(text)
        with pytest.raises(ConfigError, match="it is damaged"):
            read(folder)
    path.write_text('{"format": "tacit-report-9"}')
    with pytest.raises(ConfigError, match="'tacit-report-9'; this version of tacit reads"):
        read(folder)
    store(folder, sample(), "finished")
    with pytest.raises(ConfigError, match=r"guarantee\.json cannot be read"):
        rewrite(folder, public=True)
