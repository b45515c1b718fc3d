"""Five buildings, each with a simulator of its own, run as their study says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.testing import check_between_sites

EXAMPLE = Path(__file__).parents[2] / "examples" / "buildings"
BEST = (0.29, 0.43)
"""The setting of least cost on a grid of 101 by 101."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "buildings"))


def shortened(folder: Path, rounds: int) -> Path:
    path = folder / "study.toml"
    text = path.read_text(encoding="utf-8")
    assert "rounds = 30" in text
    path.write_text(text.replace("rounds = 30", f"rounds = {rounds}"), encoding="utf-8")
    return path


@pytest.mark.long
def test_the_study_runs_and_protects_each_cost(folder: Path) -> None:
    done = CliRunner().invoke(app, ["run", str(shortened(folder, 2))])
    assert done.exit_code == 0, done.output
    assert "5 sites minimised the sum of their costs (2 parameters)" in done.output
    assert "Answer: temperature = " in done.output and "records, 1 each" not in done.output
    promise = json.loads((folder / "results" / "guarantee.json").read_text())["owners"][0]
    assert (promise["unit"], promise["status"]) == ("agent", "proved")
    assert promise["epsilon"] == pytest.approx(8.0) and promise["epsilon"] <= 8.0
    assert any("which fail and are repeated or skipped" in each for each in promise["assumptions"])


@pytest.mark.long
def test_without_noise_they_agree_on_the_best_setting(folder: Path) -> None:
    path = folder / "study.toml"
    before, _, rest = path.read_text(encoding="utf-8").partition("[privacy]")
    # one draw of the directions: the cost is flat in the flow, and others end further away in it
    text = f"{before}[run]\nseed = 0{rest.partition('[run]')[2]}"
    path.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(app, ["run", str(path)])
    assert done.exit_code == 0, done.output
    with np.load(folder / "results" / "model.npz") as file:
        np.testing.assert_allclose(file["solution"].reshape(-1), BEST, atol=0.1)


@pytest.mark.long
def test_between_sites_each_building_runs_its_own_simulator(folder: Path) -> None:
    check_between_sites(shortened(folder, 2))
