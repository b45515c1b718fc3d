"""One plot a page of `docs/gallery`: what the page has in `lines` over `x`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.ticker import NullLocator

from docs.plots.chart import COLOURS, band, chart
from docs.plots.page import everything


class Study(NamedTuple):
    """The axes of a plot.

    Attributes:
        x: label of the horizontal axis.
        y: label of the vertical axis.
        log: the axes with a logarithmic scale.
    """

    x: str
    y: str
    log: str


_STUDIES = {
    "budgets": Study("epsilon of a run", "accuracy on new patients", "x"),
    "clip": Study("clip of a record's gradient", "distance to the pooled fit", "xy"),
    "rounds": Study("rounds of the run", "distance to the pooled fit", "xy"),
    "records": Study("records of each of five sites", "distance to the truth", "xy"),
    "units": Study("clients with 20 records each", "distance to the truth", "xy"),
    "intervals": Study("epsilon of the fit", "standard error of age", "x"),
    "networks": Study("round", "disagreement of the sites", "y"),
    "links": Study("round", "squared distance to the optimum,\nrelative", "y"),
    "drift": Study("round", "squared distance to the optimum,\nrelative", "y"),
    "along": Study("round", "accuracy of the worst site\non new patients", ""),
    "simulator": Study("round", "mean cost on other days", ""),
    "baselines": Study("round", "squared distance to the optimum,\nrelative", "y"),
}


def _draw(name: str, path: Path) -> None:
    study, page = _STUDIES[name], everything(f"gallery/{name}")
    with chart(path, study.x, study.y, log=study.log) as axes:
        for label, values in page["lines"].items():
            found = np.asarray(values, dtype=float)
            band(axes, page["x"], found.reshape(len(found), -1), label)
        if "x" in study.log:
            axes.set_xticks(page["x"], [f"{place:g}" for place in page["x"]])
            axes.xaxis.set_minor_locator(NullLocator())
        if name == "budgets":
            axes.axhline(page["best"], color=COLOURS[4], linestyle=":", label="no privacy")


GALLERY: Mapping[str, Callable[[Path], None]] = {
    name: functools.partial(_draw, name) for name in _STUDIES
}
"""By the name of the page."""
