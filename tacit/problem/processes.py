"""Python functions in processes of their own, which can be stopped."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tacit.errors import ProblemError
from tacit.problem import worker

_ONE_CORE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Settings of workers, which would otherwise each start a thread per core."""


class Unanswered(Exception):
    """An evaluation without an answer.

    Args:
        text: what happened; it goes on after "the black box of agent 3 ".
        remedy: what to do, as a sentence.
        said: what a program wrote to its standard error.
        chance: whether another try may succeed.
    """

    def __init__(self, text: str, remedy: str, said: str = "", chance: bool = True) -> None:
        super().__init__(text)
        self.remedy, self.said, self.chance = remedy, said, chance


def correction(said: str) -> str:
    """What to do about an error of the function, in a sentence without its full stop.

    Args:
        said: text of the error.
    """
    if "read-only" in said:
        return (
            "Records are read-only, because later calls would see what one changes; let the "
            "function change a copy"
        )
    return "Correct the function"


class Function:
    """A Python function in a process that is started when first asked, and again after it died.

    Args:
        function: `(argument, own) -> answer`.
        own: second argument, for every agent.
        timeout: seconds for an answer, or `None`.

    Raises:
        ProblemError: a function that cannot be sent to another process.
    """

    def __init__(self, function: object, own: Sequence[Any], timeout: int | float | None) -> None:
        self._code, self._own, self._timeout = packed(function), own, timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._sent = set[int]()
        self._stopped = False

    def __call__(self, argument: np.ndarray, agent: int) -> Any:
        """The answer.

        Raises:
            Unanswered: there is none.
        """
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        belongings = {} if agent in self._sent else {agent: self._own[agent]}
        overdue = threading.Event()

        def stop() -> None:
            overdue.set()
            kill(process)

        timer = None if self._timeout is None else threading.Timer(self._timeout, stop)
        if timer is not None:
            timer.start()
        try:
            worker.write(process.stdin, packed((agent, belongings, argument)))
            data = worker.read(process.stdout)
        except OSError:
            data = None
        finally:
            if timer is not None:
                timer.cancel()
        if data is None:
            status = self.close()
            if overdue.is_set():
                raise late(self._timeout)
            raise Unanswered(
                f"ended its process {ended(status)}", "Let the function return, or raise an error"
            )
        self._sent.add(agent)
        good, *answer = pickle.loads(data)
        if good:
            return answer[0]
        text, error = answer
        raise Unanswered(f"raised {text}", correction(text), chance=False) from error

    def begin(self) -> None:
        """Start the process, which loads the function."""
        self._started()

    def stop(self) -> None:
        """End the process, from any thread."""
        if self._process is not None:
            self._stopped = True
            kill(self._process)

    def close(self) -> int | None:
        """Forget the process, which has ended or ends now; its exit status."""
        process, self._process, self._sent = self._process, None, set()
        self._stopped = False
        if process is None:
            return None
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        return process.wait()

    def _started(self) -> subprocess.Popen[bytes]:
        # one that was stopped, or died, while it had nothing to do
        if self._process is not None and (self._stopped or self._process.poll() is not None):
            self.close()
        if self._process is None:
            self._process = subprocess.Popen(
                # -P, because the modules beside the worker's file are not meant to be found
                [sys.executable, "-P", str(worker.__file__)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # Ctrl-C is for this process alone, which then stops the others
                start_new_session=True,
                env={**_ONE_CORE, **os.environ},
            )
            assert self._process.stdin is not None
            with suppress(OSError):
                worker.write(self._process.stdin, pickle.dumps((list(sys.path), self._code)))
        return self._process


def packed(value: object) -> bytes:
    """A value as bytes; functions of scripts and notebooks with their code.

    Raises:
        ProblemError: a value that cannot be sent to another process.
    """
    import cloudpickle

    module = sys.modules.get(str(getattr(value, "__module__", None)))
    if module is not None and module.__spec__ is None and module.__name__ != "__main__":
        cloudpickle.register_pickle_by_value(module)  # made by a program; nobody else can import it
    try:
        return cloudpickle.dumps(value)
    except Exception as error:
        raise ProblemError(
            "workers: the function cannot be sent to another process, because it holds what cannot "
            f"be copied ({type(error).__name__}: {error}); open files, locks and connections "
            "within the function"
        ) from error


def kill(process: subprocess.Popen[Any]) -> None:
    """End a process and what it started."""
    if process.poll() is None:
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()


def late(timeout: float | None, said: str = "") -> Unanswered:
    """The error of an evaluation that took too long.

    Args:
        timeout: seconds that it had.
        said: what a program wrote to its standard error.
    """
    return Unanswered(
        f"gave no answer within timeout={timeout:g} seconds and was stopped",
        "Give it more time",
        said,
    )


def ended(status: int | None) -> str:
    """How a process ended, in words."""
    if status is not None and status < 0:
        with suppress(ValueError):
            return f"by the signal {signal.Signals(-status).name}"
    return f"with exit status {status}"
