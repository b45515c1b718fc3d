"""Bundles that their member signed though they are false: the verification computes again."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.deploy.agreement import manifest as manifest_module
from tacit.deploy.identity.keys import sign
from tacit.deploy.operate.archive import CONTENTS, CONTEXT, SIGNATURE, packed, unpacked
from tacit.deploy.operate.bundle import write_bundle
from tacit.deploy.operate.verify import Verdict, verify_bundle
from tacit.errors import ConfigError
from tacit.privacy.guarantee import Guarantee
from tests.bundles import problem_of, resigned, verified
from tests.finished import Ended

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
    ("guarantee.json", changed(status="model", reason="why"), "neither a certificate nor"),
    ("guarantee.json", lambda d: d | {"noise": "simulated"}, "neither a certificate nor"),
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
    ("ledger.json", negative, "is not an event"),
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
