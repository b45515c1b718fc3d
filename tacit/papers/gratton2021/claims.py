"""The statements of Gratton et al. (2020, 2021) about their figures, compared with runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tacit.papers.decide import below, every, ratio_above, smaller
from tacit.papers.gratton2021.curves import finals, mean
from tacit.report.reproduction import Claim, Verdict

COMPARABLE = 10.0
"""Largest ratio of D-ZOA's error to count as "comparable": an order of magnitude, on an axis of
several."""

NEAR = 2.0
"""Ratio to the final error at or below which a method has converged."""


def comparable(place: str, pairs: Mapping[str, tuple[Any, Any, str]]) -> Claim:
    """Whether D-ZOA's steady state is within an order of magnitude of the best central method's.

    Args:
        place: place in the paper.
        pairs: answers of D-ZOA and of that method, and its name, by the kind of problem.
    """
    behind = [ratio_above(COMPARABLE, finals([a]), finals([b])) for a, b, _ in pairs.values()]
    said = "; ".join(
        f"{kind}: D-ZOA {mean([ours]):.2g}, {name} {mean([theirs]):.2g}"
        for kind, (ours, theirs, name) in pairs.items()
    )
    return Claim(
        place,
        "the steady-state error of D-ZOA is comparable to those of the central methods",
        every([None if each is None else not each for each in behind]),
        f"Error in the last rounds, beside the best central method: {said}. Comparable is taken "
        f"as at most {COMPARABLE:g} times.",
    )


def faster(place: str, name: str, pairs: Mapping[str, tuple[Any, Any]], than: str) -> Claim:
    """Whether a method converges in fewer rounds than another one, in two readings.

    A method has converged once its error is at most `NEAR` times its own final error, or the worse
    final error of both; the papers do not say which.

    Args:
        place: place in the paper.
        name: name of the method claimed to be faster.
        pairs: answers of that method and of the other one, by the name of the case.
        than: name of the other method.
    """
    own, common, said = [], [], []
    for case, (quick, slow) in pairs.items():
        ends = [mean([answer]) for answer in (quick, slow)]
        known = [end for end in ends if np.isfinite(end)]
        levels = [NEAR * end if np.isfinite(end) else 0.0 for end in ends]
        worse = NEAR * max(known, default=0.0)
        settled = [arrived(a, level) for a, level in zip((quick, slow), levels, strict=True)]
        as_far = [arrived(answer, worse) for answer in (quick, slow)]
        own.append(below(*settled))
        common.append(below(*as_far))
        said.append(
            f"{case}: {np.median(settled[0]):g} against {np.median(settled[1]):g}, and "
            f"{np.median(as_far[0]):g} against {np.median(as_far[1]):g}"
        )
    return Claim(
        place,
        f"{name} converges faster than {than}",
        _either(every(own), every(common)),
        f"Rounds, median, until the error is at most {NEAR:g} times the method's own in the end, "
        f"and the worse one of both in the end: {'; '.join(said)}.",
    )


def _either(own: Verdict, common: Verdict) -> Verdict:
    """Verdict on a claim with two readings: with a change where only one of them holds."""
    if own is common:
        return own
    if Verdict.REPRODUCED in (own, common):
        return Verdict.CONDITIONALLY
    return Verdict.UNDECIDED


def arrived(answer: Any, level: float) -> list[float]:
    """The first recorded round with an error of at most `level`, one per run.

    Args:
        answer: "rounds" and "errors", one row per recorded round, one column per run.
        level: error level, positive.
    """
    errors = np.asarray(answer["errors"], dtype=float)
    rounds = np.asarray(answer["rounds"], dtype=float)
    there = errors <= level
    first = np.where(there.any(axis=0), rounds[there.argmax(axis=0)], np.inf)
    return first.tolist()


def ahead(
    place: str,
    said: str,
    pairs: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    names: tuple[str, Callable[[str], str]],
) -> Claim:
    """Whether a method's error is below another's in every case.

    Args:
        place: place in the paper.
        said: the paper's statement.
        pairs: errors of the method and of the other one, one per run, by the name of the case.
        names: name of the method, and names of the other one by case.
    """
    told = {case: smaller(*pair) for case, pair in pairs.items()}
    lost, unclear = ([case for case, each in told.items() if each is way] for way in (False, None))
    ours, other = names
    numbers = "; ".join(
        f"{case}: {ours} {mean([{'final': first}]):.2g}, {other(case)} "
        f"{mean([{'final': second}]):.2g}"
        for case, (first, second) in pairs.items()
    )
    return Claim(
        place,
        said,
        every(list(told.values())),
        f"Errors in the last rounds: {numbers}."
        + (f" Not so: {'; '.join(lost)}." if lost else "")
        + (f" Cannot be told: {'; '.join(unclear)}." if unclear else ""),
    )
