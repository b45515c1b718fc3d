"""The figures of a regression beside records: calibration and ROC curve. Neither is private."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit import checks
from tacit.errors import ConfigError
from tacit.report.canvas import blank
from tacit.report.figures import BLUE, GREY, ORANGE, finish, finite, thin

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from tacit.method.comparison import Comparison

NOT_PRIVATE = "Not private: do not publish unless<br>the records are public."
"""Stands in every figure, so that it is not lost where one is taken out of its page."""


def calibration_figure(found: Comparison) -> go.Figure:
    """Observed means with 95 % intervals against predicted ones, by tenths of the prediction.

    Not private: computed from records without noise.

    Args:
        found: comparison of a regression with records.

    Raises:
        ConfigError: something else.
    """
    rows = _compared(found).calibration().to_dict("records")
    ends = [finite(row[name]) for row in rows for name in ("predicted", "lower", "upper")]
    known = [value for value in ends if value is not None]
    low, high = min(known), max(known)
    figure = blank()
    figure.add_shape(
        type="line", x0=low, y0=low, x1=high, y1=high, line={"color": GREY, "dash": "dot"}
    )
    x: list[float | None] = []
    y: list[float | None] = []
    for row in rows:
        x += [row["predicted"], row["predicted"], None]
        y += [finite(row["lower"]), finite(row["upper"]), None]
    line = {"color": BLUE, "width": 2}
    figure.add_scatter(x=x, y=y, mode="lines", name="95 % interval", line=line, hoverinfo="skip")
    figure.add_scatter(
        x=[row["predicted"] for row in rows],
        y=[row["observed"] for row in rows],
        mode="markers",
        name="observed mean",
        marker={"size": 9, "color": ORANGE, "symbol": "diamond"},
        text=[f"{row['records']:,} records" for row in rows],
        hovertemplate="predicted %{x:.3g}<br>observed %{y:.3g}<br>%{text}<extra></extra>",
    )
    figure.update_xaxes(title="predicted mean")
    figure.update_yaxes(title="observed mean")
    return _marked(finish(figure, height=380, legend=True))


def roc_figure(found: Comparison) -> go.Figure:
    """The ROC curve of a binomial model, with the area under it.

    Not private: computed from records without noise.

    Args:
        found: comparison of a binomial regression with records of both kinds.

    Raises:
        ConfigError: something else.
        ProblemError: another family, or records of one kind only.
    """
    curve = _compared(found).roc()
    keep = thin(len(curve))
    figure = blank()
    chance = {"color": GREY, "dash": "dot"}
    figure.add_shape(type="line", x0=0, y0=0, x1=1, y1=1, line=chance)
    figure.add_scatter(
        x=curve["false_positives"].iloc[keep].tolist(),
        y=curve["true_positives"].iloc[keep].tolist(),
        mode="lines",
        name=f"AUC {found.auc:.3f}",
        line={"color": BLUE, "width": 2.5},
        hovertemplate="false positives %{x:.3f}<br>true positives %{y:.3f}<extra></extra>",
    )
    figure.update_xaxes(title="rate of false positives", range=[0, 1])
    figure.update_yaxes(title="rate of true positives", range=[0, 1.01])
    return _marked(finish(figure, height=380, legend=True))


def _compared(found: Comparison) -> Comparison:
    """What was given, if it is a comparison; its class is loaded here, with JAX."""
    from tacit.method.comparison import Comparison

    remedy = "give the result of compare(...) of a fitted model"
    return checks.instance("found", found, Comparison, remedy, ConfigError)


def _marked(figure: go.Figure) -> go.Figure:
    """The figure with its warning at the top, where a legend of two lines leaves room for it."""
    figure.update_layout(
        margin_t=98,
        title={
            "text": NOT_PRIVATE,
            "font_size": 12,
            "x": 0,
            "xref": "paper",
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad_t": 16,
        },
    )
    return figure
