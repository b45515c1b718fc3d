"""The work of a sweep: some of the runs of a cell, batched.

A chunk is made of batches of one width, which depends on the cell alone. The last
bits of a run's answer depend on the number of runs in its batch, so nothing else may decide that:
the runs have the same numbers wherever a chunk is run, and however long it is.
"""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from tacit._engine.compiled import lay_out
from tacit._engine.contract import contract
from tacit._engine.doubts import cause_of_rise
from tacit._engine.ends import value_at
from tacit._engine.keys import trial_key
from tacit._engine.runner import run
from tacit._engine.shortened import shortened
from tacit._engine.simulate import simulate
from tacit._jobs.store import digest_of
from tacit.errors import ConfigError
from tacit.method.answer import Answer
from tacit.method.stated import prepared
from tacit.problem.boxes import BlackBox
from tacit.problem.problem import Problem
from tacit.problem.reference import Reference
from tacit.problem.scores import base_scores, scores, share_kept
from tacit.study.own_code import code_of, metrics
from tacit.study.parts import installed
from tacit.study.read import check_document
from tacit.study.run import Assembled, assemble, targets
from tacit.sweep.intervals import compared


def chunk(
    study: dict[str, Any],
    width: int,
    first: int,
    batches: int,
    data: str | None = None,
    labels: str | None = None,
    parts: dict[str, str] | None = None,
    code: str = "",
    folder: str = "",
) -> dict[str, Any]:
    """Run consecutive trials of a cell, and return how each of them ended.

    Args:
        study: study of the cell, as a document.
        width: number of runs per batch, at least 1.
        first: number of the first trial; run `i` has the key of trial `first + i` of the seed.
        batches: number of batches, run one after the other.
        data: file of the records, if the study has one.
        labels: file of their labels, if the study has one.
        parts: version and digest of each third-party package that the study uses parts of.
        code: digest of the metrics and simulators that the study names; empty for none.
        folder: folder from which their names start.

    Raises:
        ConfigError: such a package or code is not here, or is a different one.
        RuntimeFailure: a file of the records cannot be read.

    Returns:
        `finished`: for every run, whether it stayed finite; `measured`: name to one number per run,
        taken at the end, from the last finite state of a run that diverged; `rose`: for every run,
        whether its objective is larger than at the start, where that is measured, and `cause`, why
        it may be; `shortened`: what the clip shortens in the first trial of the cell, and of which
        share of the records.
    """
    contents = tuple(digest_of(Path(each)) for each in (data, labels) if each is not None)
    ready = _cell(json.dumps(study), data, labels, folder, contents)
    cell, reference = ready.assembled, ready.reference
    here = installed(cell.source.foreign)
    if here != (parts or {}):
        raise ConfigError(
            f"this process has {here or 'nothing'} where the sweep was planned with {parts}; "
            "install the same packages wherever the sweep runs"
        )
    if code != code_of(cell.source, cell.problem):
        raise ConfigError(
            "the metrics or simulators of the study differ from those that the sweep was planned "
            "with; start it again, and have the same files wherever it runs"
        )
    functions = metrics(cell.source)
    settings = cell.source.study.run
    objective: Any = cell.problem.agent(0)
    held = cell.held_out
    finished: list[bool] = []
    measured: dict[str, list[float]] = {}
    rose: list[bool] = []
    cut: tuple[str, float] | None = None
    with cell.source.blamed(), jax.enable_x64(settings.precision == "float64"):
        agreed = contract(
            cell.problem,
            cell.network,
            prepared(cell.method, cell.problem, cell.network),
            rounds=settings.rounds,
            seed=settings.shared_seed,
            trials=width,
        )
        solution = None if reference is None else jnp.asarray(reference.solution)
        plan, _ = lay_out(
            agreed,
            cell.problem,
            reference=solution,
            divergence=settings.divergence,
            keep=bool(functions),
        )
        for batch in range(batches):
            trials = first + batch * width + jnp.arange(width)
            roots = jax.vmap(lambda trial: trial_key(settings.shared_seed, trial))(trials)
            found = simulate(
                plan,
                roots,
                rounds=settings.rounds,
                record=[settings.rounds],
                exact=settings.exact,
                metrics=functions,
            )
            if first == batch == 0:
                cut = shortened(cell.problem, cell.method, found.answers[0])
            finished += (found.diverged < 0).tolist()
            if "objective" in found.measured:
                begun, *_, ended = found.measured["objective"]
                rose += (ended > begun).tolist()
            last = {name: values[-1].tolist() for name, values in found.measured.items()}
            if ready.exact is not None:
                told = [agreed.method.answer(x, agreed) for x in found.answers.mean(axis=1)]
                each = [compared(answer, ready.exact) for answer in told]
                last = {name: [row[name] for row in each] for name in each[0]}
            costs = isinstance(cell.problem, Problem) and cell.problem
            if costs and isinstance(costs.objectives, BlackBox) and "objective" not in last:
                last["objective"] = [value_at(costs, x) for x in found.answers.mean(axis=1)]
            if reference is not None and "objective" in last:
                last["objective_gap"] = [value - reference.value for value in last["objective"]]
            if held is not None:
                answers = found.answers.mean(axis=1)
                rows = [scores(objective.loss, held.features, held.targets, x) for x in answers]
                last |= {name: [row[name] for row in rows] for name in rows[0]}
                if ready.yardstick is not None:
                    last["kept"] = [ready.kept(row["loss"]) for row in rows]
            for name, values in last.items():
                measured.setdefault(name, []).extend(values)
    answer: dict[str, Any] = {"finished": finished, "measured": measured, "shortened": cut}
    if rose:
        answer |= {"rose": rose, "cause": cause_of_rise(agreed.table, settings.rounds)}
    return answer


@dataclass(frozen=True, eq=False)
class Ready:
    """A cell, ready to run.

    Attributes:
        assembled: study of the cell.
        reference: the pooled fit, if the study asks for it.
        yardstick: losses of the pooled fit and of the base rate on held-out records, if the study
            asks for both.
        exact: answer without noise, if the study is of statistics.
    """

    assembled: Assembled
    reference: Reference | None
    yardstick: tuple[float, float] | None = None
    exact: Answer | None = None

    def kept(self, loss: float) -> float:
        """Share of the pooled fit's gain over the base rate; NaN where it gains nothing."""
        assert self.yardstick is not None
        share = share_kept(loss, *self.yardstick, higher=False)
        return math.nan if share is None else share

    @classmethod
    def of(cls, assembled: Assembled, reference: Reference | None) -> Ready:
        """The cell with the losses of the pooled fit and of the base rate."""
        held = assembled.held_out
        if held is None or reference is None:
            return cls(assembled, reference)
        loss: Any = assembled.problem.agent(0)
        pooled = scores(loss.loss, held.features, held.targets, reference.solution)["loss"]
        base = base_scores(loss.loss, targets(assembled.problem), held.targets)["loss"]
        return cls(assembled, reference, (pooled, base))


_last: list[Ready] = []
"""The cell that was made last in this process."""


@functools.lru_cache(maxsize=4)
def _cell(
    study: str, data: str | None, labels: str | None, folder: str, contents: tuple[str, ...]
) -> Ready:
    """A cell, built once for all its chunks; cells share records and pooled fit where they can.

    The digests of the files are arguments, so that a cell of other contents is another one.
    """
    document = json.loads(study)
    places = {"path": data, "labels": labels}
    if data is not None:
        document["data"] |= {key: place for key, place in places.items() if place is not None}
    source = check_document(document, name="the study of a cell", folder=Path(folder))
    like = _last[0] if _last else None
    assembled = assemble(source, like=None if like is None else like.assembled)
    same = like if like is not None and like.assembled.problem is assembled.problem else None
    reference = None
    if source.study.run.compare and isinstance(assembled.problem, Problem):
        reference = None if same is None else same.reference
        reference = assembled.problem.reference() if reference is None else reference
    ready = Ready.of(assembled, reference)
    if source.statistics:
        shared = same is not None and _unbudgeted(same.assembled) == _unbudgeted(assembled)
        ready = replace(ready, exact=same.exact if same and shared else _exact(assembled))
    _last[:] = [ready]
    return ready


def _unbudgeted(assembled: Assembled) -> Any:
    """A study without what its answer without noise does not depend on."""
    return assembled.source.study.model_copy(update={"privacy": None})


def _exact(assembled: Assembled) -> Answer | None:
    """The answer of a study of statistics without noise."""
    method: Any = assembled.method
    bare = replace(method, privacy=None)
    found = run(assembled.problem, assembled.network, bare, rounds=bare.only_rounds, seed=0)
    return found.answer
