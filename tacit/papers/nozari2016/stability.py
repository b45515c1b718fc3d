"""Noise on messages with steps that do not vanish: when no finite epsilon remains.

A method that perturbs its messages pays for every round. If it is to settle, its noise must
vanish; if steps do not vanish faster, the remaining noise hides less and less of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import ArrayLike, Float

from tacit.arguments import checked
from tacit.errors import ConfigError

_DIVERGES = 0.97
"""Ratio of dyadic blocks above which a sum counts as divergent: 1 for 1/t, 0.966 for t^-1.05."""

_FEWEST = 8
"""Number of rounds for two blocks of more than one term."""


@dataclass(frozen=True)
class StabilityPrivacy:
    """The privacy cost of a schedule of steps and noise, round by round.

    Attributes:
        epsilon: pure epsilon over the first `t + 1` rounds, worst case, shape `(rounds,)`.
        private: whether the infinite sum seems to be finite.
        limit: extrapolated infinite sum; infinite where `private` is false. An estimate, not a
            guarantee: the epsilon of a run with this number of rounds is `epsilon[-1]`.
    """

    epsilon: Float[np.ndarray, " rounds"]
    private: bool
    limit: float

    def __str__(self) -> str:
        spent, rounds = float(self.epsilon[-1]), len(self.epsilon)
        if self.private:
            return (
                f"epsilon is {spent:.4g} after {rounds:,} rounds and tends to about "
                f"{self.limit:.4g}: step / noise scale is summable, as far as these rounds show"
            )
        return (
            f"epsilon is {spent:.4g} after {rounds:,} rounds and grows without bound: the sum of "
            "step / noise scale diverges, so no finite epsilon covers a run without an end; let "
            "steps vanish faster than the noise, keep the noise, fix the number of rounds, or "
            "perturb the costs once"
        )


@checked(ConfigError)
def check_stability_privacy(
    steps: Sequence[float] | Float[ArrayLike, " rounds"],
    noise_scales: Sequence[float] | Float[ArrayLike, " messages"],
    *,
    distance: float = 1.0,
) -> StabilityPrivacy:
    r"""Whether a method that adds Laplace noise to its messages can remain private indefinitely.

    The first message after step `t` moves by up to `step_t G` when a cost is replaced, and hides it
    in noise of scale `M_t`, so the worst case over rounds, which is attained, is

    .. math:: \varepsilon(T) = \sum_{t \le T} \frac{\mathrm{step}_t \, G}{M_t}.

    A stable method settles only if `M_t` vanishes. With constant steps the sum then diverges: no
    such method is private. Divergence of a sum is judged from its last two dyadic blocks.

    Ours, for schedules that may vanish. Proposition IV.2 of Nozari, Tallapragada, Cortes (2018),
    section IV-A, is about systems that are the same in every step:
    `message_noise.check_impossibility`.

    Args:
        steps: step sizes `step_t`, at least 0, shape `(rounds,)`, 8 rounds or more.
        noise_scales: noise scales `M_t` of the first message that carries step `t`, positive.
        distance: largest l1 distance `G` of two gradients (two clips).

    Raises:
        ConfigError: an argument out of range.

    Example:
        >>> rounds = np.arange(2.0, 101.0)
        >>> verdict = check_stability_privacy(0.2 + 0.0 * rounds, 1.0 / np.sqrt(rounds))
        >>> verdict.private, round(float(verdict.epsilon[-1]))
        (False, 134)
        >>> print(str(check_stability_privacy(0.2 * 0.5**rounds, 0.9**rounds)).partition(":")[0])
        epsilon is 0.1389 after 99 rounds and tends to about 0.1389
    """
    step, scale = (np.asarray(each, dtype=np.float64) for each in (steps, noise_scales))
    if step.ndim != 1 or step.shape != scale.shape or step.size < _FEWEST:
        raise ConfigError(
            f"steps has shape {step.shape} and noise_scales {scale.shape}; give both for the same "
            f"rounds, {_FEWEST} or more"
        )
    if not (np.all(step >= 0.0) and np.all(np.isfinite(step))):
        raise ConfigError("steps must be at least 0 and finite")
    if not (np.all(scale > 0.0) and np.all(np.isfinite(scale))):
        raise ConfigError("noise_scales must be positive and finite")
    if not 0.0 < distance < math.inf:
        raise ConfigError(f"distance={distance!r} must be a positive finite number")
    lost = step * distance / scale
    # the last half of the rounds, and the last half of the rest (Cauchy's condensation)
    quarter = step.size // 4
    late, early = (
        float(np.sum(lost[2 * quarter : 4 * quarter])),
        float(np.sum(lost[quarter : 2 * quarter])),
    )
    ratio = 0.0 if late == 0.0 else late / early if early > 0.0 else math.inf
    epsilon, private = np.cumsum(lost), ratio < _DIVERGES
    rest = late * ratio / (1.0 - ratio) if private else math.inf
    return StabilityPrivacy(epsilon, private, float(epsilon[-1]) + rest)
