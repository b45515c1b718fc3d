"""How a black box is evaluated: where, how many at once, and what happens without an answer."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from tacit.arguments.answers import naming_progress
from tacit.errors import ProblemError
from tacit.problem.code_digest import of_command
from tacit.problem.processes import Function
from tacit.problem.program import AGENT, Program
from tacit.problem.progress import Shown
from tacit.problem.stored import Evaluations
from tacit.ranges import Range

Seconds: TypeAlias = Annotated[int | float, Range(above=0.0)]
"""A positive time."""

OnFailure: TypeAlias = Literal["retry", "skip", "stop"]
"""What happens when an evaluation fails."""

TRIES = 3
"""Evaluations of one point before `on_failure="retry"` stops, unless `tries` says otherwise."""

Progress: TypeAlias = Callable[[int, int], Any]
"""Function of the numbers of points evaluated and asked for so far."""

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")


@runtime_checkable
class Asked(Protocol):
    """A function elsewhere."""

    def __call__(self, argument: np.ndarray, agent: int) -> Any:
        """The answer."""
        ...

    def begin(self) -> None:
        """Get ready to answer, without waiting for it."""
        ...

    def stop(self) -> None:
        """End what it is doing, from any thread."""
        ...

    def close(self) -> Any:
        """Give back what it holds, while it does nothing."""
        ...


@dataclass(frozen=True)
class Evaluation:
    """How a function is evaluated; see `tacit.problem.black_box`.

    Attributes:
        command: external program and its arguments, in place of a function.
        names: names of the parameters for its placeholders.
        workers: processes at a time; `None` calls a function in this process.
        timeout: seconds for one call, or `None`.
        on_failure: what happens when a call fails.
        tries: calls at one point before it counts as failed, at least 1; `None` for 3 where
            `on_failure` is "retry", and 1 elsewhere.
        cache: file of evaluations, or `None`.
        progress: called after every evaluation.
        stochastic: whether values at one point differ, as declared.
        cwd: folder that the program is started in, or `None`.
        env: variables of the program's environment besides those of this process, or `None`.

    Raises:
        ProblemError: a timeout of a function that is called in this process, a folder or
            environment for a function, or one try where failures are to be repeated.
    """

    command: Sequence[str] | None = None
    names: Sequence[str] | None = None
    workers: int | None = None
    timeout: int | float | None = None
    on_failure: OnFailure = "stop"
    tries: int | None = None
    cache: str | Path | None = None
    progress: Progress | None = None
    stochastic: bool = False
    cwd: str | Path | None = None
    env: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None and self.command is None and self.workers is None:
            raise ProblemError(
                f"timeout={self.timeout:g}: a function that is called in this process cannot be "
                "stopped; write workers=1 to call it in another one"
            )
        if self.command is None and not (self.cwd is None and self.env is None):
            raise ProblemError(
                "cwd and env are for the program of command; a function sets its own (os.chdir, "
                "os.environ)"
            )
        if self.on_failure == "retry" and self.tries == 1:
            raise ProblemError(
                "tries=1: on_failure='retry' asks again, and the first try is one of them; write "
                "tries=2 or more, or on_failure='stop'"
            )

    @property
    def attempts(self) -> int:
        """Calls at one point before it counts as failed."""
        return self.tries or (TRIES if self.on_failure == "retry" else 1)

    @property
    def in_time(self) -> str:
        """The time limit and the tries within which an answer has to come, as words to append."""
        tries = f" in one of {self.attempts} tries" if self.attempts > 1 else ""
        return tries + ("" if self.timeout is None else f" within {self.timeout:g} seconds")

    @property
    def different(self) -> tuple[int, ...]:
        """The agents whose costs have code of their own; none where one function serves all."""
        return ()

    def unseen(self, private: str) -> str:
        """What a guarantee assumes of all that an evaluation shows besides its value.

        Args:
            private: what is protected, in the plural.
        """
        shown = ["how long evaluations take"]
        if self.timeout is not None:
            shown.append(f"which are stopped after {self.timeout:g} seconds")
        if self.on_failure == "skip":  # between sites an owner says itself how often it tries
            shown.append("which fail and are repeated or skipped")
        elif self.attempts > 1:
            shown.append("how often they are repeated")
        listed = " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
        return f"what others can see of {listed} tells nothing of the {private}"

    def stored(
        self, function: Callable[..., Any] | None, own: tuple[Any, ...]
    ) -> Evaluations | None:
        """The file of evaluations, if there is one.

        Raises:
            ProblemError: a file that cannot be used, or a function that cannot be compared.
        """
        if self.cache is None:
            return None
        if self.command is None:
            return Evaluations(Path(self.cache), function, own)
        program = self._program()
        several = any(AGENT in each for each in program.command)
        if several or self.cwd is not None or self.env is not None:
            # the files that a command names may be others for each agent
            folders = [program.folder(agent) for agent in range(len(own))]
            files = [of_command(program.named(k), folder) for k, folder in enumerate(folders)]
            places = [None if folder is None else str(folder) for folder in folders]
            variables = dict(self.env or {})
            own = tuple((*each, variables) for each in zip(own, places, files, strict=True))
        return Evaluations(Path(self.cache), list(program.command), own)

    def crew(self, function: Callable[..., Any] | None, own: Sequence[Any]) -> Crew | None:
        """Workers that take calls, or `None` where the function is called in this process.

        Raises:
            ProblemError: a program that cannot be run.
        """
        if self.command is not None:
            program = self._program()  # refused here, not in a run
            for agent in range(len(own)):
                program.check(agent)
            return Crew(lambda: self._program(program.command), self.workers or 1)
        if self.workers is None:
            return None
        Function(function, own, self.timeout)
        return Crew(lambda: Function(function, own, self.timeout), self.workers)

    def _program(self, command: Sequence[str] | None = None) -> Program:
        return Program(command or self.command, self.names, self.timeout, self.cwd, self.env)


def shown_to(progress: bool | Progress) -> Progress | None:
    """The function called after every evaluation, or `None`.

    Args:
        progress: as given to `tacit.problem.black_box`.
    """
    if isinstance(progress, bool):
        return Shown(_told, ending=False) if progress else None
    return naming_progress(progress, "points evaluated, points asked for", ProblemError)


def _told(done: int, asked: int) -> str:
    # what later rounds will ask for is not known
    return f"{done:,} evaluations made, {asked - done:,} waiting in this round"


PLAIN = Evaluation()
"""A function that is called in this process and has to answer."""


class Crew:
    """Workers that take jobs as they become free; one thread of this process waits for each.

    Args:
        make: function that makes a worker.
        size: number of workers.
    """

    def __init__(self, make: Callable[[], Asked], size: int) -> None:
        self._make, self._size = make, size
        self._threads: ThreadPoolExecutor | None = None
        self._free = queue.SimpleQueue[Asked]()
        self._all: list[Asked] = []
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Start all workers, which get ready while this process does something else."""
        with self._lock:
            for _ in range(self._size - len(self._all)):
                asked = self._make()
                self._all.append(asked)
                asked.begin()
                self._free.put(asked)

    def each(
        self, jobs: Sequence[Job], work: Callable[[Asked, Job], Outcome]
    ) -> Iterator[tuple[Job, Outcome]]:
        """Jobs with their outcomes, as they end.

        When the caller stops listening, waiting jobs are dropped and running ones are ended.

        Args:
            jobs: what there is to do.
            work: does a job with a worker, on a thread of its own; raises nothing.
        """
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._size, thread_name_prefix="tacit black box")
        futures = {self._threads.submit(self._one, work, job): job for job in jobs}
        done = False
        try:
            for future in as_completed(futures):
                if not future.cancelled():
                    yield futures[future], future.result()
            done = True
        finally:
            if not done:
                for future in futures:
                    future.cancel()
                self.stop()

    def stop(self) -> None:
        """End what the workers are doing."""
        with self._lock:
            for asked in self._all:
                asked.stop()

    def close(self) -> None:
        """End the workers."""
        self.stop()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        for asked in self._all:
            asked.close()

    def _one(self, work: Callable[[Asked, Job], Outcome], job: Job) -> Outcome:
        try:
            asked = self._free.get_nowait()
        except queue.Empty:
            asked = self._make()
            with self._lock:
                self._all.append(asked)
        try:
            return work(asked, job)
        finally:
            self._free.put(asked)
