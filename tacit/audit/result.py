"""Results of audits."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tacit.audit.checks import ALARM, Check
from tacit.audit.curve import Curve
from tacit.audit.readings import Bound
from tacit.privacy.digits import rounded_down, rounded_up
from tacit.privacy.gaussian_dp import mu_from_epsilon
from tacit.privacy.guarantee import Guarantee, Status

FORMAT = "tacit-audit-1"


@dataclass(frozen=True, eq=False)
class Audit:
    """The result of an audit: a claim and the lower bounds that were found.

    Attributes:
        claim: the guarantee that was put to the test.
        bounds: lower bounds on epsilon at the claim's delta, which hold simultaneously.
        curve: the measured trade-off with its band, and what the claim allows.
        trials: number of runs on each data set.
        confidence: probability with which a true claim is not refuted.
        trials_needed_for_twice: number of runs per side that would refute a claim of half this
            epsilon, if the scores are representative; `None` for more than can be run.
        ceiling: largest lower bound that this number of runs could give, if every guess were right.
        how: difference between the two data sets, as a clause.
        exact: whether the score was the exact likelihood ratio, or learned on half of the runs.
        rounds: number of rounds per run.
        seed: seed of all randomness.
        alone: the guarantee as its source states it, where that is per release; `claim` is then
            the guarantee of the whole audited run.
        checks: results of the tests of the noise itself, for all agents.
        untested: reason why the deployment path was not tested, or empty.
        mu: measured mu of Gaussian-DP, where noise is Gaussian and scores are exact; otherwise
            `None`. An estimate, not a bound.
    """

    claim: Guarantee
    bounds: tuple[Bound, ...]
    curve: Curve
    trials: int
    confidence: float
    trials_needed_for_twice: int | None
    ceiling: float
    how: str
    exact: bool
    rounds: int
    seed: int
    alone: Guarantee | None = None
    checks: tuple[Check, ...] = ()
    untested: str = ""
    mu: float | None = None

    def __repr__(self) -> str:
        found = "refuted" if self.refuted else "not refuted"
        numbers = f"epsilon at least {rounded_down(self.best.epsilon)}"
        claim = f"{rounded_up(self.claim.epsilon)} claimed for {self.claim.owner}"
        return f"<Audit, {found}: {numbers}, {claim}, {self.trials:,} runs on each side>"

    @property
    def claimed_mu(self) -> float | None:
        """Mu of Gaussian-DP that the claim comes to, where one was measured."""
        if self.mu is None:
            return None
        return float(mu_from_epsilon(self.claim.epsilon, self.claim.delta))

    @property
    def mu_error(self) -> float | None:
        """Standard error of `mu`, a difference of means over a standard deviation."""
        if self.mu is None:
            return None
        return math.sqrt((2.0 + self.mu**2 / 4.0) / self.trials)

    @property
    def best(self) -> Bound:
        """The largest lower bound."""
        return max(self.bounds, key=lambda bound: bound.epsilon)

    @property
    def stated(self) -> Guarantee:
        """The guarantee as the run states it: per release, where its source claims no more."""
        return self.claim if self.alone is None else self.alone

    @property
    def refuted(self) -> bool:
        """Whether the claim is below a lower bound, or a test of the noise failed."""
        return self._exceeded or any(check.failed for check in self.checks)

    @property
    def _exceeded(self) -> bool:
        return self.best.epsilon > self.claim.epsilon

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee after the audit: `refuted` with the measured bound, or unchanged."""
        if not self.refuted:
            return self.claim
        if self._exceeded:
            return self.claim.refuted(self.best.epsilon, self._evidence)
        return self.claim.refuted(None, self.faults())

    @property
    def _evidence(self) -> str:
        return (
            f"at {100 * self.confidence:g} % confidence, in {self.trials:,} runs on each of two "
            "neighbouring data sets"
        )

    def faults(self) -> str:
        """What tests of the noise found against the claim, in words; or empty."""
        return "; ".join(check.sentence() for check in self.checks if check.failed)

    def tested(self) -> str:
        """What was tested of the noise itself, in words."""
        failed = sum(check.failed for check in self.checks)
        count = len(self.checks)
        said = f"{failed} of {count} tests failed" if failed else f"all {count} tests passed"
        return (
            f"Noise, samples and masks of all agents: {said}"
            + (f"; not tested between sites: {self.untested}" if self.untested else "")
            + f". Tests of code that is right fail in one of {1 / ALARM:,.0f} audits."
        )

    def weighed(self) -> str:
        """What is read from every run, and how it is scored, as a clause."""
        read = "everything that the owner releases"
        if self.claim.min_cohort:
            few = {0: "", 1: " but one, which looks on,"}
            some = few.get(self.claim.coalition, f" but {self.claim.coalition}, which look on,")
            read = f"what masks leave to be read, the sums over all agents{some or ','}"
            if self.claim.status is Status.MODEL:  # every release can be read
                who = {0: "an outsider", 1: "one of the others"}.get(
                    self.claim.coalition, f"a coalition of {self.claim.coalition}"
                )
                read = f"what all releases say of the owner's to {who}, under the masks,"
        if self.exact:
            return f"{read} is weighed by its exact likelihood ratio"
        return f"how to weigh {read} is learned from half of the runs"

    def scope(self) -> str:
        """What the claim covers, in words, beyond what `sentence` says; or empty."""
        if self.alone is None:
            return ""
        count = self.alone.releases
        releases = "its only release" if count == 1 else f"all {count:,} releases together"
        return (
            "The source claims this of one release alone: each is said to be "
            f"({rounded_up(self.alone.epsilon)}, {rounded_up(self.alone.delta)})-DP. The audit "
            f"attacks a run of {self.rounds:,} {'round' if self.rounds == 1 else 'rounds'}, "
            f"{releases}, for which that would come to epsilon "
            f"{rounded_up(self.claim.epsilon)}; a longer run costs more."
        )

    def sentence(self) -> str:
        """The finding in words, for an owner of data."""
        return " ".join(part for part in (self._finding(), self.scope()) if part)

    def _finding(self) -> str:
        claimed = (
            f"epsilon {rounded_up(self.claim.epsilon)} at delta {rounded_up(self.claim.delta)}"
        )
        best = rounded_down(self.best.epsilon)
        if self.faults():
            return (
                f"Refuted: the claim for {self.claim.owner} is {claimed}, and the noise is not "
                f"what it rests on ({self.faults()}). The best attack of the audit shows that "
                f"epsilon is at least {best} ({self._evidence}). Do not publish under this claim."
            )
        if self.refuted:
            return (
                f"Refuted: the claim for {self.claim.owner} is {claimed}, and the audit found that "
                f"epsilon is at least {best} ({self._evidence}). Do not publish under this claim."
            )
        return (
            f"Not refuted: the claim for {self.claim.owner} is {claimed}, and the best attack of "
            f"the audit shows only that epsilon is at least {best} ({self._evidence}). The audit "
            "found nothing against the claim; it cannot prove it."
        )

    def measured(self) -> str:
        """How far apart runs on both data sets are, in words; empty where noise is not Gaussian."""
        if self.mu is None or self.claimed_mu is None or self.mu_error is None:
            return ""
        mu, claimed, error = (
            f"{each:.3f}" if each < 100 else f"{each:.3g}"
            for each in (self.mu, self.claimed_mu, self.mu_error)
        )
        away = abs(self.mu - self.claimed_mu) / self.mu_error
        return (
            f"Runs on the two data sets are as far apart as mu = {mu} of Gaussian-DP, with a "
            f"standard error of {error}; the claim is mu = {claimed}, {away:.1f} standard errors "
            "away."
        )

    def power(self) -> str:
        """How sharp the audit was, in words."""
        ceiling = (
            f"With {self.trials:,} runs a side no audit could have shown more than epsilon "
            f"{rounded_down(self.ceiling)}."
        )
        if self.trials_needed_for_twice is None:
            return ceiling + " A claim of half this epsilon is out of reach of any number of runs."
        return (
            f"About {self.trials_needed_for_twice:,} runs a side refute a claim that is twice too "
            f"strong (epsilon {rounded_up(self.claim.epsilon / 2.0)}). {ceiling}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as strict JSON values."""
        return {
            "format": FORMAT,
            "refuted": self.refuted,
            "sentence": self.sentence(),
            "lower_bound": self.best.epsilon,
            "bounds": [asdict(bound) for bound in self.bounds],
            "trials": self.trials,
            "confidence": self.confidence,
            "trials_needed_for_twice": self.trials_needed_for_twice,
            "ceiling": self.ceiling,
            "mu": self.mu,
            "mu_error": self.mu_error,
            "claimed_mu": self.claimed_mu,
            "neighbours": self.how,
            "score": "likelihood ratio" if self.exact else "learned",
            "rounds": self.rounds,
            "seed": self.seed,
            "checks": [{**asdict(check), "failed": check.failed} for check in self.checks],
            "untested": self.untested,
            "claim": self.claim.to_dict(),
            "claim_for_one_release": None if self.alone is None else self.alone.to_dict(),
            "guarantee": self.guarantee.to_dict(),
            "curve": {
                name: np.asarray(column).tolist() for name, column in vars(self.curve).items()
            },
        }
