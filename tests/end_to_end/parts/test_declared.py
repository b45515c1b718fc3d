"""What a package of others declares: listed, described, and mistakes in it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.parts.package import GRAPHS, METHODS, ROOT, Command, parts
from tests.installed import ACME, installed


@pytest.mark.long
def test_a_package_is_listed_and_described_without_code_in_tacit(tacit: Command) -> None:
    assert {each["name"]: each["family"] for each in parts(tacit)} == {
        "acme-momentum": "method",
        "acme-log-cosh": "loss",
        "acme-room": "loss",
        "acme-wheel": "graph",
        "acme-cyclic": "feature",
        "acme-powers": "map",
        "acme-at-least": "target",
        "acme-turns": "partition",
    }
    assert not any(each["pinned"] for each in parts(tacit))
    found = json.loads(tacit("describe", "acme-momentum", "--json").stdout)
    assert found["status"] == "proved" and found["part"]["distribution"] == "acme-parts"
    assert [each["name"] for each in found["parameters"]] == ["step", "momentum"]
    found = json.loads(tacit("describe", "acme-wheel", "--json").stdout)
    assert [each["default"] for each in found["parameters"]] == [0]
    found = json.loads(tacit("describe", "acme-at-least", "--json").stdout)
    assert [each["name"] for each in found["parameters"]] == ["threshold"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("entries", "told"),
    [
        (METHODS + "dpsg = acme_parts.momentum:Momentum", "one of tacit's own"),
        (GRAPHS + "acme-wheel = subprocess:run", "is not a subclass of tacit."),
        *(
            pytest.param(METHODS + entry, told, marks=pytest.mark.long)
            for entry, told in (
                ("acme-momentum = acme_parts.wheel:Wheel", "is not a subclass of tacit."),
                ("other = acme_parts.momentum:Momentum", "calls itself"),
                ("acme-momentum = nothing.here:At", "'nothing', which is not a package or module"),
            )
        ),
    ],
)
def test_what_a_package_declares_wrongly_is_told(
    study: Path, tacit: Command, entries: str, told: str
) -> None:
    about = next((study.parent / "site").glob("*.dist-info"))
    (about / "entry_points.txt").write_text(entries)
    if "other" in entries:
        study.write_text(study.read_text().replace("acme-momentum", "other"))
    if "methods" in entries:
        study.write_text(study.read_text().replace("acme-wheel", "ring"))
    if "graphs" in entries or "dpsg" in entries:
        text = study.read_text().replace("acme-momentum", "dpsg")
        study.write_text(text.replace("momentum = 0.2", ""))
    command = ("parts", "list") if "nothing" in entries else ("run", study)
    assert told in tacit(*command, code=2).stderr


@pytest.mark.long
def test_a_name_that_is_taken_stops_only_what_names_it(study: Path, tacit: Command) -> None:
    about = next((study.parent / "site").glob("*.dist-info"))
    entries = (about / "entry_points.txt").read_text()
    declared = "[tacit.methods]\ndpsg = acme_parts.momentum:Momentum\n"
    (about / "entry_points.txt").write_text(entries.replace("[tacit.methods]\n", declared))
    tacit("run", study)
    tacit("describe", "acme-momentum")
    for command in (("methods",), ("describe", "dpsg"), ("parts", "list")):
        assert "'dpsg', which is one of tacit's own" in tacit(*command, code=2).stderr


@pytest.mark.long
def test_two_packages_may_not_declare_one_name(study: Path, tacit: Command) -> None:
    installed(study.parent / "site", name="twin-parts")
    told = tacit("run", study, code=2).stderr
    assert "acme-parts" in told and "twin-parts" in told and "uninstall one of them" in told


@pytest.mark.slow
def test_its_own_tests_pass_where_it_is_installed(tmp_path: Path) -> None:
    site = installed(tmp_path / "site")
    shutil.copytree(ACME / "tests", tmp_path / "tests")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path / "tests"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{site}"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^[1-9]\d+ passed in", done.stdout, re.MULTILINE)  # and none is skipped
