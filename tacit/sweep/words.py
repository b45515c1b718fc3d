"""What a reader must know about a sweep, in sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tacit import checks
from tacit._engine.shortened import TOLD
from tacit.errors import ConfigError
from tacit.privacy.digits import rounded_up
from tacit.privacy.guarantee import Status
from tacit.sweep.cases import NAME
from tacit.sweep.cells import Plan
from tacit.sweep.sections import shown
from tacit.sweep.table import Runs, spent

BUDGET = "privacy.epsilon"
"""The key of a budget."""

NO_NAMES: Mapping[str, str] = MappingProxyType({})
"""Values are called as they are."""

SIMULATION = (
    "Simulation only: what is measured is computed from the records without noise, and no "
    "guarantee covers it. Sweep on public or synthetic records, or on records that stay with you."
)

CHOICE = (
    "To choose a setting by these numbers is a release of its own, which the guarantee of a single "
    "run does not cover: that guarantee assumes that settings were not chosen on the same records."
)

_SEEDS = 5
"""Least number of runs from which a standard error is believed."""

_SAME = 0.1
"""Largest relative difference between errors that count as the same."""

_KINDS = {
    Status.PROVED: "proved",
    Status.MODEL: "model claim, not a proof",
    Status.PER_RELEASE: "per release, not per run",
    Status.REFUTED: "refuted",
    Status.NONE: "none",
}
"""The status of a guarantee in a few words."""


def status(kind: Status) -> str:
    """The status of a guarantee in a few words."""
    return _KINDS[kind]


def warnings(plan: Plan, found: Sequence[Runs]) -> list[str]:
    """Caveats about the numbers."""
    said = [SIMULATION, _together(plan), CHOICE]
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
    said += _shortened(found)
    said += _unlimited(found)
    gone = sum(int((~runs.finished).sum()) for runs in found)
    if gone:
        said.append(
            f"{gone:,} of {plan.runs:,} runs diverged. They are left out of the means, which makes "
            "their cells look better than they are."
        )
    return said


def _shortened(found: Sequence[Runs]) -> list[str]:
    """Where clips shorten much, and most: one sentence at most."""
    cut = [(runs.shortened[1], runs) for runs in found if runs.shortened is not None]
    told = [(share, runs) for share, runs in cut if share >= TOLD]
    if not told:
        return []
    share, runs = max(told, key=lambda each: each[0])
    what = "" if runs.shortened is None else runs.shortened[0]
    return [
        f"In {len(told):,} of {len(found):,} cells the clip shortens gradients or coefficients of "
        f"{TOLD:.0%} of the records or more; most, the {what} of {share:.0%}, with "
        f"{label(runs)}. There, raise clip, which takes more noise, or scale the columns down."
    ]


def _unlimited(found: Sequence[Runs]) -> list[str]:
    """Where the error is the same at the smallest and the largest budget: one sentence at most.

    Only errors whose least value is 0 have a ratio. They count as the same if a difference of more
    than `_SAME` lies outside two standard errors.
    """
    lines: dict[str, list[Runs]] = {}
    for runs in found:
        budget = runs.cell.settings.get(BUDGET)
        if isinstance(budget, int | float) and math.isfinite(budget):
            lines.setdefault(label(runs, [BUDGET]), []).append(runs)
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


def check_names(found: Sequence[Runs], names: Mapping[str, str]) -> None:
    """Refuse a name for what the sweep does not have.

    Args:
        found: results of the runs of each cell.
        names: what to call values, by the words for them.

    Raises:
        ConfigError: no such value; the message names one that is close, or all.
    """
    there = list(
        dict.fromkeys(str(shown(each)) for runs in found for each in runs.cell.settings.values())
    )
    for name in names:
        if name not in there:
            meant = checks.close(str(name), there)
            hint = f"did you mean {meant[0]!r}?" if meant else f"there are {', '.join(there)}"
            raise ConfigError(f"names={name!r} is no value of this sweep; {hint}")


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


def summary(plan: Plan) -> str:
    """How large the sweep is."""
    cells = "1 cell" if len(plan.cells) == 1 else f"{len(plan.cells):,} cells"
    each = "1 seed" if plan.seeds == 1 else f"{plan.seeds:,} seeds"
    runs = "1 run" if plan.runs == 1 else f"{plan.runs:,} runs"
    return f"{runs}: {cells} with {each} each"


def headings(keys: Sequence[str]) -> dict[str, str]:
    """Headings for the keys of settings, all different.

    Example:
        >>> headings(["method", "privacy.epsilon", "method.step", "problem.regulariser.strength"])
        ... # doctest: +NORMALIZE_WHITESPACE
        {'method': 'method', 'privacy.epsilon': 'budget', 'method.step': 'step',
         'problem.regulariser.strength': 'regulariser.strength'}
    """
    short = {key: "budget" if key == BUDGET else key.partition(".")[2] or key for key in keys}
    named = list(short.values())
    return {key: name if named.count(name) == 1 else key for key, name in short.items()}


def label(
    runs: Runs,
    leave_out: Sequence[str] = (),
    only: str | None = None,
    names: Mapping[str, str] = NO_NAMES,
) -> str:
    """The settings of a cell in a few words: all of them, all but some, or only one.

    Args:
        runs: results of the cell.
        leave_out: keys of the settings to leave out, beside those that the name of a case stands
            for; a cell with no others is called by its case or method.
        only: key of the only setting to name.
        names: what to call values, by the words for them.
    """
    given = runs.cell.settings
    named = headings(list(given))
    kept = [key for key in given if key not in leave_out and key not in runs.cell.covered]
    words = []
    for key in (kept or ["method"]) if only is None else [only]:
        value = str(shown(given[key]))
        bare = key in (NAME, "method") or value in names
        words.append(names.get(value, value) if bare else f"{named[key]} {value}")
    return ", ".join(words)


def value_text(value: Any, names: Mapping[str, str]) -> Any:
    """A value as tables show it, or what it is to be called."""
    known = shown(value)
    return names.get(str(known), known)
