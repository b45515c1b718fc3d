"""The code of packages of others: what a digest covers, and what is imported of it."""

from __future__ import annotations

import importlib
import importlib.util
import json
import marshal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.errors import ConfigError
from tacit.study import code
from tacit.study.code import digest_of, imported
from tacit.study.parts import FAMILIES, Part, declared, installed, method, named_in, published


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with a module, which can be imported."""
    home = tmp_path / "acme_held"
    home.mkdir()
    (home / "__init__.py").write_text("")
    (home / "late.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield home
    for name in [each for each in sys.modules if each.partition(".")[0] == "acme_held"]:
        del sys.modules[name]
    code._held.pop("acme_held", None)


def value() -> int:
    found: int = importlib.import_module("acme_held.late").VALUE
    return found


def test_what_is_compiled_beside_the_sources_is_not_run(package: Path) -> None:
    source, cached = (
        package / "late.py",
        Path(importlib.util.cache_from_source(str(package / "late.py"))),
    )
    cached.parent.mkdir(exist_ok=True)
    before = digest_of("acme_held", "acme")
    # a compiled copy that says of itself that nobody need compare it with its source
    flags, digest = (1).to_bytes(4, "little"), bytes(8)
    body = marshal.dumps(compile("VALUE = 2", str(source), "exec"))
    cached.write_bytes(importlib.util.MAGIC_NUMBER + flags + digest + body)
    assert digest_of("acme_held", "acme") == before
    assert value() == 2  # as Python has it
    del sys.modules["acme_held.late"], sys.modules["acme_held"]
    with imported("acme_held", "acme"):
        assert value() == 1


def test_what_changed_after_its_digest_was_taken_is_not_imported(package: Path) -> None:
    before = digest_of("acme_held", "acme")
    with imported("acme_held", "acme"):
        importlib.import_module("acme_held")
    (package / "late.py").write_text("VALUE = 2\n")
    (package / "later.py").write_text("")
    for name in ("late", "later"):
        with pytest.raises(ImportError, match=rf"{name}\.py has changed since"):
            importlib.import_module(f"acme_held.{name}")
    # what runs is what was imported
    assert digest_of("acme_held", "acme") == before


def test_a_module_among_compiled_files_is_not_imported(package: Path) -> None:
    (package / "__pycache__").mkdir(exist_ok=True)
    (package / "__pycache__" / "hidden.py").write_text("")
    with (
        imported("acme_held", "acme"),
        pytest.raises(ImportError, match=r"hidden\.py has changed .* or is not part of it"),
    ):
        importlib.import_module("acme_held.__pycache__.hidden")


def test_a_package_that_failed_may_be_mended(package: Path) -> None:
    (package / "__init__.py").write_text("raise RuntimeError\n")
    with pytest.raises(RuntimeError), imported("acme_held", "acme"):
        importlib.import_module("acme_held")
    (package / "__init__.py").write_text("#\n")
    with imported("acme_held", "acme"):
        importlib.import_module("acme_held")


def test_what_a_digest_cannot_cover_is_refused(package: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (package / "inside").symlink_to(outside)
    with pytest.raises(ConfigError, match="is a link to a folder"):
        digest_of("acme_held", "acme")
    for name in ("outside", "os", "sys", "", "no_such_package", "acme_held "):
        with pytest.raises(ConfigError, match=f"{name!r}, which is not a package"):
            digest_of(name, "acme")


def test_a_distribution_has_a_digest_for_each_of_its_packages(package: Path) -> None:
    other = package.parent / "acme_beside.py"
    other.write_text("")
    parts = [
        Part(FAMILIES[1], name, f"{name}:Loss", "acme", "1.0")
        for name in ("acme_held", "acme_beside")
    ]
    before = installed(parts)
    other.write_text("#\n")
    assert before["acme"].count("sha256:") == 2 and installed(parts) != before
    assert installed(parts[:1]) == {"acme": f"1.0 sha256:{parts[0].sha256}"}


def test_no_distribution_is_tacit_by_its_name() -> None:
    assert all(part.own for part in published().values())
    assert not Part(FAMILIES[0], "acme", "acme_held:Method", "tacit", "1.0").own
    assert not Part(FAMILIES[0], "acme", "tacit.method:DPSG", "acme", "1.0").own


@pytest.mark.parametrize(
    "said", ["", "Name: acme\n", "Version: 1.0\n", "Name: Tacit\nVersion: 1.0\n"]
)
def test_a_package_without_a_name_of_its_own_and_a_version_is_refused(
    package: Path, said: str
) -> None:
    about = package.parent / "acme_held-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\n{said}")
    (about / "entry_points.txt").write_text("[tacit.losses]\nacme = acme_held:Loss\n")
    with pytest.raises(ConfigError, match="what declares the loss 'acme' calls itself"):
        declared(FAMILIES[1])


def test_metrics_are_listed_and_not_imported(package: Path) -> None:
    about = package.parent / "acme_held-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[tacit.metrics]\nspread = acme_held:absent\n")
    done = CliRunner().invoke(app, ["parts", "list", "--json"])
    (found,) = json.loads(done.stdout)["metrics"]
    assert (found["family"], found["name"], found["version"]) == ("metric", "spread", "1.0")
    said = CliRunner().invoke(app, ["parts", "list"]).stdout
    assert "spread" in said and "no site imports them" in said


def test_a_package_declares_no_class_of_tacit(package: Path) -> None:
    about = package.parent / "acme_held-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[tacit.methods]\nacme = tacit.method:DPSG\n")
    with pytest.raises(ConfigError, match=r"'acme'.*'tacit\.method:DPSG'"):
        declared(FAMILIES[0])


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ("", "the installed tacit declare no method"),
        ("[tacit.methods]\ngone = tacit.gone:Gone\n", "tacit.gone"),
    ],
)
def test_tacit_says_that_its_own_metadata_are_stale(package: Path, entries: str, told: str) -> None:
    # found before the installed one
    about = package.parent / "tacit-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tacit\nVersion: 0\n")
    (about / "entry_points.txt").write_text(entries)
    with pytest.raises(ConfigError, match="reinstall") as caught:
        _ = [part.build for part in published().values()]
    assert told in str(caught.value)
    assert method("dpsg").name == "dpsg"
    if not entries:
        with pytest.raises(ConfigError, match="reinstall"):
            list(named_in({"method": {"name": "pvp-as-published"}}))


def test_names_are_found_wherever_a_study_gives_them(package: Path) -> None:
    about = package.parent / "acme_held-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    groups = ("features", "targets", "partitions", "losses", "graphs", "methods")
    text = "".join(f"[tacit.{each}]\nacme-{each} = acme_held:Part\n" for each in groups)
    (about / "entry_points.txt").write_text(text)
    document = {
        "data": {
            "features": {"a": {"kind": "acme-features"}, "b": {"kind": "acme-features"}, "c": 3},
            "target": {"kind": "acme-targets"},
        },
        "partition": {"by": "acme-partitions"},
        "problem": {"loss": "acme-losses"},
        "network": {"graph": "acme-graphs"},
        "method": {"name": "functional-perturbation", "inner": {"name": "acme-methods"}},
    }
    found = list(named_in(document))
    assert sorted(part.name for part in found) == sorted(f"acme-{each}" for each in groups)
    assert "acme_held" not in sys.modules
    assert not list(named_in({"data": {"features": 3, "target": []}, "method": "dpsg"}))
