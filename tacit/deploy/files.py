"""Small files that are written completely or not at all, and files that nobody else may read."""

from __future__ import annotations

import errno
import json
import os
import stat
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tacit.errors import ConfigError
from tacit.privacy.ledger.lock import held, sync_directory

_PAUSES = (0.01, 0.03, 0.1, 0.3)
"""Seconds after which a file that is being read is replaced."""


_LOCK_SECONDS = 30.0


@contextmanager
def one_at_a_time(path: Path) -> Generator[None, None, None]:
    """Let one process at a time read a file, change it and write it.

    The lock is a hidden file beside it, open to whom the file is open. It stays: who removed it
    could remove that of another.

    Args:
        path: path of the file.

    Raises:
        ConfigError: another process has held it for half a minute, or the lock cannot be made.
    """
    beside = path.with_name(f".{path.name}.lock")
    with ExitStack() as stack:
        try:
            mode = stat.S_IMODE(path.stat().st_mode) | 0o600 if path.exists() else 0o600
            stack.enter_context(held(beside, _LOCK_SECONDS, mode))
        except BlockingIOError as error:
            raise ConfigError(f"{path} is being changed by another command; try again") from error
        except OSError as error:
            raise ConfigError(
                f"{path} cannot be changed by one command at a time, because {beside} cannot be "
                f"locked ({error.strerror or error}); make it and its folder writable"
            ) from error
        yield


def write_bytes(path: Path, data: bytes, *, durable: bool = True, mode: int = 0o666) -> None:
    """Write a file in one step: readers see the old file or the new one.

    A link in its place, or in the place of its temporary file, is not followed.

    Args:
        path: path of the file.
        data: contents of the file.
        durable: whether the file and its name are on disk when this returns.
        mode: permissions of the file, as far as the process's mask allows.

    Raises:
        OSError: it cannot be written, or a device, pipe or folder is there.
    """
    if path.exists() and not path.is_file():  # as root, `replace` would remove even a device
        raise FileExistsError(errno.EEXIST, "it is not a regular file", str(path))
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        _move(beside, path)
    except OSError as error:  # of a full disk it names no file
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error
    if durable:
        sync_directory(path.absolute().parent)


def _move(beside: Path, path: Path) -> None:
    """Replace a file. On Windows, that is refused for as long as somebody reads the old one."""
    for pause in _PAUSES:
        try:
            beside.replace(path)
            return
        except PermissionError:
            time.sleep(pause)
    beside.replace(path)


def write_text(path: Path, text: str, *, durable: bool = True) -> None:
    """The same for a text."""
    write_bytes(path, text.encode(), durable=durable)


def write_json(path: Path, document: object, *, durable: bool = True) -> None:
    """The same for a JSON document."""
    write_text(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n", durable=durable)


def write_secret(path: Path, data: bytes) -> None:
    """The same for a file that only its owner may read, from the first byte on."""
    write_bytes(path, data, mode=0o600)


def make_private(path: Path) -> None:
    """Make an empty file that only its owner may read, if none exists."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    sync_directory(path.absolute().parent)


def make_folder(path: Path) -> None:
    """Make a folder that only its owner may read, if none exists, durably.

    Raises:
        ConfigError: a file is there.
    """
    if path.is_dir():
        return
    if path.exists():
        raise ConfigError(f"{path} is a file, and a folder is needed there; give another name")
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    sync_directory(path.absolute().parent)


def check_private(path: Path) -> None:
    """Refuse a folder or file that others may read, and a link in the place of a file.

    A missing path is not refused. A folder may be reached through a link.

    Raises:
        ConfigError: it is open to others, or is a link.
    """
    if path.is_symlink() and not path.is_dir():
        raise ConfigError(
            f"{path} is a link, and secrets are not kept where a link leads; put the file itself "
            "there"
        )
    if os.name != "posix" or not path.exists():
        return
    mode = path.stat().st_mode
    if mode & 0o077:
        right = "700" if stat.S_ISDIR(mode) else "600"
        raise ConfigError(
            f"{path} can be read or changed by others than its owner (mode "
            f"{stat.S_IMODE(mode):o}); `chmod {right} {path}`, and consider who may have read it"
        )


def why(error: Exception) -> str:
    """What is wrong, without the path, which the sentence already contains."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
