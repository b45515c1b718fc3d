"""The numbers of a sweep as a table in LaTeX, for the booktabs package."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tacit.errors import ConfigError
from tacit.escape import latex
from tacit.privacy.digits import rounded_up
from tacit.report.tables import heading
from tacit.sweep import words
from tacit.sweep.columns import budget_differs
from tacit.sweep.sections import shown
from tacit.sweep.table import Runs, in_words, settings, spent

_EXACT = 1e-6
"""A standard error smaller than this share of the mean is rounding."""


def cells_table(
    found: Sequence[Runs], measures: Sequence[str], names: Mapping[str, str] = words.NO_NAMES
) -> str:
    r"""One row per cell: settings, epsilon and guarantee of a run, means with standard errors.

    Args:
        found: results of the runs of each cell.
        measures: names of what is measured, one column each.
        names: what to call values, by the words for them.
    """
    keys = [
        key
        for key in settings(found)
        # the budget shows as epsilon, and the name of a case stands for what it covers
        if key != words.BUDGET
        and any(key in runs.cell.settings and key not in runs.cell.covered for runs in found)
    ]
    diverged = any(not runs.finished.all() for runs in found)
    named = [heading(name) for name in words.headings(keys).values()]
    tops = [*named, "Epsilon", "Guarantee", *map(heading, measures)]
    lines = [_row([*map(latex, tops), *(["Finished"] if diverged else [])]), r"\midrule"]
    for runs in found:
        worst = runs.cell.worst
        cells = [
            *(_text(words.value_text(runs.cell.value(key), names)) for key in keys),
            _bound(spent(worst)),
            latex(words.status(worst.status)),
            *(plus_minus(*runs.mean(measure)) for measure in measures),
        ]
        if diverged:
            cells.append(f"{int(runs.finished.sum())} of {len(runs.finished)}")
        lines.append(_row(cells))
    columns = "l" * len(keys) + "rl" + "r" * (len(measures) + diverged)
    return _whole(found, columns, lines, measures)


def crossed_table(
    found: Sequence[Runs],
    measure: str,
    columns: str,
    names: Mapping[str, str] = words.NO_NAMES,
) -> str:
    """Means with standard errors in a column per value of one key, a row per combination of others.

    A row states the guarantee of its cells, and unless its columns are budgets the largest epsilon
    among them; cells of different guarantees are in different rows.

    Args:
        found: results of the runs of each cell.
        measure: name of what is measured.
        columns: key whose values are the columns; a cell without it is written across all of them.
        names: what to call values, by the words for them.
    """
    have = [runs for runs in found if columns in runs.cell.settings]
    values = list(
        dict.fromkeys(words.value_text(runs.cell.settings[columns], names) for runs in have)
    )
    rows: dict[tuple[str, str], dict[object, Runs]] = {}
    for runs in found:
        place = words.value_text(runs.cell.settings[columns], names) if runs in have else None
        row = words.label(runs, (columns,)), words.status(runs.cell.worst.status)
        rows.setdefault(row, {})[place] = runs
    key = words.headings(settings(found))[columns]
    tops = ["Guarantee"] if columns == words.BUDGET else ["Epsilon", "Guarantee"]
    across, before = len(values), 1 + len(tops)
    lines = [
        _row([*[""] * before, rf"\multicolumn{{{across}}}{{c}}{{{latex(heading(key))}}}"]),
        rf"\cmidrule(lr){{{before + 1}-{before + across}}}",
        _row([latex(heading(measure)), *tops, *map(_text, values)]),
        r"\midrule",
    ]
    # the column of epsilon tells the budget
    left_out = (
        (columns,) if columns == words.BUDGET or budget_differs(found) else (columns, words.BUDGET)
    )
    for (_, status), cells in rows.items():
        name = words.label(next(iter(cells.values())), left_out, names=names)
        means = {place: plus_minus(*runs.mean(measure)) for place, runs in cells.items()}
        bound = _bound(max(spent(runs.cell.worst) for runs in cells.values()))
        row = [latex(name), *([bound] if "Epsilon" in tops else []), latex(status)]
        if None in means:
            lines.append(_row([*row, rf"\multicolumn{{{across}}}{{c}}{{{means[None]}}}"]))
        else:
            lines.append(_row([*row, *(means.get(value, "--") for value in values)]))
    form = "l" + ("rl" if "Epsilon" in tops else "l") + "r" * across
    return _whole(found, form, lines, [measure])


def _bound(epsilon: float) -> str:
    return rf"$\leq {rounded_up(epsilon)}$" if math.isfinite(epsilon) else r"$\infty$"


def plus_minus(mean: float, error: float) -> str:
    """A mean and its standard error, with the digits that the error leaves."""
    if not math.isfinite(mean):
        return "--"
    if not math.isfinite(error) or error <= _EXACT * abs(mean):
        value, _, power = f"{mean:.4g}".partition("e")
        return rf"${value} \times 10^{{{int(power)}}}$" if power else f"${value}$"
    power = math.floor(math.log10(max(abs(mean), error)))
    if -4 < power < 5:
        decimals = max(0, 1 - math.floor(math.log10(error)))
        return rf"${mean:.{decimals}f} \pm {error:.{decimals}f}$"
    mean, error = mean / 10.0**power, error / 10.0**power
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return rf"$({mean:.{decimals}f} \pm {error:.{decimals}f}) \times 10^{{{power}}}$"


def check_measures(measures: Sequence[str], there: Sequence[str]) -> None:
    """Refuse a column of what was not measured.

    Raises:
        ConfigError: such a name; the message lists those that exist.
    """
    for name in measures:
        if name not in there:
            raise ConfigError(f"measure={name!r} was not measured; there are {', '.join(there)}")


def _text(value: object) -> str:
    if value is None:
        return "--"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:g}" if number else latex(str(shown(value)))


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _whole(
    found: Sequence[Runs], columns: str, lines: Sequence[str], measures: Sequence[str]
) -> str:
    deltas = sorted({runs.cell.worst.delta for runs in found if runs.cell.worst.delta > 0})
    at = f" at delta = {', '.join(map(rounded_up, deltas))}" if deltas else ""
    worst = [runs.cell.worst for runs in found]
    if deltas and any(each.delta == 0 and math.isfinite(each.epsilon) for each in worst):
        at += ", or 0 in rows whose study says so"
    return "\n".join(
        [
            f"% simulated: means of {len(found[0].finished)} runs, plus or minus a standard error",
            f"% epsilon and guarantee are those of one run{at}",
            *([f"% distance: {in_words('distance')}"] if "distance" in measures else []),
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )
