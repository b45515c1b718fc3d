"""Files are written whole, for their owner where they are secret, and never through a link."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from tacit.deploy.files import check_private, make_folder, write_bytes, write_secret, write_text
from tacit.deploy.operate.results import Outcome, write
from tacit.errors import ConfigError


@pytest.mark.parametrize("write_file", [write_bytes, write_secret, write_text])
def test_no_link_is_followed(tmp_path: Path, write_file: object) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"not to be touched")
    path = tmp_path / "file"
    path.symlink_to(elsewhere)
    (tmp_path / f".file.{os.getpid()}").symlink_to(elsewhere)
    assert callable(write_file)
    write_file(path, "new" if write_file is write_text else b"new")
    assert elsewhere.read_bytes() == b"not to be touched"
    assert not path.is_symlink() and path.read_bytes() == b"new"
    if write_file is write_secret:
        assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as told:
        write_text(path, "new")
    assert told.value.filename == str(path)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert path.read_text() == "old"


def test_what_others_may_read_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    make_folder(folder)
    check_private(folder)
    check_private(folder / "absent")
    folder.chmod(0o750)
    with pytest.raises(ConfigError, match=r"mode 750\).*chmod 700"):
        check_private(folder)
    (tmp_path / "link").symlink_to(folder)
    folder.chmod(0o700)
    check_private(tmp_path / "link")  # a folder may be reached through a link


def test_results_are_on_the_disk_before_they_are_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key for masks is deleted after them; a power cut in between must leave one of the two."""
    synced: list[str] = []
    fsync = os.fsync

    def noted(number: int) -> None:
        synced.append(Path(f"/proc/self/fd/{number}").readlink().name)
        fsync(number)

    monkeypatch.setattr(os, "fsync", noted)
    write(tmp_path, Outcome(np.zeros(2), ("a", "b"), "ab", 1, None, False), None)
    own = f".{os.getpid()}"
    expected = [
        name
        for file in ("model.npz", "coefficients.csv", "result.json")
        for name in (f".{file}{own}", tmp_path.name)
    ]
    assert synced == expected


@pytest.mark.not_quick
@pytest.mark.parametrize("times", [2, 9])
def test_a_file_that_is_being_read_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """Windows refuses to replace a file while another program has it open."""
    refusals = iter([PermissionError(13, "in use")] * times)
    move = Path.replace

    def replace(self: Path, target: Path) -> Path:
        for refusal in refusals:
            raise refusal
        return move(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    path = tmp_path / "status.json"
    if times > 5:
        with pytest.raises(PermissionError):
            write_text(path, "new")
    else:
        write_text(path, "new")
        assert path.read_text() == "new"


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(ConfigError, match=r"state is a file, and a folder is needed there"):
        make_folder(tmp_path / "state")
