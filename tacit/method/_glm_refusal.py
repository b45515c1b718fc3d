"""Why the intervals of a private regression are withheld, and what would do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tacit.method._glm_bounds import Narrower
from tacit.method.answer import Refused
from tacit.method.coefficients import CURVATURE, MARGIN, MISFIT, SPREAD, Checks, in_words
from tacit.privacy.gaussian_dp import epsilon_from_mu, mu_from_epsilon

if TYPE_CHECKING:
    from tacit.method.glm import PrivateGLM


def refusal(
    checks: Checks, method: PrivateGLM, contract: Any, narrower: Narrower | None = None
) -> Refused | None:
    """The reason, with the records or the epsilon that would do; `None` if intervals are printed.

    The smallest eigenvalue of the information grows with the number of records `n`, and the noise
    falls with the privacy parameter `mu` of the whole run, so that their ratio is as `1 / (n mu)`.

    Args:
        checks: numbers that the rule is about.
        method: method of the run.
        contract: contract of the run.
        narrower: column whose declared bounds are wide, if there is one.
    """
    if checks.passed:
        return None
    if not checks.fits:
        kind = "more" if checks.excess > 0 else "fewer"
        return Refused(
            f"{kind} residuals are clipped than a {in_words(method.family.name)} model predicts, "
            f"by {abs(checks.excess):.1f} standard errors (at most {MISFIT:g})",
            _OTHERS.get(method.family.name, "choose another family"),
        )
    blurred = checks.curvature > CURVATURE
    ratio = f"{checks.curvature:.2g}" if math.isfinite(checks.curvature) else "without bound"
    reason = (
        "the noise hides the direction in which the records say the least (noise over smallest "
        f"eigenvalue of the information {ratio}, at most {CURVATURE:g})"
        if blurred
        else "Newton's method has not converged (its last step moved the predictor by a mean "
        f"square of {checks.moved:.2g}, at most {checks.allowed:.2g})"
    )
    remedy = _enough(checks, method, contract)
    if not blurred and method.sums == 3:
        remedy = f"take sums=4, or {remedy}"
    if blurred and narrower is not None:
        remedy = f"{remedy}; {narrower.sentence(CURVATURE / MARGIN)}"
    return Refused(reason, remedy)


_GUESSED = 0.5
"""Noise over the smallest eigenvalue, as one number, from which on what would do is a guess."""

_OTHERS = {
    "poisson": "for counts that vary more than a Poisson model says take "
    "family='negative_binomial'; a binomial model of whether there is any needs no such assumption",
    "negative_binomial": "counts may have more zeros, or a longer tail, than their variance says: "
    "take a binomial model of whether there is any, or other columns",
    "gamma": "the coefficient of variation is not constant: choose another family or columns",
    "gaussian": "errors are far from normal: transform the target, or choose another family",
}


def _enough(checks: Checks, method: PrivateGLM, contract: Any) -> str:
    """The records at this epsilon, or the epsilon with these records."""
    if method.privacy is None:
        return "give more records, or fewer columns"
    best = least_curvature(method, contract)
    factor = max(checks.lacks, best / CURVATURE)
    records = sum(public.count for public in contract.owners.contexts)
    guessed = checks.lost and math.isfinite(checks.average)
    if factor > checks.lacks and checks.lost and not guessed:
        return _hopeless(factor * records, _epsilon(factor, contract))
    least = "at least " if checks.lost and not guessed else "about "
    wanted = f"{least}{_two_up(factor * records):,} records at this epsilon would do"
    if epsilon := _epsilon(factor, contract):
        wanted = f"{wanted}, or an epsilon of {least}{epsilon} with these"
    if checks.lost:
        wanted += ", unless a column says nothing that the others do not"
        wanted += ", or hardly any record has some level" if method.family.classes else ""
        wanted += ", or the target may be constant" if method.family.logistic else ""
        wanted += ": leave such a one out"
    if guessed:
        wanted += f"; these are guesses, as if the smallest eigenvalue were 1/{SPREAD:g} of the "
        wanted += "mean one, and may be several times too much"
    noisy = checks.curvature >= _GUESSED * math.sqrt(2.0 * method.width)  # of an operator
    if noisy and not checks.lost:
        wanted += "; these are guesses, because much of that eigenvalue is noise"
    elif not checks.lost:
        wanted += "; from half to twice as much, since this forecast has the same noise"
    return wanted


def _hopeless(records: float, epsilon: str) -> str:
    """What no records could do without, where these say nothing at all."""
    needed = f"at least {_two_up(records):,} records would be needed at this epsilon"
    if epsilon:
        needed += f", or an epsilon of at least {epsilon} with as many"
    return f"no useful estimate is possible: even if every record said as much as one can, {needed}"


def _epsilon(factor: float, contract: Any) -> str:
    """The epsilon at which mu is so many times larger; empty if that cannot be said."""
    worst = contract.guarantee.worst
    if not (math.isfinite(worst.epsilon) and 0.0 < worst.delta < 1.0):
        return ""
    mu = factor * float(mu_from_epsilon(worst.epsilon, worst.delta))
    epsilon = float(epsilon_from_mu(mu, worst.delta))
    return f"{epsilon:.2g}" if epsilon < 100.0 else f"{_two_up(epsilon):,}"


def least_curvature(method: PrivateGLM, contract: Any) -> float:
    """Noise over the smallest eigenvalue of the information, for the best records that could be.

    What one record adds to the information has a trace of at most `radius norm` times the largest
    weight, and the smallest eigenvalue is at most the mean one.

    Args:
        method: method of the run, with privacy.
        contract: contract of the run.
    """
    query, score, d = method.queries[-1], method.score(-1), method.width
    sites = len(contract.owners.contexts)
    # of the last two sums, weighted so that the noise is least
    spread = [
        float(query.spread(sites * contract.spread(t + 1, sites))[0])
        for t in (method.sums - 2, method.sums - 1)
    ]
    noise = math.prod(spread) / math.hypot(*spread) * float(method.curvature_unit)
    weight = 0.25 if method.family.logistic else 1.0
    records = sum(public.count for public in contract.owners.contexts)
    most = records * float(score.radius) * float(score.norm) * weight / d
    return noise * math.sqrt(2.0 * d) / most


def _two_up(value: float) -> int:
    """A number with two digits, rounded up."""
    digits = 10 ** max(0, math.floor(math.log10(max(value, 1.0))) - 1)
    return math.ceil(value / digits) * digits
