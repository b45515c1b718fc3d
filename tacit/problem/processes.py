"""Python functions and external programs in processes of their own, which can be stopped."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from tacit import checks
from tacit.errors import ProblemError
from tacit.problem import worker

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")

_ONE_CORE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Settings of workers, which would otherwise each start a thread per core."""


class Unanswered(Exception):
    """An evaluation without an answer; the text goes on after "the black box of agent 3 "."""


class Function:
    """A Python function in a process that is started when first asked, and again after it died.

    Args:
        function: `(argument, own) -> answer`.
        own: second argument, for every agent.
        timeout: seconds for an answer, or `None`.

    Raises:
        ProblemError: a function that cannot be sent to another process.
    """

    def __init__(self, function: object, own: Sequence[Any], timeout: float | None) -> None:
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
        late = threading.Event()

        def stop() -> None:
            late.set()
            _kill(process)

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
            if late.is_set():
                raise Unanswered(_late(self._timeout))
            raise Unanswered(f"ended its process {_ended(status)}")
        self._sent.add(agent)
        good, *answer = pickle.loads(data)
        if good:
            return answer[0]
        text, error = answer
        raise Unanswered(f"raised {text}") from error

    def stop(self) -> None:
        """End the process, from any thread."""
        if self._process is not None:
            self._stopped = True
            _kill(self._process)

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


class Program:
    """An external program that is started for every evaluation and prints one number.

    It gets `{"x": [...], "agent": 0}` as JSON on its standard input. In its arguments `{x}` stands
    for all values with commas between them, `{agent}` for the number of the agent, and the name of
    a parameter in braces for its value.

    Args:
        command: program and arguments.
        names: names of the parameters; `None` accepts `x0`, `x1`, ...
        timeout: seconds for an answer, or `None`.

    Raises:
        ProblemError: no such program, or an unknown placeholder.
    """

    def __init__(
        self, command: Any, names: Sequence[str] | None = None, timeout: float | None = None
    ) -> None:
        texts = isinstance(command, list | tuple) and all(isinstance(c, str) for c in command)
        if not texts or not command or not command[0]:
            raise ProblemError(
                f"command is {checks.shown(command)}; give a list of texts, such as "
                "['./simulate', '--fast']"
            )
        found = shutil.which(command[0])
        if found is None:
            raise ProblemError(
                f"command: there is no program {command[0]!r} that can be run; give its path, and "
                "make the file executable, or name its interpreter first: ['python', 'simulate.py']"
            )
        # an absolute path, because the working directory may change
        self.command = (str(Path(found).absolute()), *command[1:])
        self._names, self._timeout = names, timeout
        self._running: subprocess.Popen[str] | None = None
        for name in {name for each in command[1:] for name in _PLACEHOLDER.findall(each)}:
            if name not in ("x", "agent") and not self._known(name):
                known = "x0, x1, ..." if names is None else ", ".join(names[:8])
                raise ProblemError(
                    f"command: {{{name}}} is not a placeholder; there are {{x}}, {{agent}} and "
                    f"the parameters in braces: {known}"
                )

    def __call__(self, argument: np.ndarray, agent: int) -> float:
        """The number that the program prints last.

        Raises:
            Unanswered: there is none.
        """
        x = [float(value) for value in argument]
        names = self._names or [f"x{j}" for j in range(len(x))]
        values = {name: repr(value) for name, value in zip(names, x, strict=True)}
        values |= {"x": ",".join(map(repr, x)), "agent": str(agent)}

        def value(found: re.Match[str]) -> str:
            return values[found[1]]

        try:
            arguments = [_PLACEHOLDER.sub(value, each) for each in self.command[1:]]
        except KeyError as error:
            raise Unanswered(
                f"has no parameter {error.args[0]!r} for its command: there are {len(x)}"
            ) from None
        try:
            process = self._running = subprocess.Popen(
                [self.command[0], *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise Unanswered(f"could not be started: {error.strerror}") from error
        try:
            asked = json.dumps({"x": x, "agent": agent})
            said, complaint = process.communicate(asked, timeout=self._timeout)
        except subprocess.TimeoutExpired:
            _kill(process)
            process.communicate()
            raise Unanswered(_late(self._timeout)) from None
        finally:
            self._running = None
        if process.returncode:
            last = _last(complaint)
            raise Unanswered(
                f"ended {_ended(process.returncode)}" + (f": {last:.200}" if last else "")
            )
        try:
            return float(_last(said))
        except ValueError:
            raise Unanswered(
                f"printed {_last(said)!r:.60} as its last line instead of one number"
            ) from None

    def stop(self) -> None:
        """End the program, if it runs, from any thread."""
        process = self._running
        if process is not None:
            _kill(process)

    def close(self) -> None:
        """Nothing is left of a program that has ended."""

    def _known(self, name: str) -> bool:
        if self._names is None:
            return re.fullmatch(r"x\d+", name) is not None
        return name in self._names


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


def _kill(process: subprocess.Popen[Any]) -> None:
    """End a process and what it started."""
    if process.poll() is None:
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()


def _late(timeout: float | None) -> str:
    return f"gave no answer within timeout={timeout:g} seconds and was stopped"


def _ended(status: int | None) -> str:
    if status is not None and status < 0:
        with suppress(ValueError):
            return f"by the signal {signal.Signals(-status).name}"
    return f"with exit status {status}"


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""
