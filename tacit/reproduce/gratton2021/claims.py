"""What Gratton et al. (2020, 2021) say of their figures in words, held against runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tacit.report.reproduction import Claim, Verdict
from tacit.reproduce.decide import below, ratio_above
from tacit.reproduce.gratton2021.curves import finals, mean

COMPARABLE = 10.0
"""How many times larger D-ZOA's error may be to be "comparable": an order of magnitude, on an axis
of several."""

NEAR = 2.0
"""Two methods have come as far as both come when their error is at most so many times the larger
one of their errors in the end."""


def every(told: Sequence[bool | None]) -> Verdict:
    """Of a claim that has to hold in every case; `None` where the runs cannot tell."""
    if False in told:
        return Verdict.NOT_REPRODUCED
    return Verdict.UNDECIDED if None in told else Verdict.REPRODUCED


def comparable(place: str, pairs: Mapping[str, tuple[Any, Any, str]]) -> Claim:
    """Whether D-ZOA's steady state is within an order of magnitude of the best central method's.

    Args:
        place: where the paper says it.
        pairs: by the kind of problem, the answers of D-ZOA and of that method, and its name.
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
        f"Error in the last rounds: {said}. Comparable is taken as at most {COMPARABLE:g} times.",
    )


def faster(place: str, name: str, pairs: Mapping[str, tuple[Any, Any]], than: str) -> Claim:
    """Whether a method needs fewer rounds than another one to come as far as both come.

    Args:
        place: where the paper says it.
        name: of the one that is said to be faster.
        pairs: by a name of the case, the answers of that method and of the other one.
        than: name of the other one.
    """
    told, said = [], []
    for case, (quick, slow) in pairs.items():
        ends = [mean([answer]) for answer in (quick, slow)]
        known = [end for end in ends if np.isfinite(end)]
        level = NEAR * max(known) if known else np.nan
        rounds = [arrived(answer, level) for answer in (quick, slow)]
        told.append(below(*rounds))
        said.append(f"{case}: {np.median(rounds[0]):g} against {np.median(rounds[1]):g}")
    return Claim(
        place,
        f"{name} converges faster than {than}",
        every(told),
        f"Rounds until the error is at most {NEAR:g} times the larger one of both methods' errors "
        f"in the end, median: {'; '.join(said)}.",
    )


def arrived(answer: Any, level: float) -> list[float]:
    """The first round that was recorded with an error of at most a level, one a run.

    Args:
        answer: "rounds" and "errors", a row a recorded round, a column a run.
        level: positive.
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
        place: where the paper says it.
        said: what it says.
        pairs: by a name of the case, errors of the method and of the other one.
        names: of the method, and of the other one by the case.
    """
    told = {case: below(*pair) for case, pair in pairs.items()}
    lost = [case for case, is_ahead in told.items() if is_ahead is False]
    ours, other = names
    numbers = "; ".join(
        f"{case}: {ours} {_mean(first):.2g}, {other(case)} {_mean(second):.2g}"
        for case, (first, second) in pairs.items()
    )
    return Claim(
        place,
        said,
        every(list(told.values())),
        f"{numbers}." + (f" Not so at {', '.join(lost)}." if lost else ""),
    )


def _mean(errors: Sequence[float]) -> float:
    return float(np.mean(np.nan_to_num(errors, nan=np.inf, posinf=np.inf)))
