"""Why the intervals of a private regression are withheld, and what would do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tacit.method.answer import Refused
from tacit.method.coefficients import CURVATURE, MISFIT, SPREAD, Checks, in_words
from tacit.privacy.gaussian_dp import epsilon_from_mu, mu_from_epsilon

if TYPE_CHECKING:
    from tacit.method.glm import PrivateGLM


def refusal(checks: Checks, method: PrivateGLM, contract: Any) -> Refused | None:
    """The reason, with the records or the epsilon that would do; `None` if intervals are printed.

    The smallest eigenvalue of the information grows with the number of records `n`, and the noise
    falls with the privacy parameter `mu` of the whole run, so that their ratio is as `1 / (n mu)`.

    Args:
        checks: numbers that the rule is about.
        method: method of the run.
        contract: contract of the run.
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
    reason = (
        "the noise hides the direction in which the records say the least (noise over smallest "
        f"eigenvalue of the information {checks.curvature:.2g}, at most {CURVATURE:g})"
        if blurred
        else "Newton's method has not converged (its last step moved the predictor by a mean "
        f"square of {checks.moved:.2g}, at most {checks.allowed:.2g})"
    )
    remedy = _enough(checks, method, contract)
    if not blurred and method.sums == 3:
        remedy = f"take sums=4, or {remedy}"
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
    factor = checks.lacks
    records = sum(public.count for public in contract.owners.contexts)
    guessed = checks.lost and math.isfinite(checks.average)
    least = "at least " if checks.lost and not guessed else "about "
    if method.privacy is None:
        return "give more records, or fewer columns"
    wanted = f"{least}{_two_up(factor * records):,} records at this epsilon would do"
    worst = contract.guarantee.worst
    if math.isfinite(worst.epsilon) and 0.0 < worst.delta < 1.0:
        mu = factor * float(mu_from_epsilon(worst.epsilon, worst.delta))
        epsilon = float(epsilon_from_mu(mu, worst.delta))
        shown = f"{epsilon:.2g}" if epsilon < 100.0 else f"{_two_up(epsilon):,}"
        wanted = f"{wanted}, or an epsilon of {least}{shown} with these"
    if checks.lost:
        wanted += ", unless a column says nothing that the others do not"
        wanted += ", or hardly any record has some level" if method.family.classes else ""
        wanted += ": leave such a one out"
    if guessed:
        wanted += f"; these are guesses, as if the smallest eigenvalue were 1/{SPREAD:g} of the "
        wanted += "mean one"
    noisy = checks.curvature >= _GUESSED * math.sqrt(2.0 * method.width)  # of an operator
    if noisy and not checks.lost:
        wanted += "; these are guesses, because much of that eigenvalue is noise"
    return wanted


def _two_up(value: float) -> int:
    """A number with two digits, rounded up."""
    digits = 10 ** max(0, math.floor(math.log10(max(value, 1.0))) - 1)
    return math.ceil(value / digits) * digits
