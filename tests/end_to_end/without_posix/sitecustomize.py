"""Take from Python what Windows lacks: found by every process that has this folder in PYTHONPATH.

Modules are gone for all, and functions for tacit: other libraries look at the name of the system,
and on this one they may use them.
"""

from __future__ import annotations

import builtins
import importlib
import os
import signal
import socket
import sys
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

# Python's own users of these modules are loaded while they are there: on Windows they need none.
for user in (
    "asyncio",
    "concurrent.futures.process",
    "multiprocessing.popen_spawn_posix",
    "multiprocessing.resource_tracker",
    "shutil",
    "subprocess",
    "tempfile",
):
    importlib.import_module(user)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MODULES = _words("crypt curses fcntl grp nis pty pwd readline resource spwd syslog termios tty")

NAMES = {
    os: _words(
        """O_CLOEXEC O_DIRECTORY O_DSYNC O_NOFOLLOW O_NONBLOCK O_SYNC WNOHANG chown chroot fchdir
        fchmod fchown fdatasync fork forkpty getegid geteuid getgid getgroups getloadavg getpgid
        getpgrp getpriority getsid getuid initgroups killpg lchown lockf mkfifo mknod nice openpty
        pathconf pipe2 posix_fadvise posix_fallocate posix_spawn posix_spawnp pread preadv pwrite
        pwritev readv register_at_fork sched_getaffinity sched_setaffinity sched_yield sendfile
        setegid seteuid setgid setpgid setsid setuid statvfs sync sysconf uname wait wait3 wait4
        writev"""
    ),
    signal: _words(
        """SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1 SIGUSR2 alarm pause pthread_kill
        pthread_sigmask setitimer sigwait"""
    ),
    socket: _words("AF_UNIX SO_REUSEPORT"),
}


class _Gone(MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        if fullname in MODULES:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


class _Less(ModuleType):
    """A module as tacit sees it."""

    def __init__(self, whole: ModuleType) -> None:
        super().__init__(whole.__name__)
        self.whole = whole

    def __getattr__(self, name: str) -> Any:
        if name in NAMES[self.whole]:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self.whole, name)


_LESS = {module.__name__: _Less(module) for module in NAMES}
_usual = builtins.__import__


def _import(name: str, globals: Any = None, *rest: Any, **more: Any) -> Any:
    if name in _LESS and (globals or {}).get("__name__", "").partition(".")[0] == "tacit":
        return _LESS[name]
    return _usual(name, globals, *rest, **more)


for gone in MODULES:
    sys.modules.pop(gone, None)
sys.meta_path.insert(0, _Gone())
builtins.__import__ = _import
