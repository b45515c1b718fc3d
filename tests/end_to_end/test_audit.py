"""`tacit audit`: the words, the files, the exit codes and the mistakes."""

import html
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.privacy import Mechanism
from tacit.study import account, assemble
from tacit.study.read import read_study
from tests.end_to_end.study import changed, write

RUN = CliRunner()


def audit(*arguments: str | Path, code: int = 0) -> str:
    done = RUN.invoke(app, ["audit", *(str(argument) for argument in arguments)])
    assert done.exit_code == code, done.output
    return done.output if code else done.stdout


@pytest.mark.slow
def test_a_privacy_officer_reads_claim_bounds_and_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = write(tmp_path)
    monkeypatch.chdir(tmp_path)
    said = audit(study, "--trials", "600", "--rounds", "5", "--owner", "south")
    claim = json.loads((tmp_path / "audit" / "audit.json").read_text())["claim"]
    assert (claim["owner"], claim["releases"], claim["epsilon"]) == ("south", 5, 1.0)
    assert "(5 releases)" in said and "(1, 1e-6)-DP" in said and "Gaussian-DP" in said
    assert "Not refuted: the claim for south is epsilon 1" in said
    assert "it cannot prove it" in said and "runs a side refute a claim" in said
    document = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert document["format"] == "tacit-audit-1"
    assert (document["rounds"], document["trials"], document["seed"]) == (5, 600, 0)
    assert document["lower_bound"] < document["claim"]["epsilon"]
    page = (tmp_path / "audit" / "audit.html").read_text()
    assert "Visits" in page and "Not refuted" in page

    again = audit(study, "--trials", "600", code=2)
    assert "never overwritten unasked" in again
    told = json.loads(audit(study, "--trials", "600", "--rounds", "2", "--force", "--json"))
    assert told["output"] == "audit" and told["claim"]["owner"] == "east"


@pytest.mark.slow
def test_a_refuted_claim_has_an_exit_code_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Mechanism.add
    monkeypatch.setattr(
        Mechanism, "add", lambda self, v, s, key, shared=None: honest(self, v, s / 8, key, shared)
    )
    out = tmp_path / "out"
    said = audit(write(tmp_path), "--rounds", "3", "--trials", "1280", "--output", out, code=4)
    assert "Refuted: the claim for east" in said and "Do not publish under this claim" in said
    document = json.loads((out / "audit.json").read_text())
    assert document["refuted"] and document["guarantee"]["status"] == "refuted"
    assert document["trials"] < 1280
    assert 'class="guarantee refuted"' in (out / "audit.html").read_text()


@pytest.mark.parametrize(
    ("study", "options", "says"),
    [
        (None, ["--owner", "sout"], "4 owners; did you mean 'south'?"),
        (None, ["--owner", "xyz"], "they are east, north"),
        (None, ["--trials", "3"], "--trials 3 must be at least 20"),
        (None, ["--rounds", "0"], "--rounds 0 must"),
        ("dgd", [], "claims no privacy for east"),
    ],
)
def test_what_cannot_be_audited_is_said(
    tmp_path: Path, study: str | None, options: list[str], says: str
) -> None:
    text = None
    if study == "dgd":
        text = changed('name = "dpsg"', 'name = "dgd"')
        text = changed("[privacy]\nepsilon = 1.0\ndelta = 1e-6\nclip = 1.0\n", "", text)
    path = write(tmp_path) if text is None else write(tmp_path, text)
    out = tmp_path / "out"
    assert says in audit(path, "--output", out, *options, code=2).replace("\n", " ")
    assert not list(out.glob("*"))


def test_files_that_cannot_be_written_are_found_out_first(tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("")
    assert "cannot be written" in audit(write(tmp_path), "--output", taken, code=2)


@pytest.mark.long
def test_the_page_of_an_audit_has_every_assumption_of_the_guarantee(tmp_path: Path) -> None:
    study, out = write(tmp_path), tmp_path / "out"
    audit(study, "--rounds", "2", "--trials", "20", "--output", out)
    stated = account(assemble(read_study(study)), rounds=2).guarantee[0]
    claimed = json.loads((out / "audit.json").read_text())["claim"]
    # those of the study's data among them
    assert tuple(claimed["assumptions"]) == stated.assumptions
    page = html.unescape((out / "audit.html").read_text())
    assert all(each in page for each in stated.assumptions)
