"""The look that all plots share: no background, and colours for light pages and dark ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import tacit

INK = "#77828f"
COLOURS = ("#2f8fd0", "#d9742b", "#2aa06f", "#a877c9", "#8a8f98")
"""Told apart by colour-blind readers, and read on white as well as on near-black."""

DASHES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))

DISTANCE = "squared distance to the pooled optimum\n(mean of the agents, divided by $\\|x^*\\|^2$)"

_STYLE = {
    "font.family": "sans-serif",
    "font.size": 10.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "tacit",  # the same names of clips in every run
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": INK,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK
    ),
}


@contextmanager
def chart(path: Path, x: str, y: str, *, log: str = "y") -> Iterator[Axes]:
    """Axes to draw on, saved as an SVG image where the block ends.

    Args:
        path: of the image.
        x: label of the axis.
        y: label of the axis.
        log: the axes with a logarithmic scale, such as "y" or "xy".
    """
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(6.4, 3.7), layout="constrained")
        axes = figure.add_subplot()
        axes.set(xlabel=x, ylabel=y)
        if "x" in log:
            axes.set_xscale("log")
        if "y" in log:
            axes.set_yscale("log")
        yield axes
        if axes.get_legend_handles_labels()[0] and axes.get_legend() is None:
            axes.legend()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(path, format="svg", transparent=True, metadata=nothing)


def band(
    axes: Axes,
    x: Sequence[float] | Float[np.ndarray, " points"],
    values: Float[np.ndarray, "points trials"],
    label: str,
) -> None:
    """The median of the trials as a line, and between the 10th and the 90th percentile a band."""
    number = len(axes.lines)
    colour = COLOURS[number]
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9], axis=1)
    axes.plot(x, middle, color=colour, linestyle=DASHES[number], label=label)
    if values.shape[1] > 1:
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def distance(axes: Axes, result: tacit.Result, label: str) -> None:
    """The distance to the pooled optimum along a run."""
    agents = result.solutions.shape[1]
    # a distance of 0 has no place on a logarithmic axis
    mean = np.maximum(result.history.measured["distance"] / agents, 1e-30)
    band(axes, result.history.rounds, mean, label)
