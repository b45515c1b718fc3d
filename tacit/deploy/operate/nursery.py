"""Members of a rehearsal as processes that share what they have loaded.

Loading JAX, SciPy and tacit takes two seconds of a core and 150 MB for each process. So on Linux
one process loads them, and becomes a member in each of its forks. Elsewhere every member loads them
itself.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

LOADED = (
    "tacit.cli.deploying",
    "tacit.deploy.operate.report",
    "tacit.method.glm",
    "dp_accounting",
    "scipy.signal",
    "scipy.optimize",
    "jax.experimental.multihost_utils",
    "networkx",
    "jinja2",
    "plotly.graph_objects",
    "narwhals.stable.v1",
)
"""Modules that a member would load itself."""


class Command(NamedTuple):
    """How a member is started.

    Attributes:
        words: its command, Python first.
        log: file that its output is appended to.
    """

    words: list[str]
    log: str


class Processes:
    """Processes of members. Leaving the block ends those that still run.

    Args:
        commands: how they are started, by number.

    Attributes:
        codes: exit code of each; `None` as long as it runs.
    """

    def __init__(self, commands: Sequence[Command]) -> None:
        self.codes: list[int | None] = [None] * len(commands)
        self._own: list[subprocess.Popen[bytes]] = []
        self._nursery: subprocess.Popen[bytes] | None = None
        if sys.platform == "linux":
            given = json.dumps(commands).encode() + b"\n"
            words = [sys.executable, "-m", __name__]
            pipe = subprocess.PIPE  # unbuffered, so that no line waits where `select` cannot see it
            # one heap for all threads of a member: each of its own keeps what it freed
            heaps = {"MALLOC_ARENA_MAX": "1"} | os.environ
            self._nursery = subprocess.Popen(words, stdin=pipe, stdout=pipe, bufsize=0, env=heaps)
            assert self._nursery.stdin is not None
            self._nursery.stdin.write(given)
            return
        for words, log in commands:
            with Path(log).open("ab") as file:
                self._own.append(subprocess.Popen(words, stdout=file, stderr=file))

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._own:
            process.kill()
            process.wait()
        if self._nursery is not None:
            self._nursery.communicate()  # it ends them when nobody holds its standard input

    def wait(self, seconds: float) -> None:
        """Wait for an end of one of them, at most so long."""
        if self._nursery is None:
            time.sleep(seconds)
            self.codes = [each.poll() for each in self._own]
            return
        told = self._nursery.stdout
        assert told is not None
        if not select.select([told], [], [], seconds)[0]:
            return
        line = told.readline()
        if line:
            number, code = map(int, line.split())
            self.codes[number] = code
        else:  # killed, and its members with it
            lost = self._nursery.wait()
            self.codes = [lost or 1 if code is None else code for code in self.codes]


def _member(command: Command) -> NoReturn:
    """Become a member."""
    code = 1
    try:
        log = os.open(command.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for to, source in ((0, nothing), (1, log), (2, log)):
            os.dup2(source, to)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = command.words[2:]  # after `python -m`
        runpy.run_module("tacit", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:
        traceback.print_exc()  # nobody else would, after `os._exit`
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _main() -> None:
    """Load, fork, and tell of every end; end all when the standard input does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this ends it
    for name in LOADED:
        with contextlib.suppress(ImportError):  # the report's pictures are optional
            importlib.import_module(name)
    with contextlib.suppress(ImportError):
        importlib.import_module("tacit.report.assets").warm()
    # JAX warns of every fork, since its threads do not survive one; it has started none yet
    warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
    commands = [Command(*each) for each in json.loads(sys.stdin.buffer.readline())]
    gc.freeze()  # the collector would write to pages that are shared
    running: dict[int, int] = {}
    for number, command in enumerate(commands):
        pid = os.fork()
        if pid == 0:
            _member(command)
        running[pid] = number
    try:
        while running:
            left, _, _ = select.select([0], [], [], 0.05)
            if left and not os.read(0, 1024):
                return
            for pid in list(running):
                found, status = os.waitpid(pid, os.WNOHANG)
                if found:
                    code = os.waitstatus_to_exitcode(status)
                    sys.stdout.write(f"{running.pop(pid)} {code}\n")
                    sys.stdout.flush()
    finally:
        for pid in running:
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    _main()
