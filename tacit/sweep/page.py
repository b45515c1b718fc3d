"""What the page of a sweep shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit._engine.environment import environment
from tacit.errors import ConfigError
from tacit.privacy.guarantee import Status
from tacit.report.sweep import Series, SweepData
from tacit.sweep import caveats, columns, words
from tacit.sweep.cells import Plan
from tacit.sweep.sections import shown as shown_value
from tacit.sweep.table import Runs, chosen, in_words, measures, settings

_LINES, _PANELS = 8, 12
"""More lines than this in one panel are hard to follow, and more panels than this to survey."""


def sweep_data(
    plan: Plan,
    found: Sequence[Runs],
    measure: str | None,
    over: str | None = None,
    facet: str | None = None,
    names: Mapping[str, str] = words.NO_NAMES,
) -> SweepData:
    """Everything that the page of a sweep shows.

    Args:
        plan: the sweep.
        found: results of its runs.
        measure: name of the measure to plot; chosen from what was measured if `None`.
        over: key of the horizontal axis; the budget, or another number that varies, if `None`.
        facet: key whose values have a panel each; if `None`, one panel, or one that thins out many
            lines.
        names: what to call values, by the words for them.
    """
    shown = chosen(found, measure)
    axis = _axis(found, facet) if over is None else over
    panels = _facet(found, axis) if facet is None else facet
    return SweepData(
        title=plan.source.study.title,
        summary=words.summary(plan) + ".",
        warnings=caveats.warnings(plan, found),
        measure=in_words(shown, found),
        axis=_axis_title(found, axis),
        logarithmic=shown in ("objective_gap", "distance"),
        series=_series(found, shown, axis, panels, names),
        cells=columns.rows(found, shown, names=names),
        alike=columns.alike(found, names),
        others={
            in_words(name, found): columns.rows(found, name, brief=True, names=names)
            for name in measures(found)
            if name != shown
        },
        study=plan.source.text,
        notes=plan.source.study.notes,
        environment=environment(),
    )


def _axis_title(found: Sequence[Runs], axis: str | None) -> str:
    if axis is None:
        return ""
    return "epsilon of one run" if axis == words.BUDGET else words.headings(settings(found))[axis]


def check_keys(
    plan: Plan, over: str | None = None, facet: str | None = None, columns: str | None = None
) -> None:
    """Refuse, before anything runs, an axis, panels or columns of a key that is not there.

    Raises:
        ConfigError: no such key; the message lists those that exist.
    """
    there = list(dict.fromkeys(key for cell in plan.cells for key in cell.settings))
    for name, key in (("over", over), ("facet", facet), ("columns", columns)):
        if key is not None and key not in there:
            raise ConfigError(f"{name}={key!r} is not varied here; there are {', '.join(there)}")
    if over is not None and over == facet:
        raise ConfigError(f"over and facet are both {over!r}; choose another key for one of them")


def _axis(found: Sequence[Runs], facet: str | None) -> str | None:
    """The key of the horizontal axis: the budget if it varies, the first number that does, or else
    the first other key.

    `None` if only methods differ, and every cell has a separate place.
    """
    keys = [key for key in settings(found) if key != facet]
    varying = [key for key in keys if key != "method" and len(_values(found, key)) > 1]
    numeric = [key for key in varying if _numeric(found, key)]
    first = sorted(numeric, key=lambda key: key != words.BUDGET) or varying
    return first[0] if first else None


def _facet(found: Sequence[Runs], axis: str | None) -> str | None:
    """The key that leaves the fewest lines to tell apart, if one panel would have too many."""
    if axis is None or len(_lines(found, axis, None)) <= _LINES:
        return None
    counts = {
        key: len(_values(found, key)) for key in settings(found) if key not in ("method", axis)
    }
    fit = [key for key, count in counts.items() if 1 < count <= _PANELS]
    return min(fit, key=lambda key: (len(_lines(found, axis, key)), -counts[key]), default=None)


def _lines(found: Sequence[Runs], axis: str, facet: str | None) -> set[str]:
    return {line for _, line in _places(found, axis, facet)}


def _values(found: Sequence[Runs], key: str) -> list[Any]:
    """The values of a key, as they are shown."""
    there = [runs.cell.settings[key] for runs in found if key in runs.cell.settings]
    return list(dict.fromkeys(shown_value(value) for value in there))


def _numeric(found: Sequence[Runs], key: str) -> bool:
    values = [value for runs in found if (value := runs.cell.value(key)) is not None]
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _series(
    found: Sequence[Runs],
    measure: str,
    axis: str | None,
    facet: str | None,
    names: Mapping[str, str],
) -> list[Series]:
    """One line for all cells that differ only in the axis."""
    lines: dict[tuple[str, str], list[Runs]] = {}
    for place, runs in zip(_places(found, axis, facet, names), found, strict=True):
        lines.setdefault(place, []).append(runs)
    numeric = axis is not None and _numeric(found, axis)
    made = []
    for (panel, name), members in lines.items():
        places = [_place(runs, axis, names) for runs in members]
        if numeric:
            order = sorted(range(len(members)), key=lambda i: places[i] or 0.0)
            members, places = [members[i] for i in order], [places[i] for i in order]
        means = [runs.mean(measure) for runs in members]
        made.append(
            Series(
                name=name,
                x=places,
                y=[mean for mean, _ in means],
                error=[2.0 * error for _, error in means],
                level=axis is not None and members[0].cell.value(axis) is None,
                facet=panel,
            )
        )
    return made


def _places(
    found: Sequence[Runs],
    axis: str | None,
    facet: str | None,
    names: Mapping[str, str] = words.NO_NAMES,
) -> list[tuple[str, str]]:
    """The panel and the line of each cell.

    What every panel has one value of belongs to the panel, so that a graph is called alike, and
    drawn alike, in all of them.
    """
    apart = tuple(key for key in (axis, facet) if key is not None)
    apart += _of_panels(found, facet)
    told = facet is not None and _same_status(found, facet)
    places = []
    for runs in found:
        line, panel = words.label(runs, apart, names=names), ""
        if facet in runs.cell.settings:
            panel = words.label(runs, only=facet, names=names)
        if told and panel:
            panel += _doubt(runs)
        else:
            line += _doubt(runs)
        places.append((panel, line))
    return places


def _panels(found: Sequence[Runs], facet: str) -> list[list[Runs]]:
    """The cells drawn in each panel; those without the key are in all of them."""
    everywhere = [runs for runs in found if facet not in runs.cell.settings]
    panels: dict[str, list[Runs]] = {}
    for runs in found:
        if facet in runs.cell.settings:
            panels.setdefault(str(shown_value(runs.cell.settings[facet])), []).append(runs)
    return [[*members, *everywhere] for members in panels.values()]


def _of_panels(found: Sequence[Runs], facet: str | None) -> tuple[str, ...]:
    """Keys that differ from panel to panel, and in none of them."""
    if facet is None:
        return ()
    panels = _panels(found, facet)
    return tuple(
        key
        for key in settings(found)
        if key != facet
        and all(len(_given(members, key)) == 1 for members in panels)
        and len(_given(found, key)) > 1
    )


def _given(found: Sequence[Runs], key: str) -> set[str]:
    return {str(shown_value(runs.cell.settings.get(key))) for runs in found}


def _same_status(found: Sequence[Runs], facet: str) -> bool:
    """Whether all cells of each panel have guarantees of one kind."""
    panels = _panels(found, facet)
    return all(len({runs.cell.worst.status for runs in members}) == 1 for members in panels)


def _doubt(runs: Runs) -> str:
    """The status of a guarantee that is not proved, to stand behind a name."""
    kind = runs.cell.worst.status
    return "" if kind in (Status.PROVED, Status.NONE) else f" ({words.status(kind)})"


def _place(runs: Runs, axis: str | None, names: Mapping[str, str]) -> Any:
    """The position of a cell on the horizontal axis; `None` where it has none."""
    if axis is None:
        return words.label(runs, names=names)
    value = words.value_text(runs.cell.value(axis), names)
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number else str(value)
