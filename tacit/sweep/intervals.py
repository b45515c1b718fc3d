"""What a sweep measures of a statistic: intervals of a run, beside the same run without noise."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from tacit.method._table_entries import NOISE
from tacit.method.answer import NORMAL, Answer
from tacit.method.coefficients import CoefficientTable
from tacit.method.counts import CountTable
from tacit.method.cox_answer import HazardRatios
from tacit.method.survival_answer import SurvivalCurves
from tacit.method.table_one_answer import TableOne

PRINTED, WIDTH, ERROR = "printed", "interval_width", "noise_error"
"""Names of what is measured."""


class _Number(NamedTuple):
    """A number with half of its 95 % interval."""

    value: float
    half: float

    @property
    def unit(self) -> float:
        """That half or, where there is none without noise, the size of the number."""
        return self.half if self.half > 0.0 else abs(self.value)


def compared(answer: Answer, exact: Answer) -> dict[str, float]:
    """Measures of a run, by name: those of widths and errors are not numbers if nothing is printed.

    Args:
        answer: answer of the run.
        exact: answer of the same run without noise.

    Returns:
        Share of the numbers that are printed with an interval; median over them of the width, and
        of the distance from the number without noise. Both are relative: to the width without noise
        of coefficients, log hazard ratios and survival, to the number itself of counts and of a
        table 1, whose intervals are for the noise alone.
    """
    found, true = _numbers(answer), _numbers(exact)
    true = {key: each for key, each in true.items() if each.unit > 0.0}
    both = [(found[key], each) for key, each in true.items() if key in found]
    widths = [each.half / other.unit for each, other in both]
    errors = [abs(each.value - other.value) / other.unit for each, other in both]
    return {
        PRINTED: len(both) / len(true) if true else math.nan,
        WIDTH: float(np.median(widths)) if both else math.nan,
        ERROR: float(np.median(errors)) if both else math.nan,
    }


def _numbers(answer: Answer) -> dict[Hashable, _Number]:
    """The numbers of an answer that are printed with an interval, by what they are of."""
    if isinstance(answer, CoefficientTable) and answer.refusal is not None:
        return {}
    if isinstance(answer, CoefficientTable | HazardRatios):
        errors = np.sqrt(np.diag(answer.sampling + answer.privacy))
        rows = zip(answer.names, answer.values, NORMAL * errors, strict=True)
        return {name: _Number(float(value), float(half)) for name, value, half in rows}
    if isinstance(answer, SurvivalCurves):
        frame = answer.frame()
        rows = frame[frame["time"] > answer.edges[0]]
        keys, values = zip(rows["group"], rows["time"], strict=True), rows["survival"]
    elif isinstance(answer, TableOne):
        frame = answer.frame()
        rows = frame[frame["upper"].notna() & (frame["note"] != NOISE)]
        named = [rows[key] for key in ("variable", "level", "group", "statistic")]
        keys, values = zip(*named, strict=True), rows["value"]
    elif isinstance(answer, CountTable):
        rows = answer.frame()
        keys, values = zip(rows["column"], rows["level"], strict=True), rows["count"]
    else:  # refused
        return {}
    halves = (rows["upper"] - rows["lower"]) / 2.0
    return dict(zip(keys, map(_Number, values, halves), strict=True))
