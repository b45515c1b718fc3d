"""The plain Python side of a black box: calls, their count, and the first error."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import ArrayLike, Bool, Float, Int

from tacit.errors import OracleError
from tacit.escape import one_line
from tacit.problem.answers import (
    check_function,
    complaint,
    not_finite,
    place,
    unanswered,
)
from tacit.problem.evaluation import PLAIN, Evaluation
from tacit.problem.processes import Unanswered, correction
from tacit.problem.stored import Evaluations
from tacit.problem.takes import check_takes
from tacit.problem.tally import Seen, Tally

NOBODY = -1
"""The agent of a point at which nothing is queried: its values are 0."""


@dataclass(frozen=True, eq=False)
class _Job:
    """One call: the points of one agent, and their rows in the batch.

    Points of one group belong to one answer, which is 0 as soon as one of them is skipped.
    """

    agent: int
    group: int
    rows: Int[np.ndarray, " m"]
    points: Float[np.ndarray, "m p"]


@dataclass(frozen=True, eq=False)
class _Outcome:
    """Values of a call, or its last error, after a number of tries; neither if it was spared."""

    values: Float[np.ndarray, "m n"] | None
    error: BaseException | None
    tries: int


class Host:
    """Calls a user's function for compiled code; compared by identity, safe between threads.

    All points of a call from compiled code (every agent's, in every direction and trial) are
    evaluated together: one after another, or by the workers of `evaluation`.

    Args:
        function: `(x, own) -> value`, or `(points, own) -> values` when `batched`; `None` for the
            program of `evaluation`.
        own: second argument of the function, for every agent.
        counts: number of values per call, for every agent; `None` for a single number.
        batched: whether the function takes many points per call.
        width: number of values returned, padded with 0; the largest count if 0.
        evaluation: where the function is called, and what happens when a call fails.

    Raises:
        ProblemError: the function cannot be called.
    """

    def __init__(
        self,
        function: Any,
        own: tuple[Any, ...],
        counts: tuple[int, ...] | None,
        batched: bool,
        width: int = 0,
        evaluation: Evaluation = PLAIN,
    ) -> None:
        if evaluation.command is None:
            check_function(function, counts is None)
            check_takes(
                "the black box",
                function,
                **(
                    {"points": "an array, shape (m, p)"}
                    if batched
                    else {"x": "a point, shape (p,)"}
                ),
                **(
                    {"agent": "the number of the agent, from 0"}
                    if counts is None
                    else {"records": "the records of the agent"}
                ),
            )
        self.evaluation = evaluation
        self._function = function
        self._own = own
        self._counts = counts
        self._batched = batched
        self._width = width or max(counts or (1,))
        self._calls = np.zeros(len(own), dtype=np.int64)
        self._looked: dict[int, Seen] = {}
        self._names: tuple[str, ...] = ()
        self._inside = False
        self.tally = Tally.of(len(own), self._looked)
        self._given_up = set[int]()
        self._asked = self._answered = 0
        self._error: BaseException | None = None
        self._lock = threading.RLock()
        self._crew = evaluation.crew(function, own)
        if self._crew is not None:
            weakref.finalize(self, self._crew.close)
        self._stored = evaluation.stored(function, own)
        if self._stored is not None:
            weakref.finalize(self, self._stored.close)

    def __repr__(self) -> str:
        name = getattr(self._function, "__name__", type(self._function).__name__)
        of = "a program" if self.evaluation.command is not None else name
        return f"<Host of {of} for {len(self._own)} agents>"

    def evaluated(self, how: Evaluation) -> Host:
        """The same calls, made in another way."""
        host = Host(self._function, self._own, self._counts, self._batched, self._width, how)
        host.name(self._names)
        return host

    def name(self, names: Sequence[str]) -> None:
        """Call agents by these names in errors; "agent 0" and so on where there are none."""
        self._names = tuple(names)

    def who(self, agent: int) -> str:
        """Name of an agent in errors."""
        return self._names[agent] if self._names else f"agent {agent}"

    def beside(self, own: tuple[Any, ...], counts: tuple[int, ...]) -> Host:
        """Calls of the same function with other second arguments, none of which is stored.

        Args:
            own: second argument of the function, for every agent.
            counts: number of values per call, for every agent.
        """
        how = self.evaluation
        how = replace(how, cache=None, progress=None, workers=how.workers and 1)
        return Host(self._function, own, counts, self._batched, evaluation=how)

    def own(self, agent: int) -> Any:
        """Second argument of the function for an agent."""
        return self._own[agent]

    @property
    def calls(self) -> Int[np.ndarray, " agents"]:
        """Number of points at which the function was evaluated, for every agent."""
        with self._lock:
            return self._calls.copy()

    def recount(self) -> None:
        """Begin a new `tally`: what became of evaluations from here on."""
        self.tally = Tally.of(len(self._own), self._looked)

    def raise_pending(self) -> None:
        """Raise the first error since the last call, if there was one, and forget it."""
        with self._lock:
            error, self._error = self._error, None
        if error is not None:
            raise error

    def interrupt(self) -> bool:
        """Evaluate nothing more until the next `raise_pending`; from any thread.

        Returns:
            Whether that is so already: no function runs in this process, which nothing could end.
        """
        self._error = self._error or KeyboardInterrupt()
        if self._crew is not None:
            self._crew.stop()
        return not self._inside

    def evaluate(
        self, points: ArrayLike, agents: ArrayLike, *, fresh: bool = False
    ) -> Float[np.ndarray, "*batch n"]:
        """All values of a batch.

        Args:
            points: float64, shape `(*batch, p)`.
            agents: shape `(*batch,)`, `NOBODY` where nothing is queried; axes of `points` and
                `agents` broadcast.
            fresh: whether stored evaluations are neither used nor made.
        """
        dimension = np.shape(points)[-1]
        batch = np.broadcast_shapes(np.shape(points)[:-1], np.shape(agents))
        x = np.broadcast_to(points, (*batch, dimension)).reshape(-1, dimension)
        owners = np.broadcast_to(agents, batch).reshape(-1)
        values = np.zeros((len(owners), self._width))
        # A program that queries two boxes at once calls from two threads; user code sees one.
        with self._lock:
            self._fill(values, x, owners, self._groups(batch, np.shape(agents)), fresh)
        return values.reshape(*batch, self._width)

    @property
    def elsewhere(self) -> bool:
        """Whether evaluations are made in other processes."""
        return self._crew is not None

    def begin(self) -> None:
        """Start the workers, so that they are ready when the first evaluation is asked for."""
        if self._crew is not None:
            self._crew.begin()

    def fail(self, error: BaseException) -> None:
        """Evaluate nothing more, and raise this at the next `raise_pending`."""
        self._error = self._error or error

    def twice(
        self,
        point: Float[np.ndarray, " p"],
        agents: Sequence[int],
        began: Callable[[], object] = lambda: None,
    ) -> dict[int, tuple[Any, Any]]:
        """The values of two evaluations at one point, by agent; none where one of them failed.

        They are not counted, and stored evaluations are neither used nor made. What is answered at
        the same point later is compared with the first of them, in the tally.

        Args:
            point: shape `(p,)`.
            agents: who is asked.
            began: called once all other evaluations wait for these.
        """
        rows, at = np.zeros(1, dtype=int), np.asarray(point, dtype=np.float64)[None]
        found: dict[int, list[Any]] = {agent: [] for agent in agents}
        with self._lock:
            began()
            self._given_up = set()
            jobs = [_Job(agent, 2 * agent + k, rows, at) for agent in agents for k in (0, 1)]
            for job, outcome in self._outcomes(jobs):
                if outcome.values is not None:
                    found[job.agent].append(outcome.values[0])
                    self._looked.setdefault(job.agent, (at[0].copy(), outcome.values[0]))
        return {agent: (each[0], each[1]) for agent, each in found.items() if len(each) == 2}

    def _fill(
        self,
        values: Float[np.ndarray, "m n"],
        x: Float[np.ndarray, "m p"],
        owners: Int[np.ndarray, " m"],
        groups: Int[np.ndarray, " m"],
        fresh: bool,
    ) -> None:
        # A point that is not finite is unused, or belongs to a run that diverged: not an error of
        # the function.
        usable = np.isfinite(x).all(axis=1) & (owners != NOBODY)
        values[owners != NOBODY] = np.nan
        self._asked += int(np.sum(usable))
        self._given_up = set()
        stored = None if fresh else self._stored
        if stored is not None:
            usable &= ~self._found(stored, values, x, owners, groups, usable)
        jobs: list[_Job] = []
        for agent in np.unique(owners[usable]):
            rows = np.flatnonzero(usable & (owners == agent))
            for some in [rows] if self._batched else rows[:, None]:
                jobs.append(_Job(int(agent), int(groups[some[0]]), some, x[some]))
        try:
            for job, outcome in self._outcomes(jobs):
                if stored is not None:
                    self._keep(stored, job, outcome)
                self._note(job, outcome)
                if outcome.values is not None:
                    width = outcome.values.shape[1]
                    values[job.rows, :width], values[job.rows, width:] = outcome.values, 0.0
        except BaseException as error:
            # An interrupt is not the function's fault, and ends the run as it is.
            self._error = self._error or error

    def _groups(self, batch: tuple[int, ...], agents: tuple[int, ...]) -> Int[np.ndarray, " m"]:
        """The group of every point: the points along the last axis, where all are one agent's."""
        numbers = np.arange(int(np.prod(batch)))
        if self._batched or not numbers.size or agents[-1:] not in ((), (1,)):
            return numbers
        return numbers // int(np.prod(batch[-1:]))

    def _keep(self, stored: Evaluations, job: _Job, outcome: _Outcome) -> None:
        if outcome.values is not None:
            stored.keep(job.agent, job.points, outcome.values)
        elif self._skips(outcome) and self._error is None:  # not what an interrupt has ended
            stored.keep_failure(job.agent, job.points, one_line(str(outcome.error)))

    def _found(
        self,
        stored: Evaluations,
        values: Float[np.ndarray, "m n"],
        x: Float[np.ndarray, "m p"],
        owners: Int[np.ndarray, " m"],
        groups: Int[np.ndarray, " m"],
        usable: Bool[np.ndarray, " m"],
    ) -> Bool[np.ndarray, " m"]:
        """Fill in the values of points that were evaluated or skipped before; which these are."""
        skipping = self.evaluation.on_failure == "skip"
        found = np.zeros(len(owners), dtype=bool)
        for row in np.flatnonzero(usable):
            agent = int(owners[row])
            known = stored.find(agent, x[row], self._width_of(agent))
            if known is not None:
                values[row], found[row] = 0.0, True
                values[row, : len(known)] = known
                self._valued(agent, x[row][None], np.asarray(known)[None])
            elif skipping and (told := stored.failure(agent, x[row])) is not None:
                found[row] = True
                self._given_up.add(int(groups[row]))
                self.tally.skip(agent, 1, told)
        self._answered += int(np.sum(found))
        return found

    def _width_of(self, agent: int) -> int:
        return 1 if self._counts is None else self._counts[agent]

    def _outcomes(self, jobs: Sequence[_Job]) -> Iterator[tuple[_Job, _Outcome]]:
        """Jobs as they end; after an error none is begun."""
        if self._crew is not None:
            for job, outcome in self._crew.each(jobs, self._try):
                if outcome is not None:
                    yield job, outcome
            return
        for job in jobs:
            outcome = self._try(self._call, job)
            if outcome is not None:
                yield job, outcome

    def _note(self, job: _Job, outcome: _Outcome) -> None:
        many, how = len(job.rows), self.evaluation
        self._calls[job.agent] += many * outcome.tries
        self._answered += many
        if self._skips(outcome):
            self.tally.skip(job.agent, many, one_line(str(outcome.error)))
        if outcome.values is not None:
            self._valued(job.agent, job.points, outcome.values)
        if how.progress is not None:
            how.progress(self._answered, self._asked)

    def _valued(
        self, agent: int, points: Float[np.ndarray, "m p"], values: Float[np.ndarray, "m n"]
    ) -> None:
        self.tally.take(agent, points, values, self.evaluation.names)

    def _skips(self, outcome: _Outcome) -> bool:
        return isinstance(outcome.error, OracleError) and self.evaluation.on_failure == "skip"

    def _call(self, argument: Any, agent: int) -> Any:
        self._inside = True
        try:
            return self._function(argument, self._own[agent])
        finally:
            self._inside = False

    def _try(self, ask: Callable[[Any, int], Any], job: _Job) -> _Outcome | None:
        """Ask for the values of a job, again if need be; `None` after an error of another."""
        if job.group in self._given_up:
            return _Outcome(None, None, 0)
        outcome = None
        for tries in range(1, self.evaluation.attempts + 1):
            if self._error is not None:
                return outcome
            outcome = self._once(ask, job, tries)
            if not isinstance(outcome.error, OracleError):
                break
        if outcome is not None and isinstance(outcome.error, OracleError) and outcome.tries > 1:
            last = OracleError(f"{outcome.error}. This was the last of {outcome.tries} tries")
            last.__cause__ = outcome.error.__cause__
            outcome = replace(outcome, error=last)
        if outcome is not None and self._skips(outcome):
            self._given_up.add(job.group)
        elif outcome is not None:
            self._error = self._error or outcome.error  # so that no other job begins
        return outcome

    def _once(self, ask: Callable[[Any, int], Any], job: _Job, tries: int) -> _Outcome:
        points, agent, who = job.points, job.agent, self.who(job.agent)
        width = self._width_of(agent)
        argument = points.copy() if self._batched else points[0].copy()
        try:
            answer = np.asarray(ask(argument, agent))
        except Unanswered as error:
            found: BaseException | None = unanswered(
                error, who, points[0], self.evaluation.names, self.evaluation.attempts > 1
            )
            found.__cause__ = error.__cause__
        except (Exception, SystemExit) as error:
            # sys.exit(...) ends the function, as in a worker, and not the run
            found = OracleError(
                f"the black box of {who} raised {type(error).__name__}: {error}, at "
                f"{place(points[0], self.evaluation.names)}. {correction(str(error))}"
            )
            found.__cause__ = error
        except BaseException as error:
            found = error
        else:
            shape = (len(points),) if self._batched else ()
            shape = shape if self._counts is None else (*shape, width)
            found = complaint(answer, shape, who, points, self.evaluation.names)
            if found is None and self._counts is None:
                found = not_finite(answer, who, points, self.evaluation.names)
            if found is None:
                values = answer.astype(np.float64).reshape(len(points), width)
                return _Outcome(np.where(np.isfinite(values), values, np.nan), None, tries)
        return _Outcome(None, found, tries)
