"""The manifest: what it says is what everybody signs, and it refuses what cannot be run."""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import tacit
from tacit.cli import app
from tacit.deploy.agreement.binding import folder_of
from tacit.deploy.agreement.manifest import agreed, parse_manifest, read_manifest
from tacit.deploy.files import one_at_a_time, write_text
from tacit.deploy.identity import keys
from tacit.deploy.identity.pinning import check_trusted, trust
from tacit.deploy.member.checking import Options, check, check_versions
from tacit.deploy.member.process import run
from tacit.errors import ConfigError, PrivacyError, ProblemError
from tacit.study.read import parse_study
from tests.sites import STUDY, a_manifest, member, records

NAMES = ("north", "south", "west")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[keys.Keys]:
    folder = tmp_path_factory.mktemp("keys")
    return [keys.create(folder / name, name, f"{name}.example:7447") for name in (*NAMES, "centre")]


def test_the_file_says_what_was_agreed(made: list[keys.Keys]) -> None:
    manifest = a_manifest(made).signed_by(made[0])
    again = parse_manifest(manifest.toml().encode())
    assert again == manifest and again.run == manifest.run
    assert again.unsigned() == ["south", "west"]
    for each in made[1:3]:
        again = again.signed_by(each)
    assert again.unsigned() == [] and again.run == manifest.run


def test_one_changed_byte_is_another_run(made: list[keys.Keys]) -> None:
    manifest = a_manifest(made)
    for each in made[:3]:
        manifest = manifest.signed_by(each)
    text = manifest.toml()
    for old, new in (
        ("rounds = 5", "rounds = 6"),
        ("records = 20", "records = 21"),
        ("north.example", "n0rth.example"),
        ("patience = 600.0", "patience = 601.0"),
        ('"age"', '"agE"'),
    ):
        other = parse_manifest(text.replace(old, new, 1).encode())
        assert other.run != manifest.run and other.unsigned() == list(NAMES)
        assert other.changed() == list(manifest.signatures)


@pytest.mark.not_quick
def test_owners_who_sign_one_file_at_the_same_moment_all_have_signed(
    made: list[keys.Keys], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, found = tmp_path / "run.toml", []
    file.write_text(a_manifest(made).toml())
    for one, other in ((made[0], made[1]), (made[1], made[0])):
        trust(one.folder, other.card)

    def signing() -> None:
        call = ["manifest", "sign", str(file), "--keys", str(made[0].folder)]
        found.append(CliRunner().invoke(app, call))

    with one_at_a_time(file):
        mine = read_manifest(file).signed_by(made[1])
        thread = threading.Thread(target=signing)
        thread.start()
        thread.join(2.0)  # long enough for it to read, sign and write, if it did not wait
        assert thread.is_alive()
        write_text(file, mine.toml())
    thread.join()
    assert found[0].exit_code == 0, found[0].output
    assert read_manifest(file).unsigned() == ["west"]
    lock = tmp_path / ".run.toml.lock"
    lock.unlink()
    file.chmod(0o660)  # who may write the file may sign it
    with one_at_a_time(file):
        assert stat.S_IMODE(lock.stat().st_mode) == 0o660
    monkeypatch.setattr("tacit.deploy.files._LOCK_SECONDS", 0.1)
    with one_at_a_time(file):
        signing()
    assert found[1].exit_code == 2 and "is being changed by another command" in found[1].output
    lock.unlink()
    lock.mkdir()
    signing()
    assert found[2].exit_code == 2 and "cannot be locked" in found[2].output
    for one in made[:2]:  # others use these folders
        shutil.rmtree(one.folder / "trusted")


def test_nobody_signs_for_another(made: list[keys.Keys]) -> None:
    manifest = a_manifest(made)
    with pytest.raises(ConfigError, match="takes no part"):
        manifest.signed_by(made[3])
    signature = manifest.signed_by(made[0]).signatures["north"]
    forged = manifest.model_copy(update={"signatures": dict.fromkeys(NAMES, signature)})
    assert forged.unsigned() == ["south", "west"]


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('graph = "ring"', 'graph = "coordinator"', "nobody coordinates"),
        ('graph = "ring"', 'graph = "ring"\nexact_sum = "polynomial"', "steps that round"),
        (
            'graph = "ring"',
            'graph = "sequence"\ngraphs = [[[0, 1], [1, 2]]]\nexact_sum = "flooding"\nwindow = 2',
            "graphs that change run in the simulation only",
        ),
        ("rounds = 5", "rounds = 5\nhold_out = 0.2", "hold_out"),
        ("clip = 1.0", 'clip = 1.0\nledger = "a"\ndataset = "b"', "ledger"),
        ("epsilon = 4.0", "epsilon = -4.0", "epsilon"),
        ("rounds = 5", "rounds = 0", "rounds"),
    ],
)
def test_studies_that_cannot_be_run_are_refused(
    made: list[keys.Keys], old: str, new: str, word: str
) -> None:
    with pytest.raises(ConfigError, match=word):
        a_manifest(made, STUDY.replace(old, new))


def test_members_that_do_not_fit_are_refused(made: list[keys.Keys]) -> None:
    with pytest.raises(ConfigError, match="a coordinator takes part"):
        a_manifest(made, coordinator=member(made[3]))
    twice = [member(made[0]), member(made[0]), member(made[1])]
    with pytest.raises(ConfigError, match="2 members have the name 'north'"):
        agreed(parse_study(STUDY), ["age", "intercept"], 0, twice)
    silent = [member(made[0]).model_copy(update={"address": ""}), *map(member, made[1:3])]
    with pytest.raises(ConfigError, match="no address"):
        agreed(parse_study(STUDY), ["age", "intercept"], 0, silent)


@pytest.mark.parametrize("name", ["south ", "s\\u043euth", "s*uth", "", "south\\u200b", "../south"])
def test_a_name_that_no_card_can_have_is_refused(made: list[keys.Keys], name: str) -> None:
    text = a_manifest(made).toml()
    assert 'name = "south"' in text
    with pytest.raises(ConfigError, match="cannot be an agent's name"):
        parse_manifest(text.replace('name = "south"', f'name = "{name}"', 1).encode())


@given(st.binary(max_size=2000))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_a_manifest_or_an_error(data: bytes) -> None:
    with pytest.raises(ConfigError):
        parse_manifest(data)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=100, deadline=None)
def test_any_edit_is_a_manifest_or_an_error(made: list[keys.Keys], data: st.DataObject) -> None:
    text = a_manifest(made).toml().encode()
    at = data.draw(st.integers(0, len(text)))
    edited = (
        text[:at] + data.draw(st.binary(max_size=20)) + text[at + data.draw(st.integers(0, 9)) :]
    )
    try:
        found = parse_manifest(edited)
    except ConfigError:
        return
    assert isinstance(found.run, bytes)


@pytest.fixture
def options(tmp_path: Path, made: list[keys.Keys]) -> Options:
    manifest = a_manifest(made)
    for each in made[:3]:
        manifest = manifest.signed_by(each)
    (tmp_path / "run.toml").write_text(manifest.toml())
    return Options(
        tmp_path / "run.toml", made[0].folder, tmp_path / "state", data=records(tmp_path)
    )


def changed(options: Options, **change: Any) -> Options:
    return Options(**{**vars(options), **change})


def test_a_clock_that_is_days_behind_is_refused_at_once(
    options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:
            return super().now(tz) - dt.timedelta(days=3)

    monkeypatch.setattr(keys.dt, "datetime", Clock)
    with pytest.raises(ConfigError, match=r"begins in 4\d\.\d hours: .* clock is behind.* Set the"):
        check(options)


def test_an_agent_checks_before_it_sends(
    options: Options, made: list[keys.Keys], tmp_path: Path
) -> None:
    assert check(options)[2] == 0
    with pytest.raises(ProblemError, match="19 records, and the manifest says 20"):
        check(changed(options, data=records(tmp_path, 19)))
    with pytest.raises(ConfigError, match="takes no part"):
        check(changed(options, keys=made[3].folder))
    with pytest.raises(ConfigError, match="give its records"):
        check(changed(options, data=None))
    manifest = read_manifest(options.manifest)
    unsigned = manifest.model_copy(update={"signatures": {}})
    (tmp_path / "unsigned.toml").write_text(unsigned.toml())
    with pytest.raises(ConfigError, match="not signed by 'north', 'south', 'west'"):
        check(changed(options, manifest=tmp_path / "unsigned.toml"))
    text = re.sub("rounds = 5", "rounds = 6", manifest.toml())
    (tmp_path / "other.toml").write_text(text)
    with pytest.raises(ConfigError, match="was changed after 'north', 'south', 'west' signed it"):
        check(changed(options, manifest=tmp_path / "other.toml"))
    for file, code in ((options.manifest, 0), (tmp_path / "other.toml", 2)):
        said = CliRunner().invoke(app, ["manifest", "check", str(file)])
        assert (said.exit_code, "INVALID" in said.output) == (code, code == 2)
    other = tmp_path / "other.csv"
    other.write_text(records(tmp_path).read_text().replace("age", "years"))
    with pytest.raises(ConfigError, match="age"):
        check(changed(options, data=other))


def test_a_seed_is_refused_where_values_leave_the_machine(options: Options) -> None:
    with pytest.raises(ConfigError, match="protects nobody"):
        run(changed(options, test_seed=1))


def test_a_state_that_cannot_be_made_is_refused(options: Options) -> None:
    inside = changed(options, state=options.manifest / "state")
    with pytest.raises(ConfigError, match=r"state cannot be written \(Not a directory\)"):
        run(inside, only_check=True)


def test_a_dry_run_releases_nothing(options: Options) -> None:
    outcome = run(options, only_check=True)
    assert outcome.solution is None
    from tacit.privacy.ledger import read

    (balance,) = read(
        folder_of(options.keys, read_manifest(options.manifest).run) / "ledger"
    ).balances
    assert balance.spent == 0.0 and balance.releases == 0


def test_a_state_of_another_version_is_not_gone_on_from(options: Options) -> None:
    run(options, only_check=True)
    file = options.state / "versions.json"
    versions = json.loads(file.read_text())
    assert versions["tacit"] == tacit.__version__
    file.write_text(json.dumps({**versions, "tacit": "0.1.0"}))
    run(options, only_check=True)  # it has not begun: it will with the versions of now
    assert json.loads(file.read_text()) == versions
    file.write_text(json.dumps({**versions, "tacit": "0.1.0"}))
    told = (
        rf"\(tacit 0\.1\.0 -> {re.escape(tacit.__version__)}\).* Finish the run with the versions"
    )
    (options.state / "journal.db").touch()
    with pytest.raises(ConfigError, match=told):
        check_versions(options.state)
    (options.state / "result.json").touch()
    with pytest.raises(ConfigError, match="has ended here; members that have not need"):
        check_versions(options.state)


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('name = "dpsg"\nstep = 0.5', 'name = "dgd"\nstep = 0.5', "adds no noise"),
        ("clip = 1.0", "clip = 1.0\nsampling = 0.5", "sampling"),
        ("clip = 1.0", "clip = 1.0\nsites_per_person = 2", "sites_per_person"),
        ("clip = 1.0", 'clip = 1.0\nnoise = "l2_laplace"', "noise='l2_laplace'"),
    ],
)
def test_what_has_no_secure_form_is_refused(
    made: list[keys.Keys],
    tmp_path: Path,
    old: str,
    new: str,
    word: str,
) -> None:
    study = STUDY.replace(old, new)
    if "sampling" in new:
        study = study.replace("clip = 1.0", 'clip = 1.0\nrelation = "add_remove"').replace(
            'loss = "logistic"', 'loss = "logistic"\nnormaliser = 20'
        )
    manifest = a_manifest(made, study)
    for each in made[:3]:
        manifest = manifest.signed_by(each)
    (tmp_path / "run.toml").write_text(manifest.toml())
    options = Options(
        tmp_path / "run.toml", made[0].folder, tmp_path / "state", data=records(tmp_path)
    )
    with pytest.raises((ConfigError, PrivacyError), match=word):
        run(options, only_check=True)


def test_a_manifest_with_another_card_than_the_trusted_one_is_not_run(
    options: Options, made: list[keys.Keys], tmp_path: Path
) -> None:
    own = options.keys
    trust(own, made[1].card, made[1].card.fingerprint().lower())
    check(options)
    other = keys.create(tmp_path / "forged", "south", "elsewhere:7447")
    with pytest.raises(ConfigError, match="It is not trusted"):
        trust(own, other.card, made[1].card.fingerprint())
    with pytest.raises(ConfigError, match="another card of 'south' is trusted"):
        trust(own, other.card)
    trust(own, other.card, replace=True)
    with pytest.raises(ConfigError, match="another card of 'south'"):
        check(options)
    assert check_trusted(a_manifest(made), made[1].folder, "south") == ["north", "west"]
    shutil.rmtree(own / "trusted")


def test_a_study_is_not_a_manifest_and_the_reverse(made: list[keys.Keys]) -> None:
    with pytest.raises(ConfigError, match=r"s is a study, not a manifest; .*tacit manifest new"):
        parse_manifest(STUDY.encode(), "s")
    with pytest.raises(ConfigError, match="r is not a study: it has the format 'tacit-manifest-1'"):
        parse_study(a_manifest(made).toml(), "r")
    one = a_manifest(made).toml().split("[[agents]]")
    with pytest.raises(ConfigError, match=r"r: agents: .* must have at least 2 entries"):
        parse_manifest("[[agents]]".join(one[:2]).encode(), "r")
