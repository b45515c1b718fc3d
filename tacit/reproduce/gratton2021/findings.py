"""What the answers of figures 4 to 7 of Gratton et al. (2021) say, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.method.admm_claim import claimed_multiplier
from tacit.privacy import GaussianRelease, Repeated, epsilon
from tacit.report.reproduction import Verdict
from tacit.reproduce.decide import ratio_above
from tacit.reproduce.gratton2021.curves import finals, mean
from tacit.reproduce.gratton2021.plan import (
    LARGE,
    LITTLE_NOISE,
    PROVED,
    SMALL,
    TOTALS,
    Answers,
    Claim,
    baselines,
    records,
)
from tacit.reproduce.gratton2021.setting import AGENTS, ROUNDS

AHEAD = 10.0
"""How much smaller D-ZOA's error has to be for its published lead to be seen: an order of
magnitude is more than data sets, tuning and noise differ by."""

LEARNT = 0.1
"""Share of the error of answering 0 below which a method is said to have learnt something."""


def factor(value: float) -> str:
    """Two digits, and no power of ten.

    Example:
        >>> factor(5831.0), factor(2.24), factor(1e-3)
        ('5,800', '2.2', '0.001')
    """
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 100.0 else f"{value:.2g}"


@dataclass(frozen=True)
class Lead:
    """D-ZOA and the best baseline at a claim, and that baseline with D-ZOA's own noise."""

    ours: float
    best: str
    theirs: float

    @property
    def ratio(self) -> float:
        """How many times smaller D-ZOA's error is."""
        return self.theirs / self.ours


def lead(found: Answers, claim: Claim) -> Lead:
    """D-ZOA against the best baseline, each at the same claimed epsilon."""
    return Lead(mean(found.of_d_zoa(claim)), *best_baseline(found, claim))


def runs_of(found: Answers, claim: Claim) -> tuple[list[float], list[float]]:
    """The errors of D-ZOA's runs and of the best baseline's at a claim."""
    best, _ = best_baseline(found, claim)
    return finals(found.of_d_zoa(claim)), finals([found.of_baseline(best, claim)])


def equal_noise(found: Answers) -> float:
    """The epsilon of one iteration that the baselines' formula gives for D-ZOA's own noise.

    From the smallest distance in standard deviations over the owners that were looked at: a model
    estimate that favours D-ZOA.
    """
    smallest = min(answer["mu"] for answer in found.noise[0])
    return claimed_multiplier(1.0, SMALL[1]) * smallest


def with_equal_noise(found: Answers) -> tuple[Claim, Lead]:
    """The baselines at the largest claim that still has at least D-ZOA's noise."""
    equal = equal_noise(found)
    known = [claim for claim in (SMALL, LARGE, *LITTLE_NOISE) if claim[0] <= equal]
    claim = max(known or [SMALL])
    return claim, Lead(mean(found.of_d_zoa(SMALL)), *best_baseline(found, claim))


def best_baseline(found: Answers, claim: Claim) -> tuple[str, float]:
    """The baseline with the smallest mean error, and that error."""
    of_claim = errors_of_baselines(found, claim)
    best = min(of_claim, key=lambda name: of_claim[name])
    return best, of_claim[best]


def errors_of_baselines(found: Answers, claim: Claim) -> dict[str, float]:
    """Mean error of every baseline."""
    return {n: mean([found.of_baseline(n, claim)]) for n in baselines(found.kind)}


def verdict(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]], audited: float, claimed: float
) -> Verdict:
    """Of a lead that is published at a claimed epsilon.

    Args:
        pairs: the errors of D-ZOA's runs and those of the best baseline's, at each claim.
        audited: lower bound on epsilon of one iteration.
        claimed: what one iteration claims.
    """
    ahead = [ratio_above(AHEAD, theirs, ours) for ours, theirs in pairs]
    if False in ahead:
        return Verdict.NOT_REPRODUCED
    if None in ahead:
        return Verdict.UNDECIDED
    return Verdict.REFUTED if audited > claimed else Verdict.REPRODUCED


def compared_with(ratio: float) -> str:
    """How many times below a baseline D-ZOA's error is, or above."""
    if ratio >= 1.0:
        return f"{factor(ratio)} times below"
    return f"{factor(1.0 / ratio)} times above" if ratio > 0.0 else "without a bound above"


def explained(found: Answers, led: Verdict) -> str:
    """What an audit says of the claim, and where the lead goes when noise is equal.

    Args:
        found: the answers.
        led: the verdict; without a lead there is nothing to explain.
    """
    bound = audited_bound(found)
    if led in (Verdict.NOT_REPRODUCED, Verdict.UNDECIDED):
        return f"An audit of one iteration that claims {SMALL[0]:g} found at least {bound:.2g}."
    if bound <= SMALL[0]:
        return (
            f"The audit found epsilon at least {bound:.2g}, which does not contradict the claim of "
            f"{SMALL[0]:g}."
        )
    claim, equal = with_equal_noise(found)
    said = (
        f"But this is no equal privacy: an audit of one iteration that claims {SMALL[0]:g} found "
        f"epsilon at least {bound:.2g}, and D-ZOA's own noise, by a Gaussian fit (a model "
        f"estimate), is what the baselines' formula takes for {equal_noise(found):.3g}. With noise "
        f"for {claim[0]:g}, {equal.best} has an error of {equal.theirs:.2g}, "
    )
    if equal.ratio < 1:
        return (
            said
            + f"{factor(1 / equal.ratio)} times less than D-ZOA: missing noise explains the lead."
        )
    return said + (
        f"still {factor(equal.ratio)} times more than D-ZOA: missing noise explains a part of the "
        "lead."
    )


def audited_bound(found: Answers) -> float:
    """The largest lower bound on epsilon of one iteration, over the agents audited."""
    return max(answer["epsilon"] for answer in found.noise[1])


def certified_sentence(found: Answers) -> str:
    """Which proved method wins at each number of records and total, and by how much."""
    said = []
    for count in records(found.scale):
        for total in TOTALS:
            ranked = sorted((mean([found.of_proved(n, count, total)]), n) for n in PROVED)
            (best, name), (second, runner) = ranked[:2]
            other = mean([found.of_proved("D-ZOA", count, total)])
            nothing = best > LEARNT * AGENTS
            rest = "" if "D-ZOA" in (name, runner) else f", D-ZOA {other:.2g}"
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
