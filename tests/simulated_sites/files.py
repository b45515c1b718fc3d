"""Files and their names: a kill at a change of names, and what a power cut takes of it.

A name that was changed is on the disk when its folder is synced, and the contents of a file when
the file is. Until then a power cut may take them: the last changes in a folder first.
"""

# ruff: noqa: PTH110, PTH112, PTH120 - asked at every change of a name, and pathlib takes longer

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.simulated_sites.hub import Process
from tests.simulated_sites.world import World, simulating, world

_REAL = {
    name: getattr(os, name)
    for name in (
        "open",
        "fsync",
        "replace",
        "rename",
        "unlink",
        "link",
        "mkdir",
        "urandom",
        "getpid",
    )
}
_handles: dict[int, str] = {}


def _asking(path: Any = None) -> tuple[World, Process] | None:
    """The world and the process that asks, if a process of a run does, for a file of the run."""
    if not simulating():
        return None
    at = world()
    process = at.process
    if process is None or (path is not None and not os.fspath(path).startswith(at.root)):
        return None
    return at, process


def _changing(change: Callable[..., Any], *paths: Any, lost: Callable[[], None], to: Any) -> None:
    """Change a name: a kill before it or, with the power cut, after it."""
    asking = _asking()
    assert asking is not None
    at, process = asking
    at.hub.touch()
    if at.fills(process):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(to))
    fault = at.point("name", process)
    if fault is not None and fault.kind == "kill before name":
        at.die(process, fault)
    change(*paths)
    folder, name = os.path.split(to)
    at.names[process.member].append((folder, lost))
    at.note("name", process, name.partition(".db")[0])
    if fault is not None and fault.kind == "lost name":
        process.cut = True
        at.die(process, fault)


def _back(path: str, kept: bytes | None) -> Callable[[], None]:
    """What puts back what was at a path."""

    def undo() -> None:
        if kept is None:
            for each in (path, f"{path}-wal", f"{path}-shm"):
                Path(each).unlink(missing_ok=True)
        else:
            Path(path).write_bytes(kept)
            Path(path).chmod(0o600)

    return undo


def _held(path: str) -> bytes | None:
    try:
        handle = _REAL["open"](path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read()


def replace(source: Any, target: Any, **more: Any) -> None:
    asking, name, came = _asking(target), os.fspath(target), os.fspath(source)
    if asking is None:
        return _REAL["replace"](source, target, **more)
    _changing(_REAL["replace"], source, target, lost=_back(name, _held(name)), to=target)
    unsynced = asking[0].unsynced
    unsynced.pop(name, None)
    if came in unsynced:
        unsynced[name] = unsynced.pop(came)
    return None


def unlink(path: Any, **more: Any) -> None:
    if _asking(path) is None:
        return _REAL["unlink"](path, **more)
    name = os.fspath(path)
    if not os.path.exists(name):
        return _REAL["unlink"](path, **more)
    _changing(_REAL["unlink"], path, lost=_back(name, _held(name)), to=path)
    return None


def link(source: Any, target: Any, **more: Any) -> None:
    if _asking(target) is None:
        return _REAL["link"](source, target, **more)
    _changing(_REAL["link"], source, target, lost=_back(os.fspath(target), None), to=target)
    return None


def mkdir(path: Any, mode: int = 0o777, **more: Any) -> None:
    if _asking(path) is None or os.path.exists(path):
        return _REAL["mkdir"](path, mode, **more)

    def undo() -> None:
        shutil.rmtree(path, ignore_errors=True)

    _changing(_REAL["mkdir"], path, mode, lost=undo, to=path)
    return None


def open_(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
    asking = _asking(path)
    if asking is None:
        return _REAL["open"](path, flags, mode, **more)
    at, process = asking
    at.hub.touch()
    name = os.fspath(path)
    new = bool(flags & os.O_CREAT) and not os.path.exists(name)
    if new and at.fills(process):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
    handle = _REAL["open"](path, flags, mode, **more)
    _handles[handle] = name
    if new:
        at.names[process.member].append((os.path.dirname(name), _back(name, None)))
        at.unsynced[name] = process.member
    return handle


def fsync(handle: int) -> None:
    asking = _asking()
    if asking is None:
        return _REAL["fsync"](handle)
    at, process = asking
    at.hub.touch()
    name = _handles.get(handle, "")
    at.unsynced.pop(name, None)
    if os.path.isdir(name):
        at.names[process.member] = [each for each in at.names[process.member] if each[0] != name]
    return None


def urandom(count: int) -> bytes:
    asking = _asking()
    return _REAL["urandom"](count) if asking is None else asking[0].random(count, "urandom")


def getpid() -> int:
    """A number that is in names of files, and must be the same whenever a seed is run."""
    return 1 if simulating() else _REAL["getpid"]()


def lose(at: World, process: Process) -> None:
    """What a power cut takes of a member's files."""
    member, folders = process.member, dict[str, int]()
    for folder, _ in at.names[member]:
        folders[folder] = folders.get(folder, 0) + 1
    kept = {
        folder: at.chance.below(
            count + 1, "names", member, process.start, folder.removeprefix(at.root)
        )
        for folder, count in folders.items()
    }
    left, taken = dict(kept), []
    for folder, undo in at.names[member]:
        left[folder] -= 1
        if left[folder] < 0:
            taken.append(undo)
    for undo in reversed(taken):
        undo()
    at.names[member].clear()
    for name in [name for name, whose in at.unsynced.items() if whose == member]:
        del at.unsynced[name]
        path = Path(name)
        if path.is_file():
            size = path.stat().st_size
            key = ("contents", member, process.start, path.name)
            os.truncate(path, at.chance.below(size + 1, *key))


@contextmanager
def replaced() -> Generator[None, None, None]:
    """Functions of `os` that know of simulated processes."""
    ours = {
        "open": open_,
        "fsync": fsync,
        "replace": replace,
        "rename": replace,
        "unlink": unlink,
        "link": link,
        "mkdir": mkdir,
        "urandom": urandom,
        "getpid": getpid,
    }
    for name, function in ours.items():
        setattr(os, name, function)
    try:
        yield
    finally:
        for name, function in _REAL.items():
            setattr(os, name, function)
