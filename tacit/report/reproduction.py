"""The page of a reproduced paper, and the index of all papers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tacit.report.assets import page, write_page
from tacit.report.canvas import blank, for_page
from tacit.report.data import Column, Row
from tacit.report.figures import (
    BLUE,
    DASHES,
    GREEN,
    GREY,
    ORANGE,
    SYMBOLS,
    finish,
    finite,
    log_ticks,
    plain,
)
from tacit.report.tables import NO_VALUE, number, table

if TYPE_CHECKING:
    import plotly.graph_objects as go

COLOURS = (BLUE, ORANGE, GREEN, "#8a4fb0", "#a8791c", GREY)
"""Colours of the curves of a panel, in turn; they also differ in marker and dash."""

HEIGHT = 340


class Verdict(StrEnum):
    """The result for a target, in a word."""

    REPRODUCED = "reproduced"
    CONDITIONALLY = "reproduced with a change"
    NOT_REPRODUCED = "not reproduced"
    UNDECIDED = "undecided"
    REFUTED = "claim refuted"
    NOT_RUN = "not run"


_WORST_FIRST = (
    Verdict.REFUTED,
    Verdict.NOT_REPRODUCED,
    Verdict.UNDECIDED,
    Verdict.NOT_RUN,
    Verdict.CONDITIONALLY,
    Verdict.REPRODUCED,
)


@dataclass(frozen=True)
class Claim:
    """A paper's statement about a figure, and our result.

    Attributes:
        place: section, equation or caption where the statement is made.
        said: the statement, in our words.
        verdict: verdict on the statement.
        found: our result, in a sentence with its numbers.
    """

    place: str
    said: str
    verdict: Verdict
    found: str


def stated(verdict: Verdict, *, shortened: bool) -> str:
    """A verdict as it must be shown everywhere: that of a shortened run includes this fact."""
    return f"{verdict.value} (shortened)" if shortened else verdict.value


def concluded(claims: Sequence[Claim], *, shortened: bool = False) -> tuple[Verdict, str]:
    """The least favourable verdict of some claims, and all of them in a few sentences.

    Args:
        claims: claims to combine, at least one.
        shortened: whether something was left out of the run.

    Example:
        >>> right = Claim("caption", "it falls", Verdict.REPRODUCED, "It falls to half.")
        >>> wrong = Claim("section 4", "it ends at 0", Verdict.NOT_REPRODUCED, "It ends at .1.")
        >>> verdict, said = concluded([right, wrong])
        >>> verdict.value
        'not reproduced'
        >>> said.startswith("Caption, it falls: reproduced. It falls to half. Section 4, ")
        True
    """
    verdict = min((claim.verdict for claim in claims), key=_WORST_FIRST.index)
    return verdict, " ".join(
        f"{claim.place[0].upper()}{claim.place[1:]}, {claim.said}: "
        f"{stated(claim.verdict, shortened=shortened)}. {claim.found}"
        for claim in claims
    )


@dataclass(frozen=True)
class Curve:
    """A line, points or bars of a panel.

    Attributes:
        name: name in the legend.
        x: horizontal positions; text for bars of categories.
        y: values, one per position.
        low: lower ends of a band or of error bars around `y`.
        high: upper ends of the band or error bars.
        shape: shape in which it is drawn.
        reference: whether it is a straight comparison, drawn grey and dashed: a bound, a
            prediction.
    """

    name: str
    x: Column
    y: Column
    low: Column | None = None
    high: Column | None = None
    shape: Literal["line", "points", "bars"] = "line"
    reference: bool = False


@dataclass(frozen=True)
class Panel:
    """One coordinate system.

    Attributes:
        title: contents of the panel, in a few words.
        x: name of the horizontal axis.
        y: name of the vertical axis.
        curves: curves of the panel.
        caption: what the panel shows, in a sentence.
        log: axes that are logarithmic: "", "x", "y" or "xy".
    """

    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    caption: str = ""
    log: Literal["", "x", "y", "xy"] = "y"


@dataclass(frozen=True)
class Reproduction:
    """The result of a target.

    Attributes:
        verdict: verdict in a word.
        sentence: result in a sentence, with its numbers.
        published: panels in the paper's layout, as published.
        certified: the same comparison with methods whose guarantee is proved, at the same true
            total
            epsilon.
        comparison: rows with the paper's number, ours and their ratio.
        parameters: values by name, including those that the paper leaves out.
        notes: other facts that a reader must know, in sentences.
        shortened: what was left out of a fast run; empty if nothing.
        claims: the paper's statements about the figure, each with its own verdict; `verdict` and
            `sentence` are what `concluded` makes of them.
        across: number of panels side by side in the paper's figure, 2 or 3.
    """

    verdict: Verdict
    sentence: str
    published: Sequence[Panel] = ()
    certified: Sequence[Panel] = ()
    comparison: Sequence[Row] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    shortened: str = ""
    claims: Sequence[Claim] = ()
    across: int = 2

    @property
    def stated(self) -> str:
        """The verdict as it must be shown everywhere."""
        return stated(self.verdict, shortened=bool(self.shortened))


@dataclass(frozen=True)
class Shown:
    """A target on a page.

    Attributes:
        name: "paper/figure".
        title: what the paper shows there.
        found: result of the target.
    """

    name: str
    title: str
    found: Reproduction

    @property
    def figure(self) -> str:
        """The name without the paper, which is also the anchor."""
        return self.name.partition("/")[2]

    @property
    def file(self) -> str:
        """Name of the file beside the page that has the numbers of the curves."""
        return f"{self.name.replace('/', '-')}.csv"

    @property
    def panels(self) -> list[tuple[str, str, list[tuple[str, Panel]]]]:
        """Heading, explanation and panels with their anchors, for each half that exists."""
        halves = (
            ("As published", "", self.found.published),
            (
                "Certified, at equal true epsilon",
                "Methods whose guarantee is proved. A curve labelled “as printed” or “as coded” "
                "has no such guarantee; its place follows from a model of its noise.",
                self.found.certified,
            ),
        )
        return [
            (
                heading,
                text,
                [(f"{self.figure}-{part}-{i}", panel) for i, panel in enumerate(panels)],
            )
            for part, (heading, text, panels) in zip("pc", halves, strict=True)
            if panels
        ]


def compared(what: str, paper: float | None, ours: float, **further: object) -> Row:
    """A row of the table: the paper's number, ours, and ours over the paper's."""
    ratio = None if paper is None or paper == 0.0 else ours / paper
    return {"what": what, "paper": paper, "ours": ours, "ratio": ratio, **further}


def write_paper(
    path: str | os.PathLike[str],
    *,
    title: str,
    citation: str,
    shown: Sequence[Shown],
    fast: bool,
    environment: Mapping[str, Any],
) -> Path:
    """Write the page of a paper; an older file at `path` is replaced whole or not at all.

    Raises:
        RuntimeFailure: the file could not be written.
    """
    figures = {
        anchor: for_page(draw, panel)
        for each in shown
        for _, _, panels in each.panels
        for anchor, panel in panels
    }
    text = page(
        "reproduction.html",
        figures,
        title=title,
        citation=citation,
        shown=shown,
        fast=fast,
        environment=environment,
        tables={each.name: table(_with_entries(each.found.comparison)) for each in shown},
        height=HEIGHT,
        alternative=alternative,
    )
    return write_page(path, text)


def _with_entries(rows: Sequence[Row]) -> list[Row]:
    """Rows without the columns in which none of them has anything."""
    kept = {name for row in rows for name, value in row.items() if number(value) != NO_VALUE}
    return [{name: value for name, value in row.items() if name in kept} for row in rows]


def write_index(
    path: str | os.PathLike[str],
    papers: Sequence[tuple[str, str, Sequence[Shown]]],
    *,
    fast: bool,
) -> Path:
    """Write the index: every target with its verdict, and a link to the page of its paper.

    Raises:
        RuntimeFailure: the file could not be written.
    """
    return write_page(path, page("reproductions.html", papers=papers, fast=fast))


def draw(panel: Panel) -> go.Figure:
    """A panel as a figure."""
    figure = blank()
    for index, curve in enumerate(panel.curves):
        colour = GREY if curve.reference else COLOURS[index % len(COLOURS)]
        _add(figure, curve, colour, index, panel.log)
    for axis, update in (("x", figure.update_xaxes), ("y", figure.update_yaxes)):
        update(title=plain(getattr(panel, axis)))
        if axis in panel.log:
            update(type="log", exponentformat="power", **_ticks(panel, axis))
    figure.update_layout(bargap=0.05, barmode="overlay")
    return finish(figure, height=HEIGHT, legend=len(panel.curves) > 1)


def _add(figure: go.Figure, curve: Curve, colour: str, index: int, log: str) -> None:
    x = [value if isinstance(value, str) else finite(value) for value in curve.x]
    y = _drawable(curve.y, "y" in log)
    look = {"name": plain(curve.name), "legendgroup": str(index)}
    hover = f"%{{x}}<br>%{{y:.3g}}<extra>{plain(curve.name)}</extra>"
    if curve.shape == "bars":
        figure.add_bar(x=x, y=y, marker_color=colour, opacity=0.6, hovertemplate=hover, **look)
        return
    if curve.low is not None and curve.high is not None:
        low, high = _drawable(curve.low, "y" in log), _drawable(curve.high, "y" in log)
        inside = [i for i in range(len(x)) if low[i] is not None and high[i] is not None]
        around = [*inside, *reversed(inside)]
        figure.add_scatter(
            x=[x[i] for i in around],
            y=[*(high[i] for i in inside), *(low[i] for i in reversed(inside))],
            mode="lines",
            line={"width": 0},
            fill="toself",
            fillcolor=_faint(colour),
            hoverinfo="skip",
            showlegend=False,
            legendgroup=str(index),
        )
    few = len(x) <= 40 and not curve.reference
    figure.add_scatter(
        x=x,
        y=y,
        mode="markers" if curve.shape == "points" else "lines+markers" if few else "lines",
        line={
            "color": colour,
            "width": 2,
            "dash": "dash" if curve.reference else DASHES[index % len(DASHES)],
        },
        marker={"symbol": SYMBOLS[index % len(SYMBOLS)], "size": 6, "color": colour},
        hovertemplate=hover,
        **look,
    )


def _drawable(values: Column, log: bool) -> list[float | None]:
    """Finite values, and on a logarithmic axis positive ones; others leave a gap."""
    found = [finite(value) for value in values]
    return [value if value is not None and (value > 0 or not log) else None for value in found]


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.15)"


def _ticks(panel: Panel, axis: str) -> dict[str, Any]:
    """Ticks of a logarithmic axis; Plotly's own between powers of ten are bare digits."""
    return log_ticks(
        [
            value
            for curve in panel.curves
            for value in _drawable(curve.x if axis == "x" else curve.y, log=True)
            if value is not None
        ]
    )


def alternative(panel: Panel) -> str:
    """A panel in words: where each curve begins and ends."""
    said = []
    for curve in panel.curves:
        ends = [value for value in map(finite, curve.y) if value is not None]
        if ends:
            said.append(f"{curve.name} from {number(ends[0])} to {number(ends[-1])}")
    return f"{panel.title}: {panel.y} over {panel.x}. {'; '.join(said)}. {panel.caption}".strip()
