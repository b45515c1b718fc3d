"""What speaks against the answer of a run, each with its remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tacit._engine.shortened import TOLD
from tacit.kinds import Relation, Unit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tacit._engine.result import ReleaseRow, Result
    from tacit.privacy.budget import Privacy
    from tacit.privacy.guarantees import Guarantees

LOST = 0.5
"""Largest share of the objective's best decrease that may be lost again by the end."""

STILL = 1e-3
"""Largest change of the objective, relative to its start, of a run that did not get anywhere."""

ONLY = "Simulation only: "
"""Begins what is seen in private values, where no heading says so."""


def doubts(result: Result) -> list[str]:
    """Everything that speaks against the answer of the first trial, in sentences.

    Args:
        result: result of a run.
    """
    return [*(ONLY + each for each in seen(result)), *known(result)]


def known(result: Result) -> list[str]:
    """What is known of the reference, and what follows from public numbers.

    Args:
        result: result of a run.
    """
    if not result.stationary:
        return public(result)
    return [
        "The reference is a stationary point as far as is known, since the problem is not declared "
        "convex or no bound of its gap is at hand (gap_kind none): the objective may be smaller "
        "elsewhere, and distances are those from this point.",
        *public(result),
    ]


def public(result: Result) -> list[str]:
    """What follows from public numbers alone, so that it may stand where an answer is published.

    Args:
        result: result of a run.
    """
    noise = noise_of_mean(result.guarantee, result.releases, result.solutions.shape[1])
    if noise < 1.0:
        return []
    return [
        f"The noise in the mean of all answers of the run is {noise:.2g} times the clip, "
        "and no answer is longer than that: what was found is chance. Take a larger "
        "epsilon, more agents or masks, or protect single records where costs are sums over them.",
    ]


def seen(result: Result) -> list[str]:
    """What is seen in private values without noise, so for simulations only.

    Args:
        result: result of a run.
    """
    found = [_apart(result), _skipped(result), _lost(result), _clip(result)]
    found += [_constant(result), _changed(result) or _worse(result)]
    found.append(_bounds(result) or _step(result))
    return [sentence for sentence in found if sentence]


def more_than_all(privacy: Privacy | None, counts: ArrayLike) -> str:
    """That one person is declared to have more records than any site has; else empty.

    Where numbers of records are public, calibration refuses that. Where they are private, this is
    seen in private values: for simulations only.

    Args:
        privacy: budget of the method, if it has one.
        counts: number of records of every site.
    """
    if privacy is None or privacy.records_per_person <= (most := int(np.max(counts))):
        return ""
    return (
        f"records_per_person = {privacy.records_per_person:,} is more than the {most:,} records of "
        "the largest site, and the noise grows with it: lower it."
    )


def _apart(result: Result) -> str:
    objective = result.history.measured.get("objective")
    if objective is None or not np.isposinf(objective[-1, 0]):
        return ""
    apart = result.history.measured["consensus"][-1, 0]
    return (
        "the objective is infinite at the mean answer, which does not "
        f"meet the constraints of every agent. The agents' answers are {apart:.2g} from "
        "their mean (root mean square). More rounds bring them together; if they stay "
        "apart, no point meets the constraints of all."
    )


def _skipped(result: Result) -> str:
    if not result.skipped:
        return ""
    whose = ", ".join(f"{many:,} of {name}" for name, many in result.skipped.items())
    return (
        f"evaluations that failed were skipped ({whose}). An agent's "
        "answer is 0 in such a round, so the others decide." + _why(result)
    )


def _lost(result: Result) -> str:
    if not result.lost:
        return ""
    each = "; ".join(f"{name}: {told}" for name, told in result.lost.items())
    return (
        "the losses of some records are not finite numbers, and count as 0 where they are clipped "
        f"({each})."
    )


def _constant(result: Result) -> str:
    if not result.constant:
        return ""
    return (
        f"the same value everywhere (of {', '.join(result.constant)}), at the start as at all "
        "other points: does the simulator read its parameters? Such a cost decides nothing, and an "
        "answer of only such ones is chance."
    )


def _changed(result: Result) -> str:
    if not result.changed:
        return ""
    return (
        "the same point has two values, before the run and later: "
        + "; ".join(f"the black box of {name} {told}" for name, told in result.changed.items())
        + ". It keeps something from one evaluation to the next, such as their number, so that "
        "the answer means nothing. Let every evaluation begin afresh."
    )


def _why(result: Result) -> str:
    """Which agents never gave a value, and what the first evaluation of each failed with."""
    return "".join(
        f" {'Every evaluation' if who in result.silent else 'The first'} of {who} failed: "
        f"{why.rstrip('.')}."
        for who, why in {**result.failures, **result.silent}.items()
    )


def _worse(result: Result) -> str:
    """That an answer of black boxes is worse than the start; the two are all that is known."""
    first, last = result.ends or (0.0, 0.0)
    if last - first <= STILL * abs(first):  # two values that are not quite the same
        return ""
    if not np.isfinite([first, last]).all():
        return _unknown({"answer": last, "start": first})
    return (
        f"worse than the start: the objective is {last:.4g} at the answer and {first:.4g} at the "
        "start. Take a smaller step or fewer rounds; against noise a "
        "larger epsilon, more agents or masks."
    )


def _unknown(ends: Mapping[str, float]) -> str:
    """That an evaluation of the objective failed, by the names of both points."""
    failed = " and the ".join(name for name, value in ends.items() if not np.isfinite(value))
    known = "".join(
        f" It is {value:.4g} at the {name}." for name, value in ends.items() if np.isfinite(value)
    )
    return (
        f"evaluating the objective at the {failed} failed or was interrupted, so nothing says "
        f"whether the answer is better than the start.{known} The run was over by then, and its "
        "answer stands."
    )


def _bounds(result: Result) -> str:
    """That the answer is on bounds where the objective is lower inside; no projection ends there
    but after a step that was too long.
    """
    objective = result.history.measured.get("objective")
    if objective is None or result.inwards is None:
        return ""
    first, last, best = float(objective[0, 0]), float(objective[-1, 0]), result.inwards
    lost = last - best
    if not lost > STILL * abs(first) or first - last >= LOST * (first - best):
        return ""
    return (
        f"the answer is on bounds, where the objective is {last:.4g}, and further inside it is "
        f"{best:.4g}: "
        + (
            "either the step is so large that the iterates jump from bound to bound, or so small "
            "that they have not left them."
            if np.ptp(objective[:, 0]) <= STILL * abs(first)
            else "the step takes the iterates from bound to bound, as it is too large, or too "
            "large for this noise; take a smaller step."
        )
    )


def _clip(result: Result) -> str:
    what, share = result.shortened or ("", 0.0)
    if share < TOLD:
        return ""
    if what == "coefficients":
        return (
            f"the clip shortens the coefficients of {share:.0%} of the records, so that another "
            "cost is minimised: raise clip, which takes more noise (method.record_ball gives the "
            "smallest one that shortens none), or scale the columns down."
        )
    about = "about " if what == "differences" else ""
    return (
        f"at the answer, the clip shortens the {what} of {about}{share:.0%} of the records: raise "
        "clip, which takes more noise, or scale the columns down."
    )


def _step(result: Result) -> str:
    """That the objective rose again, or stood; a run that diverged says so itself."""
    history = result.history
    objective = history.measured.get("objective")
    if objective is None or result.diverged[0] >= 0 or len(objective) < 2:
        return ""
    first, last = float(objective[0, 0]), float(objective[-1, 0])
    at = int(np.argmin(objective[:, 0]))
    best = float(objective[at, 0])
    finite = bool(np.isfinite(objective[:, 0]).all())
    if finite and np.ptp(objective[:, 0]) <= STILL * abs(first) and not _solved(result):
        return (
            f"the objective is {last:.4g} at the end and {first:.4g} at the start: unless that is "
            "near the solution, the step or the clip is too small; take a larger one."
        )
    if not last > best or first - last >= LOST * (first - best):
        return ""
    fell = f"was {best:.4g} after round {history.rounds[at]:,}" if at else "never fell"
    told = f"the objective, {first:.4g} at the start, {fell} and is {last:.4g} at the end: "
    return told + cause_of_rise(result.releases, int(history.rounds[-1]))


def cause_of_rise(releases: Sequence[ReleaseRow], rounds: int) -> str:
    """Why the objective may have risen in a run, and what to do.

    Args:
        releases: table of releases of the run.
        rounds: number of rounds.
    """
    noised = [row.times for row in releases if row.noise_scale]
    if noised and max(noised) == 1 and rounds > 1:
        return (
            "the noise was added once, not in every round, so that a smaller step does not mend "
            "it. Take a larger epsilon, or release less, such as fewer coefficients of a cost on "
            "a smaller box."
        )
    return "the step is too large for this noise; take a smaller step or fewer rounds."


def _solved(result: Result) -> bool:
    """Whether the reference, if there is one, was near at the start or came nearer."""
    distance = result.history.measured.get("distance")
    if distance is None:
        return False
    first, last = float(distance[0, 0]), float(distance[-1, 0])
    size = 0.0 if result.reference is None else float(np.linalg.norm(result.reference))
    return first <= STILL * size or last <= 0.9 * first


def noise_of_mean(guarantee: Guarantees, releases: Sequence[ReleaseRow], agents: int) -> float:
    """Noise of the mean over agents and rounds, in units of the clip, for whole costs.

    The smallest of all releases; 0 for records, whose clip is divided by their number.

    Args:
        guarantee: guarantee of the run.
        releases: its table of releases.
        agents: number of agents.
    """
    if guarantee.worst.unit is not Unit.AGENT:
        return 0.0
    clips = 2.0 if guarantee.worst.relation is Relation.REPLACE_ONE else 1.0
    noised = [
        row.noise_multiplier * clips / float(np.sqrt(agents * row.times))
        for row in releases
        if row.noise_multiplier
    ]
    return min(noised, default=0.0)
