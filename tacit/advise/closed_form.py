"""Signal against noise on the back of an envelope: an answer at once, without a simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int

from tacit.advise.law import Slopes
from tacit.advise.setting import Setting, changed, two_digits, unmasked
from tacit.clipping import norm_ratio
from tacit.errors import PrivacyError
from tacit.method import claim
from tacit.method.claim import Owners
from tacit.method.dpsg import DPSG
from tacit.method.phase import AbstractMethod
from tacit.privacy.budget import NoiseKind
from tacit.runtime.keys import public_key
from tacit.types import PublicContext, Unit

ROUNDS = (10, 30, 100)
"""Numbers of rounds that are tried."""

CLIPS = (0.125, 0.25, 0.5, 1.0, 2.0)
"""Clips that are tried, over the median norm of one record's gradient at zero."""

_MOST_RECORDS = 1e12
MOST_EPSILON = 50.0
"""A larger epsilon is no protection worth advising."""


@dataclass(frozen=True)
class Estimate:
    """The closed form at its best clip and number of rounds.

    Attributes:
        error: expected `||b_k - b*||^2 / ||b*||^2`, in (0, 1); answering zero scores 1.
        clip: the best one.
        rounds: the best number of them.
        noise_multiplier: `z` for these rounds.
        noise_scale: standard deviation of the noise on one coordinate of one release.
        signal: length of the mean clipped gradient at zero.
    """

    error: float
    clip: float
    rounds: int
    noise_multiplier: float
    noise_scale: float
    signal: float


def estimate(setting: Setting) -> Estimate:
    """What could be learnt if agreement and optimisation cost nothing.

    Noise of standard deviation `s = 2 C z_T / N_k` on each coordinate, averaged over `T` rounds and
    `K` sites, stands against a mean clipped gradient with coordinates `G_j`: with
    `v_j = s^2 / (T K G_j^2)` the best linear estimate has the relative error `v_j / (1 + v_j)`, and
    the figure is the mean over the coordinates. The signal is that at zero; methods that move on
    from there may do a little better, and sites that do not mix completely do worse.

    Example:
        >>> from tacit import network
        >>> from tacit.privacy import Privacy
        >>> budget = Privacy(clip=1.0, epsilon=1.7, delta=1e-6)
        >>> few, many = (Setting(n, 10, network.ring(5), budget) for n in (20, 2000))
        >>> estimate(many).error < 0.01 < 0.5 < estimate(few).error
        True
    """
    return min(estimates(setting, Slopes.of(setting)), key=lambda each: each.error)


def estimates(
    setting: Setting, slopes: Slopes, noise: Sequence[float] | None = None
) -> list[Estimate]:
    """The closed form for every number of rounds and clip that is tried.

    Args:
        setting: the declared dimensions.
        slopes: of its law.
        noise: multipliers for `ROUNDS`, if they are known already.
    """
    if noise is None:
        noise = [multiplier(setting, rounds) for rounds in ROUNDS]
    found: list[Estimate] = []
    for rounds, z in zip(ROUNDS, noise, strict=True):
        releases = int(_taken(setting, rounds).sum())
        for factor in CLIPS:
            clip = two_digits(factor * slopes.typical)
            deviation = z * setting.moves * clip / (setting.records * setting.budget.sampling)
            deviation *= norm_ratio(setting.clip_norm, setting.budget.order, setting.parameters)
            deviation *= _deviation(setting.budget.noise, setting.parameters)
            signal = slopes.clipped(clip) * slopes.size * slopes.variances
            ratio = deviation**2 / (max(releases, 1) * signal**2)
            error = float(np.mean(ratio / (1.0 + ratio)))
            length = float(np.linalg.norm(signal)) / setting.weight
            found.append(Estimate(error, clip, rounds, z, deviation / setting.weight, length))
    return found


def _deviation(law: NoiseKind, parameters: int) -> float:
    """Standard deviation of one coordinate of the noise, over its scale."""
    if law is NoiseKind.L2_LAPLACE:
        # its squared length is p (p + 1) on average
        return math.sqrt(parameters + 1.0)
    return math.sqrt(2.0) if law is NoiseKind.LAPLACE else 1.0


def multiplier(setting: Setting, rounds: int, method: AbstractMethod | None = None) -> float:
    """The noise multiplier that the budget asks of so many rounds; the most active site's.

    Masks leave an agent the noise of all honest ones, so that its own is a share of that; what a
    mean of such answers is worth does not depend on the masks themselves, which are left out.

    Args:
        setting: with the budget and the network.
        rounds: how many.
        method: without masks, whose releases are counted; one noised gradient a round by default.

    Raises:
        PrivacyError: a budget that no noise can meet.
    """
    method = DPSG(step=1.0, privacy=unmasked(setting.budget)) if method is None else method
    calibrated = claim.calibrate(method, owners(setting, rounds))
    assert calibrated.privacy is not None
    z = calibrated.privacy.noise_multiplier
    masks = setting.budget.masks
    hidden = 1 if masks is None else masks.hidden(setting.agents)
    return float(np.max(np.asarray(z, dtype=float))) / math.sqrt(hidden)


def owners(setting: Setting, rounds: int) -> Owners:
    """Declared constants of the most active sites, as many as one person may have records at."""
    count = min(setting.agents, setting.budget.sites_per_person)
    contexts = tuple(
        PublicContext(
            agent=k,
            agents=setting.agents,
            round=0,
            rounds=rounds,
            count=setting.records,
            normaliser=setting.records * setting.weight,
            unit=Unit.RECORD,
            degree=1,
            participations=int(_charged(setting, rounds).max()),
            dimension=setting.parameters,
        )
        for k in range(count)
    )
    return Owners(contexts, tuple(str(k) for k in range(count)))


def _taken(setting: Setting, rounds: int) -> Int[np.ndarray, " agents"]:
    """How often every site takes part."""
    return np.asarray(setting.network.participations(rounds, public_key(0)))


def _charged(setting: Setting, rounds: int) -> Int[np.ndarray, " agents"]:
    """How often every site releases, sums included that are given up because one is missing."""
    if setting.budget.masks is None:
        return _taken(setting, rounds)
    return np.asarray(setting.network.attempts(rounds, public_key(0)))


def with_epsilon(setting: Setting, epsilon: float) -> Setting:
    """The same setting with another budget."""
    return replace(setting, budget=changed(setting.budget, epsilon=epsilon))


def records_for(setting: Setting, error: float) -> int | None:
    """Fewest records a site, to two digits, at which the closed form promises `error`."""
    slopes = Slopes.of(setting)
    noise = [multiplier(setting, rounds) for rounds in ROUNDS]  # it does not depend on the records

    def enough(records: float) -> bool:
        asked = replace(setting, records=math.ceil(records))
        return min(each.error for each in estimates(asked, slopes, noise)) <= error

    if not enough(_MOST_RECORDS):
        return None
    return math.ceil(_least(enough, 1.0, _MOST_RECORDS))


def epsilon_for(setting: Setting, error: float) -> float | None:
    """Smallest epsilon, to two digits, at which the closed form promises `error`; at most 50."""
    slopes = Slopes.of(setting)

    def enough(epsilon: float) -> bool:
        try:
            tried = estimates(with_epsilon(setting, epsilon), slopes)
        except PrivacyError:
            return False
        return min(each.error for each in tried) <= error

    if not enough(MOST_EPSILON):
        return None
    return _least(enough, min(setting.epsilon, MOST_EPSILON) / 2, MOST_EPSILON)


def _least(enough: Callable[[float], bool], low: float, high: float) -> float:
    """Least number that is enough, rounded up to two digits; `high` is."""
    while high / low > 1.02:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return _up(high)


def _up(value: float) -> float:
    """Rounded up to two significant digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.3g}")
