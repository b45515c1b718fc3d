"""The statements of Gratton et al. (2020, 2021) on D-ZOA and private baselines, against runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.papers.decide import every, ratio_above, smaller
from tacit.papers.gratton2021.claims import ahead
from tacit.papers.gratton2021.curves import finals, mean
from tacit.papers.gratton2021.findings import LEARNT, best_baseline, factor
from tacit.papers.gratton2021.plan import OURS, Claim, Compared, trade_offs
from tacit.papers.gratton2021.setting import AGENTS
from tacit.report.reproduction import Claim as Said
from tacit.report.reproduction import Verdict

ROUGHLY = 10.0**1.5, 10.0**2.5
"""Ratios that are roughly two orders of magnitude: nearer to 100 than to 10 or to 1,000."""


def case_of(claim: Claim) -> str:
    """A claim of privacy in words."""
    return f"epsilon {claim[0]:g} and delta {claim[1]:g}"


def converge(
    place: str, said: str, found: Compared, claims: Sequence[Claim], *, to_optimum: bool
) -> Said:
    """Whether every method converges at every claim.

    Args:
        place: place in the paper.
        said: the paper's statement.
        found: runs to judge.
        claims: claims of privacy.
        to_optimum: whether the paper claims convergence to the centralised solution; if not, errors
            that end below that of answering 0 are a convergence with a change.
    """
    level = LEARNT * AGENTS
    ends = {
        f"{name}, {case_of(claim)}": finals(found.of(name, claim))
        for claim in claims
        for name in found.methods
    }
    near, fallen = (
        every([smaller(errors, [most] * len(errors)) for errors in ends.values()])
        for most in (level, float(AGENTS))
    )
    somewhere = Verdict.CONDITIONALLY if fallen is Verdict.REPRODUCED else fallen
    means = {case: _mean(errors) for case, errors in ends.items()}
    far = [f"{case} ({means[case]:.2g})" for case in ends if not means[case] <= level]
    return Said(
        place,
        said,
        near if to_optimum or near is Verdict.REPRODUCED else somewhere,
        f"Errors end at {min(means.values()):.2g} to {max(means.values()):.2g}, where answering 0 "
        f"scores {AGENTS} and {level:g} counts as having reached the solution"
        + (f"; above it: {'; '.join(far)}." if far else "."),
    )


def gain(place: str, said: str, found: Compared, fixed: str) -> Said:
    """Whether each method has a smaller error at the larger end of its curves.

    Args:
        place: place in the paper.
        said: the paper's statement.
        found: runs to judge.
        fixed: the fixed number: "delta" for curves over epsilon, "epsilon" for those over delta.
    """
    pairs = {
        f"{name}, {curve}": (
            finals(found.of(name, claims[-1])),
            finals(found.of(name, claims[0])),
        )
        for curve, claims in trade_offs(found.scale).items()
        if curve.startswith(fixed)
        for name in found.methods
    }
    return ahead(place, said, pairs, ("at the larger", lambda case: "at the smaller"))


def lead(place: str, said: str, found: Compared, claims: Sequence[Claim]) -> Said:
    """Whether D-ZOA's error is below that of the best other method at every claim."""
    best = {case_of(claim): best_baseline(found, claim) for claim in claims}
    pairs = {
        case_of(claim): (finals(found.of(OURS, claim)), best[case_of(claim)][1]) for claim in claims
    }
    return ahead(place, said, pairs, (OURS, lambda case: best[case][0]))


def along(found: Compared, fixed: str) -> list[Claim]:
    """All claims of the curves over epsilon ("delta") or over delta ("epsilon")."""
    curves = trade_offs(found.scale).items()
    return [claim for name, claims in curves if name.startswith(fixed) for claim in claims]


def two_orders(place: str, found: Compared, claims: Sequence[Claim]) -> Said:
    """Whether D-ZOA's error is about 100 times below the best other one at every claim."""
    pairs = [(finals(found.of(OURS, c)), *best_baseline(found, c)) for c in claims]
    low, high = ROUGHLY
    verdict = every([ratio_above(low, theirs, ours) for ours, _, theirs in pairs])
    more = [ratio_above(high, theirs, ours) for ours, _, theirs in pairs]
    if verdict is Verdict.REPRODUCED and True in more:
        verdict = Verdict.CONDITIONALLY
    said = "; ".join(
        f"{case_of(claim)}: {_times(_mean(theirs), _mean(ours))} {name}'s"
        for claim, (ours, name, theirs) in zip(claims, pairs, strict=True)
    )
    return Said(
        place,
        "D-ZOA's accuracy is ahead of all baselines by roughly two orders of magnitude",
        verdict,
        f"Its error beside the best baseline's: {said}. Roughly two orders are taken as "
        f"{low:.0f} to {high:.0f} times"
        + (", and it is ahead by more." if verdict is Verdict.CONDITIONALLY else "."),
    )


def same_privacy(place: str, said: str, audited: float, claimed: float, compared: str) -> Said:
    """Whether the lead is at equal privacy; an audit can only contradict it.

    Args:
        place: place in the paper.
        said: the paper's statement.
        audited: lower bound on epsilon per iteration.
        claimed: claimed epsilon per iteration.
        compared: performance of others with equally little noise, in a sentence.
    """
    contradicted = audited > claimed
    found = (
        f"An audit of one iteration that claims {claimed:g} found epsilon at least {audited:.2g}"
    )
    return Said(
        place,
        said,
        Verdict.REFUTED if contradicted else Verdict.UNDECIDED,
        f"{found}. {compared}"
        if contradicted
        else f"{found}, which does not contradict the claim, and proves nothing.",
    )


def _times(theirs: float, ours: float) -> str:
    if not np.isfinite(theirs / ours) or theirs >= ours:
        return f"{factor(theirs / ours)} times below"
    return f"{factor(ours / theirs)} times above"


def _mean(errors: Sequence[float]) -> float:
    return mean([{"final": errors}])
