"""The page of a sweep: a figure, a table of cells, and what the numbers do not say."""

from __future__ import annotations

import itertools
import math
import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.report.assets import page, write_page
from tacit.report.canvas import blank, for_page
from tacit.report.data import Row
from tacit.report.figures import (
    DASHES,
    SYMBOLS,
    finish,
    finite,
    log_ticks,
    plain,
    positive,
)
from tacit.report.reproduction import COLOURS
from tacit.report.tables import number, table

if TYPE_CHECKING:
    import plotly.graph_objects as go

HEIGHT, PANEL = 380, 250
"""Height of a figure with one panel, and of each of several, in pixels."""

NARROW = 32
"""Maximum number of letters in a line of a legend or heading, so that a phone has room for it."""

NAMED = 12
"""Maximum number of lines described in words beside the figure; all are drawn."""

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
        facet: heading of the panel that it is drawn in; empty for every panel.
    """

    name: str
    x: Sequence[Any]
    y: Sequence[float]
    error: Sequence[float]
    level: bool = False
    facet: str = ""


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
        alike: what is the same in all of them, in sentences.
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
    alike: str
    others: Mapping[str, Sequence[Row]]
    study: str
    notes: Sequence[str]
    environment: Mapping[str, str]

    @property
    def facets(self) -> list[str]:
        """Headings of the panels; a single empty one if there are none."""
        return list(dict.fromkeys(each.facet for each in self.series if each.facet)) or [""]

    @property
    def names(self) -> list[str]:
        """Names of the lines; those of one name look the same in all panels."""
        return list(dict.fromkeys(each.name for each in self.series))


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
        height=height(data),
        environment=data.environment,
    )
    return write_page(path, text)


def height(data: SweepData, across: int = 1) -> int:
    """Height of the figure in pixels, with room for its legend."""
    rows = math.ceil(len(data.facets) / across)
    wide = sum(7 * min(len(name), NARROW) + 60 for name in data.names)
    more = sum(_wrapped(name, NARROW).count("<br>") for name in data.names)
    return (HEIGHT if rows == 1 else PANEL * rows) + 20 * (wide // (420 * across) + more)


def draw(data: SweepData, across: int = 1) -> go.Figure:
    """Means with intervals over the axis, one line for all cells that differ in nothing else.

    Args:
        data: contents of the page.
        across: number of panels side by side, if there are several.
    """
    facets = data.facets
    across = min(across, len(facets))
    rows, tall = math.ceil(len(facets) / across), height(data, across)
    figure = blank().set_subplots(
        rows=rows,
        cols=across,
        shared_xaxes=True,
        shared_yaxes=True,
        subplot_titles=[_wrapped(facet, NARROW) for facet in facets] if facets != [""] else None,
        vertical_spacing=min(0.3 / rows, 50 / tall),
        horizontal_spacing=0.03,
    )
    places = list(dict.fromkeys(x for each in data.series for x in each.x if x is not None))
    numbers = not any(isinstance(place, str) for place in places)
    legend = bool(data.axis) and len(data.names) > 1
    looks = {name: _look(name, index) for index, name in enumerate(data.names)}
    fresh = set(looks)
    for index, facet in enumerate(facets):
        at = {"row": index // across + 1, "col": index % across + 1}
        for each in data.series:
            if each.facet in ("", facet):
                look = looks[each.name] | {"showlegend": legend and each.name in fresh}
                fresh -= {each.name}
                _add(figure, each, look, places, joined=numbers and bool(data.axis), at=at)
    finish(figure, height=tall, legend=legend)
    if len(facets) > 1:
        figure.update_xaxes(matches="x")
        figure.update_yaxes(matches="y")
        figure.update_layout(xaxis_matches=None, yaxis_matches=None)  # which all others match
    figure.update_annotations(font_size=13)
    for index in range(len(facets) - across, len(facets)):  # the lowest panel of each column
        row, column = index // across + 1, index % across + 1
        figure.update_xaxes(title_text=plain(data.axis), showticklabels=True, row=row, col=column)
    room = tall - 140 if rows == 1 else (tall - 100) / rows - 40
    figure.update_yaxes(title_text=_wrapped(data.measure, int(room / 7)), col=1)
    if _logarithmic(data):
        drawn = [v for each in data.series for v in map(positive, each.y) if v is not None]
        figure.update_yaxes({"type": "log", **log_ticks(drawn)})
    if not numbers:  # beside each other at a place, with names that may have to be turned
        figure.update_layout(scattermode="group", scattergap=0.6)
        figure.update_xaxes(tickangle=None, categoryorder="array", categoryarray=places)
    elif data.axis and places:
        figure.update_xaxes(_ticks(places))
    if legend and len(facets) > 1:  # above the headings of the panels
        figure.update_layout(legend_y=1 + 26 / tall)
    return figure


def _look(name: str, index: int) -> dict[str, Any]:
    """Colour, dash and marker of a line, different for the first sixty."""
    colour = COLOURS[index % len(COLOURS)]
    return {
        "name": _wrapped(name, NARROW),
        "legendgroup": plain(name),
        "offsetgroup": plain(name),
        "hovertemplate": f"%{{x}}<br>%{{y:.4g}}<extra>{plain(name)}</extra>",
        "line": {"color": colour, "width": 2, "dash": DASHES[index % len(DASHES)]},
        "marker": {"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 8, "color": colour},
    }


def _add(
    figure: go.Figure,
    series: Series,
    look: Mapping[str, Any],
    places: Sequence[Any],
    *,
    joined: bool,
    at: Mapping[str, int],
) -> None:
    """Draw a line in a panel."""
    if series.level:
        ends = sorted({min(places), max(places)}) if joined else places
        if joined and len(ends) == 1:  # a line has a length, even where all else is one point
            wide = 0.2 * abs(ends[0]) or 1.0
            ends = [ends[0] - wide, ends[0] + wide]
        y = [finite(series.y[0])] * len(ends)
        mode = "lines" if len(ends) > 1 else "markers"
        figure.add_scatter(x=list(ends), y=y, mode=mode, **look, **at)
        return
    figure.add_scatter(
        x=list(series.x),
        y=[finite(value) for value in series.y],
        error_y={
            "type": "data",
            "array": [finite(value) or 0.0 for value in series.error],
            "color": look["line"]["color"],
            "thickness": 1.5,
            "width": 4,
        },
        mode="lines+markers" if joined and len(series.x) > 1 else "markers",
        **look,
        **at,
    )


def caption(data: SweepData) -> str:
    """How to read the figure."""
    said = (
        "Means of the runs that stayed finite; bars are two standard errors to either side and "
        "show the spread due to noise only, not to the choice of records."
    )
    if any(series.level for series in data.series):
        said += " A level line marks cells to which the axis does not apply."
    if len(data.facets) > 1:
        said += " All panels have the same axes"
        apart = any(not series.facet for series in data.series)
        said += "; what is the same in all of them is drawn in each." if apart else "."
    return said


def alternative(data: SweepData) -> str:
    """The figure in words: where each line begins and ends."""
    said = [
        f"{f'{series.facet}, ' if series.facet else ''}{series.name} from "
        f"{number(finite(series.y[0]))} to {number(finite(series.y[-1]))}"
        for series in data.series[:NAMED]
    ]
    if len(data.series) > NAMED:
        said.append(f"{len(data.series) - NAMED} more lines, whose numbers are in the table")
    over = f" over {data.axis}" if data.axis else ""
    return f"Mean {data.measure}{over}. {'; '.join(said)}."


def _logarithmic(data: SweepData) -> bool:
    """Whether means span more than a factor of ten, all of them positive."""
    values = [v for series in data.series for v in map(finite, series.y) if v is not None]
    return data.logarithmic and bool(values) and min(values) > 0 and _spread(values)


def _spread(values: Sequence[float]) -> bool:
    return min(values) > 0 and math.log10(max(values) / min(values)) >= 1.0


def _ticks(places: Sequence[float]) -> dict[str, Any]:
    """An axis with a tick at each place, on a log scale where that spaces them more evenly."""
    there = sorted(places)
    logarithmic = there[0] > 0 and (
        _spread(there) or _unevenness([math.log(x) for x in there]) < 0.99 * _unevenness(there)
    )
    along = [math.log(x) for x in there] if logarithmic else list(map(float, there))
    kept: list[int] = []
    for index, at in enumerate(along):  # those too near to the one before have no room
        if not kept or at - along[kept[-1]] >= 0.07 * (along[-1] - along[0]):
            kept.append(index)
    ticks = {"tickvals": [there[i] for i in kept], "ticktext": [number(there[i]) for i in kept]}
    return ticks | ({"type": "log"} if logarithmic else {})


def _wrapped(text: str, letters: int) -> str:
    """Text in lines of at most so many letters, as Plotly shows it."""
    return "<br>".join(map(plain, textwrap.wrap(text, letters)))


def _unevenness(places: Sequence[float]) -> float:
    """The widest gap between neighbours over the narrowest."""
    gaps = [after - before for before, after in itertools.pairwise(places)]
    return max(gaps) / min(gaps) if len(gaps) > 1 else 1.0
