"""Costs of which each owner has a function or a program of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np

from tacit.problem.code_digest import digest, of_command
from tacit.problem.evaluation import Asked, Crew, Evaluation
from tacit.problem.processes import Function
from tacit.problem.program import Program
from tacit.problem.stored import Evaluations
from tacit.problem.takes import check_takes

_OWN = "costs of which each owner has code of its own"


@dataclass(frozen=True)
class Owned:
    """What evaluates one owner's cost: a function, or a program.

    Attributes:
        function: `(x, agent) -> float`, or `None`.
        command: program and its arguments, or `None`.
        cwd: folder that the program is started in.
        env: variables of its environment besides those of this process.
    """

    function: Callable[..., Any] | None = None
    command: Sequence[str] | None = None
    cwd: str | Path | None = None
    env: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Dispatch:
    """One function for all owners, which calls that of the agent.

    Attributes:
        functions: function of each owner; `None` for one that has a program.
    """

    functions: tuple[Callable[..., Any] | None, ...]

    def __post_init__(self) -> None:
        for agent, function in enumerate(self.functions):
            if function is not None:
                what = f"the black box of agent {agent}"
                check_takes(what, function, x="a point, shape (p,)", agent="the agent's number")

    def __call__(self, x: np.ndarray, agent: int) -> Any:
        """The agent's cost."""
        function = self.functions[agent]
        assert function is not None
        return function(x, agent)


@dataclass(frozen=True)
class Separate(Evaluation):
    """How costs are evaluated that have functions or programs of their own.

    Attributes:
        owners: what evaluates each owner's cost.
    """

    owners: tuple[Owned, ...] = ()

    @property
    def different(self) -> tuple[int, ...]:
        """Every agent, unless all have the same function or program."""
        alike = all(each == self.owners[0] for each in self.owners)
        return () if alike else tuple(range(len(self.owners)))

    def crew(self, function: Callable[..., Any] | None, own: Sequence[Any]) -> Crew | None:
        """Workers, each of which can evaluate every owner's cost."""
        if all(each.command is None for each in self.owners):
            return super().crew(function, own)
        self._worker(function, own).close()  # refused here, not in a run
        return Crew(lambda: self._worker(function, own), self.workers or 1)

    def stored(
        self, function: Callable[..., Any] | None, own: tuple[Any, ...]
    ) -> Evaluations | None:
        """The file of evaluations, if there is one."""
        if self.cache is None:
            return None
        # each owner's code stands beside its number
        return Evaluations(Path(self.cache), _OWN, self.code())

    def code(self) -> tuple[bytes, ...]:
        """A digest of each owner's code and of what it is started with."""
        return tuple(starmap(self._code, enumerate(self.owners)))

    def _worker(self, function: Callable[..., Any] | None, own: Sequence[Any]) -> _Each:
        programs = {
            agent: Program(each.command, self.names, self.timeout, each.cwd, each.env)
            for agent, each in enumerate(self.owners)
            if each.command is not None
        }
        for agent, program in programs.items():
            program.check(agent)
        functions = any(each.function is not None for each in self.owners)
        return _Each(programs, Function(function, own, self.timeout) if functions else None)

    def _code(self, agent: int, each: Owned) -> bytes:
        if each.command is None:
            return digest(each.function)
        program = Program(each.command, self.names, self.timeout, each.cwd, each.env)
        folder = program.folder(agent)
        return of_command(program.named(agent), folder) + digest(str(folder), dict(each.env or {}))


class _Each:
    """A worker that asks the program of an agent, or the one process with all functions."""

    def __init__(self, programs: Mapping[int, Program], functions: Function | None) -> None:
        self._programs, self._functions = programs, functions

    def __call__(self, argument: np.ndarray, agent: int) -> Any:
        """The answer of the agent's own code."""
        asked = self._programs.get(agent, self._functions)
        assert asked is not None
        return asked(argument, agent)

    def begin(self) -> None:
        """Start the process with all functions."""
        for each in self._all:
            each.begin()

    def stop(self) -> None:
        """End what is running."""
        for each in self._all:
            each.stop()

    def close(self) -> None:
        """End all processes."""
        for each in self._all:
            each.close()

    @property
    def _all(self) -> tuple[Asked, ...]:
        return (*self._programs.values(), *([self._functions] if self._functions else []))
