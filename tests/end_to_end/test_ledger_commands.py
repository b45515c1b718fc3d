"""`tacit ledger`, as a privacy officer uses it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.privacy.event import GaussianRelease, Repeated
from tacit.privacy.ledger import Ledger, ReleaseId
from tacit.privacy.wording import FOLLOWED

RUN = CliRunner()


def ledger(*arguments: str | Path, code: int = 0) -> str:
    """What a command prints on standard output."""
    done = RUN.invoke(app, ["ledger", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done.stdout


def refused(*arguments: str | Path, code: int) -> str:
    """What a command that fails prints on standard error."""
    done = RUN.invoke(app, ["ledger", *map(str, arguments)])
    assert done.exit_code == code, done.output
    assert isinstance(done.exception, SystemExit)
    return done.stderr


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.ledger"
    ledger("new", path)
    budget = ("--dataset", "visits", "--epsilon", "1", "--delta", "1e-6")
    for owner in ("clinic", "north"):
        assert f"{owner} may spend epsilon 1" in ledger("budget", path, "--owner", owner, *budget)
    with Ledger.open(path) as opened:
        events = [Repeated(GaussianRelease(300.0), 2000)]
        opened.charge_run("spring", {"clinic": events}, dataset="visits")
        opened.prepare(
            ReleaseId("clinic", "summer", 0, "gradient"),
            GaussianRelease(300.0),
            b"noised",
            input_hash="state",
            dataset="visits",
            recipients=("north",),
        )
    return path


def test_help_and_json_everywhere() -> None:
    text = ledger("--help")
    for command in ("new", "budget", "show", "verify", "export"):
        assert f"  {command} " in text
        assert ("--json" if command != "export" else "--format") in ledger(command, "--help")


def test_a_new_ledger_says_what_comes_next(tmp_path: Path) -> None:
    path = tmp_path / "new.ledger"
    assert f"tacit ledger budget {path}" in ledger("new", path)
    assert "No budget is set, so nothing may be released" in ledger("show", path)
    assert "exists already" in refused("new", path, code=1)


def test_an_epsilon_that_others_have_to_keep_is_a_model_claim_wherever_it_is_shown(
    path: Path,
) -> None:
    with Ledger.open(path) as opened:
        opened.charge_run(
            "autumn",
            {"north": [GaussianRelease(20.0)]},
            dataset="visits",
            neighbours=f"record, replace_one, {FOLLOWED}",
        )
    said = [line for line in ledger("show", path).splitlines() if "model claim" in line]
    assert len(said) == 1 and said[0].startswith("Spent of north, visits")


def test_show(path: Path) -> None:
    text = ledger("show", path)
    row = next(line for line in text.splitlines() if line.strip().startswith("clinic"))
    assert row.split()[:8] == ["clinic", "visits", "1", "0.6087", "0.391", "1e-6", "2", "2,001"]
    assert "never" in next(line for line in text.splitlines() if line.strip().startswith("north"))
    assert "1 release is kept" in text
    document = json.loads(ledger("show", path, "--json"))
    assert document["format"] == "tacit-ledger-show-1"
    clinic, north = document["balances"]
    assert (clinic["owner"], clinic["runs"], clinic["releases"]) == ("clinic", 2, 2001)
    assert clinic["spent"] + clinic["left"] == pytest.approx(1.0)
    assert north["spent"] == 0.0 and north["left"] == 1.0
    assert document["releases_waiting"] == 1


def test_verify(path: Path) -> None:
    text = ledger("verify", path)
    assert text.startswith(f"{path}: sound")
    assert "--at-least" in text
    last = json.loads(ledger("show", path, "--json"))["last_entry"]
    known = ("--at-least", last["sequence"], "--hash", last["hash"])
    assert "the entry that the peer knows of is among them" in ledger("verify", path, *known)
    assert "older copy" in ledger("verify", path, "--at-least", 100, code=1)
    assert "gone another way" in ledger("verify", path, *known[:3], "0" * 64, code=1)
    assert "--hash needs --at-least" in refused("verify", path, "--hash", "0", code=2)


def test_verify_names_the_broken_entry(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE entries SET text = replace(text, '300.0', '900.0')")
    text = ledger("verify", path, code=1)
    assert "NOT SOUND" in text and "entry 8 was changed" in text
    document = json.loads(ledger("verify", path, "--json", code=1))
    assert document["sound"] is False and document["entry"] == 8
    assert "entry 8 was changed" in refused("show", path, code=1)


def test_export(path: Path, tmp_path: Path) -> None:
    document = json.loads(ledger("export", path))
    assert document["format"] == "tacit-ledger-export-1"
    assert len(document["entries"]) == 9
    target = tmp_path / "clinic.csv"
    assert "Wrote" in ledger("export", path, "--format", "csv", "-o", target)
    assert target.read_text().count("\n") == 10
    assert "exists; give --force" in refused("export", path, "-o", target, code=2)
    ledger("export", path, "-o", target, "--force")
    assert "is the ledger" in refused("export", path, "-o", path, "--force", code=2)
    assert "cannot be written" in refused("export", path, "-o", tmp_path / "no" / "file", code=2)


def test_errors_are_one_message(path: Path, tmp_path: Path) -> None:
    assert "there is no ledger" in refused("show", tmp_path / "none", code=1)
    with Ledger.open(path):
        budget = ("--owner", "clinic", "--dataset", "visits", "--epsilon")
        assert "open for writing elsewhere" in refused("budget", path, *budget, 2, code=1)
        ledger("show", path)
    assert "must be positive" in refused("budget", path, *budget, 0, code=2)


def test_a_budget_as_json(path: Path) -> None:
    options = ("--owner", "clinic", "--dataset", "visits", "--epsilon", 2, "--delta", 0, "--json")
    document = json.loads(ledger("budget", path, *options))
    # Gaussian releases have no pure epsilon
    assert document["epsilon"] == 2.0 and document["spent"] == "inf" and document["left"] == 0.0


def test_a_second_name_for_the_same_records_is_asked_about(path: Path) -> None:
    for owner, dataset, said in (
        ("clinic", "visit", "'visit' is a new dataset, with a budget of its own; did you mean"),
        ("clinik", "visits", "'clinik' is a new owner, with a budget of its own; did you mean"),
        ("clinic", "visits", ""),
        ("clinic", "labs", ""),
    ):
        words = ["budget", str(path), "--owner", owner, "--dataset", dataset, "--epsilon", "2"]
        done = RUN.invoke(app, ["ledger", *words])
        assert done.exit_code == 0, done.output
        assert said in done.stderr and bool(said) == bool(done.stderr)
