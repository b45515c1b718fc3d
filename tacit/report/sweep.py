"""The page of a sweep: a figure, a table of cells, and what the numbers do not say."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.report.assets import page, write_page
from tacit.report.canvas import blank, for_page
from tacit.report.data import Row
from tacit.report.figures import DASHES, SYMBOLS, finish, finite, plain
from tacit.report.reproduction import COLOURS
from tacit.report.tables import number, table

if TYPE_CHECKING:
    import plotly.graph_objects as go

HEIGHT = 380

MOST = 12
"""Maximum number of lines drawn: more cannot be told apart."""

CELLS = 500
"""Maximum number of cells in a table of the page; the files have all."""


@dataclass(frozen=True)
class Series:
    """The cells that differ only in their position on the horizontal axis.

    Attributes:
        name: name in the legend.
        x: positions: numbers, or names of cells.
        y: means, one per position.
        error: half the length of the interval around each mean; NaN for none.
        level: whether the only mean has no position on the axis and is drawn as a level line.
    """

    name: str
    x: Sequence[Any]
    y: Sequence[float]
    error: Sequence[float]
    level: bool = False


@dataclass(frozen=True)
class SweepData:
    """The contents of the page of a sweep.

    Attributes:
        title: title of the study.
        summary: size of the sweep, in a sentence.
        warnings: limits on what the numbers show, in sentences.
        measure: drawn measure, in words.
        axis: meaning of the horizontal axis; empty if every cell has its own position.
        logarithmic: whether the measure is drawn on a logarithmic axis, where it is positive.
        series: lines of the figure.
        cells: table of cells.
        others: tables of means of all other measures.
        study: text of the study file.
        notes: sentences of the study.
        environment: versions and machine.
    """

    title: str
    summary: str
    warnings: Sequence[str]
    measure: str
    axis: str
    logarithmic: bool
    series: Sequence[Series]
    cells: Sequence[Row]
    others: Mapping[str, Sequence[Row]]
    study: str
    notes: Sequence[str]
    environment: Mapping[str, str]


def write_sweep(path: str | os.PathLike[str], data: SweepData) -> Path:
    """Write the page of a sweep; an older file at `path` is replaced whole or not at all.

    Args:
        path: path of the HTML file; its directory must exist.
        data: contents of the page.

    Returns:
        The path written.

    Raises:
        RuntimeFailure: the file could not be written.
    """
    text = page(
        "sweep.html",
        {"cells-figure": for_page(draw, data)},
        data=data,
        cells=table(data.cells, CELLS),
        others={name: table(rows, CELLS) for name, rows in data.others.items()},
        caption=caption(data),
        alternative=alternative(data),
        height=HEIGHT,
        environment=data.environment,
    )
    return write_page(path, text)


def draw(data: SweepData) -> go.Figure:
    """Means with intervals over the axis, one line for all cells that differ in nothing else."""
    figure = blank()
    log = _logarithmic(data)
    places = [x for series in data.series for x in series.x if x is not None]
    for index, series in enumerate(data.series[:MOST]):
        colour, name = COLOURS[index % len(COLOURS)], plain(series.name)
        look: dict[str, Any] = {
            "name": name,
            "hovertemplate": f"%{{x}}<br>%{{y:.4g}}<extra>{name}</extra>",
        }
        line = {"color": colour, "width": 2, "dash": DASHES[index % len(DASHES)]}
        if series.level:
            x, y = sorted({min(places), max(places)}), [finite(series.y[0])] * 2
            figure.add_scatter(x=x, y=y[: len(x)], mode="lines", line=line, **look)
            continue
        figure.add_scatter(
            x=list(series.x),
            y=[finite(value) for value in series.y],
            error_y={
                "type": "data",
                "array": [finite(value) or 0.0 for value in series.error],
                "color": colour,
                "thickness": 1.5,
                "width": 4,
            },
            mode="lines+markers" if data.axis and len(series.x) > 1 else "markers",
            line=line,
            marker={"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 8, "color": colour},
            **look,
        )
    figure.update_xaxes(title=plain(data.axis))
    figure.update_yaxes(title=plain(data.measure))
    if log:
        figure.update_yaxes(type="log", exponentformat="power")
    if data.axis and _spread(places):
        figure.update_xaxes(type="log", tickvals=sorted(set(places)), ticktext=_ticks(places))
    return finish(figure, height=HEIGHT, legend=bool(data.axis) and len(data.series) > 1)


def caption(data: SweepData) -> str:
    """How to read the figure."""
    said = (
        "Means of the runs that stayed finite; bars are two standard errors to either side and "
        "show the spread due to noise only, not to the choice of records."
    )
    if any(series.level for series in data.series):
        said += " A level line marks cells to which the axis does not apply."
    if len(data.series) > MOST:
        said += f" The first {MOST} of {len(data.series)} lines are drawn; the table has all."
    return said


def alternative(data: SweepData) -> str:
    """The figure in words: where each line begins and ends."""
    said = [
        f"{series.name} from {number(finite(series.y[0]))} to {number(finite(series.y[-1]))}"
        for series in data.series[:MOST]
    ]
    over = f" over {data.axis}" if data.axis else ""
    return f"Mean {data.measure}{over}. {'; '.join(said)}."


def _logarithmic(data: SweepData) -> bool:
    """Whether means span more than a factor of ten, all of them positive."""
    values = [v for series in data.series for v in map(finite, series.y) if v is not None]
    return data.logarithmic and bool(values) and min(values) > 0 and _spread(values)


def _spread(values: Sequence[float]) -> bool:
    return min(values) > 0 and math.log10(max(values) / min(values)) >= 1.0


def _ticks(places: Sequence[float]) -> list[str]:
    return [number(place) for place in sorted(set(places))]
