"""Survival curves as a figure: steps, a band, and the numbers at risk below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tacit.report.canvas import blank
from tacit.report.data import Row
from tacit.report.figures import BLUE, DASHES, GREEN, GREY, ORANGE, every, finish, plain, shortened

if TYPE_CHECKING:
    import plotly.graph_objects as go

_COLOURS = (BLUE, ORANGE, GREEN, GREY)

_COUNTS = 6
"""Most times at which the numbers at risk stand below the curves."""


def survival(rows: Sequence[Row], time: str) -> go.Figure:
    """Survival curves with bands that hold each whole curve with 95 %, and the numbers at risk.

    Args:
        rows: rows of `group`, `time`, `survival`, `band_lower`, `band_upper` and `at_risk`, by
            group and time, as `SurvivalCurves.frame` has them.
        time: name of the time axis.
    """
    figure = blank()
    groups = list(dict.fromkeys(str(row["group"]) for row in rows))
    times = sorted({float(row["time"]) for row in rows})
    wide = (times[-1] - times[0]) or 1.0
    shown = [times[i] for i in every(len(times), _COUNTS)]
    if len(shown) > 2 and shown[-1] - shown[-2] < 0.6 * (shown[1] - shown[0]):
        del shown[-2]  # its number would stand in that of the last
    for i, group in enumerate(groups):
        own = [row for row in rows if str(row["group"]) == group]
        x = [float(row["time"]) for row in own]
        colour, name = _COLOURS[i % len(_COLOURS)], plain(group) or "all records"
        line = {"shape": "hv", "width": 0}
        for end, fill in (("band_upper", None), ("band_lower", "tonexty")):
            y = [float(row[end]) for row in own]
            figure.add_scatter(
                x=x,
                y=y,
                mode="lines",
                line=line,
                fill=fill,
                fillcolor=_faint(colour),
                showlegend=False,
                hoverinfo="skip",
            )
        figure.add_scatter(
            x=x,
            y=[float(row["survival"]) for row in own],
            name=name,
            mode="lines",
            line={"shape": "hv", "color": colour, "width": 2, "dash": DASHES[i % len(DASHES)]},
            text=[
                f"{name}<br>{row['survival']:.3f} ({row['lower']:.3f} to {row['upper']:.3f})<br>"
                f"at risk: {row['at_risk']:,.0f}"
                for row in own
            ],
            hovertemplate="%{text}<extra></extra>",
        )
        kept = [row for row in own if float(row["time"]) in shown]
        figure.add_scatter(
            x=[float(row["time"]) for row in kept],
            y=[len(groups) - 1 - i] * len(kept),
            yaxis="y2",
            mode="text",
            text=[f"{max(row['at_risk'], 0.0):,.0f}" for row in kept],
            textfont={"color": colour, "size": 12},
            showlegend=False,
            hoverinfo="skip",
        )
    low = min(0.36, 0.09 + 0.07 * len(groups))
    finish(figure, height=300 + 24 * len(groups), legend=True)
    figure.update_layout(
        legend_traceorder="normal",
        # ticks where the numbers at risk stand
        # and room for the first and last of them, which are centred
        xaxis={
            "title": {"text": plain(time)},
            "anchor": "y2",
            "tickvals": shown,
            "ticktext": [f"{each:.4g}" for each in shown],
            "range": [times[0] - 0.1 * wide, times[-1] + 0.06 * wide],
        },
        yaxis={"title": {"text": "survival"}, "domain": [low, 1.0], "range": [0.0, 1.02]},
        yaxis2={
            "title": {"text": "at risk", "font": {"size": 13}, "standoff": 16},
            "domain": [0.0, low - 0.05],
            "range": [-0.6, len(groups) - 0.4],
            "tickvals": list(range(len(groups))),
            "ticktext": [plain(shortened(group, 16)) for group in reversed(groups)],
            "tickfont": {"size": 12},
            "automargin": True,
            "showgrid": False,
            "zeroline": False,
        },
    )
    return figure


def _faint(colour: str) -> str:
    """A colour through which others are seen."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"
