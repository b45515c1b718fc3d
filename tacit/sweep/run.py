"""Running a sweep, and writing its table and its page."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit import checks
from tacit._engine.environment import environment
from tacit._jobs import Cluster, Piece, Store, Told, answers, name_of, run
from tacit.arguments import checked
from tacit.arguments.answers import naming_progress
from tacit.errors import ConfigError
from tacit.escape import cell
from tacit.method.citation import bibtex
from tacit.report.sweep import draw, write_sweep
from tacit.study._output.files import jsonable
from tacit.study.read import Source
from tacit.sweep import folder as directory
from tacit.sweep.caveats import warnings
from tacit.sweep.cells import Plan, plan
from tacit.sweep.grid import Grid
from tacit.sweep.latex import cells_table, check_measures, crossed_table
from tacit.sweep.page import check_keys, sweep_data
from tacit.sweep.table import Runs, cells_frame, check_measure, chosen, measures, runs_frame
from tacit.sweep.words import called

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

_START = 5.0
"""Seconds that a new process takes before it does anything: it loads and compiles all anew."""

_COLUMNS = 3
"""Maximum number of measures in the table that is written in LaTeX: more do not fit on a page."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """A sweep that has ended.

    Attributes:
        plan: cells and runs of the sweep.
        found: results of the runs of each cell.
        measure: name of the main measure.
        warnings: caveats about the numbers, in sentences.
        path: directory that holds all files.
        over: key of the horizontal axis of the page's plot, if it was given.
        facet: key whose values have a panel each there, if it was given.
    """

    plan: Plan
    found: tuple[Runs, ...]
    measure: str
    warnings: tuple[str, ...]
    path: Path
    over: str | None = None
    facet: str | None = None

    def runs(self) -> pd.DataFrame:
        """One row per run: cell, settings, seed and trial, what was measured, and its guarantee."""
        return runs_frame(self.plan, self.found)

    def cells(self) -> pd.DataFrame:
        """One row per cell: settings, runs, means with standard errors, and the guarantee."""
        return cells_frame(self.found)

    def __repr__(self) -> str:
        cells = "1 cell" if len(self.found) == 1 else f"{len(self.found):,} cells"
        return f"<Sweep of {cells} with {self.plan.seeds:,} runs each, {self.measure}: {self.path}>"

    def plot(
        self,
        measure: str | None = None,
        *,
        over: str | None = None,
        facet: str | None = None,
        across: int = 2,
        names: Mapping[str, str] | None = None,
    ) -> go.Figure:
        """Means with intervals of two standard errors to either side, as a Plotly figure.

        Args:
            measure: name of the measure; the main one if `None`.
            over: key of the horizontal axis, such as "privacy.epsilon" or "method"; the budget, or
                another number that varies, if `None`.
            facet: key whose values have a panel each; if `None`, one panel, or one that thins out
                many lines.
            across: number of panels side by side, at least 1.
            names: what to call methods and other values, by the words for them, such as
                `{"dpsg": "DPSG", "grid (rows 4)": "Grid"}`; those of the grid if `None`.

        Raises:
            ConfigError: what was not measured, or a key that was not varied, or a name of what is
                not there; the message lists those that exist.
        """
        chosen_measure = self.measure if measure is None else measure
        check_measures([chosen_measure], measures(self.found))
        check_keys(self.plan, over, facet)
        names = self._called(names)
        across = checks.whole("across", across, 1, ConfigError)
        page = sweep_data(self.plan, self.found, chosen_measure, over, facet, names)
        return draw(page, across)

    def to_latex(
        self,
        *measured: str,
        columns: str | None = None,
        names: Mapping[str, str] | None = None,
    ) -> str:
        r"""Means and standard errors as a table in LaTeX, for the booktabs package.

        Args:
            measured: names of the measures; the main one if none is given.
            columns: key whose values become columns, such as "privacy.epsilon", for one measure; if
                `None`, there is a row per cell. Both state epsilon and guarantee of a run.
            names: what to call methods and other values, as for `plot`.

        Raises:
            ConfigError: what was not measured, or a key that was not varied, or a name of what is
                not there; the message lists those that exist.
        """
        asked = list(measured) or [self.measure]
        check_measures(asked, measures(self.found))
        names = self._called(names)
        if columns is None:
            return cells_table(self.found, asked, names)
        check_keys(self.plan, columns=columns)
        if len(asked) > 1:
            raise ConfigError(
                f"columns={columns!r} shows one measure, and {len(asked)} are given; make a table "
                "of each"
            )
        return crossed_table(self.found, asked[0], columns, names)

    def _called(self, names: Mapping[str, str] | None) -> Mapping[str, str]:
        cells = [runs.cell for runs in self.found]
        return called(cells, self.plan.grid.names if names is None else names)


@checked(ConfigError)
def sweep(
    source: Source,
    grid: Grid,
    output: Path | str,
    *,
    where: int | Cluster = 1,
    chunk: int | None = None,
    measure: str | None = None,
    over: str | None = None,
    facet: str | None = None,
    force: bool = False,
    told: Told | None = None,
) -> Sweep:
    """Run a study in every cell of a grid, with many seeds each, and write one table and one page.

    Finished runs are stored in chunks in the output directory. Repeating the call does only what is
    missing, however the previous one ended. The numbers of every run do not depend on the number of
    processes or workers, nor on the length of the chunks.

    Args:
        source: a study file.
        grid: settings that are varied around it.
        output: directory of the sweep; created if it does not exist.
        where: number of processes at a time on this machine, at least 1 (none is started for a few
            seconds of work), or a Dask cluster. A script that asks for more than 1 must call this
            below `if __name__ == "__main__":`, since each process imports the script.
        chunk: approximate number of runs that are done and stored at a time; a few seconds' worth
            if `None`.
        measure: name of the measure that the page plots; if `None`, that of the stored page, or
            else chosen from what was measured.
        over: key of the horizontal axis of the page's plot, as for `Sweep.plot`; if over and facet
            are `None`, those of the stored page.
        facet: key whose values have a panel each there, as for `Sweep.plot`.
        force: whether table and page of another sweep in the directory may be replaced.
        told: progress, in announced seconds.

    Returns:
        The results of all runs.

    Raises:
        ConfigError: a cell that cannot run, a study with a ledger, a directory that holds something
            else, or a cluster that cannot be used.
        RuntimeFailure: processes die repeatedly, the cluster was lost, or a file cannot be
            written; finished runs are stored.
    """
    return finish(
        plan(source, grid, chunk),
        output,
        where=where,
        measure=measure,
        over=over,
        facet=facet,
        force=force,
        told=told,
    )


@checked(ConfigError)
def waiting(planned: Plan, output: Path | str) -> list[Piece]:
    """The chunks of a sweep that are not stored yet, in the order of the cells.

    Args:
        planned: the sweep.
        output: directory of the sweep.
    """
    store = Store(Path(output) / directory.PIECES)
    # in order, so that a process often finds the next piece in the same cell
    pieces = {name_of(piece): piece for chunks in planned.pieces() for piece in chunks}
    return [piece for piece in pieces.values() if store.get(piece) is None]


@checked(ConfigError)
def finish(
    planned: Plan,
    output: Path | str,
    *,
    where: int | Cluster = 1,
    measure: str | None = None,
    over: str | None = None,
    facet: str | None = None,
    force: bool = False,
    told: Told | None = None,
) -> Sweep:
    """Run what is missing of a planned sweep, and write its table and its page.

    Args:
        planned: sweep as `plan` returns it.
        output: directory of the sweep; created if it does not exist.
        where: as for `sweep`; so are the other arguments, the result and the errors.
    """
    folder = Path(output)
    if isinstance(where, int) and where < 1:
        raise ConfigError(f"where={where!r} must be at least 1")
    check_measure(planned, measure)
    check_keys(planned, over, facet)
    called(planned.cells, planned.grid.names)
    stored = directory.prepare(folder, planned, force=force)
    if measure is None:
        measure = stored.get("measure")
    if over is facet is None:
        over, facet = stored.get("over"), stored.get("facet")
    store = Store(folder / directory.PIECES)
    if told is not None:
        told = naming_progress(told, "seconds done, seconds in all", ConfigError, "told")
    cores = where if isinstance(where, int) else 0
    patience = _START * cores / (cores - 1) if cores > 1 else 0.0
    for _ in run(waiting(planned, folder), store, where, told, patience):
        pass
    found = tuple(
        Runs.of(cell, answers(pieces, store), planned.seeds)
        for cell, pieces in zip(planned.cells, planned.pieces(), strict=True)
    )
    said = tuple(warnings(planned, found))
    ended = Sweep(planned, found, chosen(found, measure), said, folder, over, facet)
    directory.guarded(folder, lambda: _write(ended))
    return ended


def _write(ended: Sweep) -> None:
    """Write the files of a sweep, each completely or not at all; `sweep.json` comes last."""
    folder, runs, cells = ended.path, ended.runs(), ended.cells()
    for name, rows in (("results.csv", runs), ("cells.csv", cells)):
        safe = rows.map(cell).rename(columns=cell)
        directory.whole(folder / name, functools.partial(safe.to_csv, index=False))
    # earlier versions wrote these rows as Parquet, too: another copy would grow old
    (folder / "results.parquet").unlink(missing_ok=True)
    named = list(dict.fromkeys([ended.measure, *measures(ended.found)]))
    text = ended.to_latex(*named[:_COLUMNS])
    directory.whole(folder / "cells.tex", lambda draft: draft.write_text(text, encoding="utf-8"))
    papers = bibtex(list(dict.fromkeys(p for runs in ended.found for p in runs.cell.papers)))
    directory.whole(
        folder / "references.bib", lambda draft: draft.write_text(papers, encoding="utf-8")
    )
    source = ended.plan.source
    directory.whole(
        folder / "study.toml", lambda draft: draft.write_text(source.text, encoding="utf-8")
    )
    directory.write_json(folder / "environment.json", environment())
    names = called(ended.plan.cells, ended.plan.grid.names)
    page = sweep_data(ended.plan, ended.found, ended.measure, ended.over, ended.facet, names)
    write_sweep(folder / "report.html", page)
    directory.write_json(folder / directory.DOCUMENT, document(ended))


def document(ended: Sweep) -> dict[str, Any]:
    """The contents of `sweep.json`: strict JSON."""
    found = {
        "format": directory.FORMAT,
        "complete": True,
        **directory.identity(ended.plan),
        "runs": ended.plan.runs,
        "diverged": sum(int((~runs.finished).sum()) for runs in ended.found),
        "measure": ended.measure,
        "over": ended.over,
        "facet": ended.facet,
        "warnings": list(ended.warnings),
        "covers": [],
        "cells": [
            {
                "settings": dict(runs.cell.settings),
                "finished": int(runs.finished.sum()),
                "mean": mean,
                "standard_error": error,
                "guarantee": runs.cell.worst.to_dict(),
            }
            for runs in ended.found
            for mean, error in [runs.mean(ended.measure)]
        ],
    }
    return jsonable(found)
