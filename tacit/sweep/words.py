"""How a sweep calls its settings, values and guarantees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tacit import checks
from tacit.errors import ConfigError
from tacit.privacy.guarantee import Status
from tacit.sweep.cases import NAME
from tacit.sweep.cells import Cell, Plan
from tacit.sweep.sections import shown
from tacit.sweep.table import Runs

BUDGET = "privacy.epsilon"
"""The key of a budget."""

NO_NAMES: Mapping[str, str] = MappingProxyType({})
"""Values are called as they are."""

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


def called(cells: Sequence[Cell], names: Mapping[str, str]) -> dict[str, str]:
    """What to call values, with the words beside those that are renamed.

    Where one graph is called by a name, the others need no "network" before them, either.

    Args:
        cells: all cells of the sweep.
        names: what to call values, by the words for them.

    Raises:
        ConfigError: no such value, or two of one name; the message names the remedy.
    """
    values: dict[str, list[Any]] = {}
    for key, value in (each for cell in cells for each in cell.settings.items()):
        values.setdefault(key, []).append(shown(value))
    there = list(dict.fromkeys(str(each) for group in values.values() for each in group))
    for name in names:
        if name not in there:
            hint = checks.hint(str(name), there, f"there are {', '.join(there)}")
            raise ConfigError(f"names={name!r} is no value of this sweep; {hint}")
    found: dict[str, str] = {}
    for group in values.values():
        if names.keys() & set(map(str, group)) and all(isinstance(each, str) for each in group):
            found |= {each: each for each in group}
    found |= names
    if twice := [each for each in found.values() if list(found.values()).count(each) > 1]:
        raise ConfigError(f"names calls two values {twice[0]!r}; give each a name of its own")
    return found


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
