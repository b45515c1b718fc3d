"""From a study file to a run, its comparison with a pooled fit, and back."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

import tacit._engine.runner
from tacit._engine.loop import Progress
from tacit._engine.result import Result
from tacit._engine.runner import Simulation
from tacit._jobs.store import digest_of
from tacit.arguments import checked, remedy
from tacit.data.schema import Altered, Feature
from tacit.errors import ConfigError, RuntimeFailure
from tacit.method.phase import AbstractMethod
from tacit.network.base import AbstractNetwork
from tacit.privacy.ledger import Ledger
from tacit.problem.boxes import CostBox
from tacit.problem.problem import Problem
from tacit.problem.reference import Reference
from tacit.problem.scores import base_scores, scores
from tacit.problem.simulator import LossBox
from tacit.problem.task import Task
from tacit.study.build import build_method, build_problem, called, check_privacy
from tacit.study.costs import build_costs
from tacit.study.networks import build_network
from tacit.study.outside import check_bounds
from tacit.study.own_code import metrics
from tacit.study.parts import installed
from tacit.study.read import Source
from tacit.study.tables import HeldOut, divide, held_out_by
from tacit.study.verdict import Verdict, judged

PRIVATE, POOLED, BASE = "agreed by the sites", "pooled, no privacy", "base rate"
"""The compared fits; the base rate is the best constant answer to the sites' records."""


@remedy("give the result of tacit.study.assemble(...)")
@dataclass(frozen=True, eq=False)
class Assembled:
    """Everything that a run needs.

    Attributes:
        source: study file.
        problem: problem that the sites minimise, or records that they describe.
        network: network between the sites.
        method: method of the study.
        held_out: held-out records that no site has, if any.
        notes: other changes made to the data.
        altered: what preparation changed in the records (simulation only), if that is known.
        taken: declarations of columns with what was taken from the records, assumed public.
        contents: digests of the files of the records, as they were read.
    """

    source: Source
    problem: Task
    network: AbstractNetwork
    method: AbstractMethod
    held_out: HeldOut | None
    notes: tuple[str, ...]
    altered: Altered | None = None
    taken: Mapping[str, Feature] = field(default_factory=dict[str, Feature])
    contents: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Assembled {self.source.name}: {self.problem!r}, {self.network!r}>"


@dataclass(frozen=True, eq=False)
class Outcome:
    """A run with the facts that only a simulation can know.

    Attributes:
        assembled: study that was run.
        result: result of the run.
        reference: fit of the pooled records without privacy, if requested (simulation only).
        scores: scores of each fit on the held-out records, if any (simulation only).
    """

    assembled: Assembled
    result: Result
    reference: Reference | None
    scores: Mapping[str, Mapping[str, float]]

    def __repr__(self) -> str:
        return f"<Outcome of {self.assembled.source.name}: {self.result!r}>"

    @property
    def study(self) -> Any:
        """The checked study file."""
        return self.assembled.source.study

    @property
    def verdict(self) -> Verdict:
        """Whether the answer is worth having."""
        return judged(self.result.answer, self.scores.get(PRIVATE), self.scores.get(BASE))

    def __str__(self) -> str:
        """The result and the verdict, in readable form."""
        return f"{self.result}\n{self.verdict}"


@checked(ConfigError)
def assemble(source: Source, like: Assembled | None = None) -> Assembled:
    """Build everything that a study describes; nothing runs yet.

    Args:
        source: study file.
        like: another study; if it has the same records, divided alike, and the same problem, these
            are reused instead of being read again. A file that has changed has other records.

    Raises:
        ConfigError: anything wrong with the study or its data, with the line of the file.
    """
    check_privacy(source)
    if source.statistics and source.study.run.hold_out:
        with source.section("run", "hold_out"):
            raise ConfigError(
                f"hold_out={source.study.run.hold_out} keeps records back for scores of a model, "
                "and none is fitted; leave it out"
            )
    contents = _contents(source)
    same = like is not None and like.contents == contents
    if like is not None and same and _records(like.source) == _records(source):
        _check_values(source, like.problem)
        names = like.problem.names
        return replace(
            like,
            source=source,
            network=build_network(source, names),
            method=build_method(source, names),
        )
    if source.costs:
        problem = build_costs(source)
        names = problem.names
        _check_values(source, problem)
        return Assembled(
            source=source,
            problem=problem,
            network=build_network(source, names),
            method=build_method(source, names),
            held_out=None,
            notes=(),
        )
    sites, prepared, held = divide(source)
    problem = called(source, build_problem(source, sites, len(prepared.levels)))
    _check_values(source, problem)
    method = build_method(source, sites.names)
    check_bounds(source, method, prepared.altered)
    return Assembled(
        source=source,
        problem=problem,
        network=build_network(source, sites.names),
        method=method,
        held_out=held,
        notes=prepared.notes,
        altered=prepared.altered,
        taken=prepared.taken,
        contents=contents,
    )


def _contents(source: Source) -> tuple[str, ...]:
    """Digests of the files of the records; empty if one cannot be read, which loading tells."""
    data = source.study.data
    files = () if data is None else (data.path, data.labels)
    with suppress(RuntimeFailure):
        return tuple(digest_of(source.folder / each) for each in files if each is not None)
    return ()


def _check_values(source: Source, problem: Task) -> None:
    """Refuse options that need a written-out loss, where only its values are available."""
    if not isinstance(problem.objectives, LossBox | CostBox):
        return
    name = "of a simulator"
    if isinstance(problem.objectives, LossBox):
        name = type(problem.objectives.loss).__name__
    if source.study.run.compare:
        with source.section("run", "compare"):
            raise ConfigError(
                f"the loss {name} gives values only, so there is no fit of the pooled records to "
                "compare with; write compare = false"
            )
    if source.study.run.hold_out:
        with source.section("run", "hold_out"):
            raise ConfigError(
                f"the loss {name} gives values only, and scores on records held out need one that "
                "is written out; leave hold_out out"
            )


def _records(source: Source) -> tuple[Any, ...]:
    """All sections of a study that determine its records and its problem."""
    study, run = source.study, source.study.run
    data = (source.folder, study.data, study.partition, study.problem)
    return (*data, run.hold_out, run.split_seed, held_out_by(source))


@checked(ConfigError)
def execute(
    assembled: Assembled, *, checkpoint: Path | None = None, progress: Progress | None = None
) -> Outcome:
    """Run a study.

    Args:
        assembled: result of `assemble`.
        checkpoint: file to save to and to resume from.
        progress: function called with (rounds done, rounds).

    Raises:
        ConfigError: a method, network and budget that do not match, with the line of the file.
        BudgetExceeded: the budget in the named ledger does not cover the run.
        RuntimeFailure: the run could not continue, or its ledger cannot be used.
    """
    source, problem = assembled.source, assembled.problem
    settings = source.study.run
    reference = None
    if settings.compare and isinstance(problem, Problem):
        with source.section("run", "compare"):
            reference = problem.reference()
    measured, privacy = metrics(source), source.study.privacy
    require = None if privacy is None else privacy.require
    # a ledger's secret makes the noise: another start repeats the run, and is not charged
    kept = privacy is not None and privacy.ledger is not None
    with source.blamed(), _ledger(source) as ledger:
        result = tacit._engine.runner.run(
            problem,
            assembled.network,
            assembled.method,
            rounds=settings.rounds,
            seed=settings.shared_seed if kept else settings.seed,
            runtime=Simulation(
                trials=settings.trials,
                exact=settings.exact,
                precision=settings.precision,
                divergence=settings.divergence,
            ),
            record=settings.record,
            reference=reference,
            require=require,
            checkpoint=checkpoint,
            ledger=ledger,
            dataset="" if privacy is None else privacy.dataset or "",
            owner=None if privacy is None else privacy.owner,
            progress=progress,
            metrics=measured,
        )
    parts = installed(assembled.source.foreign)
    result = replace(result, environment={**result.environment, **parts})
    return Outcome(assembled, result, reference, _scores(assembled, result, reference))


@contextmanager
def _ledger(source: Source) -> Generator[Ledger | None, None, None]:
    """The ledger that the study names, open for writing."""
    privacy = source.study.privacy
    if privacy is None or privacy.ledger is None:
        yield None
        return
    with Ledger.open(source.folder / privacy.ledger) as ledger:
        yield ledger


def _scores(
    assembled: Assembled, result: Result, reference: Reference | None
) -> dict[str, dict[str, float]]:
    if assembled.held_out is None:
        return {}
    objective: Any = assembled.problem.agent(0)
    held = assembled.held_out

    def of(solution: Any) -> dict[str, float]:
        return scores(objective.loss, held.features, held.targets, solution)

    trials = [of(answers.mean(axis=0)) for answers in result.solutions]
    found = {PRIVATE: {name: sum(t[name] for t in trials) / len(trials) for name in trials[0]}}
    if reference is not None:
        found[POOLED] = of(reference.solution)
    found[BASE] = base_scores(objective.loss, targets(assembled.problem), held.targets)
    return found


def targets(problem: Task) -> Float[np.ndarray, " n"]:
    """Targets of the records of all sites, as the loss encodes them (simulation only)."""
    objectives: Any = problem.objectives
    return np.asarray(objectives.targets)[np.asarray(objectives.mask) > 0]
