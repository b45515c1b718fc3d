"""Auditing with a single run, in which each of many independent canaries may take part."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from tacit.arguments import checked
from tacit.audit.binomial import tail
from tacit.audit.game import largest_refuted
from tacit.audit.readings import Bound
from tacit.errors import ConfigError

_LARGEST_EPSILON = 60.0


@checked(ConfigError)
def one_run_bound(
    scores: Float[np.ndarray, " canaries"],
    included: Bool[np.ndarray, " _canaries"],
    *,
    delta: float,
    guesses: int,
    confidence: float = 0.95,
) -> Bound:
    """Lower bound on epsilon from one run, by guessing which canaries took part in it.

    Each canary is a separate record that took part by the toss of a fair coin, independently of
    all others; the guarantee is about adding or removing one record. The attacker guesses that the
    highest scores took part and the lowest did not, and abstains in between. One run is much
    cheaper than thousands, and its bounds are looser: canaries share the noise of the run.

    Source: Steinke, Nasr, Jagielski (2023), theorem 5.2.

    Args:
        scores: scores of the canaries, higher where taking part is likelier, such as the inner
            product of the canary's gradient with the release.
        included: whether each canary took part.
        delta: delta of the claim, in [0, 1).
        guesses: number of guesses, from 1 to the number of canaries; fixed before the run.
        confidence: confidence of the bound, in (0, 1).

    Raises:
        ConfigError: different numbers of scores and canaries, none, one that is NaN, or an
            argument out of its range.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> included = rng.random(1000) < 0.5
        >>> leaking = included + rng.normal(scale=0.5, size=1000)
        >>> one_run_bound(leaking, included, delta=1e-5, guesses=400).epsilon > 2.0
        True
    """
    canaries = len(scores)
    if len(included) != canaries:
        raise ConfigError(f"{canaries} scores for {len(included)} canaries; give one for each")
    if np.isnan(scores).any():
        raise ConfigError(
            f"scores[{int(np.isnan(scores).argmax())}] is NaN; give one number a canary"
        )
    if not canaries:
        raise ConfigError("scores is empty; give one for each canary")
    if not 1 <= guesses <= canaries:
        raise ConfigError(f"guesses={guesses!r} must be from 1 to the {canaries} canaries")
    if not (0.0 <= delta < 1.0 and 0.0 < confidence < 1.0):
        raise ConfigError(f"delta={delta!r} must be in [0, 1), confidence={confidence!r} in (0, 1)")
    order = np.argsort(scores, kind="stable")
    out, taken = order[: guesses // 2], order[canaries - (guesses - guesses // 2) :]
    correct = int(np.sum(~included[out]) + np.sum(included[taken]))
    epsilon = largest_refuted(
        lambda claim: one_run_tail(claim, delta, canaries, guesses, correct),
        1.0 - confidence,
        _LARGEST_EPSILON,
    )
    return Bound(
        "one run",
        epsilon,
        float(np.sum(~included[taken]) / max(np.sum(~included), 1)),
        float(np.sum(included[out]) / max(np.sum(included), 1)),
    )


def one_run_tail(epsilon: float, delta: float, canaries: int, guesses: int, correct: int) -> float:
    """Largest probability of `correct` right guesses or more in one `(epsilon, delta)`-DP run.

    With `W ~ Bin(guesses, e^epsilon / (1 + e^epsilon))`, it is at most

        P(W >= v) + 2 m delta max_{i=1..v} P(v - i <= W < v) / i.

    Args:
        epsilon: epsilon of the claim.
        delta: delta of the claim.
        canaries: number of canaries, `m`.
        guesses: number of guesses.
        correct: number of right guesses, `v`.
    """
    rate = 1.0 / (1.0 + np.exp(-epsilon))
    above = float(tail(correct, guesses, rate))
    if delta == 0.0 or correct == 0:
        return above
    i = np.arange(1, correct + 1)
    steepest = float(np.max((tail(correct - i, guesses, rate) - above) / i))
    return min(1.0, above + 2.0 * canaries * delta * steepest)
