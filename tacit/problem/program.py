"""External programs as black boxes, started for every evaluation."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit import checks
from tacit.errors import ProblemError
from tacit.problem.listening import end, heard
from tacit.problem.processes import Unanswered, ended

AGENT = "{agent}"
"""Placeholder for the number of an agent."""

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")


def of_agent(text: str, agent: int) -> str:
    """A text with the number of an agent in its place."""
    return text.replace(AGENT, str(agent))


class Program:
    """An external program that is started for every evaluation and prints one number.

    It gets `{"x": [...], "agent": 0}` as JSON on its standard input. In its arguments, folder and
    variables `{x}` stands for all values with commas between them, `{agent}` for the number of the
    agent, and the name of a parameter in braces for its value. The name of the program may have
    `{agent}` in it.

    Args:
        command: program and arguments.
        names: names of the parameters; `None` accepts `x0`, `x1`, ...
        timeout: seconds for an answer, or `None`.
        cwd: folder that it is started in; that of this process by default.
        env: variables of its environment besides those of this process.

    Raises:
        ProblemError: no such program, or an unknown placeholder.
    """

    def __init__(
        self,
        command: Any,
        names: Sequence[str] | None = None,
        timeout: int | float | None = None,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        texts = isinstance(command, list | tuple) and all(isinstance(c, str) for c in command)
        if not texts or not command or not command[0]:
            raise ProblemError(_no_command(command))
        program = command[0]
        if AGENT not in program:
            program = _found(program)
        elif "/" in program:  # which of them are there is looked at in `check`
            program = str(Path(program).absolute())
        self.command = (program, *command[1:])
        self._names, self._timeout = names, timeout
        self._folder = None if cwd is None else str(Path(cwd).absolute())
        self._variables = dict(env or {})
        self._running: subprocess.Popen[bytes] | None = None
        filled = [*command[1:], self._folder or "", *self._variables.values()]
        for name in {name for each in filled for name in _PLACEHOLDER.findall(each)}:
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
            folder = self._folder and _PLACEHOLDER.sub(value, self._folder)
            own = {name: _PLACEHOLDER.sub(value, each) for name, each in self._variables.items()}
        except KeyError as error:
            raise Unanswered(
                f"has no parameter {error.args[0]!r} for its command: there are {len(x)}",
                "Correct the placeholder, or x0",
                chance=False,
            ) from None
        program = of_agent(self.command[0], agent)
        try:
            process = self._running = subprocess.Popen(
                [program, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                cwd=folder,
                env={**os.environ, **own},
            )
        except OSError as error:
            where = f" in {folder}" if folder else ""
            raise Unanswered(
                f"could not be started{where}: {error.strerror}",
                f"Start {program} by hand to see why",
            ) from error
        try:
            asked = json.dumps({"x": x, "agent": agent})
            said, complaint = heard(process, asked.encode(), self._timeout)
        finally:
            self._running = None
        if process.returncode:
            raise Unanswered(f"ended {ended(process.returncode)}", "Correct the program", complaint)
        try:
            return float(_last(said))
        except ValueError:
            printed = f"{_last(said)!r:.60} as its last line" if said.strip() else "nothing"
            raise Unanswered(
                f"printed {printed} instead of one number",
                "Let the program print the cost as the last line of its standard output",
                complaint,
                chance=False,
            ) from None

    def folder(self, agent: int) -> Path | None:
        """The folder that the program is started in for an agent, if there is one of its own."""
        return None if self._folder is None else Path(of_agent(self._folder, agent))

    def named(self, agent: int) -> list[str]:
        """The command with the number of an agent in it, so that it names that agent's files."""
        return [of_agent(each, agent) for each in self.command]

    def check(self, agent: int) -> None:
        """Refuse a program or a folder of an agent that is not there.

        Raises:
            ProblemError: no such program or folder.
        """
        _found(of_agent(self.command[0], agent))
        folder = self.folder(agent)
        if folder is not None and not folder.is_dir():
            raise ProblemError(f"cwd: there is no folder {folder} for agent {agent}")

    def begin(self) -> None:
        """A program is started for every evaluation."""

    def stop(self) -> None:
        """End the program, if it runs, from any thread."""
        process = self._running
        if process is not None:
            end(process)

    def close(self) -> None:
        """Nothing is left of a program that has ended."""

    def _known(self, name: str) -> bool:
        if self._names is None:
            return re.fullmatch(r"x\d+", name) is not None
        return name in self._names


def _found(name: str) -> str:
    """The absolute path of a program: the working directory may change.

    Raises:
        ProblemError: no such program.
    """
    found = shutil.which(name)
    if found is None:
        raise ProblemError(
            f"command: there is no program {name!r} that can be run; give its path, and make the "
            "file executable, or name its interpreter first: ['python', 'simulate.py']"
        )
    return str(Path(found).absolute())


def _no_command(command: Any) -> str:
    """What to write instead of what was given as a command."""
    if isinstance(command, str) and command.strip():
        with contextlib.suppress(ValueError):  # a quote that nothing closes
            parts = shlex.split(command)
            return f"command={checks.shown(command)} must be a list of texts: {parts!r}"
    if isinstance(command, list | tuple):
        bad = next((each for each in command if not isinstance(each, str)), None)
        if isinstance(bad, list | tuple):
            return (
                f"command holds {checks.shown(bad)}, and there is one command for all agents; "
                "write {agent} where they differ, as in ['plants/{agent}/simulate'], or give each "
                "a folder with its own files, cwd='plants/{agent}'"
            )
        if bad is not None:
            return f"command holds {checks.shown(bad)}, which is no text; write {str(bad)!r}"
    return (
        f"command is {checks.shown(command)}; give a list of texts, such as "
        "['./simulate', '--fast']"
    )


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""
