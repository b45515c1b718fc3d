"""The number of runs that an audit needs, computed beforehand."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from tacit.arguments import checked
from tacit.audit.binomial import tail
from tacit.audit.estimators import FOR_COUNTS, FOR_GAUSSIAN, least
from tacit.audit.game import gaussian_tail, revealed_tail
from tacit.audit.readings import FAINT, GAUSSIAN_SHARE, HALF, NEARLY_ALL, GaussianDP, HockeyStick
from tacit.errors import ConfigError
from tacit.privacy.gaussian_dp import mu_from_epsilon


@checked(ConfigError)
def trials_for_power(
    claim: float,
    delta: float,
    *,
    factor: float = 2.0,
    kind: Literal["gaussian", "laplace"] = "gaussian",
    power: float = 0.9,
    confidence: float = 0.95,
) -> int | None:
    """The number of runs per side with which an audit refutes a mechanism with too little noise.

    The mechanism is a Gaussian or a Laplace one whose noise was divided by `factor`, so that its
    `mu` (Gaussian-DP) or its epsilon (Laplace) is `factor` times what is claimed, on worst-case
    neighbours and with the exact likelihood ratio as the score.

    Args:
        claim: claimed epsilon, positive.
        delta: delta of the claim; in (0, 1) for Gaussian noise, usually 0 for Laplace noise.
        factor: factor by which the noise is too small, above 1.
        kind: law of the noise.
        power: probability of refuting the claim, in (0, 1).
        confidence: confidence of the bounds.

    Returns:
        The number of runs, within 2 %; `None` if ten million are too few.

    Raises:
        ConfigError: an argument out of its range.

    Example:
        >>> trials_for_power(1.0, 0.0, factor=2.0, kind="laplace") < 200
        True
    """
    ranges = {
        "claim": (claim, 0.0, math.inf),
        "factor": (factor, 1.0, math.inf),
        "power": (power, 0.0, 1.0),
        "confidence": (confidence, 0.0, 1.0),
    }
    for name, (value, low, high) in ranges.items():
        if not low < value < high:
            raise ConfigError(f"{name}={value!r} must be in ({low:g}, {high:g})")
    pure = kind == "laplace" and delta == 0.0
    if not (pure or 0.0 < delta < 1.0):
        raise ConfigError(f"delta={delta!r} must be in (0, 1); 0 is allowed for Laplace noise")
    unlucky = _quantile(power)
    if kind == "gaussian":
        error = (1.0 - confidence) * FOR_GAUSSIAN
        mu = mu_from_epsilon(claim, delta)
        rate = _gaussian_rate(factor * mu, GAUSSIAN_SHARE)

        def refutes(runs: int) -> bool:
            coins = GaussianDP.coins(runs)
            made = max(1, round(GAUSSIAN_SHARE * coins))
            return bool(gaussian_tail(mu, coins, made, _count(made, rate, unlucky)) <= error)

        return least(refutes)

    error = (1.0 - confidence) * FOR_COUNTS
    half = _laplace_rate(factor * claim, HALF)
    share = NEARLY_ALL if math.log(half / (1.0 - half)) < FAINT else HALF
    right = _laplace_rate(factor * claim, share)

    def refuted(runs: int) -> bool:
        coins = HockeyStick.coins(runs)
        made = max(1, round(share * coins))
        found = _count(made, right, unlucky)
        return bool(revealed_tail(claim, delta, coins, made, found) <= error)

    return least(refuted)


def _count(made: int, rate: float, unlucky: float) -> int:
    """The number of right guesses that is reached with the required power."""
    count = math.floor(made * rate - unlucky * math.sqrt(made * rate * (1.0 - rate)))
    wanted = 1.0 - _upper(unlucky)
    while count > 0 and float(tail(count, made, rate)) < wanted:
        count -= 1
    return max(count, 0)


def _upper(quantile: float) -> float:
    from scipy.special import ndtr

    return float(ndtr(-quantile))


def _quantile(power: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(power))


def _gaussian_rate(mu: float, share: float) -> float:
    """Probability that one of the surest guesses is right, between Gaussians `mu` apart."""
    from scipy.optimize import brentq
    from scipy.special import ndtr

    def beyond(c: float) -> float:
        return float(ndtr(mu / 2.0 - c) + ndtr(-mu / 2.0 - c))

    c: Any = brentq(lambda c: beyond(c) - share, 0.0, mu / 2.0 + 10.0)
    return float(ndtr(mu / 2.0 - c)) / share


def _laplace_rate(epsilon: float, share: float) -> float:
    """The same between Laplace laws whose ratio is at most `e^epsilon`.

    Outputs beyond either centre are equally sure; those in between are guessed from the outside in.
    """
    from scipy.optimize import brentq

    if share <= (1.0 + math.exp(-epsilon)) / 2.0:
        return 1.0 / (1.0 + math.exp(-epsilon))

    def right(c: float) -> float:
        return 1.0 - math.exp(-epsilon * (0.5 - c)) / 2.0

    def wrong(c: float) -> float:
        return math.exp(-epsilon * (0.5 + c)) / 2.0

    if share >= 1.0:
        return right(0.0)
    c: Any = brentq(lambda c: right(c) + wrong(c) - share, 0.0, 0.5)
    return float(np.clip(right(c) / share, 0.0, 1.0))
