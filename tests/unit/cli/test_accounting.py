"""`tacit account`: what a study guarantees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.study import assemble, execute, read_study
from tacit.study._output.words import protection
from tacit.types import Unit
from tests.end_to_end.study import STUDY, changed, write

RUN = CliRunner()


def said(*arguments: str | Path, code: int = 0) -> str:
    """What `tacit account` prints on standard output."""
    done = RUN.invoke(app, ["account", *(str(argument) for argument in arguments)])
    assert done.exit_code == code, done.output
    return done.stdout


def answered(*arguments: str | Path) -> dict[str, Any]:
    """Its JSON document."""
    document = json.loads(said(*arguments, "--json"))
    assert document["format"] == "tacit-account-1"
    return document


def refused(*arguments: str | Path) -> str:
    """Its error message."""
    done = RUN.invoke(app, ["account", *(str(argument) for argument in arguments)])
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("error: ")
    return done.stderr


@pytest.mark.slow
def test_a_study_may_protect_all_data_of_a_site(tmp_path: Path) -> None:
    text = changed('graph = "ring"', 'graph = "coordinator"\nprobability = 0.5')
    text = changed('name = "dpsg"', 'name = "fedavg"\nrelease = "update"', text)
    text = changed("rounds = 20", "rounds = 4", text)
    study = write(tmp_path, text)
    shown = said(study)
    assert "all data of that owner together" in shown and "Each record is held" not in shown
    outcome = execute(assemble(read_study(study)))
    assert {each.unit for each in outcome.result.guarantee} == {Unit.AGENT}
    assert "whole cost function of one site" in protection(outcome)[0]


def test_a_study_is_told_what_a_run_of_it_guarantees(tmp_path: Path) -> None:
    study = write(tmp_path)
    found = answered(study)
    outcome = execute(assemble(read_study(study)))
    assert found["question"] == "study"
    assert found["guarantee"] == outcome.result.guarantee.to_dict()
    releases = {row.phase: row for row in outcome.result.releases if row.released}
    assert {row["phase"] for row in found["owners"]} == set(releases)
    scales = [row["noise_scale"] for row in found["owners"]]
    assert max(scales) == releases[found["owners"][0]["phase"]].noise_scale
    for row in found["owners"]:
        assert row["noise_multiplier"] == pytest.approx(row["noise_scale"] / row["sensitivity"])
    assert found["curve"][-1] == {"rounds": 20, "epsilon": pytest.approx(1.0)}
    spent = [row["epsilon"] for row in found["curve"]]
    assert spent[0] > 0.0 and spent == sorted(spent)
    assert {row["delta"]: row["epsilon"] for row in found["at_deltas"]}[1e-6] <= 1.0


def test_a_study_in_words(tmp_path: Path) -> None:
    text = said(write(tmp_path))
    for value in ("north", "20 rounds of dpsg", "proved", "(1, 1e-6)"):
        assert value in text
    assert not (tmp_path / "results").exists()


def test_other_rounds_may_be_tried_out(tmp_path: Path) -> None:
    study = write(tmp_path)
    few, many = answered(study, "--rounds", "5"), answered(study, "--rounds", "50")
    assert few["rounds"] == 5 and many["rounds"] == 50
    assert few["owners"][0]["noise_scale"] < many["owners"][0]["noise_scale"]


def test_a_study_without_protection_says_so(tmp_path: Path) -> None:
    text = STUDY.replace('name = "dpsg"', 'name = "dgd"')
    text = text[: text.index("[privacy]")] + text[text.index("[run]") :]
    study = write(tmp_path, text)
    assert "No guarantee" in said(study)
    found = answered(study)
    assert found["owners"][0]["epsilon"] == "inf" and found["at_deltas"] == []


def test_a_person_at_several_sites_is_not_told_that_owners_do_not_add_up(tmp_path: Path) -> None:
    study = write(tmp_path, changed("clip = 1.0", "clip = 1.0\nsites_per_person = 2"))
    shown = " ".join(said(study).split())
    assert "do not add up" not in shown and "between sites it is refused" in shown


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ("study.toml --epsilon 2", "plan noise"),
        ("-e 1 -r 200", "plan noise"),
        ("-e 1 -z 60", "plan rounds"),
        ("--noise-multiplier=60 -r 200", "plan epsilon"),
        ("--graph ring --agents 5 --gossip-rounds 3 -z 1", "plan gossip"),
        ("--masks complete --agents 5 -e 1 -r 2", "plan masks"),
    ],
)
def test_an_option_of_plan_names_its_command(options: str, command: str) -> None:
    done = RUN.invoke(app, ["account", *options.split()])
    assert done.exit_code == 2
    assert f"`tacit {command}`" in " ".join(done.stderr.split())


def test_errors_name_the_file() -> None:
    assert "nowhere.toml" in refused("nowhere.toml")
    document = json.loads(said("nowhere.toml", "--json", code=2))
    assert document["format"] == "tacit-error-1" and document["exit_code"] == 2
