"""From a study and a grid to cells, their guarantees and their pieces of work."""

from __future__ import annotations

import copy
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from tacit._jobs import Piece
from tacit.arguments import checked, remedy
from tacit.errors import ConfigError
from tacit.method.citation import papers_of
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.guarantees import Guarantees
from tacit.problem.scores import scores
from tacit.study import account
from tacit.study.model import Study
from tacit.study.own_code import code_of
from tacit.study.parts import installed, method
from tacit.study.read import Source, check_document
from tacit.study.run import Assembled, assemble
from tacit.sweep.cases import NAME, covered
from tacit.sweep.chunk import chunk
from tacit.sweep.grid import Grid
from tacit.sweep.intervals import ERROR, PRINTED, WIDTH

DEFAULT = "default"
"""What stands for an argument that the method sets by itself."""

_WIDTH, _RUNS = 100, 1000
"""Most runs of a batch, and of a chunk."""

_BATCH, _CHUNK = 1e9, 4e9
"""Multiplications of a batch and of a chunk: some seconds each."""

_NUMBERS = 2e7
"""Numbers that a batch may hold at a time, so that it fits in memory."""

_RATE = 2e8
"""Multiplications a second, roughly: for what is announced beforehand."""


@dataclass(frozen=True, eq=False)
class Cell:
    """One combination of settings.

    Attributes:
        settings: its particular values, by "method" or "section.key".
        study: its study as a document, without anything that changes no number.
        source: the same, checked.
        guarantee: guarantee of each of its runs alone, per owner.
        width: number of runs per batch.
        work: approximate number of multiplications per run.
        measures: names of what is measured at the end of each run.
        covered: keys that the name of its case stands for.
        papers: names of the papers that describe its method.
        code: digest of the metrics and simulators that the study names; empty for none.
    """

    settings: Mapping[str, Any]
    study: Mapping[str, Any]
    source: Source
    guarantee: Guarantees
    width: int
    work: float
    measures: frozenset[str]
    covered: frozenset[str] = frozenset()
    papers: tuple[str, ...] = ()
    code: str = ""

    @property
    def worst(self) -> Guarantee:
        """The weakest owner's guarantee."""
        return self.guarantee.worst

    def value(self, key: str) -> Any:
        """The value of a setting in this cell, given by sweep, study or default.

        `None` where it does not apply, such as an argument that the method does not have.
        """
        if key in self.settings:
            return self.settings[key]
        section, _, rest = key.partition(".")
        given: Any = self.study
        for part in key.split("."):
            given = given.get(part) if isinstance(given, Mapping) else None
        if given is not None or section != "method":
            return given if given is not None else _default(self.source.study, key)
        arguments = {each.name: each for each in method(self.settings["method"]).parameters}
        if rest not in arguments:
            return None
        value = arguments[rest].default
        return DEFAULT if value is None or not isinstance(value, int | float | str) else value


@remedy("give the result of tacit.sweep.plan(...)")
@dataclass(frozen=True, eq=False)
class Plan:
    """A sweep before it runs.

    Attributes:
        source: the study that is varied.
        grid: settings that are varied.
        seeds: number of runs per cell.
        cells: cells in the order of the grid.
        inputs: files that hold the records, by the argument of a chunk.
        batches: number of batches per chunk, for every cell.
    """

    source: Source
    grid: Grid
    seeds: int
    cells: tuple[Cell, ...]
    inputs: Mapping[str, Path]
    batches: tuple[int, ...]

    @property
    def runs(self) -> int:
        """The number of runs of all cells."""
        return self.seeds * len(self.cells)

    def pieces(self) -> list[list[Piece]]:
        """The chunks of every cell, in order."""
        return [
            [
                _piece(cell, self.inputs, first, min(batches, count - first))
                for first in range(0, count, batches)
            ]
            for cell, batches in zip(self.cells, self.batches, strict=True)
            for count in [math.ceil(self.seeds / cell.width)]
        ]


@checked(ConfigError)
def plan(source: Source, grid: Grid, chunk_runs: int | None = None) -> Plan:
    """Check every cell of a sweep, and cut it into chunks; nothing runs yet.

    Args:
        source: a study file.
        grid: settings that are varied around it.
        chunk_runs: approximate number of runs that are done and stored at a time, at least 1; a few
            seconds' worth if `None`. It changes no number.

    Raises:
        ConfigError: a cell that cannot run, named by its settings, or a study with a ledger.
    """
    if chunk_runs is not None and chunk_runs < 1:
        raise ConfigError(f"chunk={chunk_runs!r} must be at least 1")
    _refuse_ledger(source)
    seeds = source.study.run.trials if grid.seeds is None else grid.seeds
    found: list[Cell] = []
    like: Assembled | None = None
    written = tomllib.loads(source.text)
    # a study of a regression may leave these out
    written.setdefault("method", {"name": dict(source.study.method)["name"]})
    written.setdefault("run", {})
    for settings, document in grid.cells(written):
        # every run has its own guarantee; what all of them cost together is reported separately
        document["run"].pop("trials", None)
        named = ", ".join(f"{key}={value!r}" for key, value in settings.items())
        cell = check_document(document, f"{source.name} with {named}", source.folder)
        _refuse_ledger(cell)
        like = assemble(cell, like=like)
        # a method without noise has no [privacy], and must not be a way around the study's own
        privacy = source.study.privacy if cell.study.privacy is None else cell.study.privacy
        required = None if privacy is None else privacy.require
        made = _cell(settings, document, cell, like, seeds, required)
        stands_for = covered(grid.cases, settings.get(NAME))
        if NAME in settings and len(grid.methods) < 2:
            stands_for |= {"method"}
        found.append(replace(made, covered=stands_for))
    data = source.study.data
    files = {} if data is None else {"data": data.path, "labels": data.labels}
    return Plan(
        source,
        grid,
        seeds,
        tuple(found),
        {key: (source.folder / path).resolve() for key, path in files.items() if path is not None},
        tuple(_batches(cell, chunk_runs) for cell in found),
    )


def _default(study: Study, key: str) -> Any:
    """The value of a key that a study leaves out, if it is a number, a text or true or false."""
    found: Any = study
    for part in key.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, int | float | str) else None


def _refuse_ledger(source: Source) -> None:
    privacy = source.study.privacy
    if privacy is None or privacy.ledger is None:
        return
    with source.section("privacy", "ledger"):
        raise ConfigError(
            f"ledger={privacy.ledger!r}: a ledger is charged for single runs that are published, "
            "and a sweep is many runs with a choice among them, which no charge covers; take "
            f"ledger and dataset out to sweep on public or synthetic {source.held.plural}, and put "
            "them back for the run itself"
        )


def _cell(
    settings: Mapping[str, Any],
    document: Mapping[str, Any],
    source: Source,
    assembled: Assembled,
    seeds: int,
    required: Literal["proved"] | None,
) -> Cell:
    stated = account(assembled).guarantee
    if required is not None:
        with source.section("privacy", "require"):
            stated.require(required)
    work = _work(assembled)
    numbers = float(np.sum(assembled.problem.counts)) * assembled.problem.dimension
    widest = max(1, int(min(_WIDTH, _BATCH / work, _NUMBERS / numbers)))
    # all batches of a cell have one width, so that it is compiled once
    width = math.ceil(seeds / math.ceil(seeds / widest))
    return Cell(
        settings,
        _bare(document),
        source,
        stated,
        width,
        work,
        _measures(assembled),
        papers=papers_of(assembled.method),
        code=code_of(source, assembled.problem),
    )


def _measures(assembled: Assembled) -> frozenset[str]:
    """What a chunk will measure; the answer zero is scored to find which scores exist."""
    if assembled.source.statistics:
        return frozenset({WIDTH, ERROR, PRINTED})
    found = {"consensus", "objective", *assembled.source.study.run.metrics}
    if assembled.source.study.run.compare:
        found |= {"distance", "objective_gap"}
    held, objective = assembled.held_out, cast(Any, assembled.problem.agent(0))
    if held is not None:
        zero = np.zeros(assembled.problem.dimension)
        found |= set(scores(objective.loss, held.features, held.targets, zero))
        if assembled.source.study.run.compare:
            found.add("kept")
    return frozenset(found)


def _work(assembled: Assembled) -> float:
    """The approximate number of multiplications of one run; at least one."""
    problem, rounds = assembled.problem, assembled.source.study.run.rounds
    points = sum(
        phase.repeat * phase.query.evaluations(problem.dimension) * len(phase.rounds.of(rounds))
        for phase in assembled.method.phases()
        if phase.query is not None
    )
    return max(1.0, float(np.sum(problem.counts)) * problem.dimension * points)


def _bare(document: Mapping[str, Any]) -> dict[str, Any]:
    """A study without what changes no number, so that such a change discards no answer."""
    study = copy.deepcopy(dict(document))
    for section, keys in _NUMBERLESS.items():
        table = study if not section else study.get(section, {})
        for key in keys:
            table.pop(key, None)
    return study


_NUMBERLESS = {
    "": ("title", "notes"),
    "run": ("trials", "output", "record"),
    "privacy": ("require",),
    # the files are inputs of the pieces
    "data": ("path", "labels"),
}


def _batches(cell: Cell, chunk_runs: int | None) -> int:
    """The number of batches in a chunk of a cell."""
    runs = min(_RUNS, _CHUNK / cell.work) if chunk_runs is None else chunk_runs
    return max(1, int(runs / cell.width))


def _piece(cell: Cell, inputs: Mapping[str, Path], first: int, batches: int) -> Piece:
    arguments: dict[str, Any] = {
        "study": cell.study,
        "width": cell.width,
        "first": first * cell.width,
        "batches": batches,
    }
    if cell.source.foreign:  # different code gives different answers
        arguments["parts"] = installed(cell.source.foreign)
    if cell.code:
        arguments |= {"code": cell.code, "folder": str(cell.source.folder.resolve())}
    return Piece(
        chunk,
        arguments,
        seconds=0.1 + batches * cell.width * cell.work / _RATE,
        inputs=inputs,
    )
