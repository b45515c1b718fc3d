"""`tacit sweep`: a study with many settings and seeds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.cli.console import (
    INTERRUPTED,
    cores,
    emit,
    guarded,
    printing,
    progress,
    said_cores,
    say,
    table,
)
from tacit.errors import ConfigError

if TYPE_CHECKING:
    from tacit._jobs import Cluster
    from tacit.sweep import Grid, Sweep

FOLDER = Path("sweep")
"""Where the sweep goes by default."""

_SHOWN = 40
"""Maximum number of cells printed; the files have all."""


@dataclass(frozen=True)
class Asked:
    """The options, as they were given.

    Attributes:
        extra: arguments left over, which is a mistake.
        seeds: number of runs per cell.
        methods: lists of names, separated by commas.
        epsilon: lists of budgets, separated by commas.
        settings: keys, each with its values.
        grid: file of a grid, whose entries the options above replace.
        measure: name of the metric to plot.
        over: key of the horizontal axis.
        facet: key whose values have a panel each.
        workers: maximum number of processes.
        cluster: address of a scheduler.
        ca: path of the authority's certificate.
        certificate: path of the user's certificate.
        key: path of the user's private key.
        chunk: approximate number of runs per checkpoint.
        output: output directory.
        force: whether to replace the table and page of another sweep.
    """

    extra: Sequence[str] = ()
    seeds: int | None = None
    methods: Sequence[str] = ()
    epsilon: Sequence[str] = ()
    settings: Sequence[str] = ()
    grid: Path | None = None
    measure: str | None = None
    over: str | None = None
    facet: str | None = None
    workers: int | None = None
    cluster: str | None = None
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    chunk: int | None = None
    output: Path | None = None
    force: bool = False


def sweep_study(path: Path, asked: Asked, *, json: bool) -> int:
    """Sweep; see `tacit sweep --help`."""

    def command() -> int:
        folder = FOLDER if asked.output is None else asked.output
        if asked.extra:
            raise ConfigError(
                f"unexpected argument {asked.extra[0]!r}; separate the values of an option by "
                "commas, without spaces: --epsilon 0.5,1,2"
            )
        where = _where(asked)
        try:
            _run(path, folder, where, asked, json=json)
        except KeyboardInterrupt:
            print(
                f"interrupted; finished runs are stored in {folder}: rerun the command to resume",
                file=sys.stderr,
            )
            return INTERRUPTED
        return 0

    return guarded(command, as_json=json)


def _where(asked: Asked) -> int | Cluster:
    """Processes of this machine, or a cluster."""
    from tacit._jobs import Cluster

    certificates = (asked.ca, asked.certificate, asked.key)
    if asked.cluster is None:
        if any(each is not None for each in certificates):
            raise ConfigError("certificates need a cluster; give its address with --cluster")
        return cores(asked.workers, "--workers")
    if asked.workers is not None:
        raise ConfigError(
            f"--workers {asked.workers} applies to this machine, and --cluster has its own "
            "workers; give only one of them"
        )
    return Cluster(asked.cluster, *certificates)


def _grid(asked: Asked) -> Grid:
    from tacit.sweep.grid import Grid
    from tacit.sweep.written import parse_setting, parse_value, read_grid

    base = Grid() if asked.grid is None else read_grid(asked.grid)
    settings: dict[str, tuple[Any, ...]] = {}
    epsilon = tuple(map(parse_value, _parts("--epsilon", asked.epsilon)))
    if epsilon:
        settings["privacy.epsilon"] = epsilon
    for text in asked.settings:
        key, values = parse_setting(text)
        settings[key] = (*settings.get(key, ()), *values)
    methods = tuple(_parts("--method", asked.methods))
    return replace(
        base,
        seeds=base.seeds if asked.seeds is None else asked.seeds,
        methods=methods or base.methods,
        settings={**base.settings, **settings},
    )


def _parts(option: str, given: Sequence[str]) -> list[str]:
    """The values of an option that takes several with commas between."""
    from tacit.sweep.written import split

    for text in given:
        if "" in split(text):
            raise ConfigError(f"{option} {text!r} has an empty value; take out a comma, or fill it")
    return [each for text in given for each in split(text)]


def _run(path: Path, folder: Path, where: int | Cluster, asked: Asked, *, json: bool) -> None:
    from tacit.study.read import read_study
    from tacit.sweep import finish, plan, waiting
    from tacit.sweep.run import document
    from tacit.sweep.words import summary

    planned = plan(read_study(path), _grid(asked), asked.chunk)
    chunks = [piece for pieces in planned.pieces() for piece in pieces]
    count, seconds = len(chunks), sum(piece.seconds for piece in chunks)
    if not json:
        done = count - len(waiting(planned, folder))
        stored = f"; {done} of {count} chunks are stored already" if done else ""
        place = f"at most {said_cores(where)}" if isinstance(where, int) else where.address
        say(
            f"{summary(planned)}, on {place}{stored}. Safe to interrupt: rerun the same command to "
            "resume."
        )
        if not isinstance(where, int) and where.open:
            say(
                f"Records and results travel unencrypted to {where.address}; use tls:// and "
                "certificates for anything but your own machine."
            )
    with progress("runs", quiet=json) as bar:
        ended = finish(
            planned,
            folder,
            where=where,
            measure=asked.measure,
            over=asked.over,
            facet=asked.facet,
            force=asked.force,
            told=None
            if bar is None
            # what is stored counts as done; a price in seconds is shown as so many runs
            else lambda done, left: bar(
                round(planned.runs * (1.0 - (left - done) / seconds)), planned.runs
            ),
        )
    with printing(f"the results are in {folder}"):
        if json:
            emit({**document(ended), "output": str(folder)})
        else:
            _tell(ended)


def _tell(ended: Sweep) -> None:
    from tacit.report.canvas import without_figures
    from tacit.report.tables import heading, number
    from tacit.sweep import columns
    from tacit.sweep.intervals import PRINTED
    from tacit.sweep.table import in_words, withheld

    names = ended.plan.grid.names
    rows = columns.rows(ended.found, ended.measure, names=names)
    tops = ["Guarantee per run" if name == "guarantee" else heading(name) for name in rows[0]]
    table(tops, [list(map(number, row.values())) for row in rows[:_SHOWN]])
    if len(ended.found) > _SHOWN:
        say(f"{len(ended.found) - _SHOWN} more cells: {ended.path / 'cells.csv'}.")
    if alike := columns.alike(ended.found, names):
        say(alike)
    say(f"Metric: {in_words(ended.measure, ended.found)} ({ended.measure}).")
    if withheld(ended.found, ended.measure):
        say(f"Printed: {in_words(PRINTED)}; the metric is of those only.")
    say()
    for sentence in ended.warnings:
        say(sentence)
    say()
    say(f"Report: {ended.path / 'report.html'}{without_figures()}")
    say(f"One row per run: {ended.path / 'results.csv'}")
    say(f"The same table for a paper: {ended.path / 'cells.tex'}")
