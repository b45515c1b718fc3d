"""What a reader must know about a sweep, in sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tacit._engine.shortened import TOLD
from tacit.privacy.digits import rounded_up
from tacit.privacy.guarantee import Status
from tacit.report.tables import number
from tacit.sweep.cells import Plan
from tacit.sweep.table import Runs, spent
from tacit.sweep.words import BUDGET, called, label, status

SIMULATION = (
    "Simulation only: what is measured is computed from the {held} without noise, and no "
    "guarantee covers it. Sweep on public or synthetic {held}, or on {held} that stay with you."
)

CHOICE = (
    "To choose a setting by these numbers is a release of its own, which the guarantee of a single "
    "run does not cover: that guarantee assumes that settings were not chosen on the same {held}."
)

_SEEDS = 5
"""Least number of runs from which a standard error is believed."""

_MOST = 0.5
"""Share of a cell's runs that must end above their start for it to be told."""

_SAME = 0.1
"""Largest relative difference between errors that count as the same."""


def warnings(plan: Plan, found: Sequence[Runs]) -> list[str]:
    """Caveats about the numbers."""
    held = plan.source.held.plural
    said = [SIMULATION.format(held=held), _together(plan), CHOICE.format(held=held)]
    unproved = sorted(
        {
            f"{cell.settings['method']} ({status(cell.worst.status)})"
            for cell in plan.cells
            if cell.worst.status not in (Status.PROVED, Status.NONE)
        }
    )
    if unproved:
        said.append(
            f"The epsilon of {', '.join(unproved)} is not a proved bound for a run: do not compare "
            "it with proved ones as if it were."
        )
    bare = sorted({c.settings["method"] for c in plan.cells if c.worst.status is Status.NONE})
    if bare:
        said.append(f"{', '.join(bare)}: no privacy; for comparison only.")
    names = called(plan.cells, plan.grid.names)
    said += _risen(found, names)
    said += _shortened(found, held, names)
    said += _unlimited(found, names)
    gone = sum(int((~runs.finished).sum()) for runs in found)
    if gone:
        said.append(
            f"{gone:,} of {plan.runs:,} runs diverged. They are left out of the means, which makes "
            "their cells look better than they are."
        )
    return said


def _shortened(found: Sequence[Runs], held: str, names: Mapping[str, str]) -> list[str]:
    """Where clips shorten much, and most: one sentence at most."""
    cut = [(runs.shortened[1], runs) for runs in found if runs.shortened is not None]
    told = [(share, runs) for share, runs in cut if share >= TOLD]
    if not told:
        return []
    share, runs = max(told, key=lambda each: each[0])
    what = "" if runs.shortened is None else runs.shortened[0]
    return [
        f"In {len(told):,} of {len(found):,} cells the clip shortens gradients or coefficients of "
        f"{TOLD:.0%} of the {held} or more; most, the {what} of {share:.0%}, with "
        f"{label(runs, names=names)}. There, raise clip, which takes more noise, or scale the "
        "columns down."
    ]


def _risen(found: Sequence[Runs], names: Mapping[str, str]) -> list[str]:
    """Where answers are worse than the start, and why: one sentence for each cause."""
    causes: dict[str, list[Runs]] = {}
    for runs in found:
        ended = runs.rose[runs.finished] if runs.rose is not None else np.zeros(0)
        if len(ended) and np.mean(ended) > _MOST:
            causes.setdefault(runs.cause, []).append(runs)
    said = []
    for cause, members in causes.items():
        worst = max(members, key=lambda runs: runs.mean("objective")[0])
        said.append(
            f"In {len(members):,} of {len(found):,} cells most runs end with a larger objective "
            f"than they begin with; the largest, {number(worst.mean('objective')[0])}, with "
            f"{label(worst, names=names)}. There, {cause}"
        )
    return said


def _unlimited(found: Sequence[Runs], names: Mapping[str, str]) -> list[str]:
    """Where the error is the same at the smallest and the largest budget: one sentence at most.

    Only errors whose least value is 0 have a ratio. They count as the same if a difference of more
    than `_SAME` lies outside two standard errors.
    """
    lines: dict[str, list[Runs]] = {}
    for runs in found:
        budget = runs.cell.settings.get(BUDGET)
        if isinstance(budget, int | float) and math.isfinite(budget):
            lines.setdefault(label(runs, [BUDGET], names=names), []).append(runs)
    same: list[tuple[str, list[Runs]]] = []
    for name, members in lines.items():
        members.sort(key=lambda runs: runs.cell.settings[BUDGET])
        ends = (members[0], members[-1])
        enough = min(runs.finished.sum() for runs in ends) >= _SEEDS
        if (
            enough
            and ends[1].cell.settings[BUDGET] >= 2 * ends[0].cell.settings[BUDGET]
            and any(
                _alike(*(runs.mean(measure) for runs in ends))
                for measure in ("objective_gap", "distance")
                if measure in ends[0].measured
            )
        ):
            same.append((name, [*ends]))
    if not same:
        return []
    name, (least, most) = same[0]
    others = f" and {len(same) - 1} more" if len(same) > 1 else ""
    return [
        f"With {name}{others}, the error is the same within {_SAME:.0%} at budget "
        f"{least.cell.settings[BUDGET]:g} and {most.cell.settings[BUDGET]:g}: between them, noise "
        "is not what limits it. Look at step, rounds, clip and the network."
    ]


def _alike(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether two means, with their standard errors, are surely nearly the same."""
    apart = abs(one[0] - other[0]) + 2.0 * math.hypot(one[1], other[1])
    least = min(one[0], other[0])
    return least > 0.0 and apart <= _SAME * least


def _together(plan: Plan) -> str:
    """The cost of publishing all runs, by basic composition."""
    private = [cell for cell in plan.cells if cell.worst.status is not Status.NONE]
    if plan.runs == 1 or not private:
        return "The guarantee in the table is that of one run."
    total = plan.seeds * sum(spent(cell.worst) for cell in private)
    delta = min(1.0, plan.seeds * sum(cell.worst.delta for cell in private))
    count = plan.seeds * len(private)
    if not math.isfinite(total):
        return "The guarantee in the table is that of one run; together, runs add up."
    return (
        f"The guarantee in the table is that of one run alone. Runs add up: whoever publishes all "
        f"{count:,} private runs spends epsilon = {rounded_up(total)} at delta = "
        f"{rounded_up(delta)} by basic composition."
    )
