"""The table of cells: the same columns, in one order, on the page and on the console.

A column is there if it tells cells apart; what is the same in all of them is said in a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.privacy.digits import rounded_up
from tacit.privacy.guarantee import Status
from tacit.report.tables import number
from tacit.sweep import words
from tacit.sweep.intervals import PRINTED
from tacit.sweep.sections import shown
from tacit.sweep.table import Runs, precise, settings, spent, withheld

_VISIBLE = 0.01
"""Smallest relative difference between budget and epsilon for which both have a column."""


def rows(
    found: Sequence[Runs],
    measure: str,
    *,
    brief: bool = False,
    names: Mapping[str, str] = words.NO_NAMES,
) -> list[dict[str, Any]]:
    """One row per cell, by column: what varies, epsilon, guarantee, and what was found.

    Args:
        found: results of the runs of each cell.
        measure: name of what is measured.
        brief: whether to leave out what all measures have in common.
        names: what to call values, by the words for them.
    """
    keys = _keys(found)
    with_delta = len(_deltas(found)) > 1 and "privacy.delta" not in keys
    diverged = any(not runs.finished.all() for runs in found)
    partly = not brief and withheld(found, measure)
    made = []
    for runs in found:
        (mean, error), worst = runs.mean(measure), runs.cell.worst
        row = {name: words.value_text(runs.cell.value(key), names) for key, name in keys.items()}
        if not brief:
            row |= {"epsilon": _up(spent(worst)), **({"delta": worst.delta} if with_delta else {})}
            row["guarantee"] = words.status(worst.status)
        row |= {"mean": precise(mean, error), "standard_error": _finite(error)}
        if partly:
            row["printed"] = f"{runs.mean(PRINTED)[0]:.0%}"
        if diverged and not brief:
            row["finished"] = f"{int(runs.finished.sum())} of {len(runs.finished)}"
        made.append(row)
    return made


def alike(found: Sequence[Runs], names: Mapping[str, str] = words.NO_NAMES) -> str:
    """What is the same in all cells, and so has no column; empty for nothing."""
    kept = _keys(found)
    cell = found[0].cell
    same = [
        f"{name} {number(words.value_text(cell.value(key), names))}"
        for key, name in words.headings(settings(found)).items()
        if key not in kept and key != words.BUDGET  # which epsilon tells
    ]
    said = [f"In all cells: {', '.join(same)}."] if same else []
    if len(deltas := _deltas(found)) == 1 and deltas != [0.0]:
        said.append(f"Delta is {rounded_up(deltas[0])}.")
    return " ".join(said)


def budget_differs(found: Sequence[Runs]) -> bool:
    """Whether some run spends visibly less or more than its budget, so that both are told."""
    for runs in found:
        budget = runs.cell.value(words.BUDGET)
        if budget is None or runs.cell.worst.status is Status.NONE:
            continue
        if not isinstance(budget, int | float):
            return True
        if not math.isclose(spent(runs.cell.worst), budget, rel_tol=_VISIBLE):
            return True
    return False


def _keys(found: Sequence[Runs]) -> dict[str, str]:
    """Settings that have a column, with their headings."""
    named = words.headings(settings(found))
    budget = budget_differs(found)
    return {
        key: name
        for key, name in named.items()
        if (len(found) == 1 or _varies(found, key)) and (key != words.BUDGET or budget)
    }


def _varies(found: Sequence[Runs], key: str) -> bool:
    return len({str(shown(runs.cell.value(key))) for runs in found}) > 1


def _deltas(found: Sequence[Runs]) -> list[float]:
    """The deltas of all cells that have a guarantee."""
    worst = [runs.cell.worst for runs in found]
    return sorted({each.delta for each in worst if each.status is not Status.NONE})


def _up(epsilon: float) -> float:
    return float(rounded_up(epsilon).replace(",", "")) if math.isfinite(epsilon) else epsilon


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
