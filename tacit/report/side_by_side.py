"""Results of several methods in one figure: which belong to a line, and its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from tacit import checks
from tacit._engine.result import Result
from tacit.errors import ConfigError
from tacit.privacy.guarantee import Status
from tacit.privacy.wording import STATUS
from tacit.report.figures import thin
from tacit.report.reproduction import Curve, Panel
from tacit.report.sweep import Series, SweepData
from tacit.report.tables import heading

_FIRST = ("distance", "objective", "consensus")
"""What is drawn if nothing is asked for: the first of these that all results have."""


def members(results: Mapping[str, Any], argument: str) -> dict[str, list[Result]]:
    """Results by the name of their line.

    Args:
        results: a result, or a list of results, for each name.
        argument: what the caller calls them.

    Raises:
        ConfigError: something else, or nothing.
    """
    found: dict[str, list[Result]] = {}
    for name, each in results.items():
        at = f"{argument}[{name!r}]" if name else argument
        each = [each] if isinstance(each, Result) else each
        if not isinstance(each, Sequence) or any(not isinstance(r, Result) for r in each):
            if isinstance(each, Sequence) and not isinstance(each, str):
                place = next(i for i, one in enumerate(each) if not isinstance(one, Result))
                at, each = f"{at}[{place}]", each[place]
            raise ConfigError(
                f"{at} is {checks.shown(each)}; give a list of results of tacit.run, or a "
                "mapping from names to such lists"
            )
        if not each:
            raise ConfigError(f"{at}=[] is empty; give results of tacit.run")
        found[str(name)] = list(each)
    if not found:
        raise ConfigError(f"{argument}={{}} is empty; give results of tacit.run")
    return found


def check_measured(result: Result, measure: str) -> None:
    """Refuse what was not measured.

    Raises:
        ConfigError: such a measure; the message lists those that there are.
    """
    if measure not in result.history.measured:
        raise ConfigError(
            f"measure={measure!r} is not in the history of a result, which has "
            f"{', '.join(result.history.measured)}; run with reference='solve' for distances, "
            "or with your own solution: reference=[...]"
        )


def over_rounds(lines: Mapping[str, Sequence[Result]], measure: str | None) -> Panel:
    """One measure over the rounds, a curve for each name.

    Args:
        lines: results of one method and budget, which differ in their seeds, by name.
        measure: name of the measure; if `None`, the first of distance, objective and disagreement
            that all results have.

    Raises:
        ConfigError: results of several methods or budgets under a name, or recorded after other
            rounds; a measure that one lacks; or nothing above 0.
    """
    every = [result for each in lines.values() for result in each]
    if measure is None:
        shared = [n for n in _FIRST if all(n in result.history.measured for result in every)]
        measure = shared[0] if shared else _FIRST[0]
    for result in every:
        check_measured(result, measure)
    curves = [_curve(name, each, measure) for name, each in lines.items()]
    drawn = [value for curve in curves for value in (*curve.y, *(curve.low or ())) if value > 0.0]
    if not drawn:
        raise ConfigError(f"measure={measure!r} is never above 0, and the axis is logarithmic")
    floor = min(drawn)  # where a band reaches 0, there is no end to it on this axis
    curves = [
        replace(curve, low=curve.low and [max(value, floor) for value in curve.low])
        for curve in curves
    ]
    return Panel("", "round", heading(measure), curves)


def over_epsilon(lines: Mapping[str, Sequence[Result]], measure: str) -> SweepData:
    """One measure at the end of each run over epsilon, a line for each name.

    Args:
        lines: results of one method with different budgets, by name.
        measure: name of the measure.

    Raises:
        ConfigError: results of several methods or twice of one budget under a name, a measure that
            one lacks, all trials of a result diverged, or none of the results is private.
    """
    series: list[Series] = []
    for name, members in lines.items():
        _check_joined(name, members)
        # the same budget may differ in its last digits from one method to another
        ends = [
            (float(f"{each.guarantee.worst.epsilon:.9g}"), *_end(each, measure)) for each in members
        ]
        if private := sorted(end for end in ends if np.isfinite(end[0])):
            x, y, error = zip(*private, strict=True)
            series.append(Series(f"{name or 'private'}{_doubt(members)}", x, y, error))
        for _, mean, error in (end for end in ends if not np.isfinite(end[0])):
            alone = f"{name}, without privacy" if name and private else name or "without privacy"
            series.append(Series(alone, [None], [mean], [error], level=True))
    if all(each.level for each in series):
        raise ConfigError("none of the results is private; give results with finite epsilons")
    return SweepData(
        title="",
        summary="",
        warnings=(),
        measure=heading(measure),
        axis="epsilon",
        logarithmic=True,
        series=series,
        cells=(),
        alike="",
        others={},
        study="",
        notes=(),
        environment={},
    )


def _doubt(members: Sequence[Result]) -> str:
    """Statuses of guarantees that are not proved, to stand behind a name."""
    kinds = dict.fromkeys(each.guarantee.worst.status for each in members)
    said = [STATUS[each] for each in kinds if each not in (Status.PROVED, Status.NONE)]
    return f" ({', '.join(said)})" if said else ""


def _check_joined(name: str, members: Sequence[Result]) -> None:
    """Refuse what would be joined to a line and is none."""
    private = [each for each in members if np.isfinite(each.guarantee.worst.epsilon)]
    several = len(set(map(_kind, private))) > 1
    epsilons = [f"{each.guarantee.worst.epsilon:.3g}" for each in private]
    if several or len(set(epsilons)) < len(epsilons):
        at = f"results[{name!r}]" if name else "results"
        what = "are of several methods" if several else "have one epsilon twice"
        raise ConfigError(
            f"{at} {what} and would be joined to one line; give each line a name, such as "
            "{'DPSG': [...], 'PDOP': [...]}"
        )


def _end(result: Result, measure: str) -> tuple[float, float]:
    """Mean over the finished trials at the end, and two standard errors."""
    check_measured(result, measure)
    if not np.any(result.finished):
        raise ConfigError(f"all trials of a result diverged: {result!r}; leave it out")
    mean, error = _spread(result.history.measured[measure][-1][result.finished])
    return float(mean), float(error)


def _curve(name: str, results: Sequence[Result], measure: str) -> Curve:
    rounds = results[0].history.rounds
    epsilons = {f"{each.guarantee.worst.epsilon:.3g}" for each in results}
    if len(set(map(_kind, results))) > 1 or len(epsilons) > 1:
        raise ConfigError(
            f"result[{name!r}] has several methods or budgets, whose mean says nothing; give each "
            "a name of its own, and under one name results that differ in their seed"
        )
    if any(not np.array_equal(each.history.rounds, rounds) for each in results):
        raise ConfigError(
            f"result[{name!r}] has results that were measured after different rounds; run them "
            "with the same rounds and record"
        )
    kept = [each.history.measured[measure][:, each.finished] for each in results]
    values = np.concatenate(kept, axis=1)
    if not values.shape[1]:
        raise ConfigError(f"all trials of result[{name!r}] diverged; leave it out")
    keep = thin(len(rounds))
    mean, error = (each[keep] for each in _spread(values))
    band = values.shape[1] > 1
    return Curve(
        name,
        rounds[keep].tolist(),
        mean.tolist(),
        (mean - error).tolist() if band else None,
        (mean + error).tolist() if band else None,
    )


def _kind(result: Result) -> Any:
    """What the results of one method have in common."""
    return result.papers, tuple((row.phase, row.mechanism) for row in result.releases)


def _spread(
    values: Float[np.ndarray, "*rows trials"],
) -> tuple[Float[np.ndarray, "*rows"], Float[np.ndarray, "*rows"]]:
    """Mean over the trials, and two standard errors: NaN of a single trial."""
    many = values.shape[-1]
    mean = np.mean(values, axis=-1)
    if many == 1:
        return mean, np.full(mean.shape, np.nan)
    return mean, 2.0 * np.std(values, axis=-1, ddof=1) / many**0.5
