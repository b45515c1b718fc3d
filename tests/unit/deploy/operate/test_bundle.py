"""A signed bundle of a run between sites, and what its verification refuses of strangers."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tacit.deploy.identity.keys import create, renew
from tacit.deploy.operate.archive import CONTENTS, SIGNATURE, unpacked
from tacit.deploy.operate.bundle import write_bundle
from tacit.deploy.operate.verify import verify_bundle
from tacit.errors import ConfigError, LedgerError
from tacit.privacy.event import GaussianRelease
from tacit.privacy.ledger import Ledger, ReleaseId
from tacit.privacy.ledger.extract import extract
from tests.bundles import problem_of, resigned
from tests.finished import Ended, charge, copied
from tests.sites import STUDY, a_manifest


def test_a_bundle_is_verified_by_the_fingerprint_alone(finished: Ended, bundle: Path) -> None:
    found = verify_bundle(bundle, fingerprint=finished.keys.card.fingerprint().lower())
    assert (found.sound, found.problem, found.member) == (True, "", "north")
    assert found.run == finished.manifest.run.hex()
    assert found.guarantee is not None
    assert (found.guarantee.epsilon, found.guarantee.delta) == (pytest.approx(4.0), 1e-6)
    for part in (
        "signed by north",
        "all 3 members signed the manifest",
        "epsilon 4 at delta 1e-6, computed again",
        "coefficients.csv, model.json: what model.npz says",
        "report.html is the page that tacit makes of the other files",
        "ledger: 5 releases of this run",
        "8 entries follow from each other, and hold no other run",
    ):
        assert part in " | ".join(found.checked)
    others = found.open[0]
    assert all(each.card.fingerprint() in others for each in finished.manifest.agents[1:])
    by_card = verify_bundle(bundle, card=finished.keys.card, manifest=finished.manifest)
    assert by_card.sound
    # the signer's word, and the assumptions
    assert by_card.open == found.open[1:] and len(by_card.open) == 2
    unknown = verify_bundle(bundle)
    assert unknown.sound
    assert "Whether the signer is the north that you know" in unknown.open[0]


def test_a_bundle_holds_what_was_released_or_declared_and_nothing_else(
    finished: Ended, bundle: Path
) -> None:
    files = unpacked(bundle)
    assert set(files) == {
        *("README.txt", CONTENTS, SIGNATURE, "coefficients.csv", "guarantee.json", "ledger.json"),
        *("manifest.toml", "model.json", "model.npz", "report.html", "result.json", "study.toml"),
        "versions.json",
    }
    everything = b"".join(files.values())
    for secret in (b"a secret of the member", b"noisy bytes", str(finished.state).encode()):
        assert secret not in everything
    identity = finished.keys.identity.private_bytes_raw()
    assert identity not in everything
    assert "round_seconds" not in json.loads(files["result.json"])
    assert files["study.toml"] == finished.manifest.study.encode()


def test_no_byte_can_be_changed(bundle: Path, tmp_path: Path) -> None:
    data = bundle.read_bytes()
    rng = random.Random(0)
    with zipfile.ZipFile(bundle) as archive:
        starts = [about.header_offset for about in archive.infolist()]
        directory = archive.start_dir
    # every part of the archive: each file's header and name, its contents, the directory, the end
    places = {start + rng.randrange(0, 60) for start in starts for _ in range(4)}
    places |= {rng.randrange(directory, len(data)) for _ in range(60)}
    places |= {rng.randrange(len(data)) for _ in range(15)} | {0, len(data) - 1}
    for place in sorted(places):
        changed = bytearray(data)
        changed[place] ^= 1 << rng.randrange(8)
        try:
            told = problem_of(bytes(changed), tmp_path)
        except ConfigError as error:
            told = str(error)
        assert told, f"byte {place} was changed unseen"


@pytest.mark.parametrize("cut", [1, 22, 5000])
def test_a_bundle_that_is_cut_off_or_has_more_is_refused(
    bundle: Path, tmp_path: Path, cut: int
) -> None:
    data = bundle.read_bytes()
    assert problem_of(data[:-cut], tmp_path)
    assert problem_of(data + bytes(cut), tmp_path)
    assert "PK" not in problem_of(b"PK" + data, tmp_path)


@pytest.mark.parametrize("name", ["study.toml", "report.html", "ledger.json", CONTENTS, SIGNATURE])
def test_a_missing_file_is_named(bundle: Path, tmp_path: Path, name: str) -> None:
    files = unpacked(bundle)
    del files[name]
    assert problem_of(files, tmp_path) == f"{name} is missing"


def test_an_additional_file_is_named(bundle: Path, tmp_path: Path) -> None:
    files = unpacked(bundle) | {"records.csv": b"age,ill\n40,yes\n"}
    said = problem_of(files, tmp_path)
    assert said == "records.csv was added: the signed list does not name it"


@pytest.mark.parametrize("name", ["guarantee.json", "model.npz", "README.txt"])
def test_a_changed_file_is_named(bundle: Path, tmp_path: Path, name: str) -> None:
    files = unpacked(bundle)
    files[name] += b" "
    assert f"{name} was changed" in problem_of(files, tmp_path)


def test_an_archive_that_another_program_packed_is_refused(bundle: Path, tmp_path: Path) -> None:
    files = unpacked(bundle)
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)  # of today
    assert "another program packed it again" in problem_of(stored.getvalue(), tmp_path)
    smaller = io.BytesIO()
    with zipfile.ZipFile(smaller, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    assert "a file that `tacit bundle` does not write" in problem_of(smaller.getvalue(), tmp_path)
    twice = io.BytesIO()
    with zipfile.ZipFile(twice, "w") as archive:
        archive.writestr(CONTENTS, b"")
        archive.writestr("study.toml", b"one")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("study.toml", b"two")
    assert problem_of(twice.getvalue(), tmp_path) == "it holds study.toml twice"
    outside = io.BytesIO()
    with zipfile.ZipFile(outside, "w") as archive:
        archive.writestr(CONTENTS, b"")
        archive.writestr("../study.toml", b"")
    assert "does not write" in problem_of(outside.getvalue(), tmp_path)


def test_another_signer_is_refused(finished: Ended, bundle: Path, tmp_path: Path) -> None:
    files = unpacked(bundle)
    stranger = create(tmp_path / "stranger", "north", "127.0.0.1:21000")
    forged = resigned(files, stranger.identity)
    assert "the signature is not that of 'north'" in problem_of(forged, tmp_path)
    as_south = resigned(files, finished.keys.identity, member="west")
    assert "the signature is not that of 'west'" in problem_of(as_south, tmp_path)
    nobody = resigned(files, finished.keys.identity, member="nobody")
    assert "takes no part" in problem_of(nobody, tmp_path)
    for known in ({"fingerprint": stranger.card.fingerprint()}, {"card": stranger.card}):
        said = problem_of(files, tmp_path, **known)
        assert finished.keys.card.fingerprint() in said
        assert stranger.card.fingerprint() in said


def test_another_text_of_the_same_signature_is_refused(bundle: Path, tmp_path: Path) -> None:
    files = unpacked(bundle)
    text = files[SIGNATURE]
    assert text.endswith(b"==\n")
    letters = b"AQgw"  # the last letter of 64 bytes in base64 has four bits that nobody reads
    last = text[-4:-3]
    assert last in [bytes([each]) for each in letters]
    for other in (bytes([last[0] + 1]) + b"==\n", last + b"==\n\n", last + b"=="):
        said = problem_of(files | {SIGNATURE: text[:-4] + other}, tmp_path)
        assert said.startswith(("the signature is not that of", f"{SIGNATURE} is not a signature"))


def test_another_manifest_is_refused(finished: Ended, bundle: Path, tmp_path: Path) -> None:
    others = [create(tmp_path / name, name, "127.0.0.1:21000") for name in ("north", "süd", "west")]
    said = problem_of(bundle.read_bytes(), tmp_path, manifest=a_manifest(others))
    assert "is not in your manifest" in said
    longer = finished.manifest.model_copy(update={"patience": 1.0})
    said = problem_of(bundle.read_bytes(), tmp_path, manifest=longer)
    assert said.startswith(f"it is about run {finished.manifest.run.hex()[:12]}, and your manifest")


def test_more_releases_than_were_promised_are_refused(
    finished: Ended, bundle: Path, tmp_path: Path
) -> None:
    charge(tmp_path / "ledger", finished.manifest, 5)
    with Ledger.open(tmp_path / "ledger") as ledger:
        ledger.set_budget("north", "records", epsilon=100.0, delta=1e-6)
    charge_more(tmp_path / "ledger", finished.manifest.run.hex())
    files = unpacked(bundle)
    found = extract(tmp_path / "ledger", finished.manifest.run.hex(), "north")
    files["ledger.json"] = json.dumps(found).encode()
    said = problem_of(resigned(files, finished.keys.identity), tmp_path)
    assert said == "the ledger has 6 releases of this run, and the guarantee is for 5"


def test_of_a_ledger_of_several_runs_only_this_one_is_taken(
    finished: Ended, tmp_path: Path
) -> None:
    others = [create(tmp_path / name, name, "127.0.0.1:21000") for name in ("north", "süd", "west")]
    charge(tmp_path / "ledger", finished.manifest, 5)
    with Ledger.open(tmp_path / "ledger") as ledger:
        ledger.set_budget("north", "records", epsilon=100.0, delta=1e-6)
        ledger.set_budget("north", "visits", epsilon=3.0, delta=1e-7)
    other = a_manifest(others, STUDY.replace("rounds = 5", "rounds = 3"))
    charge_more(tmp_path / "ledger", other.run.hex())
    path = write_bundle(
        finished.state, finished.keys.folder, tmp_path / "b.zip", ledger=tmp_path / "ledger"
    )
    text = unpacked(path)["ledger.json"].decode()
    assert other.run.hex() not in text
    assert "visits" not in text
    found = verify_bundle(path)
    assert found.sound
    assert "5 releases of this run" in found.checked[3]
    assert any("Whether the ledger has other releases" in each for each in found.open)


def charge_more(path: Path, run: str) -> None:
    """One more release of a run."""
    with Ledger.open(path) as ledger:
        ledger.prepare(
            ReleaseId("north", run, 99, "more", 0),
            GaussianRelease(10.0),
            b"x",
            input_hash="0" * 64,
            dataset="records",
            recipients=["west"],
        )


def test_what_cannot_be_attested_is_refused(finished: Ended, bundle: Path, tmp_path: Path) -> None:
    state, keys = finished.state, finished.keys.folder
    out = tmp_path / "b.zip"
    with pytest.raises(ConfigError, match=r"the keys in .* are those of 'west'"):
        write_bundle(state, finished.keys.folder.parent / "west", out)
    with pytest.raises(ConfigError, match=r"no result\.json"):
        write_bundle(tmp_path, keys, out)
    with pytest.raises(ConfigError, match="is not a directory"):
        write_bundle(state, keys, tmp_path / "nowhere" / "b.zip")
    with pytest.raises(LedgerError, match="there is no ledger"):
        write_bundle(state, keys, out, ledger=tmp_path / "ledger")
    Ledger.create(tmp_path / "empty").close()
    with pytest.raises(LedgerError, match="has no release of run"):
        write_bundle(state, keys, out, ledger=tmp_path / "empty")
    with pytest.raises(ConfigError, match="exists already"):
        write_bundle(state, keys, bundle)
    seeded = copied(finished, tmp_path, noise="simulated: protects nobody")
    with pytest.raises(ConfigError, match="came from a seed and protects nobody"):
        write_bundle(seeded.state, keys, out)
    assert not out.exists()


@pytest.mark.parametrize("name", ["model.npz", "guarantee.json", "model.json", "result.json"])
def test_a_state_with_a_file_of_another_member_is_not_signed(
    finished: Ended, tmp_path: Path, name: str
) -> None:
    found = copied(finished, tmp_path)
    path = found.state / name
    if name == "model.npz":
        with np.load(path) as file:
            held = dict(file)
        np.savez(path, **held | {"solution": held["solution"] + 1.0})
    else:
        text = path.read_text()
        swap = {
            "guarantee.json": ('"north"', '"west"'),
            "model.json": ('"values": [', '"values": [0.125,'),
            "result.json": ('"noise"', '"more": 1, "noise"'),
        }
        old, new = swap[name]
        assert old in text
        path.write_text(text.replace(old, new))
    with pytest.raises(ConfigError, match="is not as the run left it, and nothing was signed"):
        write_bundle(found.state, found.keys.folder, tmp_path / "b.zip")
    assert not (tmp_path / "b.zip").exists()


def test_a_renewed_certificate_signs_and_a_new_identity_does_not(
    finished: Ended, tmp_path: Path
) -> None:
    found, path = copied(finished, tmp_path), tmp_path / "b.zip"
    renew(found.keys.folder)
    path.write_text("an older file")
    write_bundle(found.state, found.keys.folder, path, force=True)
    assert verify_bundle(path, fingerprint=found.keys.card.fingerprint()).sound
    renew(found.keys.folder, identity=True)
    with pytest.raises(ConfigError, match="not the ones that 'north' signed the manifest with"):
        write_bundle(found.state, found.keys.folder, tmp_path / "c.zip")


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        verify_bundle(tmp_path / "nothing.zip")
    (tmp_path / "text").write_text("text")
    with pytest.raises(ConfigError, match="is not a bundle"):
        verify_bundle(tmp_path / "text")
