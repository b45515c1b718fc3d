"""The tutorial for five hospitals between real processes: the commands of its page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.testing import check_between_sites
from tests.docs.test_examples import examples, run_example
from tests.sites import free_port

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "hospitals.md"
HOSPITALS = ["Aarhus", "Bergen", "Lund", "Oulu", "Turku"]
STUDIES = ["table1", "survival", "cox"]

TOLD = r"""
tacit() { local IFS=$'\t'; echo "$*"; }
python() { :; }
wait() { builtin wait; echo wait; }
"""
"""Has bash print the commands of a script, its loops written out, instead of running them."""


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the records and studies of the page."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for line, language, text in examples(PAGE):
        if language != "console" and ">>>" not in text:
            assert not run_example(language, text, names, PAGE, line)
    return tmp_path


def commands(studies: str) -> list[list[str]]:
    """The commands of the page's scripts, for these of its studies."""
    text = PAGE.read_text(encoding="utf-8")
    script = "\n".join(re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    assert script.count(" ".join(STUDIES)) == 3
    script = script.replace(" ".join(STUDIES), studies).replace("47461", str(free_port()))
    told = subprocess.run(
        ["bash", "-euc", TOLD + script], capture_output=True, text=True, check=True
    )
    return [line.split("\t") for line in told.stdout.splitlines()]


def performed(found: list[list[str]]) -> str:
    """Run them, members as processes of their own; what the others printed."""
    running: list[subprocess.Popen[bytes]] = []
    printed = ""
    try:
        for each in found:
            if each == ["wait"]:
                assert [process.wait(timeout=300) for process in running] == [0] * 6
                running.clear()
            elif each[0] in ("agent", "coordinator"):
                running.append(subprocess.Popen([sys.executable, "-m", "tacit", *each]))
            else:
                done = CliRunner().invoke(app, each)
                assert done.exit_code == 0, (each, done.output)
                printed += done.output
    finally:
        for process in running:
            process.kill()
            process.wait()
    return printed


@pytest.mark.parametrize(
    "studies",
    [
        pytest.param("survival", marks=pytest.mark.long),
        pytest.param(" ".join(STUDIES), marks=pytest.mark.slow),
    ],
)
def test_the_commands_of_the_page_end_in_verified_tables(there: Path, studies: str) -> None:
    printed = performed(commands(studies))
    for study in studies.split():
        tables = [(there / f"{name}-{study}" / f"{study}.csv").read_bytes() for name in HOSPITALS]
        assert len({*tables}) == 1
        guarantee = json.loads((there / f"Turku-{study}" / "guarantee.json").read_text())
        assert "this is a certificate" in json.dumps(guarantee)
        assert f"Turku-{study}.tacit.zip: verified" in printed
    curves: Any = pd.read_csv(there / "Lund-survival" / "survival.csv").query("time == 12")
    for group, records in pd.read_csv(there / "patients.csv").groupby("treatment"):
        row = curves[curves["group"] == group].iloc[0]
        alive = float((records["months"] > 12).mean())  # nobody is censored in the first year
        assert abs(row["survival"] - alive) < 5.0 * row["noise_error"] + 1e-3
    if studies == "survival":
        return
    ratios: Any = pd.read_csv(there / "Oulu-cox" / "cox.csv").set_index("parameter")
    for name, value in {"treatment[T.intensive]": -0.25, "age": 0.05, "ejection": -0.02}.items():
        row = ratios.loc[name]
        assert abs(row["log_hazard_ratio"] - value) < 4.0 * row["standard_error"]
    records: Any = pd.read_csv(there / "Bergen-table1" / "table1.csv").iloc[0]
    assert abs(records["value"] - 15_000) < 5.0 * records["standard_error"]
    (spent,) = re.findall(r"^\s*Turku\s+heart\s+2\s+([\d.]+)\s", printed, re.MULTILINE)
    (stated,) = re.findall(r"^ Turku   heart +2 +([\d.]+) ", PAGE.read_text(), re.MULTILINE)
    assert spent == stated


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES)
def test_five_processes_end_with_the_bits_of_the_simulation(there: Path, study: str) -> None:
    check_between_sites(there / f"{study}.toml")
