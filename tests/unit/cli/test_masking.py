"""What the command line says of masks: costs before a run, warnings, who takes them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit._engine.planning import MeanNoise
from tacit.cli import app
from tacit.cli.accounting import as_toml
from tests.end_to_end.study import STUDY, changed, write

pytestmark = pytest.mark.not_quick

RUN = CliRunner()
STAR = changed('"dpsg"', '"gradient-descent"', changed('"ring"', '"coordinator"'))
FOUND = MeanNoise(4, 4, 20, 2.0, (1.0, 1.2, 1.4, 2.0), 1.0, None)


def said(*arguments: str | Path) -> str:
    done = RUN.invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def with_masks(masks: str, text: str = STAR) -> str:
    return changed("clip = 1.0", f"clip = 1.0\nmasks = {masks}", text)


def test_a_study_without_masks_is_told_what_they_would_save(tmp_path: Path) -> None:
    text = said("account", write(tmp_path, STAR))
    assert "local noise (this study)" in text
    assert "masks = { coalition = 1 } in [privacy] would make the noise 1.7 times smaller" in text
    assert "Adversary" not in text
    found = json.loads(said("account", tmp_path / "study.toml", "--json"))["mean_noise"]
    assert found["coalition"] is None and len(found["masked"]) == 4
    assert found["local"] > found["masked"][1] > found["masked"][0] == found["central"]


def test_a_masked_study_names_its_adversary_and_its_noise(tmp_path: Path) -> None:
    text = said("account", write(tmp_path, with_masks("{ coalition = 1, attempts = 25 }")))
    assert "Adversary: sees every message" in text
    assert "an agent is in at most 25 sums" in text
    assert "secure aggregation, against 1 agent (this study)" in text
    assert "Diffie-Hellman" in text and "WARNING" not in text
    found = json.loads(said("account", tmp_path / "study.toml", "--json"))
    assert found["mean_noise"]["coalition"] == 1 and found["mean_noise"]["attempts"] == 25
    assert {each["coalition"] for each in found["guarantee"]["owners"]} == {1}


def test_a_coalition_of_all_others_is_warned_of(tmp_path: Path) -> None:
    text = said("account", write(tmp_path, with_masks("{ coalition = 3 }")))
    assert "WARNING: coalition = 3 in sums of at least 4 agents equals local noise" in text


def test_a_study_that_cannot_use_masks_hears_nothing_of_them(tmp_path: Path) -> None:
    text = said("account", write(tmp_path, STUDY))
    assert "masks" not in text and "central noise" not in text
    assert json.loads(said("account", tmp_path / "study.toml", "--json"))["mean_noise"] is None


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (FOUND, ""),
        (replace(FOUND, coalition=2), ""),
        (replace(FOUND, coalition=3), "coalition = 3 in sums of at least 4"),
        (replace(FOUND, coalition=3, agents=6), "min_cohort"),
        (replace(FOUND, coalition=2, local=1.3), "20 sums"),
    ],
)
def test_warnings(found: MeanNoise, words: str) -> None:
    assert words in found.warning and bool(found.warning) == bool(words)


def test_the_key_of_a_study() -> None:
    assert as_toml(coalition=0) == "masks = { coalition = 0 }"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("d-zoa-star", "Secure aggregation: supported; with masks = { coalition = 1 }"),
        ("fedavg", "Secure aggregation: supported, with whole updates; "),
        ("dpsg", "Secure aggregation: not supported"),
    ],
)
def test_a_method_says_whether_it_takes_masks(name: str, words: str) -> None:
    assert words in said("describe", name)
    taken = json.loads(said("describe", name, "--json"))["traits"]["masks"]
    assert ("not" in words) == (taken == "no")


def test_a_method_without_a_budget_says_nothing_of_masks() -> None:
    assert "Secure aggregation" not in said("describe", "dgd")
