"""Curves and rows from the runs of Ryu, Kim (2021)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.papers.ryu2021.setting import Setting, looks
from tacit.papers.target import Answer
from tacit.report.data import Row
from tacit.report.reproduction import Curve, Panel, compared

BAND = "Mean over trials and the 20th to 80th percentile, as in the paper."


def along(name: str, answer: Answer, at: Setting, what: str = "error") -> Curve:
    """Mean over trials with the paper's band, the 20th to 80th percentile."""
    return band(name, looks(at), answer[what])


def band(name: str, x: Sequence[float] | Sequence[int], values: Sequence[Sequence[float]]) -> Curve:
    """Mean over trials with the paper's band.

    Args:
        name: name in the legend.
        x: abscissae.
        values: list over trials for each abscissa.
    """
    each = [np.asarray(own, dtype=float) for own in values]
    low, high = zip(*(np.percentile(own, [20, 80]) for own in each), strict=True)
    several = len(each[0]) > 1
    return Curve(
        name,
        list(x),
        [float(own.mean()) for own in each],
        [float(v) for v in low] if several else None,
        [float(v) for v in high] if several else None,
    )


def over_iterations(
    title: str, curves: Sequence[Curve], y: str = "test error, %", *, log: bool = False
) -> Panel:
    """A panel over iterations, both axes logarithmic if `log`."""
    return Panel(title, "iteration", y, curves, BAND, "xy" if log else "x")


def ends(answer: Answer, what: str = "error") -> list[float]:
    """Values over trials at the end of a run."""
    return list(answer[what][-1])


def last(answer: Answer, what: str = "error") -> float:
    """Mean over trials at the end of a run."""
    return float(np.mean(answer[what][-1]))


def row(at: Setting, what: str, answer: Answer, paper: float | None = None) -> Row:
    """A final test error, with a ratio to the paper's only where the run is the paper's."""
    name = f"{at.images}, {what}, test error %"
    if at.exact or paper is None:
        return compared(name, paper, last(answer))
    return compared(name, None, last(answer), **{"paper, in full": paper})


def named(rho: float | str) -> str:
    """The name of a penalty in the legend."""
    if not isinstance(rho, str):
        return f"rho {rho:g}"
    share = float(rho.removesuffix(" hat"))
    return "hat rho" if share == 1.0 else f"hat rho times {share:g}"
