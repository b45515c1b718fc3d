"""The figures of a report, as Plotly figures; the page gives them their size and its own colours.

Every figure is readable without colour: series also differ in dash or marker, so that they can be
told apart in black and white.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tacit.privacy.digits import rounded_down
from tacit.report.canvas import blank
from tacit.report.data import Column, Row
from tacit.report.tables import cost

if TYPE_CHECKING:
    import plotly.graph_objects as go

BLUE, ORANGE, GREEN, GREY = "#1b7fbd", "#c2571a", "#1c8a64", "#7d8790"
"""Told apart by colour-blind readers, with a contrast of at least 3:1 on white and on dark grey."""

SYMBOLS = ("circle", "diamond", "x", "square", "triangle-up")
DASHES = ("solid", "dash", "dot", "dashdot")
POINTS = 1000
"""Maximum number of points of a line: more cannot be seen on a screen, and the page stays small."""

COEFFICIENTS = 30
"""Maximum number of coefficients drawn, the largest first."""

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'

HIGHER_IS_BETTER = {"auc", "accuracy", "r2", "r²", "f1", "precision", "recall"}
LOWER_IS_BETTER = {
    *("loss", "log loss", "deviance", "error", "rmse", "mae", "mse", "brier", "brier score")
}


def thin(count: int, most: int = POINTS) -> list[int]:
    """Indices of at most `most` (at least 2) of `count` points, evenly spread, with both ends.

    Example:
        >>> thin(9, 3)
        [0, 4, 8]
    """
    if count <= most:
        return list(range(count))
    return [round(i * (count - 1) / (most - 1)) for i in range(most)]


def every(count: int, most: int) -> list[int]:
    """Indices of at most `most` (at least 2) of `count` points, as far apart, and the last one.

    Example:
        >>> every(51, 40)[:3], every(10, 5)
        ([0, 2, 4], [0, 3, 6, 9])
    """
    found = list(range(0, count, max(1, math.ceil((count - 1) / (most - 1)))))
    return found if not found or found[-1] == count - 1 else [*found, count - 1]


def convergence(rounds: Column, columns: Mapping[str, Column], colours: Sequence[str]) -> go.Figure:
    """Lines over the rounds on a log scale; values that are not positive leave a gap.

    Args:
        rounds: the recorded rounds.
        columns: values of each line by label, each as long as `rounds`.
        colours: colours of the lines, used in turn.
    """
    keep = thin(len(rounds))
    figure = blank()
    for index, (label, values) in enumerate(columns.items()):
        figure.add_scatter(
            x=[finite(rounds[i]) for i in keep],
            y=[positive(values[i]) for i in keep],
            name=label,
            mode="lines+markers" if len(keep) <= 60 else "lines",
            line={"color": colours[index % len(colours)], "width": 2, "dash": DASHES[index % 4]},
            marker={"symbol": SYMBOLS[index % 5], "size": 6},
            hovertemplate="round %{x}<br>%{y:.3g}<extra>" + plain(label) + "</extra>",
        )
    values = [v for column in columns.values() for v in map(positive, column) if v is not None]
    figure.update_yaxes({"type": "log", **log_ticks(values)})
    figure.update_yaxes(title_text="" if len(columns) > 1 else plain(next(iter(columns), "")))
    figure.update_xaxes(title="round")
    return finish(figure, height=320, legend=len(columns) > 1)


def measured(rounds: Column, name: str, values: Column) -> go.Figure:
    """A metric over the rounds; values that are not finite leave a gap.

    Args:
        rounds: the recorded rounds.
        name: name of the metric.
        values: its values, as long as `rounds`.
    """
    keep = thin(len(rounds))
    figure = blank()
    figure.add_scatter(
        x=[finite(rounds[i]) for i in keep],
        y=[finite(values[i]) for i in keep],
        name=plain(name),
        mode="lines+markers" if len(keep) <= 60 else "lines",
        line={"color": BLUE, "width": 2},
        marker={"symbol": SYMBOLS[0], "size": 6},
        hovertemplate="round %{x}<br>%{y:.3g}<extra>" + plain(name) + "</extra>",
    )
    figure.update_yaxes(title_text=plain(name))
    figure.update_xaxes(title="round")
    return finish(figure, height=320, legend=False)


def spending(rounds: Column, epsilon: Column, budget: float | int | None = None) -> go.Figure:
    """Epsilon spent up to each round, with the budget as a line.

    Args:
        rounds: the recorded rounds.
        epsilon: epsilon spent so far, the largest of any owner; as long as `rounds`.
        budget: epsilon that may be spent over the whole run.
    """
    keep = thin(len(rounds))
    spent = [finite(epsilon[i]) for i in keep]
    figure = blank()
    figure.add_scatter(
        x=[finite(rounds[i]) for i in keep],
        y=spent,
        mode="lines",
        line={"color": BLUE, "width": 2.5, "shape": "hv"},
        fill="tozeroy",
        fillcolor="rgba(27, 127, 189, 0.12)",
        text=[cost(value) for value in spent],
        hovertemplate="round %{x}<br>epsilon %{text}<extra></extra>",
    )
    top = max([value for value in spent if value is not None], default=1.0)
    if budget is not None and math.isfinite(budget):
        figure.add_hline(
            y=budget,
            line={"color": ORANGE, "width": 2, "dash": "dash"},
            annotation_text=f"budget {rounded_down(budget, 4)}",
            annotation_position="top left",
        )
        top = max(top, budget)
    figure.update_yaxes(title="epsilon spent", range=[0, 1.18 * top if top > 0 else 1])
    figure.update_xaxes(title="round")
    return finish(figure, height=300)


def accuracy(rows: Sequence[Row], metric: str) -> go.Figure:
    """One metric as a dot for every fit, named in the figure so that a phone has room for it.

    Args:
        rows: fits with a `name` and the metric; a row without the metric is left out.
        metric: name of the column to draw.
    """
    shown = [row for row in rows if finite(row.get(metric)) is not None]
    values = [float(row[metric]) for row in shown]
    low, high = min(values, default=0.0), max(values, default=1.0)
    margin = 0.18 * (high - low) or max(abs(high), 1.0) * 0.1
    figure = blank()
    for index, (row, value) in enumerate(zip(shown, values, strict=True)):
        level = len(shown) - 1 - index
        figure.add_shape(
            type="line",
            xref="paper",
            x0=0,
            x1=1,
            y0=level,
            y1=level,
            line={"color": GREY, "width": 1},
            layer="below",
        )
        figure.add_scatter(
            x=[value],
            y=[level],
            mode="markers",
            marker={
                "size": 13,
                "color": _fit_colour(str(row["name"])),
                "symbol": SYMBOLS[index % 5],
            },
            hovertemplate=f"{plain(row['name'])}<br>{plain(metric)} %{{x:.4f}}<extra></extra>",
        )
        figure.add_annotation(
            x=0,
            xref="paper",
            xanchor="left",
            y=level,
            yshift=17,
            text=f"<b>{value:.3f}</b> {plain(row['name'])}",
            showarrow=False,
        )
    figure.update_xaxes(range=[low - margin, high + margin], nticks=5)
    figure.update_yaxes(visible=False, range=[-0.5, len(shown) - 0.25])
    return finish(figure, height=70 + 56 * max(len(shown), 1))


def coefficients(rows: Sequence[Row], numbers: str = "coefficients") -> go.Figure:
    """Coefficients as dots, the pooled ones beside the agreed where they are given.

    Args:
        rows: rows of `feature`, `agreed` and optionally `pooled`; the `COEFFICIENTS` largest are
            drawn.
        numbers: what they are called, one of `tacit.report.data.NUMBERS`.
    """
    shown = largest(rows, COEFFICIENTS)
    levels = list(range(len(shown) - 1, -1, -1))
    figure = blank()
    pooled = [finite(row.get("pooled")) for row in shown]
    agreed = [finite(row.get("agreed")) for row in shown]
    for level, a, b in zip(levels, agreed, pooled, strict=True):
        if a is not None and b is not None:
            line = {"color": GREY, "width": 1.5}
            figure.add_shape(type="line", x0=a, x1=b, y0=level, y1=level, line=line, layer="below")
    for label, values, colour, symbol in (
        ("agreed by the sites", agreed, BLUE, "circle"),
        ("pooled, no privacy", pooled, ORANGE, "diamond-open"),
    ):
        if any(value is not None for value in values):
            figure.add_scatter(
                x=values,
                y=levels,
                name=label,
                mode="markers",
                marker={
                    "size": 10,
                    "color": colour,
                    "symbol": symbol,
                    "line": {"width": 2, "color": colour},
                },
                text=[plain(row["feature"]) for row in shown],
                hovertemplate="%{text}<br>%{x:.4g}<extra>" + label + "</extra>",
            )
    figure.update_xaxes(zerolinewidth=1.5, title=numbers.removesuffix("s"))
    figure.update_yaxes(
        tickvals=levels,
        ticktext=[plain(shortened(str(row["feature"]), 22)) for row in shown],
        showgrid=False,
        range=[-0.7, len(shown) - 0.3],
    )
    both = any(value is not None for value in pooled)
    return finish(figure, height=110 + 26 * max(len(shown), 1), legend=both, zero=True)


def forest(rows: Sequence[Row], effect: str) -> go.Figure:
    """A forest plot: effects with their intervals, with and without the noise.

    Args:
        rows: rows of `parameter`, `value`, `lower`, `upper`, `sampling_lower` and
            `sampling_upper`.
        effect: what is drawn: "odds ratio" and "rate ratio" on a log scale, or "effect".
    """
    levels = list(range(len(rows) - 1, -1, -1))
    figure = blank()
    for name, low, high, width in (
        ("sampling and noise", "lower", "upper", 2),
        ("sampling alone", "sampling_lower", "sampling_upper", 7),
    ):
        x: list[float | None] = []
        y: list[int | None] = []
        for level, row in zip(levels, rows, strict=True):
            x += [finite(row[low]), finite(row[high]), None]
            y += [level, level, None]
        line = {"color": BLUE, "width": width}
        figure.add_scatter(x=x, y=y, name=name, mode="lines", line=line, hoverinfo="skip")
    figure.add_scatter(
        x=[finite(row["value"]) for row in rows],
        y=levels,
        name="estimate",
        mode="markers",
        marker={"size": 9, "color": ORANGE, "symbol": "diamond"},
        text=[
            f"{plain(row['parameter'])}<br>{row['value']:.4g} "
            f"({row['lower']:.4g} to {row['upper']:.4g})"
            for row in rows
        ],
        hovertemplate="%{text}<extra></extra>",
    )
    ratio = effect.endswith("ratio")
    figure.add_vline(x=1.0 if ratio else 0.0, line={"color": GREY, "width": 1.5, "dash": "dot"})
    figure.update_xaxes(title=effect, type="log" if ratio else "linear", zeroline=False)
    if ratio:
        ends = [finite(row[end]) for row in rows for end in ("lower", "upper")]
        drawn = [1.0, *(each for each in ends if each)]
        figure.update_xaxes(log_ticks(drawn))
        if min(drawn) < max(drawn):  # along x Plotly leaves no room beside lines, for ticks there
            figure.update_xaxes(range=_reach(drawn))
    figure.update_yaxes(
        tickvals=levels,
        ticktext=[plain(shortened(str(row["parameter"]), 22)) for row in rows],
        showgrid=False,
        range=[-0.7, len(rows) - 0.3],
    )
    return finish(figure, height=130 + 30 * max(len(rows), 1), legend=True)


def largest(rows: Sequence[Row], most: int) -> list[Row]:
    """The `most` rows whose agreed coefficient is largest in magnitude, in their own order."""
    size = [abs(finite(row.get("agreed")) or 0.0) for row in rows]
    keep = sorted(range(len(rows)), key=lambda i: -size[i])[:most]
    return [rows[i] for i in sorted(keep)]


def direction(metric: str) -> str:
    """Whether more or less of a metric is better, in words; empty if unknown."""
    name = metric.replace("_", " ").lower()
    if name in HIGHER_IS_BETTER:
        return "higher is better"
    return "lower is better" if name in LOWER_IS_BETTER else ""


def _fit_colour(name: str) -> str:
    """The agreed model and the pooled fit look the same in every figure."""
    colours = {"agreed": BLUE, "pooled": ORANGE}
    return next((colour for start, colour in colours.items() if name.startswith(start)), GREY)


def plain(text: object) -> str:
    """Text that Plotly shows unchanged: its labels understand a few HTML tags and entities."""
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def finish(figure: go.Figure, height: int, legend: bool = False, zero: bool = False) -> go.Figure:
    """The common look of all figures."""
    figure.update_layout(
        template=None,
        height=height,
        autosize=True,
        margin={"l": 8, "r": 12, "t": 36 if legend else 14, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 13, "color": "#1b2733"},
        showlegend=legend,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "xanchor": "left"},
        hoverlabel={"bgcolor": "#1b2733", "font": {"color": "#ffffff", "family": FONT}},
    )
    axis = {
        "automargin": True,
        "gridcolor": "#dde2e6",
        "title_standoff": 8,
        "title_font_size": 13,
        "tickfont_size": 12,
    }
    figure.update_xaxes(**axis, zeroline=zero, tickangle=0)
    figure.update_yaxes(**axis, zeroline=False)
    return figure


def finite(value: Any) -> float | None:
    """A finite number, or `None`: JSON has no other representation."""
    if value is None or isinstance(value, str) or not math.isfinite(value):
        return None
    return float(value)


def positive(value: Any) -> float | None:
    """A finite number above 0, or `None`."""
    value = finite(value)
    return value if value is not None and value > 0 else None


def log_ticks(values: Collection[float]) -> dict[str, list[Any]]:
    """Ticks of a log axis, written out: powers of ten, or as many digits between as are needed.

    Args:
        values: what is drawn, positive.

    Example:
        >>> log_ticks([0.15, 0.6])["ticktext"], log_ticks([1e-7, 1e-3])["ticktext"][0]
        (['0.2', '0.3', '0.4', '0.5'], '10<sup>-7</sup>')
    """
    if not values:
        return {}
    low, high = _reach(values)
    first, last, step = math.floor(low), math.ceil(high), max(1, math.ceil((high - low) / 6))
    tenths, hundredths = (tuple(i / n for i in range(n, 10 * n)) for n in (10, 100))
    found: list[float] = []
    for digits in ((1,), (1, 2, 5), (1, 2, 3, 4, 5, 6, 8), tenths, hundredths):
        powers = range(first - first % step, last + 1, step)
        found = [digit * 10.0**power for power in powers for digit in digits]
        found = [each for each in found if low - 1e-9 <= math.log10(each) <= high + 1e-9]
        if len(found) >= 3:
            break
    kept: list[float] = []
    for each in found:  # those too near to the one before would be printed over each other
        if not kept or math.log10(each / kept[-1]) >= 0.12 * (high - low):
            kept.append(each)
    # of a single value that is not round there may be none; Plotly then finds its own
    return {"tickvals": kept, "ticktext": [_power(each) for each in kept]} if kept else {}


def _reach(values: Collection[float]) -> tuple[float, float]:
    """Ends of a log axis, as powers of ten: a little beyond what is drawn."""
    low, high = math.log10(min(values)), math.log10(max(values))
    return low - 0.06 * (high - low), high + 0.06 * (high - low)


def _power(value: float) -> str:
    if 1e-3 <= value < 1e5:
        return f"{value:.5g}"
    digits, _, power = f"{value:.2e}".partition("e")
    front = "" if float(digits) == 1.0 else f"{float(digits):g}\N{MULTIPLICATION SIGN}"
    return f"{front}10<sup>{int(power)}</sup>"


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"
