"""The findings of figures 4 to 7 of Gratton et al. (2021), in words."""

from __future__ import annotations

import numpy as np

from tacit.papers.gratton2021.admm_claim import claimed_multiplier
from tacit.papers.gratton2021.curves import finals, mean
from tacit.papers.gratton2021.plan import (
    LARGE,
    LITTLE_NOISE,
    OURS,
    PROVED,
    SMALL,
    TOTALS,
    Answers,
    Claim,
    Compared,
    records,
)
from tacit.papers.gratton2021.setting import AGENTS, ROUNDS
from tacit.privacy import GaussianRelease, Repeated, epsilon

LEARNT = 0.1
"""Share of the error of answering 0 below which a method counts as having learnt something."""


def factor(value: float) -> str:
    """A number to two digits, without a power of ten.

    Example:
        >>> factor(5831.0), factor(2.24), factor(1e-3)
        ('5,800', '2.2', '0.001')
    """
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 100.0 else f"{value:.2g}"


def equal_noise(found: Answers) -> float:
    """The epsilon per iteration that the baselines' formula gives for D-ZOA's own noise.

    From the smallest distance in standard deviations over the examined owners: a model estimate
    that favours D-ZOA.
    """
    smallest = min(answer["mu"] for answer in found.noise[0])
    return claimed_multiplier(1.0, SMALL[1]) * smallest


def best_baseline(found: Compared, claim: Claim) -> tuple[str, list[float]]:
    """The method besides D-ZOA with the smallest mean error at a claim, and its errors."""
    others = {name: found.of(name, claim) for name in found.methods if name != OURS}
    best = min(others, key=lambda name: mean(others[name]))
    return best, finals(others[best])


def explained(found: Answers) -> str:
    """The performance of the best baseline with as little noise as D-ZOA."""
    equal = equal_noise(found)
    known = [claim for claim in (SMALL, LARGE, *LITTLE_NOISE) if claim[0] <= equal]
    claim = max(known or [SMALL])
    best, errors = best_baseline(found, claim)
    theirs, ours = float(np.mean(errors)), mean(found.of(OURS, SMALL))
    less = theirs < ours
    return (
        f"D-ZOA's own noise, by a Gaussian fit (a model estimate), is what the baselines' formula "
        f"takes for {equal:.3g}. With noise for {claim[0]:g}, {best} has an error of {theirs:.2g}, "
        f"{factor(ours / theirs if less else theirs / ours)} times {'less' if less else 'more'} "
        f"than D-ZOA at {SMALL[0]:g}."
    )


def audited_bound(found: Answers) -> float:
    """The largest lower bound on epsilon per iteration, over the agents audited."""
    return max(answer["epsilon"] for answer in found.noise[1])


def certified_sentence(found: Answers) -> str:
    """Which proved method wins at each number of records and total, and by how much."""
    said = []
    for count in records(found.scale):
        for total in TOTALS:
            ranked = sorted((mean([found.of_proved(n, count, total)]), n) for n in PROVED)
            (best, name), (second, runner) = ranked[:2]
            other = mean([found.of_proved(OURS, count, total)])
            nothing = best > LEARNT * AGENTS
            rest = "" if OURS in (name, runner) else f", D-ZOA {other:.2g}"
            said.append(
                f"N_k = {count}, epsilon {total[0]:g}: {name} {best:.2g}, then {runner} "
                f"{second:.2g}{rest}" + (" (hardly better than answering 0)" if nothing else "")
            )
    return (
        f"At equal true total epsilon (proved, delta {TOTALS[0][1]:g}; answering 0 scores "
        f"{AGENTS}): " + "; ".join(said) + "."
    )


def exact_total(claim: Claim) -> float:
    """Epsilon of all rounds if every release had the Gaussian noise that theorem 1 claims."""
    release = GaussianRelease(claimed_multiplier(*claim))
    return epsilon([Repeated(release, ROUNDS)], delta=claim[1])
