"""A disk, a file or another program in the way: each its own clear error, and no release."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tacit.errors import LedgerBusy, LedgerDamaged, LedgerError, LedgerUnwritable
from tacit.privacy.event import GaussianRelease
from tacit.privacy.ledger import Ledger, ReleaseId, read, verify
from tacit.privacy.ledger.lock import FileLock, make_durable

ROOT = Path(__file__).parents[4]


def release(ledger: Ledger, round: int, payload: bytes = b"noised") -> None:
    ledger.prepare(
        ReleaseId("clinic", "run", round, "gradient"),
        GaussianRelease(1000.0),
        payload,
        input_hash="state",
        dataset="visits",
        recipients=("north",),
    )


def made(path: Path) -> Path:
    with Ledger.create(path) as ledger:
        ledger.set_budget("clinic", "visits", epsilon=1.0, delta=1e-6)
        release(ledger, 0)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return made(tmp_path / "clinic.ledger")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 512 KiB."""
    where = tmp_path / "disk"
    where.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tacit-test", str(where)]
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting a small disk needs root")
    if (done := subprocess.run(mount, capture_output=True, text=True)).returncode:
        pytest.skip(f"no small disk can be mounted: {done.stderr.strip()}")
    yield where
    subprocess.run(["umount", str(where)], check=True)


def filled(ledger: Ledger, round: int) -> bool:
    """Whether a release is refused because the disk is full; any other error is one."""
    try:
        release(ledger, round, os.urandom(50_000))
    except LedgerUnwritable as error:
        if "is full. Nothing was released" not in str(error):
            raise
        return True
    return False


def test_a_full_disk(small_disk: Path) -> None:
    path = made(small_disk / "clinic.ledger")
    ledger, round = Ledger.open(path), 1
    while not filled(ledger, round):
        round += 1
    assert round > 1
    with pytest.raises(LedgerError, match="closed after an error"):
        release(ledger, round)
    # nothing of the failed release is left, and what was released before stands
    found = verify(path)
    assert found.sound and found.balances[0].releases == round
    with pytest.raises(LedgerError), Ledger.open(path) as again:
        release(again, round, os.urandom(400_000))
    assert verify(path).balances[0].releases == round


def test_a_ledger_on_a_disk_that_is_full_already(small_disk: Path) -> None:
    path = made(small_disk / "clinic.ledger")
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"\0" * 512):
            pass
    with pytest.raises(LedgerUnwritable, match="Nothing was released"):
        Ledger.open(path)
    with pytest.raises(LedgerUnwritable, match=r"Nothing was released|cannot be made"):
        Ledger.create(small_disk / "other.ledger")
    filler.unlink()
    with Ledger.open(path) as ledger:
        release(ledger, 1)
    assert verify(path).sound


@pytest.fixture
def immutable(path: Path) -> Iterator[Path]:
    """A ledger that nobody can write, root neither."""
    change = shutil.which("chattr")
    if change is None or subprocess.run([change, "+i", path], capture_output=True).returncode:
        pytest.skip("the file system or this user cannot make a file immutable")
    yield path
    subprocess.run([change, "-i", path], check=True)


def test_a_read_only_file(immutable: Path) -> None:
    with pytest.raises(LedgerUnwritable, match="is read-only"):
        Ledger.open(immutable)
    assert read(immutable).balances[0].releases == 1
    assert verify(immutable).sound


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder outside those of pytest, which are closed to other users."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="to become another user")
def test_a_read_only_directory(open_folder: Path) -> None:
    """As a user who may only read."""
    path = made(open_folder / "clinic.ledger")
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from tacit.errors import LedgerUnwritable\n"
        "from tacit.privacy.ledger import Ledger, read, verify\n"
        "name = Path(sys.argv[1])\n"
        "verify(name)\n"  # loads what the other user may not be able to read
        "os.setgid(65534); os.setuid(65534)\n"
        "try:\n"
        "    Ledger.open(name)\n"
        "except LedgerUnwritable as error:\n"
        "    print(error)\n"
        "print(verify(name).sound, read(name).balances[0].releases)\n"
    )
    path.chmod(0o444)
    path.with_name("clinic.ledger.lock").unlink()
    path.parent.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, path],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert "cannot be made (Permission denied)" in done.stdout, done.stderr
    assert done.stdout.splitlines()[-1] == "True 1", done.stderr


def test_a_file_that_another_program_holds_locked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.privacy.ledger.store._PATIENCE", 0.05)
    with Ledger.open(path) as ledger, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerBusy, match="another program holds the ledger"):
            release(ledger, 1)
    assert verify(path).balances[0].releases == 1


def test_two_processes_cannot_both_write(path: Path) -> None:
    program = (
        "import sys\n"
        "from tacit.errors import LedgerBusy\n"
        "from tacit.privacy.ledger import Ledger\n"
        "try:\n"
        "    Ledger.open(sys.argv[1])\n"
        "    print('open')\n"
        "except LedgerBusy as error:\n"
        "    print('busy', error)\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", program, str(path)]

    def other() -> str:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
        return done.stdout

    with Ledger.open(path) as ledger:
        assert other().startswith("busy the ledger")
        with pytest.raises(LedgerBusy):
            Ledger.open(path)
        assert other().startswith("busy the ledger")  # trying again here unlocked nothing
        release(ledger, 1)  # which does no harm to the first
    assert other() == "open\n"


def damage_cut(data: bytearray) -> bytearray:
    return data[: len(data) // 2]


def damage_zero(data: bytearray) -> bytearray:
    page = int.from_bytes(data[16:18], "big")  # SQLite's size of a page
    data[page : 2 * page] = bytes(page)
    return data


def damage_header(data: bytearray) -> bytearray:
    data[:16] = b"something else!!"
    return data


@pytest.mark.parametrize("damage", [damage_cut, damage_zero, damage_header])
def test_a_damaged_file(path: Path, damage: Callable[[bytearray], bytearray]) -> None:
    path.write_bytes(damage(bytearray(path.read_bytes())))
    with pytest.raises(LedgerDamaged, match="is damaged, or not a ledger"):
        Ledger.open(path)
    found = verify(path)
    assert not found.sound and "damaged" in found.problem


def test_flipped_bytes_never_pass(path: Path) -> None:
    """Anywhere in the file: noticed, or without consequence to what it says."""
    whole, before = path.read_bytes(), verify(path)
    draw = random.Random(0)
    for _ in range(60):
        data = bytearray(whole)
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(data)
        try:
            found = verify(path)
        except LedgerError:
            continue
        assert not found.sound or found.balances == before.balances


@pytest.mark.parametrize("text", [b"", b"not a ledger, but long enough to look at\n" * 300])
def test_a_file_that_is_no_ledger(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(text)
    for use in (Ledger.open, read):
        with pytest.raises(LedgerError, match=r"notes\.txt is (not a tacit ledger|damaged)"):
            use(path)
    assert path.read_bytes() == text


def test_a_database_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE t (x)")
    with pytest.raises(LedgerError, match=r"other\.sqlite is not a tacit ledger"):
        Ledger.open(path)


def test_a_ledger_of_a_later_format(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA user_version = 2")
    for use in (Ledger.open, read, verify):
        with pytest.raises(LedgerError, match="has format 2, and this version"):
            use(path)


def test_a_ledger_with_other_tables(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM pending; END")
    with pytest.raises(LedgerDamaged, match="tables are not those of a ledger"):
        Ledger.open(path)


def test_nothing_is_overwritten(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="exists already"):
        Ledger.create(path)
    assert path.read_bytes() == before


def test_a_ledger_needs_a_directory(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnwritable):
        Ledger.create(tmp_path / "none" / "clinic.ledger")
    with pytest.raises(LedgerError, match="there is no ledger"):
        Ledger.open(tmp_path)


def test_a_commit_is_on_the_disk_also_where_fsync_is_not_enough(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "file")) as file:
        make_durable(file)
        for setting, value in (("synchronous", 2), ("fullfsync", 1)):
            assert file.execute(f"PRAGMA {setting}").fetchone() == (value,)


def test_a_lock_that_cannot_be_taken_names_its_file(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"no lock" * 1000)
    for path, said in (tmp_path, "unable to open"), (other, "not a database"):
        with pytest.raises(OSError, match=said) as told:
            FileLock(path)
        assert told.value.filename == str(path)
    ledger = made(tmp_path / "ledger")
    ledger.with_name("ledger.lock").write_bytes(other.read_bytes())
    with pytest.raises(LedgerUnwritable, match=r"ledger.lock cannot be made .* free some space"):
        Ledger.open(ledger)


KILLED = """
import os, sys
from tacit.privacy.event import GaussianRelease, Repeated
from tacit.privacy.ledger import Ledger
ledger = Ledger.open(sys.argv[1])
ledger.charge_run("a", {"clinic": [Repeated(GaussianRelease(300.0), 100)]}, dataset="visits")
os._exit(9)
"""


def test_a_copy_of_the_file_of_a_killed_process_has_its_runs(path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, path], check=False)
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    balances = [(each.runs, each.spent) for each in read(copy).balances]
    assert balances == [(each.runs, each.spent) for each in read(path).balances]
    assert balances[0][0] == 2  # the release of before counts as one


def test_the_log_of_a_ledger_that_was_moved_joins_no_other(path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, path], check=False)
    moved = path.rename(path.with_name("moved"))
    with pytest.raises(LedgerError, match="newest entries of a ledger that was at"):
        Ledger.create(path)
    moved.rename(path)
    Ledger.open(path).close()
    path.rename(moved)
    read(moved)
    Ledger.create(path).close()


def test_a_ledger_has_one_name(path: Path) -> None:
    path.with_name(path.name + ".partial").hardlink_to(path)  # as a killed `create` leaves it
    Ledger.open(path).close()
    assert path.stat().st_nlink == 1
    other = path.with_name("other")
    other.hardlink_to(path)
    for name in (path, other):
        with pytest.raises(LedgerError, match=r"second name .* delete the other name"):
            Ledger.open(name)
    other.unlink()
    Ledger.open(path).close()
