"""Parts of others that prepare and divide records, and a simulator."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.end_to_end.parts.package import Command

PREPARED = """
[data]
path = "records.csv"
map = { kind = "acme-powers", highest = 2 }
[data.features]
hour = { kind = "acme-cyclic", period = 24.0 }
start = { lower = 0, upper = 1 }
[data.target]
kind = "acme-at-least"
column = "measured"
threshold = 0.5
[partition]
by = "acme-turns"
sites = 3
first = 1
[problem]
loss = "logistic"
[network]
graph = "ring"
[method]
name = "dpsg"
step = 0.5
[privacy]
epsilon = 4.0
clip = 1.0
[run]
rounds = 4
"""
SIMULATED = """
[data]
path = "records.csv"
intercept = false
[data.features]
start = { lower = 0, upper = 1, to = [0, 1] }
heat = { lower = 0, upper = 1, to = [0, 1] }
[data.target]
column = "measured"
lower = 0
upper = 1.5
[partition]
by = "acme-turns"
sites = 3
[problem]
loss = { kind = "acme-room", steps = 5 }
constraint = { kind = "box", lower = 0, upper = 2 }
[network]
graph = "coordinator"
[method]
name = "or-zo"
step = 0.2
[privacy]
clip = 0.5
epsilon = 8.0
[run]
rounds = 4
compare = false
"""


def rooms(folder: Path, text: str) -> Path:
    """A study of simulated rooms, beside its records."""
    rng = np.random.default_rng(0)
    rows = ["start,heat,measured,hour"]
    for start, heat, hour in rng.uniform(0.0, 1.0, (90, 3)):
        end = start
        for _ in range(5):
            end += (0.8 * heat - 0.5 * end) / 5
        rows.append(f"{start:.6f},{heat:.6f},{end:.6f},{24 * hour:.2f}")
    (folder / "records.csv").write_text("\n".join(rows) + "\n")
    path = folder / "study.toml"
    path.write_text(text)
    return path


@pytest.mark.slow
def test_a_study_prepares_and_divides_its_records_with_its_parts(
    tmp_path: Path, tacit: Command
) -> None:
    path = rooms(tmp_path, PREPARED)
    tacit("run", path)
    rows = (tmp_path / "results" / "coefficients.csv").read_text().splitlines()[1:]
    names = [row.split(",")[0] for row in rows]
    columns = ("hour:cos", "hour:sin", "start")
    assert names == [*(f"{name}^{k}" for k in (1, 2) for name in columns), "intercept"]
    owner = json.loads((tmp_path / "results" / "guarantee.json").read_text())["owners"][0]
    said = " ".join(owner["assumptions"])
    assert owner["status"] == "proved"
    assert all(name in said for name in ("Cyclic", "AtLeast", "Powers"))
    for old, new, told in (
        ("period = 24.0", "periods = 24.0", "study.toml:6: [data.features.hour] periods: unknown"),
        ("threshold = 0.5", "", "study.toml:8: [data.target] threshold: is missing"),
        ("first = 1", "first = 0.5", "study.toml:15: [partition] first: 0.5 must be a whole"),
        ("acme-cyclic", "acme-cyclik", "study.toml:6: [data.features.hour] kind: 'acme-cyclik'"),
        ("highest = 2", "hihgest = 2", "study.toml:4: [data.map] hihgest: unknown key"),
    ):
        path.write_text(PREPARED.replace(old, new))
        assert told in tacit("account", path, code=2).stderr


@pytest.mark.slow
def test_a_simulator_is_run_and_swept(tmp_path: Path, tacit: Command) -> None:
    named = (
        'x0 = [1, 0.5]\nparameter_names = ["heating", "leak"]\n'
        "simulator = { workers = 2, timeout = 60 }\n[network]"
    )
    path = rooms(tmp_path, SIMULATED.replace("[network]", named))
    told = tacit("run", path).stdout
    assert "Answer: heating = " in told and ", leak = " in told
    owner = json.loads((tmp_path / "results" / "guarantee.json").read_text())["owners"][0]
    assumed = " ".join(owner["assumptions"])
    assert owner["status"] == "proved" and "the loss Room" in assumed
    assert "which are stopped after 60 seconds tells nothing of the records" in assumed
    tacit("sweep", path, "--seeds", "2", "--set", "method.step=0.1,0.2")
    for old, new, key in (
        ("compare = false", "", "[run] compare"),
        ("compare = false", "compare = false\nhold_out = 0.2", "[run] hold_out"),
    ):
        path.write_text(SIMULATED.replace(old, new))
        told = tacit("account", path, code=2).stderr
        assert key in told and "the loss Room gives values only" in told
