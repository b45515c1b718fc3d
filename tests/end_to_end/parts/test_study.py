"""A study of another package's method and graph: run, swept, audited and advised."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.parts.package import Command, parts


@pytest.mark.slow
def test_a_study_of_its_parts_runs_and_says_whose_code_it_was(study: Path, tacit: Command) -> None:
    loss = 'loss = { kind = "acme-log-cosh", scale = 2.0 }'
    study.write_text(study.read_text().replace('loss = "logistic"', loss))
    # by the time that results are written, another version is installed
    module = study.parent / "site" / "acme_parts" / "momentum.py"
    text = f"\nfrom pathlib import Path\nPath({str(module)!r}).write_text('')\n"
    module.write_text(module.read_text() + text)
    digest = parts(tacit)[0]["sha256"]
    tacit("run", study)
    assert parts(tacit)[0]["sha256"] != digest
    results = study.parent / "results"
    environment = json.loads((results / "environment.json").read_text())
    assert environment["acme-parts"] == f"1.0 sha256:{digest}"
    owner = json.loads((results / "guarantee.json").read_text())["owners"][0]
    assert owner["status"] == "proved"
    said = " ".join(owner["assumptions"])
    assert "the method Momentum computes with code that is not tacit's" in said
    assert "the loss LogCosh encodes the target" in said


@pytest.mark.long
def test_a_mistake_in_a_part_s_key_is_told_with_its_line(study: Path, tacit: Command) -> None:
    study.write_text(study.read_text().replace("momentum = 0.2", "momentun = 0.2"))
    told = tacit("run", study, code=2).stderr
    assert "[method] momentun: unknown key; did you mean 'momentum'?" in told


@pytest.mark.slow
def test_a_sweep_computes_anew_what_other_code_would_answer(study: Path, tacit: Command) -> None:
    study.write_text(study.read_text().replace("acme-wheel", "ring"))
    sweep = ("sweep", study, "--seeds", "2", "--method", "acme-momentum,dpsg")
    tacit(*sweep)
    stored = set((study.parent / "sweep").rglob("pieces/*.json"))
    assert stored
    tacit(*sweep)
    assert set((study.parent / "sweep").rglob("pieces/*.json")) == stored
    module = study.parent / "site" / "acme_parts" / "momentum.py"
    module.write_text(module.read_text() + "\n# another version\n")
    tacit(*sweep)
    # the other cell has no part of the package
    assert len(set((study.parent / "sweep").rglob("pieces/*.json")) - stored) == 1


@pytest.mark.slow
def test_its_method_is_audited(study: Path, tacit: Command) -> None:
    text = study.read_text().replace("[privacy]", "[privacy]\nsampling = 1.0")
    study.write_text(text)
    found = json.loads(tacit("audit", study, "--trials", "1000", "--json").stdout)
    assert found["claim"]["status"] == "proved" and not found["refuted"]


@pytest.mark.slow
def test_advice_measures_its_method_beside_tacit_s(study: Path, tacit: Command) -> None:
    text = study.read_text().replace(
        "[partition]", '[partition]\nsites = ["north", "south", "west"]'
    )
    study.write_text(text)
    found = json.loads(tacit("advise", study, "--records", "4000", "--json").stdout)
    measured = {each["method"] for each in found["measured"]}
    assert "acme-momentum" in measured | set(found["left_out"])
    assert {"dpsg", "acme-momentum"} <= measured
