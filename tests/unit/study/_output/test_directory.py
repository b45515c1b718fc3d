import json
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.errors import ConfigError, RuntimeFailure
from tacit.study._output import Destination


def results(path: Path) -> None:
    path.mkdir()
    (path / "result.json").write_text(json.dumps({"format": "tacit-result-1"}))


def test_files_appear_at_once(tmp_path: Path) -> None:
    destination = Destination(tmp_path / "deep" / "results")
    destination.prepare()
    (destination.stage / "a").write_text("1")
    assert not destination.path.exists()
    destination.commit()
    assert (destination.path / "a").read_text() == "1"
    assert [path.name for path in destination.path.parent.iterdir()] == ["results"]


def test_what_is_discarded_leaves_nothing_but_the_checkpoint(tmp_path: Path) -> None:
    destination = Destination(tmp_path / "results", resume=True)
    destination.checkpoint.write_text("saved")
    destination.prepare()
    destination.discard()
    assert [path.name for path in tmp_path.iterdir()] == ["results.checkpoint"]


def test_older_results_are_replaced_only_by_force(tmp_path: Path) -> None:
    results(tmp_path / "results")
    with pytest.raises(ConfigError, match="give --force"):
        Destination(tmp_path / "results").prepare()
    destination = Destination(tmp_path / "results", force=True)
    destination.prepare()
    (destination.stage / "new").write_text("1")
    destination.commit()
    assert [path.name for path in destination.path.iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_force_spares_what_tacit_did_not_write(tmp_path: Path) -> None:
    mine = tmp_path / "home"
    mine.mkdir()
    (mine / "result.json").write_text("[1, 2]")
    with pytest.raises(ConfigError, match="does not remove"):
        Destination(mine, force=True).prepare()
    (mine / "result.json").write_text("not json")
    with pytest.raises(ConfigError, match="does not remove"):
        Destination(mine, force=True).prepare()
    assert mine.exists()


@pytest.mark.parametrize("name", ["", ".", "..", "/", "mine/.."])
def test_a_folder_that_holds_the_current_one_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="name of a new one, such as") as raised:
        Destination(Path(name), force=True, option=True)
    assert ("holds" in str(raised.value)) == (name in ("..", "/"))
    assert list(tmp_path.iterdir()) == [tmp_path / "mine"]


def test_an_empty_directory_may_be_filled_by_force(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    destination = Destination(tmp_path / "empty", force=True)
    destination.prepare()
    destination.commit()
    assert list(destination.path.iterdir()) == []


def test_a_checkpoint_asks_what_to_do(tmp_path: Path) -> None:
    checkpoint = Destination(tmp_path / "results").checkpoint
    checkpoint.write_text("saved")
    with pytest.raises(ConfigError, match="--resume, or begin afresh with --force"):
        Destination(tmp_path / "results").prepare()
    with pytest.raises(ConfigError, match=r"left results\.checkpoint; begin afresh with --force"):
        Destination(tmp_path / "results", resumable=False).prepare()
    for force in (False, True):
        destination = Destination(tmp_path / "results", force=force, resume=True)
        destination.prepare()
        destination.discard()
        assert checkpoint.exists()
    destination = Destination(tmp_path / "results", force=True)
    destination.prepare()
    assert not checkpoint.exists()
    destination.discard()


def test_a_command_that_resumes_nothing_leaves_no_checkpoint(tmp_path: Path) -> None:
    destination = Destination(tmp_path / "results", resumable=False)
    destination.prepare()
    destination.checkpoint.write_text("saved")
    destination.discard()
    assert list(tmp_path.iterdir()) == []


def test_a_leftover_of_a_killed_run_is_cleared(tmp_path: Path) -> None:
    other = tmp_path / ".results.old.99999.partial"
    for left in (tmp_path / ".results.99999.partial", other):
        left.mkdir()
        (left / "half").write_text("")
    (tmp_path / ".results.lock").touch()
    destination = Destination(tmp_path / "results")
    destination.prepare()
    assert {path for path in tmp_path.iterdir() if path.is_dir()} == {destination.stage, other}
    assert list(destination.stage.iterdir()) == []
    destination.discard()


_WRITER = """
import sys
from pathlib import Path
from tacit.study._output.directory import Destination

destination = Destination(Path(sys.argv[1]))
destination.prepare()
(destination.stage / "first").touch()
destination.checkpoint.touch()
print(flush=True)
input()
destination.commit()
"""


@pytest.mark.long
def test_a_second_process_is_refused_and_removes_nothing_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "results"
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as first:
        assert first.stdout is not None
        first.stdout.readline()
        told = rf"another tacit \(process {first.pid}\) is writing there now; wait"
        for force, resume in ((False, False), (True, False), (False, True)):
            second = Destination(path, force=force, resume=resume)
            with pytest.raises(ConfigError, match=told):
                second.prepare()
            second.discard()
        first.communicate(b"\n")
    assert first.returncode == 0
    assert [each.name for each in path.iterdir()] == ["first"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        Destination(tmp_path / "file" / "results").prepare()


def test_a_place_that_vanishes_during_the_run(tmp_path: Path) -> None:
    destination = Destination(tmp_path / "results")
    destination.prepare()
    destination.stage.rmdir()
    with pytest.raises(RuntimeFailure, match="cannot be moved"):
        destination.commit()
    destination.discard()
