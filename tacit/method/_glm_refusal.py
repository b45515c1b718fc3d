"""Why the intervals of a private regression are withheld, and what would do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tacit.method.answer import Refused
from tacit.method.coefficients import Checks
from tacit.privacy.gaussian_dp import epsilon_from_mu, mu_from_epsilon
from tacit.privacy.query import own_public

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
            f"{kind} residuals are clipped than a {method.family.name} model predicts, by "
            f"{abs(checks.excess):.1f} standard errors (at most 3)",
            _OTHERS.get(method.family.name, "choose another family"),
        )
    blurred = checks.curvature > 0.75
    reason = (
        "the noise hides the direction in which the records say the least (noise over smallest "
        f"eigenvalue of the information {checks.curvature:.2g}, at most 0.75)"
        if blurred
        else "Newton's method has not converged (its last step moved the predictor by a mean "
        f"square of {checks.moved:.2g}, at most {checks.allowed:.2g})"
    )
    remedy = _enough(checks, method, contract)
    if not blurred and method.sums == 3:
        remedy = f"take sums=4, or {remedy}"
    return Refused(reason, remedy)


_OTHERS = {
    "poisson": "counts that vary more than a Poisson model says need another family, such as a "
    "negative binomial",
    "gamma": "the coefficient of variation is not constant: choose another family or columns",
    "gaussian": "errors are far from normal: transform the target, or choose another family",
}


def _enough(checks: Checks, method: PrivateGLM, contract: Any) -> str:
    """The records at this epsilon, or the epsilon with these records."""
    factor = checks.lacks
    records = sum(public.count for public in contract.owners.contexts)
    least = "at least " if checks.lost else "about "
    wanted = f"{least}{_two_up(factor * records):,} records at this epsilon would do"
    privacy = method.privacy
    if privacy is None:
        return "give more records, or fewer columns"
    delta = own_public(privacy.delta, 0)
    epsilon = contract.guarantee.worst.epsilon
    if not (math.isfinite(epsilon) and 0.0 < delta < 1.0):
        return wanted
    mu = factor * float(mu_from_epsilon(epsilon, delta))
    return f"{wanted}, or an epsilon of {least}{float(epsilon_from_mu(mu, delta)):.2g} with these"


def _two_up(value: float) -> int:
    """A number with two digits, rounded up."""
    digits = 10 ** max(0, math.floor(math.log10(max(value, 1.0))) - 1)
    return math.ceil(value / digits) * digits
