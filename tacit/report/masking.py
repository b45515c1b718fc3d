"""The saving from secure aggregation, as a figure: noise in the mean, local and central."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.report.canvas import blank
from tacit.report.figures import BLUE, GREEN, ORANGE, finish
from tacit.report.tables import number

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from tacit._engine.planning import MeanNoise

COALITIONS = 5
"""Largest coalition drawn, unless that of the run is larger."""


def ways(found: MeanNoise) -> go.Figure:
    """Standard deviation of the noise against the size of a coalition, the run's own marked.

    Args:
        found: noise in the mean of a run.
    """
    last = min(found.cohort - 1, max(COALITIONS, found.coalition or 0))
    margin = max(0.4, 0.07 * last)
    ends = [-margin, last + margin]
    figure = blank()
    for label, value, colour, dash in (
        ("local noise", found.local, ORANGE, "dash"),
        ("central noise", found.central, GREEN, "dot"),
    ):
        figure.add_scatter(
            x=ends,
            y=[value, value],
            name=label,
            mode="lines",
            line={"color": colour, "width": 2, "dash": dash},
            hovertemplate=label + "<br>%{y:.4g}<extra></extra>",
        )
    figure.add_scatter(
        x=list(range(last + 1)),
        y=list(found.masked[: last + 1]),
        name="secure aggregation",
        mode="lines+markers" if last <= 20 else "lines",
        line={"color": BLUE, "width": 2},
        marker={"size": 8},
        hovertemplate="secure aggregation, coalition of %{x}<br>%{y:.4g}<extra></extra>",
    )
    x, y = (
        (last // 2, found.local)
        if found.coalition is None
        else (found.coalition, found.masked[found.coalition])
    )
    colour = ORANGE if found.coalition is None else BLUE
    figure.add_scatter(
        x=[x],
        y=[y],
        mode="markers",
        showlegend=False,
        cliponaxis=False,
        marker={
            "size": 17,
            "symbol": "diamond-open",
            "color": colour,
            "line": {"width": 3, "color": colour},
        },
        hovertemplate="this run<br>%{y:.4g}<extra></extra>",
    )
    figure.add_annotation(x=x, y=y, yshift=21, text="<b>this run</b>", showarrow=False)
    top = max(found.local, max(found.masked[: last + 1]))
    figure.update_xaxes(
        title="agents in a coalition",
        range=ends,
        tickmode="linear",
        dtick=max(1, -(-last // 10)),
    )
    figure.update_yaxes(title="noise in the mean", range=[0, 1.22 * top], nticks=6)
    return finish(figure, height=330, legend=True)


def caption(found: MeanNoise) -> str:
    """What the figure shows, and how the noise of this run compares."""
    own = found.local if found.coalition is None else found.masked[found.coalition]
    text = (
        f"Standard deviation of the noise in the mean of the {found.agents:,} agents' answers in "
        f"one round, for three ways to keep this budget. In this run: {number(own)}, "
        f"{number(own / found.central)} times that of central noise."
    )
    if found.coalition is None:
        if len(found.masked) > 1 and found.saves(1):
            text += (
                " Secure aggregation against any one agent would make it "
                f"{number(found.gain(1))} times smaller."
            )
        return text
    if found.bare:
        return (
            f"{text} So many agents may be corrupted that an honest one may have only its own "
            "noise, as with local noise."
        )
    return f"{text} With local noise it would be {number(found.local)}."


def alternative(found: MeanNoise) -> str:
    """The figure in words, to be read out."""
    shown = ", ".join(
        f"{number(value)} against {count}"
        for count, value in enumerate(found.masked[: COALITIONS + 1])
    )
    return (
        f"Local noise {number(found.local)}; secure aggregation {shown}; central noise "
        f"{number(found.central)}."
    )
