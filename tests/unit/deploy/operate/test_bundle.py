"""A signed bundle of a run between sites, and what its verification refuses."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.deploy.agreement import manifest as manifest_module
from tacit.deploy.identity.keys import create, renew, sign
from tacit.deploy.operate.archive import CONTENTS, CONTEXT, SIGNATURE, digests, packed, unpacked
from tacit.deploy.operate.bundle import write_bundle
from tacit.deploy.operate.verify import Verdict, Verified, verify_bundle
from tacit.errors import ConfigError, LedgerError
from tacit.privacy.event import GaussianRelease
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger, ReleaseId
from tacit.privacy.ledger.extract import extract
from tests.finished import Ended, charge, copied, ended
from tests.sites import STUDY, a_manifest

Files = dict[str, bytes]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    return ended(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def bundle(finished: Ended) -> Path:
    return write_bundle(finished.state, finished.keys.folder, finished.state.parent / "run.zip")


def resigned(files: Mapping[str, bytes], key: Ed25519PrivateKey, **change: Any) -> Files:
    """The files with the list, and its signature, that this key's owner would make of them."""
    contents = json.loads(files[CONTENTS]) | change
    others = {name: files[name] for name in files if name not in (CONTENTS, SIGNATURE)}
    contents["files"] = {name: digests(data) for name, data in sorted(others.items())}
    listed = json.dumps(contents).encode()
    return {**others, CONTENTS: listed, SIGNATURE: (sign(key, CONTEXT + listed) + "\n").encode()}


def problem_of(data: bytes | Files, folder: Path, **known: Any) -> str:
    """What is wrong with a bundle; nothing if it is sound."""
    found = verified(data, folder, **known)
    assert found.verdict is (Verdict.TAMPERED if found.problem else Verdict.VERIFIED)
    return found.problem


def verified(data: bytes | Files, folder: Path, **known: Any) -> Verified:
    """What the verification of a bundle says."""
    path = folder / "tried.zip"
    path.write_bytes(data if isinstance(data, bytes) else packed(data))
    return verify_bundle(path, **known)


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


Change = Callable[[Any], Any]


def changed(**change: Any) -> Change:
    """A guarantee with other fields, and the sentence that fits them."""

    def change_of(document: Any) -> Any:
        values = document | change
        names = [each.name for each in fields(Guarantee)]
        found = Guarantee.from_dict({"format": 1, **{name: values[name] for name in names}})
        return values | {"sentence": found.sentence()}

    return change_of


def half(document: Any) -> Any:
    return document | {"epsilon": document["epsilon"] / 2}


def other_entry(document: Any) -> Any:
    document["entries"][4]["body"]["time"] = "2020-01-01T00:00:00+00:00"
    return document


def shorter(document: Any) -> Any:
    return document | {"entries": document["entries"][:-1]}


def releases_of(document: Any, rows: list[Any]) -> Any:
    """The extract that a ledger with other runs would give."""
    kept = {key: document[key] for key in ("format", "run", "owner", "dataset")}
    return kept | {"alone": False, "releases": rows}


def without_any(document: Any) -> Any:
    """No release, and said to be of a ledger with other runs."""
    return releases_of(document, [])


def another_kind(document: Any) -> Any:
    """Releases charged for other neighbours."""
    bodies = [each["body"] for each in document["entries"]]
    rows = [
        {
            "time": body["time"],
            **{key: body["what"][key] for key in ("round", "phase", "step", "event")},
            "neighbours": "record, add_remove",
        }
        for body in bodies
        if body["kind"] == "release"
    ]
    return releases_of(document, rows)


def negative(document: Any) -> Any:
    """Noise that no accountant takes."""
    found = another_kind(document)
    for each in found["releases"]:
        each["neighbours"] = "record, replace_one"
        each["event"]["noise_multiplier"] = -1.0
    return found


CHANGES: list[tuple[str, Change, str]] = [
    ("guarantee.json", changed(epsilon=4.01), "from manifest.toml (epsilon)"),
    ("guarantee.json", changed(assumptions=[]), "from manifest.toml (assumptions)"),
    ("guarantee.json", lambda d: d | {"sentence": "Fine."}, "contradicts itself in sentence"),
    ("ledger.json", another_kind, "charged for neighbours of another kind"),
    ("result.json", lambda d: d | {"rounds": 4}, "report.html says something else"),
    ("model.json", lambda d: d | {"values": [9.0, 9.0]}, "model.json does not follow from"),
]
MORE: list[tuple[str, Change, str]] = [
    ("guarantee.json", half, "cost epsilon 4, and the guarantee states 2"),
    ("guarantee.json", lambda d: d | {"epsilon": "much"}, "guarantee.json: not a guarantee"),
    ("guarantee.json", lambda d: d | {"scope": "release"}, "guarantee.json: north: scope"),
    ("guarantee.json", lambda d: d | {"note": "audited"}, "contradicts itself in note"),
    ("guarantee.json", changed(delta=1e-5), "another epsilon than the ledger"),
    ("guarantee.json", changed(unit="person"), "neighbours of another kind"),
    ("guarantee.json", changed(relation="add_remove"), "neighbours of another kind"),
    ("guarantee.json", changed(theorem="trust us"), "from manifest.toml (theorem)"),
    ("guarantee.json", changed(total_epsilon=0.5), "from manifest.toml (total_epsilon)"),
    ("guarantee.json", changed(releases=6), "from manifest.toml (releases)"),
    (
        "guarantee.json",
        changed(adversary="colluding", coalition=1, min_cohort=3),
        "neighbours of another kind",
    ),
    ("guarantee.json", changed(status="model", reason="why"), "not a certificate"),
    ("guarantee.json", lambda d: d | {"noise": "simulated"}, "not a certificate"),
    ("guarantee.json", lambda d: d | {"owner": "west"}, "that of 'west', not of 'north'"),
    ("guarantee.json", lambda d: d | {"run": "ab" * 32}, "not about run"),
    ("guarantee.json", lambda d: [], "guarantee.json cannot be read"),
    ("result.json", lambda d: d | {"run": "ab" * 32}, "another run than manifest.toml"),
    ("result.json", lambda d: d | {"ended": "2020-01-01"}, "different things of when the run"),
    ("result.json", lambda d: d | {"noise": "simulated"}, "that of a simulation"),
    ("result.json", lambda d: d | {"member": "west"}, "or of another member"),
    ("result.json", lambda d: d | {"epsilon_spent": 0.1}, "another epsilon than the ledger"),
    ("result.json", lambda d: d | {"rounds": "many"}, "not what a member of a run writes"),
    ("result.json", lambda d: d | {"epsilon_spent": 10**400}, "another epsilon than the ledger"),
    ("result.json", lambda d: d | {"run": []}, "another run than manifest.toml"),
    ("result.json", lambda d: d | {"audited": True}, "other fields than a member's: audited"),
    ("result.json", lambda d: d | {"absences": [{}]}, "not what a member of a run writes"),
    ("model.json", lambda d: d | {"guarantee": "perfect"}, "model.json does not follow from"),
    ("model.json", lambda d: d | {"date": "whenever"}, "model.json has no date"),
    ("versions.json", lambda d: d | {"numpy": ["2"]}, "versions.json is not what"),
    ("versions.json", lambda d: d | {"numpy": "0.1"}, "report.html says something else"),
    ("ledger.json", other_entry, "entry 5 was changed"),
    ("ledger.json", shorter, "the last entries of the ledger are missing"),
    ("ledger.json", without_any, "has no release of this run"),
    ("ledger.json", negative, "the ledger's releases cannot be added up"),
    ("ledger.json", lambda d: d | {"entries": [{"body": 1}]}, "extract of the ledger cannot"),
    ("ledger.json", lambda d: d | {"last_entry": {}}, "the extract of the ledger cannot"),
    ("ledger.json", lambda d: d | {"note": "audited"}, "the extract of the ledger cannot"),
    ("ledger.json", lambda d: d | {"owner": "west"}, "another run or owner"),
    ("ledger.json", lambda d: {}, "the extract of the ledger cannot be read"),
]


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [*CHANGES, *(pytest.param(*each, marks=pytest.mark.long) for each in MORE)],
)
def test_what_does_not_fit_is_refused_even_if_its_member_signed_it(
    finished: Ended, bundle: Path, tmp_path: Path, name: str, change: Change, told: str
) -> None:
    files = unpacked(bundle)
    files[name] = json.dumps(change(json.loads(files[name]))).encode()
    assert told in problem_of(resigned(files, finished.keys.identity), tmp_path)


DEEP = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize("name", [CONTENTS, "guarantee.json", "ledger.json", "result.json"])
@pytest.mark.parametrize(
    "text",
    [
        DEEP,
        b'{"run": 1, "run": 2}',
        b'{"epsilon": NaN}',
        b'{"run": "\\ud800"}',
        "{}".encode("utf-16"),
        b'{"a": ' + b"9" * 5000 + b"}",
        b"{",
    ],
    ids=["deep", "twice", "nan", "half", "utf-16", "digits", "cut"],
)
def test_what_is_no_json_of_one_meaning_is_refused(
    finished: Ended, bundle: Path, tmp_path: Path, name: str, text: bytes
) -> None:
    files, key = unpacked(bundle) | {name: text}, finished.keys.identity
    if name == CONTENTS:
        files[SIGNATURE] = (sign(key, CONTEXT + text) + "\n").encode()
    else:
        files = resigned(files, key)
    assert problem_of(files, tmp_path) == f"{name} cannot be read"


def test_more_than_an_archive_of_a_bundle_is_not_read(bundle: Path, tmp_path: Path) -> None:
    many = packed({CONTENTS: b""} | {f"file-{number}": b"" for number in range(65)})
    assert "more than `tacit bundle` writes" in problem_of(many, tmp_path)
    # all entries of the directory name one file's bytes
    data = packed({"a": bytes(4000), CONTENTS: b""})
    start = data.index(b"PK\1\2")
    entry, other = data[start : start + 46], data[start + 47 : -22]
    directory = b"".join(entry + name for name in (b"a", b"b", b"c")) + other
    end = data[-22:-14] + b"\4\0\4\0" + len(directory).to_bytes(4, "little") + data[-6:]
    assert problem_of(data[:start] + directory + end, tmp_path) == "its files overlap"


@pytest.mark.parametrize("case", ["another", "pickled", "huge", "packed", "names", "text", "large"])
def test_a_model_of_other_numbers_is_refused(
    finished: Ended, bundle: Path, tmp_path: Path, case: str
) -> None:
    files = unpacked(bundle)
    with np.load(io.BytesIO(files["model.npz"])) as found:
        arrays = dict(found)
    save = np.savez_compressed if case == "packed" else np.savez
    if case == "another":
        arrays["solution"] = arrays["solution"] + 1.0
    elif case == "pickled":
        arrays["solution"] = np.array([{}, {}])
    elif case == "large":
        arrays["solution"] = np.zeros(1000)
    elif case == "names":
        arrays["names"] = arrays["names"][::-1]
    stream = io.BytesIO()
    save(stream, allow_pickle=True, **arrays)
    files["model.npz"] = stream.getvalue()
    if case == "huge":
        header = io.BytesIO()
        shape = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
        np.lib.format.write_array_header_1_0(header, shape)
        files["model.npz"] = packed({"solution.npy": header.getvalue(), "names.npy": b""})
    if case == "text":
        files["model.npz"] = b"text"
    said = problem_of(resigned(files, finished.keys.identity), tmp_path)
    expected = {
        "another": "coefficients.csv does not follow from model.npz",
        "packed": "model.npz is not a model that a member writes",
        "large": "model.npz is larger than its numbers",
        "names": "model.npz has other numbers than the study",
    }
    assert said == expected.get(case, "model.npz cannot be read")


def test_a_report_that_says_something_else_is_refused(
    finished: Ended, bundle: Path, tmp_path: Path
) -> None:
    files, key = unpacked(bundle), finished.keys.identity
    page = files["report.html"]
    assert page.count(b"(4, 1e-6)-DP") > 0
    files["report.html"] = page.replace(b"(4, 1e-6)-DP", b"(1, 1e-6)-DP")
    said = problem_of(resigned(files, key), tmp_path)
    assert said == "report.html says something else than the other files"
    # a script may say anything, and another version of Plotly is no other report
    files["report.html"] = page.replace(b"</script>", b" </script>", 1)
    found = verified(resigned(files, key), tmp_path)
    assert found.sound
    assert any("Whether report.html shows what the other files say" in each for each in found.open)
    found.write_report(tmp_path / "own.html")
    assert (tmp_path / "own.html").read_bytes() == page


def test_a_file_that_no_bundle_has_is_refused_though_it_is_signed(
    finished: Ended, bundle: Path, tmp_path: Path
) -> None:
    files, key = unpacked(bundle), finished.keys.identity
    said = problem_of(resigned(files | {"audit.pdf": b"All is well."}, key), tmp_path)
    assert said == "`tacit bundle` writes no audit.pdf for this run"
    said = problem_of(resigned(files | {"README.txt": b"Do not verify."}, key), tmp_path)
    assert said == "README.txt is not the one that `tacit bundle` writes"
    said = problem_of(resigned(files, key, note="audited"), tmp_path)
    assert said == "bundle.json is not the list that `tacit bundle` writes"


def test_what_another_version_computed_is_not_called_tampered(
    finished: Ended, bundle: Path, tmp_path: Path
) -> None:
    files, key = unpacked(bundle), finished.keys.identity
    told = json.loads(files["guarantee.json"])
    files["guarantee.json"] = json.dumps(changed(theorem="An older proof")(told)).encode()
    found = verified(resigned(files, key, tacit="0.0.1"), tmp_path)
    assert found.verdict is Verdict.NOT_RECOMPUTED and not found.sound
    assert "does not follow from manifest.toml (theorem)" in found.problem
    assert "The signer used tacit 0.0.1" in found.problem
    assert found.guarantee is None and found.page == ""
    assert any("epsilon 4 at delta 1e-6 is what the signer says" in each for each in found.open)
    later = resigned(files, key, format="tacit-bundle-2", tacit="9.0")
    with pytest.raises(ConfigError, match=r"'tacit-bundle-2'.* \(9\.0\)"):
        verified(later, tmp_path)


def test_a_run_with_a_method_that_is_not_here_is_not_recomputed(
    finished: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise ConfigError("the run needs the method 'own' of a package that is not installed here")

    path = write_bundle(finished.state, finished.keys.folder, tmp_path / "b.zip")
    monkeypatch.setattr(manifest_module, "admit", missing)
    found = verify_bundle(path)
    assert found.verdict is Verdict.NOT_RECOMPUTED
    assert "cannot be laid out here: the run needs the method 'own'" in found.problem
    assert any("all 3 members signed the manifest" in each for each in found.checked)


def test_a_manifest_that_somebody_did_not_sign_is_refused(
    finished: Ended, bundle: Path, tmp_path: Path
) -> None:
    files = unpacked(bundle)
    signatures = {k: v for k, v in finished.manifest.signatures.items() if k != "west"}
    lonely = finished.manifest.model_copy(update={"signatures": signatures})
    files["manifest.toml"] = lonely.toml().encode()
    said = problem_of(resigned(files, finished.keys.identity), tmp_path)
    assert said == "manifest.toml is not signed by west"
    files["manifest.toml"] = finished.manifest.toml().encode() + b"# approved: epsilon 0.1\n"
    said = problem_of(resigned(files, finished.keys.identity), tmp_path)
    assert said == "manifest.toml holds more than what the members signed"
    more = {**finished.manifest.signatures, "the agency": "AAAA"}
    signed = finished.manifest.model_copy(update={"signatures": more})
    files["manifest.toml"] = signed.toml().encode()
    said = problem_of(resigned(files, finished.keys.identity), tmp_path)
    assert said == "manifest.toml names the agency, who take no part in the run"
    files["manifest.toml"] = b"format = 1"
    said = problem_of(resigned(files, finished.keys.identity), tmp_path)
    assert said.startswith("manifest.toml cannot be read")
    files = unpacked(bundle) | {"study.toml": b"another"}
    said = problem_of(resigned(files, finished.keys.identity), tmp_path)
    assert said == "study.toml is another study than manifest.toml has"


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
