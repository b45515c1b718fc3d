"""Options that all commands on a table share: what they write, and what cannot be meant."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tacit.cli import app

SITES = ["East", "North", "West"]


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table as people have it: two ways to write a site, codes, people twice."""
    rng = np.random.default_rng(1)
    n = 900
    table = pd.DataFrame(
        {
            "clinic": [SITES[i % 3] if i % 30 else SITES[i % 3].lower() for i in range(n)],
            "patient": [f"p{i // 2}" for i in range(n)],
            "arm": rng.choice(["drug", "placebo"], n),
            "age": np.where(rng.random(n) < 0.1, 999, rng.integers(20, 80, n)),
            "smoker": rng.choice(["Y", "yes", "no", "?"], n),
            "years": rng.exponential(5.0, n).round(2),
            "died": rng.choice(["true", "false"], n),
        }
    )
    table.to_csv(tmp_path / "visits.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


SITES_MAP = 'clinic={ "east" = "East", "north" = "North", "west" = "West" }'
SHARED = (
    *("--site", "clinic", "--sites", ",".join(SITES), "--map", SITES_MAP, "-d", "0.01"),
    *("--large-delta", "--missing-values", "999", "--records-per-person", "2", "--json"),
)


def typed(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def test_what_a_table_1_declares_is_in_its_study_and_its_numbers(there: Path) -> None:
    done = typed(
        *("table1", "visits.csv", "age", "smoker", "--by", "arm", "-b", "age=20:80", "-e", "8"),
        *("--levels", "smoker=no,yes", "--map", 'smoker={ "Y" = "yes", "?" = "" }'),
        *("--levels", "arm=drug,placebo", "--study", "mine.toml", *SHARED),
    )
    assert done.exit_code == 0, done.output
    # nothing is read off the records, and nobody is left unprotected; a slow run tells its rounds
    assert all(line.startswith("rounds: ") for line in done.stderr.splitlines())
    study = tomllib.loads(Path("mine.toml").read_text())
    assert study["partition"]["sites"] == SITES
    assert study["partition"]["map"]["east"] == "East"
    assert study["data"]["missing_values"] == ["999"]
    assert study["data"]["features"]["smoker"]["map"] == {"Y": "yes", "?": ""}
    budget = study["privacy"]
    assert (budget["large_delta"], budget["records_per_person"]) == (True, 2)
    assert "run" not in study
    document = json.loads(done.stdout)
    assert document["sites"] == dict.fromkeys(SITES, 300)
    owner = document["guarantee"]["owners"][0]
    assert (owner["unit"], owner["records_per_person"]) == ("person", 2)
    assert any("it is accepted that delta" in each for each in owner["assumptions"])
    found = {
        tuple(row[key] for key in ("variable", "level", "statistic")): row["value"]
        for row in document["answer"]["rows"]
        if row["group"] == "overall"
    }
    assert 60 < found["age", "missing", "n"] < 120
    assert 380 < found["smoker", "yes", "n"] < 520 and 160 < found["smoker", "missing", "n"] < 290
    # the seed is drawn, and differs from run to run
    told = json.loads(Path("table1/result.json").read_text())["seed"]
    assert told > 2**32
    assert json.loads(Path("table1/guarantee.json").read_text())["covers"] != []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("survival visits.csv year died", "'year' is not a column of the data; did you mean"),
        ("survival visits.csv years dead", "'dead' is not a column"),
        ("survival visits.csv years years", "cannot be both the time and the event"),
        (
            "survival visits.csv years died --by years",
            "'years' cannot be both the time and the groups",
        ),
        ("survival visits.csv years died --edges a,b", "--edges 'a,b' must be numbers"),
        ("survival visits.csv years died --edges 20 -b years=0:10", "between its bounds 0 and 10"),
        ("survival visits.csv years died --until 3.3 -b years=0:10", "--until 3.3 is not an end"),
        ("survival visits.csv arm died", "TIME 'arm' has levels of its own"),
        ("survival visits.csv years died -l smokr=Y,yes", "--levels declares 'smokr', which is"),
        ("survival study.toml years died", "study.toml is a study, not a table; run it by: tacit"),
        ("survival visits.csv years died --sites-per-person 2", "or take local noise (--local)"),
        ("survival visits.csv years died --sites-per-person 9 --local", "but there are 4 sites"),
        ("cox visits.csv years died", "Missing argument 'COLUMN'"),
        ("cox visits.csv years died years", "cannot be both the time and a covariate"),
        ("cox visits.csv years died age --limit 0", "--limit 0.0 must be a positive"),
        ("cox visits.csv years died age --epsilon nan", "--epsilon nan must be above 0"),
        ("cox visits.csv years died age --sites-per-person 2", "--sites-per-person 2 does not go"),
        ("table1 visits.csv age --sites-per-person 2", "--sites-per-person 2 does not go with"),
        ("table1 visits.csv age -d 0.5", "--large-delta"),
        (
            "table1 visits.csv age --sites a,b --site clinic",
            "'East', which is not among --sites a,b",
        ),
        ("table1 visits.csv age --map smoker={", "must name values and what they mean"),
        ("fit visits.csv died~age -f binomial --sites-per-person 2", "local noise (--local)"),
    ],
)
def test_what_cannot_be_meant(there: Path, command: str, said: str) -> None:
    done = typed(*command.split())
    assert done.exit_code == 2, done.output
    assert said in " ".join(done.stderr.split()), done.stderr
    assert "the study of this" not in done.stderr and not list(there.glob("*/"))


def test_help_teaches_with_an_example() -> None:
    for name in ("fit", "table1", "survival", "cox"):
        shown = typed(name, "--help").stdout
        assert f"\n  tacit {name} " in shown.replace("    tacit", "  tacit")
        assert "--sites-per-person" in shown and "--missing-values" in shown
