"""From runs to verdicts: the forms of the claims of Ryu, Kim (2021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tacit.papers.decide import CONFIDENCE, below, every
from tacit.papers.ryu2021.drawing import ends, last
from tacit.papers.ryu2021.setting import Setting, looks
from tacit.papers.target import Answer
from tacit.report.reproduction import Verdict

Told = tuple[Verdict, str]
"""A verdict, and the findings in sentences."""

Named = tuple[str, Sequence[float]]
"""A name, and one number per trial."""

Case = tuple[str, tuple[str, Answer], tuple[str, Answer]]
"""A place, and two runs with their names."""

CLOSE = 0.4
"""Largest difference, in points, of a mean test error from the printed one."""

NEAR = 1.5
"""Points within which two test errors are close: the paper calls gaps of .42 and 1.04 so."""

_NAMED = 4
"""Largest number of cases that a sentence names one by one."""

WAY = 0.9
"""Share of the way from its first error to its last after which a run has converged."""

FALLS = 5.0
"""Points by which an error has to fall for a run to have converged at all."""


def ordered(cases: Sequence[tuple[str, Named, Named]], unit: str = " %") -> Told:
    """Whether the first is below the second in every case.

    Args:
        cases: place, first and second of each case.
        unit: unit of the numbers.
    """
    told = {_case(where, a[0], b[0]): below(a[1], b[1]) for where, a, b in cases}
    numbers: dict[str, dict[str, str]] = {}
    for where, *pair in cases:
        own = numbers.setdefault(where, {})
        own |= {name: f"{number(values)}{unit} ({name})" for name, values in pair}
    said = "; ".join(f"{where}: {', '.join(own.values())}" for where, own in numbers.items())
    return every(list(told.values())), f"{said}.{exceptions(told)}"


def _case(where: str, first: str, second: str) -> str:
    return f"{first} against {second} at {where}"


def exceptions(told: Mapping[str, bool | None]) -> str:
    """The cases that do not hold, and the undecided ones, in sentences."""
    return "".join(
        f" {words}: {_some(cases, len(told))}."
        for words, cases in (
            ("Not so", [case for case, held in told.items() if held is False]),
            ("The trials cannot tell", [case for case, held in told.items() if held is None]),
        )
        if cases
    )


def _some(cases: Sequence[str], among: int) -> str:
    """Cases by name, or their number if there are many."""
    return "; ".join(cases) if len(cases) <= _NAMED else f"in {len(cases)} of {among} cases"


def lower(cases: Sequence[Case]) -> Told:
    """Whether runs end with a lower test error than others."""
    return ordered([(where, (a, ends(x)), (b, ends(y))) for where, (a, x), (b, y) in cases])


def faster(cases: Sequence[Case], at: Setting) -> Told:
    """Whether runs converge in fewer iterations than others, in two readings.

    A run has converged after `WAY` of the way to its own last error, or once it is as low as the
    worse of both at the end; the paper does not say which.
    """
    own: dict[str, bool | None] = {}
    common: dict[str, bool | None] = {}
    said: list[str] = []
    for where, first, second in cases:
        case, pair = _case(where, first[0], second[0]), (first, second)
        worse = max(last(run) for _, run in pair)
        settled = [arrived(run, _settled(run), at) for _, run in pair]
        as_far = [arrived(run, worse, at) for _, run in pair]
        own[case], common[case] = below(*settled), below(*as_far)
        said.append(
            f"{case}: {_when(settled[0])} against {_when(settled[1])}, and {_when(as_far[0])} "
            f"against {_when(as_far[1])}"
        )
    verdicts = every(list(own.values())), every(list(common.values()))
    return either(*verdicts), (
        f"Iterations, median, until {100 * WAY:.0f} % of the way to its own last error, and until "
        f"as low as the worse of both ends: {'; '.join(said)}. A run that falls by less than "
        f"{FALLS:g} points never converges. {readings(*verdicts)}"
    )


def _settled(run: Answer) -> float:
    """An error that the run passes after most of its way; none if it hardly falls."""
    first, end = float(np.mean(run["error"][0])), last(run)
    return end + (1.0 - WAY) * (first - end) if first - end >= FALLS else -np.inf


def _when(iterations: Sequence[float]) -> str:
    median = float(np.median(iterations))
    return f"{median:,.0f}" if np.isfinite(median) else "never"


def arrived(run: Answer, level: float, at: Setting) -> list[float]:
    """The first recorded iteration with an error of at most `level`, one per trial."""
    there = np.asarray(run["error"], dtype=float) <= level
    stops = np.asarray(looks(at), dtype=float)
    return np.where(there.any(axis=0), stops[there.argmax(axis=0)], np.inf).tolist()


def either(first: Verdict, second: Verdict) -> Verdict:
    """Verdict on a claim with two readings: with a change where only one of them holds."""
    if first is second:
        return first
    if Verdict.REPRODUCED in (first, second):
        return Verdict.CONDITIONALLY
    return Verdict.UNDECIDED


def readings(first: Verdict, second: Verdict) -> str:
    """The results of two readings, in a sentence: only the claim has a verdict."""
    said = {
        Verdict.REPRODUCED: "it holds",
        Verdict.NOT_REPRODUCED: "it does not hold",
        Verdict.UNDECIDED: "the trials cannot tell",
    }
    return f"By the first reading {said[first]}, by the second {said[second]}."


def within(values: Sequence[float], aim: float, most: float) -> bool | None:
    """Whether the mean of some trials is within `most` of a number; `None` if undecided.

    Both ends of the mean's interval (Student's t at `CONFIDENCE`, one-sided) must be within it.

    Example:
        >>> within([7.8, 7.9, 7.85], 7.84, 0.4), within([8.3, 8.9, 7.9], 7.84, 0.4)
        (True, None)
        >>> within([9.0, 9.1, 9.05], 7.84, 0.4), within([7.84], 7.84, 0.4)
        (False, None)
    """
    from scipy import stats

    if len(values) < 2:
        return None
    error = float(np.std(values, ddof=1)) / len(values) ** 0.5
    half = float(stats.t.ppf(CONFIDENCE, len(values) - 1)) * error
    gap = abs(float(np.mean(values)) - aim)
    if gap + half <= most:
        return True
    return False if gap - half > most else None


def printed(values: Sequence[float], paper: float, at: Setting) -> Told:
    """Whether a number of the paper is reproduced, which needs the paper's whole run."""
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=min(1, len(values) - 1)))
    said = f"{mean:.2f}, with a deviation of {spread:.2f} over {len(values)} trials"
    return _whole(within(values, paper, CLOSE), said, at)


def improved(found: Mapping[Any, Answer], at: Setting, epsilon: float, paper: float) -> Told:
    """Whether ObjT is ahead of OutP by the number of points that the paper prints."""
    ends_of = (ends(found[method, epsilon]) for method in ("ObjT", "OutP"))
    return printed([b - a for a, b in zip(*ends_of, strict=True)], paper, at)


def printed_of_unnamed(value: float, paper: float, at: Setting) -> Told:
    """The same for a run without noise, where the paper does not say which method it ran.

    A different number then refutes nothing.
    """
    said = f"{value:.2f}, the same in every trial, by ObjT without noise"
    if at.exact and abs(value - paper) > CLOSE:
        return Verdict.UNDECIDED, f"{said}; the paper names neither its method nor its iterations."
    return _whole(True, said, at)


def _whole(told: bool | None, said: str, at: Setting) -> Told:
    if at.exact:
        return every([told]), f"{said}; the same is taken as at most {CLOSE:g} points apart."
    why = "is shortened" if at.shortened else "has other records"
    return Verdict.UNDECIDED, f"{said}; this run {why}, and cannot tell."


def near(first: Named, second: float, name: str, at: Setting) -> Told:
    """Whether final test errors are within `NEAR` points of another one."""
    said = f"{first[0]} {number(first[1])} %, {name} {second:.2f} %"
    if at.shortened:
        return Verdict.UNDECIDED, f"{said}; this run is shortened, and cannot tell."
    told = within(first[1], second, NEAR)
    return every([told]), f"{said}. Close is taken as at most {NEAR:g} points."


def growing(curves: Mapping[str, Mapping[float, Sequence[float]]], unit: str = " %") -> Told:
    """Whether numbers grow as epsilon falls, for every name.

    They must grow from the largest epsilon to the smallest, and fall nowhere in between.
    """
    told: dict[str, bool | None] = {}
    for name, by_epsilon in curves.items():
        falling = [by_epsilon[e] for e in sorted(by_epsilon, reverse=True)]
        steps = [below(a, b) for a, b in pairwise(falling)]
        told[name] = False if False in steps else below(falling[0], falling[-1])
    said = "; ".join(
        f"{name}: {', '.join(f'{number(by_epsilon[e])}{unit}' for e in sorted(by_epsilon))}"
        for name, by_epsilon in curves.items()
    )
    epsilons = ", ".join(f"{e:g}" for e in sorted(next(iter(curves.values()))))
    return every(list(told.values())), f"At epsilon {epsilons}: {said}.{exceptions(told)}"


def number(values: Sequence[float]) -> str:
    """The mean, to three digits."""
    mean = float(np.mean(values))
    return f"{mean:.1f}" if mean >= 10.0 else f"{mean:.3g}"
