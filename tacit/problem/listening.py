"""What a program says: for no longer than its time, and never more than fits into memory."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO

from tacit.problem.processes import Unanswered, late

LARGEST = 100_000_000
"""Bytes that a program may print in one evaluation."""

_KEPT = 100_000
"""Bytes that are kept of them, the last ones: an answer is a line, and so is an error."""

_AT_ONCE = 4096
"""Bytes that a pipe takes on every system, whether they are read or not."""

_AFTER = 1.0
"""Seconds for what is left in a pipe when the program has been ended."""


class _Reader(threading.Thread):
    """Reads a pipe to its end, and keeps the end of what comes."""

    def __init__(self, pipe: IO[bytes], overfull: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._pipe, self._overfull = pipe, overfull
        self._end, self.count = b"", 0

    def run(self) -> None:
        with suppress(OSError, ValueError):
            while data := os.read(self._pipe.fileno(), 1 << 16):
                self.count += len(data)
                self._end = (self._end + data)[-_KEPT:]
                if self.count > LARGEST:
                    self._overfull()
                    return

    @property
    def text(self) -> str:
        """The end of what came so far."""
        return self._end.decode(errors="replace")


def heard(process: subprocess.Popen[bytes], asked: bytes, timeout: float | None) -> tuple[str, str]:
    """The ends of standard output and standard error of a program, once all have closed them.

    Args:
        process: leader of a session of its own, with pipes for its three streams.
        asked: what it gets on its standard input.
        timeout: seconds for all of it, or `None`.

    Raises:
        Unanswered: it took too long, left behind what did, or printed without end; it has then been
            ended, with what it started.
    """
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    deadline = None if timeout is None else time.monotonic() + timeout
    output, errors = (
        _Reader(pipe, lambda: end(process)) for pipe in (process.stdout, process.stderr)
    )
    threads: list[threading.Thread] = [output, errors]
    if len(asked) > _AT_ONCE:
        threads.append(threading.Thread(target=_write, args=(process.stdin, asked), daemon=True))
    else:
        _write(process.stdin, asked)
    for thread in threads:
        thread.start()

    def left() -> float | None:
        return None if deadline is None else max(0.0, deadline - time.monotonic())

    try:
        for thread in (output, errors):
            thread.join(left())
        alone = (output.is_alive() or errors.is_alive()) and process.poll() is not None
        if not alone:
            with suppress(subprocess.TimeoutExpired):
                process.wait(left())
        overdue = alone or process.poll() is None
    except BaseException:
        end(process)
        raise
    if overdue:
        end(process)
        process.wait()
    pipes = (process.stdout, process.stderr, process.stdin)
    for thread, pipe in zip(threads, pipes, strict=False):
        thread.join(_AFTER)
        if not thread.is_alive():  # else held by what left the session
            with suppress(OSError):
                pipe.close()
    if max(output.count, errors.count) > LARGEST:
        raise Unanswered(
            f"printed more than {LARGEST // 10**6} MB and was stopped",
            "Let the program print less, and end",
            chance=False,
        )
    if alone:
        raise Unanswered(
            "ended and left a process behind, which still held its output open after "
            f"timeout={timeout:g} seconds and was stopped",
            "Let the program end what it starts, or send the output of that elsewhere",
            errors.text,
            chance=False,
        )
    if overdue:
        raise late(timeout, errors.text)
    return output.text, errors.text


def _write(pipe: IO[bytes], data: bytes) -> None:
    # who does not read what is asked answers something all the same
    with suppress(OSError, ValueError):
        pipe.write(data)
    with suppress(OSError, ValueError):
        pipe.close()


def end(process: subprocess.Popen[bytes]) -> None:
    """End a program and what it started, also where it has ended itself."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
