"""`tacit bundle`, `tacit verify` and `tacit report` of a member of a finished run."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.deploy.agreement import manifest
from tacit.deploy.operate.archive import unpacked
from tacit.errors import ConfigError
from tests.finished import Ended, ended


def invoke(*arguments: str | Path, code: int = 0) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    return ended(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def bundle(finished: Ended) -> Path:
    said = invoke("bundle", finished.state, "--keys", finished.keys.folder)
    path = finished.state.with_name("state.tacit.zip")
    told = finished.keys.card.fingerprint()
    assert f"Wrote {path}" in said
    assert f'tacit verify state.tacit.zip --fingerprint "{told}"' in said
    return path


def test_a_bundle_is_verified(finished: Ended, bundle: Path) -> None:
    said = invoke("verify", bundle, "--fingerprint", finished.keys.card.fingerprint())
    assert f"{bundle}: verified" in said
    assert "ok      signed by north" in said
    assert "open    Whether the assumptions of the guarantee hold" in said
    assert "knows all other records. Status: proved" in said
    assert "this is a certificate" in said
    (bundle.parent / "run.toml").write_text(finished.manifest.toml(), encoding="utf-8")
    card = finished.keys.folder / "card.toml"
    known = ["--card", card, "--manifest", bundle.parent / "run.toml"]
    found = json.loads(invoke("verify", bundle, *known, "--json"))
    assert (found["verdict"], found["member"], found["problem"]) == ("verified", "north", "")
    assert found["guarantee"]["epsilon"] == pytest.approx(4.0)


def test_what_is_wrong_is_one_line_and_an_exit_code(bundle: Path, tmp_path: Path) -> None:
    said = invoke("verify", bundle, "--fingerprint", "ABCD " * 8, code=1)
    assert ": TAMPERED" in said
    assert "wrong   it is signed by 'north'" in said
    changed = tmp_path / "changed.zip"
    changed.write_bytes(bundle.read_bytes().replace(b"epsilon = 4.0", b"epsilon = 1.0"))
    found = json.loads(invoke("verify", changed, "--json", code=1))
    assert found["verdict"] == "tampered"
    assert "was changed" in found["problem"]
    (tmp_path / "text").write_text("no bundle")
    assert "error: " in invoke("verify", tmp_path / "text", code=2)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a", "b")
    said = invoke("verify", tmp_path / "other.zip", code=2)
    assert "is not a bundle: it holds no bundle.json" in said
    assert "error: " in invoke("verify", tmp_path / "nothing", code=2)


def test_what_cannot_be_computed_again_has_an_exit_code_of_its_own(
    finished: Ended, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.html"
    assert f"Wrote {page}." in invoke("verify", bundle, "--report", page)
    assert page.read_bytes() == unpacked(bundle)["report.html"]
    page.unlink()

    def missing(*_: Any, **__: Any) -> None:
        raise ConfigError("the run needs the method 'own', which is not installed here")

    monkeypatch.setattr(manifest, "admit", missing)
    said = invoke("verify", bundle, "--report", page, code=6)
    assert ": NOT RECOMPUTED" in said
    assert "not     the run of manifest.toml cannot be laid out here: the run needs" in said
    assert "open    The guarantee: epsilon 4 at delta 1e-6 is what the signer says" in said
    assert "For north" not in said  # no guarantee but one that was computed here
    assert not page.exists()
    found = json.loads(invoke("verify", bundle, "--json", code=6))
    assert (found["verdict"], found["guarantee"]) == ("not recomputed", None)


def test_a_bundle_is_not_overwritten_unasked(finished: Ended, bundle: Path) -> None:
    said = invoke("bundle", finished.state, "--keys", finished.keys.folder, code=2)
    assert f"error: {bundle} exists already" in said
    options = ["--keys", finished.keys.folder, "--force", "--ledger", finished.ledger, "--json"]
    found = json.loads(invoke("bundle", finished.state, *options))
    assert found["file"] == str(bundle)
    assert found["bytes"] == bundle.stat().st_size


def test_a_bundle_replaces_no_key_and_no_part_of_the_state(finished: Ended) -> None:
    for folder, name, what in (
        (finished.keys.folder, "identity.pem", "where the keys are"),
        (finished.state, "model.npz", "where the state is"),
        (finished.state, "new.zip", "where the state is"),
    ):
        path = folder / name
        before = path.read_bytes() if path.exists() else None
        words = ("bundle", finished.state, "--keys", finished.keys.folder, "--force", "-o", path)
        assert what in invoke(*words, code=2)
        assert (path.read_bytes() if path.exists() else None) == before
    words = ("bundle", finished.state, "--keys", finished.keys.folder, "--force")
    words += ("--ledger", finished.ledger, "-o", finished.ledger)
    before = finished.ledger.read_bytes()
    assert "is the ledger" in invoke(*words, code=2)
    assert finished.ledger.read_bytes() == before


def test_a_report_replaces_nothing_unasked(bundle: Path, tmp_path: Path) -> None:
    before = bundle.read_bytes()
    for force in ((), ("--force",)):
        assert "is the bundle that is read" in invoke(
            "verify", bundle, "--report", bundle, *force, code=2
        )
    assert bundle.read_bytes() == before
    (mine := tmp_path / "thesis.docx").write_text("mine")
    assert "give --force to replace it" in invoke("verify", bundle, "--report", mine, code=2)
    assert mine.read_text() == "mine"
    invoke("verify", bundle, "--report", mine, "--force")
    assert mine.read_bytes() == unpacked(bundle)["report.html"]


def test_half_a_fingerprint_is_no_verdict(finished: Ended, bundle: Path) -> None:
    half = finished.keys.card.fingerprint()[:19]
    said = invoke("verify", bundle, "--fingerprint", half, code=2)
    assert f"error: {half!r} has 16 letters and digits, and all of it has 32" in said
    assert "TAMPERED" not in said


def test_the_report_of_a_member_is_written_again(finished: Ended, tmp_path: Path) -> None:
    page = finished.state / "report.html"
    page.unlink(missing_ok=True)
    assert f"Wrote {page}" in invoke("report", finished.state)
    assert "This is the report of north." in page.read_text()
    assert "leave --public out" in invoke("report", finished.state, "--public", code=2)
    assert "give the results directory of a run" in invoke("report", tmp_path, code=2)
    (tmp_path / "result.json").write_text('{"format": "other"}')
    assert "give a directory that `tacit run`" in invoke("report", tmp_path, code=2)
    (tmp_path / "result.json").write_text("[]")
    assert "is not the result of a run" in invoke("report", tmp_path, code=2)
