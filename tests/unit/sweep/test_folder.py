from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import ConfigError, RuntimeFailure
from tacit.study import read_study
from tacit.sweep import Grid, Plan, plan
from tacit.sweep.folder import guarded, prepare
from tacit.sweep.run import finish
from tests.end_to_end import study


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan(read_study(study.write(tmp_path_factory.mktemp("study"))), Grid(3))


def test_the_same_sweep_goes_on(planned: Plan, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    prepare(out, planned)
    document = json.loads((out / "sweep.json").read_text())
    assert document["format"] == "tacit-sweep-1" and document["complete"] is False
    prepare(out, planned)


def test_another_sweep_is_refused_and_says_what_differs(planned: Plan, tmp_path: Path) -> None:
    prepare(tmp_path, planned)
    other = replace(planned, seeds=5)
    with pytest.raises(ConfigError, match=r"another sweep \(seeds: 3 there, 5 here\).*--force"):
        prepare(tmp_path, other)
    prepare(tmp_path, other, force=True)
    assert json.loads((tmp_path / "sweep.json").read_text())["seeds"] == 5


def test_what_runs_a_sweep_is_named(planned: Plan, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^where=0 must be at least 1"):
        finish(planned, tmp_path / "out", where=0)
    wrong: Any = lambda done: None  # noqa: E731
    with pytest.raises(ConfigError, match=r"told raised .*\(seconds done, seconds in all\)"):
        finish(planned, tmp_path / "out", told=wrong)


def test_other_records_are_another_sweep(planned: Plan, tmp_path: Path) -> None:
    prepare(tmp_path / "out", planned)
    study.write(tmp_path, frame=study.visits(700))
    other = plan(read_study(tmp_path / "study.toml"), Grid(3))
    with pytest.raises(ConfigError, match=r"holds another sweep .*records"):
        prepare(tmp_path / "out", other)


def test_what_is_no_sweep_is_left_alone(planned: Plan, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ConfigError, match="something other than a sweep"):
        prepare(tmp_path, planned, force=True)
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("text", ["{", "[]", '{"format": "other"}'])
def test_a_document_of_somebody_else_is_refused(planned: Plan, tmp_path: Path, text: str) -> None:
    (tmp_path / "sweep.json").write_text(text)
    with pytest.raises(ConfigError, match="was not written by tacit sweep"):
        prepare(tmp_path, planned, force=True)


def test_another_format_is_named(planned: Plan, tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text('{"format": "tacit-sweep-9"}')
    with pytest.raises(ConfigError, match="format 'tacit-sweep-9'"):
        prepare(tmp_path, planned)


def test_a_directory_that_cannot_be_made_is_named(planned: Plan, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot be used \(.*that you may read and write"):
        prepare(tmp_path / "file" / "out", planned)
    with pytest.raises(ConfigError, match="cannot be used"):
        prepare(tmp_path / "file", planned)


def test_a_full_disk_keeps_what_was_computed(tmp_path: Path) -> None:
    def write() -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(RuntimeFailure, match=r"No space left.*computed is kept: make room"):
        guarded(tmp_path, write)


def test_records_in_several_files_are_swept(tmp_path: Path) -> None:
    whole = study.write(tmp_path).read_text()
    table = (tmp_path / "visits.csv").read_text().splitlines(keepends=True)
    half = len(table) // 2
    for name, lines in {"one": table[1:half], "two": table[half:]}.items():
        (tmp_path / f"part-{name}.csv").write_text("".join([table[0], *lines]))
    text = whole.replace('"visits.csv"', '"part-*.csv"')
    (tmp_path / "parts.toml").write_text(text)
    found = [
        finish(plan(read_study(tmp_path / name), Grid(2)), tmp_path / f"out-{name}").found
        for name in ("parts.toml", "study.toml")
    ]
    # the records are the same, in the same order
    assert [each.mean("objective") for each in found[0]] == [
        each.mean("objective") for each in found[1]
    ]
