"""The numbers of a sweep: one table with a row per run, and one with a row per cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from tacit._jobs import Answer
from tacit.errors import ConfigError
from tacit.privacy.guarantee import Guarantee, Status
from tacit.problem.scores import SCORES
from tacit.sweep.cells import Cell, Plan
from tacit.sweep.intervals import ERROR, PRINTED, WIDTH
from tacit.sweep.sections import shown

if TYPE_CHECKING:
    import pandas as pd

_NAMES = {
    **SCORES,
    "kept": "share kept of what the pooled fit gains over the base rate, in mean loss",
    WIDTH: "median width of the printed intervals, over that without noise; of counts and a table "
    "1 half of it, over the number",
    ERROR: "median distance from the numbers without noise, over half of their intervals; of "
    "counts and a table 1 over the number",
    PRINTED: "share of numbers printed with an interval",
    "objective_gap": "objective above the pooled fit's",
    "objective": "objective",
    "distance": "squared distance from the pooled fit, relative to its size, summed over sites",
    "consensus": "disagreement of the sites",
}
"""What is measured, in the order in which one of them is chosen to stand for all."""

_ROUNDING = 1e3
"""Most units in the last place by which equal runs may differ at their end."""

_COUNTED = frozenset({"counts", "table1"})
"""Methods whose intervals are of the noise alone."""

_MEANT = {
    WIDTH: (
        "median width of the printed intervals, over that without noise",
        "median half of the intervals for the noise, over the number",
    ),
    ERROR: (
        "median distance from the numbers without noise, over half of their intervals",
        "median distance from the numbers without noise, over the number",
    ),
}
"""What is meant where no method is one of `_COUNTED`, and where all are; `_NAMES` covers both."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Results of the runs of one cell.

    Attributes:
        cell: the cell.
        finished: whether each run stayed finite, shape `(seeds,)`.
        measured: name to one number per run at its end, each of shape `(seeds,)`. Computed from
            private records without noise: for simulations only.
        shortened: what the clip shortens in the first run, and of which share of the records, if
            that was counted. For simulations only, too.
        rose: whether the objective of each run is larger at the end than at the start, shape
            `(seeds,)`, if it is measured at both. For simulations only, too.
        cause: why it may be larger, and what to do, as the end of a sentence.
    """

    cell: Cell
    finished: Bool[np.ndarray, " seeds"]
    measured: Mapping[str, Float[np.ndarray, " seeds"]]
    shortened: tuple[str, float] | None = None
    rose: Bool[np.ndarray, " seeds"] | None = None
    cause: str = ""

    @classmethod
    def of(cls, cell: Cell, answers: Sequence[Answer], seeds: int) -> Runs:
        """From the answers of a cell's chunks, in order; the last one may hold surplus runs."""
        finished = np.concatenate([answer["finished"] for answer in answers])[:seeds]
        cut = answers[0].get("shortened")  # which answers of version 0.1.0 do not have
        return cls(
            cell,
            finished.astype(bool),
            {
                name: np.concatenate([answer["measured"][name] for answer in answers])[
                    :seeds
                ].astype(float)
                for name in answers[0]["measured"]
            },
            None if cut is None else (cut[0], cut[1]),
            np.concatenate([answer["rose"] for answer in answers])[:seeds].astype(bool)
            if "rose" in answers[0]
            else None,
            answers[0].get("cause", ""),
        )

    def mean(self, measure: str) -> tuple[float, float]:
        """Mean of the runs that have a number, and its standard error; NaN where undefined.

        Without noise all runs may be one, computed again: a spread that is rounding counts as 0.
        """
        values = self.measured.get(measure, np.full(len(self.finished), np.nan))
        kept = values[self.finished & ~np.isnan(values)]
        if not len(kept):
            return math.nan, math.nan
        if len(kept) > 1 and np.ptp(kept) <= self._rounding(measure):
            return float(np.mean(kept)), 0.0
        error = float(np.std(kept, ddof=1)) / math.sqrt(len(kept)) if len(kept) > 1 else math.nan
        return float(np.mean(kept)), error

    def _rounding(self, measure: str) -> float:
        """Largest difference between runs that may be rounding; 0 where there is noise."""
        if self.cell.worst.status is not Status.NONE:
            return 0.0
        # a gap is a difference of two objectives, and no more exact than they are
        of = "objective" if measure == "objective_gap" and "objective" in self.measured else measure
        size = float(np.max(np.abs(self.measured[of][self.finished]), initial=0.0))
        return _ROUNDING * float(np.finfo(self.cell.source.study.run.precision).eps) * size


def precise(mean: float, error: float) -> str | None:
    """A mean with as many digits as its standard error leaves; `None` where it is undefined.

    Example:
        >>> precise(0.82213, 4e-5), precise(0.82213, 0.02), precise(3.0, math.nan)
        ('0.82213', '0.822', '3')
    """
    if not math.isfinite(mean):
        return None
    digits = 4 if not math.isfinite(error) or error <= 0.0 else 3
    if math.isfinite(error) and 0.0 < error < abs(mean):
        digits = math.floor(math.log10(abs(mean))) - math.floor(math.log10(error)) + 2
    return f"{mean:.{min(max(digits, 3), 9)}g}"


def spent(guarantee: Guarantee) -> float:
    """Epsilon of a whole run, even where the guarantee is per release."""
    return guarantee.epsilon if guarantee.total_epsilon is None else guarantee.total_epsilon


def measures(found: Sequence[Runs]) -> list[str]:
    """What was measured in some cell, the most informative first."""
    there = {name for runs in found for name in runs.measured}
    return _ordered(there)


def _ordered(there: Set[str]) -> list[str]:
    """Measures, the most informative first; a study's own metrics come last."""
    return [name for name in (*_NAMES, *sorted(there - set(_NAMES))) if name in there]


def chosen(found: Sequence[Runs], measure: str | None = None) -> str:
    """The main measure: the one asked for, or the first that has a mean."""
    if measure is not None:
        return measure
    there = measures(found)
    defined = (m for m in there if any(math.isfinite(runs.mean(m)[0]) for runs in found))
    return next(defined, there[-1])


def check_measure(plan: Plan, measure: str | None) -> None:
    """Refuse, before anything runs, a measure that no cell will have.

    Raises:
        ConfigError: no such measure; the message lists those that exist.
    """
    there = {name for cell in plan.cells for name in cell.measures}
    if measure is not None and measure not in there:
        names = ", ".join(_ordered(there))
        raise ConfigError(
            f"measure={measure!r} is not measured here; there are {names} (scores need hold_out, "
            "and gaps compare = true, in [run])"
        )


def in_words(measure: str, found: Sequence[Runs] = ()) -> str:
    """The name of a measure in words, as it is meant of the methods of these runs."""
    methods = {str(dict(runs.cell.source.study.method)["name"]) for runs in found}
    if measure in _MEANT and methods:
        of_intervals, of_counts = _MEANT[measure]
        if not methods & _COUNTED:
            return of_intervals
        if methods <= _COUNTED:
            return of_counts
    return _NAMES.get(measure, measure)


def withheld(found: Sequence[Runs], measure: str) -> bool:
    """Whether some run has numbers without an interval, which the measure leaves out."""
    return measure != PRINTED and any(runs.mean(PRINTED)[0] < 1.0 for runs in found)


def runs_frame(plan: Plan, found: Sequence[Runs]) -> pd.DataFrame:
    """One row per run: cell, settings, seed and trial, what was measured, and its guarantee."""
    import pandas as pd

    keys = settings(found)
    parts = [
        pd.DataFrame(
            {
                "cell": number,
                **{key: shown(runs.cell.value(key)) for key in keys},
                "seed": runs.cell.source.study.run.shared_seed,
                "trial": np.arange(plan.seeds),
                "finished": runs.finished,
                **{name: runs.measured.get(name, np.nan) for name in measures(found)},
                **_promise(runs.cell.worst),
            }
        )
        for number, runs in enumerate(found)
    ]
    return pd.concat(parts, ignore_index=True)


def cells_frame(found: Sequence[Runs]) -> pd.DataFrame:
    """One row per cell: settings, runs, means with standard errors, and a run's guarantee."""
    import pandas as pd

    rows = []
    for number, runs in enumerate(found):
        row: dict[str, Any] = {"cell": number}
        row |= {key: shown(runs.cell.value(key)) for key in settings(found)}
        row |= {"runs": len(runs.finished), "finished": int(runs.finished.sum())}
        for name in measures(found):
            row[name], row[f"{name}_error"] = runs.mean(name)
        rows.append(row | _promise(runs.cell.worst))
    return pd.DataFrame(rows)


def settings(found: Sequence[Runs]) -> list[str]:
    """All keys that are particular to some cell, in the order in which they first appear."""
    return list(dict.fromkeys(key for runs in found for key in runs.cell.settings))


def _promise(guarantee: Guarantee) -> dict[str, Any]:
    return {
        "epsilon": spent(guarantee),
        "delta": guarantee.delta,
        "guarantee": guarantee.status.value,
        "noise": guarantee.noise.value,
    }
