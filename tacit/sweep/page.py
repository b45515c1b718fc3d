"""What the page of a sweep shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tacit._engine.environment import environment
from tacit.privacy.guarantee import Status
from tacit.report.sweep import Series, SweepData
from tacit.sweep import words
from tacit.sweep.cells import Plan
from tacit.sweep.table import Runs, chosen, in_words, measures, settings, spent


def sweep_data(plan: Plan, found: Sequence[Runs], measure: str | None) -> SweepData:
    """Everything that the page of a sweep shows.

    Args:
        plan: the sweep.
        found: results of its runs.
        measure: name of the measure to plot; chosen from what was measured if `None`.
    """
    shown = chosen(found, measure)
    axis = _axis(found)
    return SweepData(
        title=plan.source.study.title,
        summary=words.summary(plan) + ".",
        warnings=words.warnings(plan, found),
        measure=in_words(shown),
        axis="" if axis is None else "epsilon of one run" if axis == words.BUDGET else axis,
        logarithmic=shown in ("objective_gap", "distance"),
        series=_series(found, shown, axis),
        cells=[_row(runs, shown, settings(found)) for runs in found],
        others={
            in_words(name): [_row(runs, name, settings(found), brief=True) for runs in found]
            for name in measures(found)
            if name != shown
        },
        study=plan.source.text,
        notes=plan.source.study.notes,
        environment=environment(),
    )


def _axis(found: Sequence[Runs]) -> str | None:
    """The key of the horizontal axis: the budget if it varies, or the first number that does.

    `None` if there is no such key, and every cell has a separate place.
    """
    for key in sorted(settings(found), key=lambda key: key != words.BUDGET):
        # lists are not numbers, and cannot be in a set
        values = [runs.cell.settings[key] for runs in found if key in runs.cell.settings]
        numbers = [isinstance(v, int | float) and not isinstance(v, bool) for v in values]
        if all(numbers) and len(set(values)) > 1:
            return key
    return None


def _series(found: Sequence[Runs], measure: str, axis: str | None) -> list[Series]:
    """One line for all cells that differ only in the axis."""
    lines: dict[str, list[Runs]] = {}
    for runs in found:
        name = words.label(runs, () if axis is None else (axis,))
        if runs.cell.worst.status not in (Status.PROVED, Status.NONE):
            name += f" ({words.status(runs.cell.worst.status)})"
        lines.setdefault(name, []).append(runs)
    made = []
    for name, members in lines.items():
        members = sorted(members, key=lambda runs: _place(runs, axis))
        means = [runs.mean(measure) for runs in members]
        level = axis is not None and axis not in members[0].cell.settings
        made.append(
            Series(
                name=name,
                x=[None if level else _place(runs, axis) for runs in members],
                y=[mean for mean, _ in means],
                error=[2.0 * error for _, error in means],
                level=level,
            )
        )
    return made


def _place(runs: Runs, axis: str | None) -> Any:
    """The position of a cell on the horizontal axis; 0 where it has none."""
    if axis is None:
        return words.label(runs)
    value = runs.cell.settings.get(axis, 0.0)
    return float(value)


def _row(
    runs: Runs, measure: str, keys: Sequence[str], brief: bool = False
) -> dict[str, str | float | int | None]:
    mean, error = runs.mean(measure)
    worst, count = runs.cell.worst, len(runs.finished)
    row: dict[str, Any] = {
        name: runs.cell.settings.get(key) for key, name in words.headings(keys).items()
    }
    if not brief:
        row |= {"epsilon": spent(worst), "guarantee": words.status(worst.status)}
    row |= {"mean": _finite(mean), "standard_error": _finite(error)}
    if not brief:
        row |= {"finished": f"{int(runs.finished.sum())} of {count}", "delta": worst.delta}
    return row


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
