"""The accountant inverted: the noise that a budget requires, the rounds that it allows.

Every result has been evaluated: the accountant's epsilon at it is at most the budget's.
(Epsilon from noise and rounds is `accounting.epsilon`.) The search never starts from a fixed
bracket (tiny multipliers make loss distributions of many million points) but from the Renyi bound,
which is cheap and on the private side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tacit.arguments import checked
from tacit.arguments.answers import answer
from tacit.errors import PrivacyError
from tacit.privacy import accounting, gaussian_dp
from tacit.privacy.digits import rounded_up
from tacit.privacy.event import Event
from tacit.privacy.tally import Tally
from tacit.ranges import Real

EventsAt = Callable[[float], Iterable[Event]]
"""All events of a run, given the noise multiplier of its releases."""

EventsAfter = Callable[[int], Iterable[Event]]
"""All events of a run, given its number of rounds."""

_TOLERANCE = 1e-6
"""Relative tolerance: the result is at most this far above the smallest sufficient multiplier."""

_NEAR, _BEYOND = 1.02, 1.003
"""Ratios of multipliers: to measure a slope, and to step past the root that it predicts."""

_LARGEST = 1e12
"""A budget that requires more noise than this times the sensitivity is taken for a mistake."""

_MOST_ROUNDS = 2**40
"""More rounds than any run has."""


@checked(PrivacyError)
def noise_multiplier(epsilon: Real, delta: float, events_at: EventsAt) -> float:
    """Smallest noise multiplier, rounded up, at which a run stays within its budget.

    Args:
        epsilon: budget of the whole run, positive; infinite for no noise.
        delta: delta of the whole run, in [1e-12, 1), or 0 for a pure guarantee.
        events_at: all events of the run for a given multiplier; more noise must not cost more.

    Returns:
        `z` with `accounting.epsilon(events_at(z), delta) <= epsilon`; 0 when no noise is needed.

    Raises:
        PrivacyError: a budget out of range, or one that no amount of this noise can meet.
        UnsupportedEvent: an event without a proved rule.

    Example:
        >>> from tacit.privacy.event import GaussianRelease, Repeated
        >>> z = noise_multiplier(1.0, 1e-6, lambda z: [Repeated(GaussianRelease(z), 20_000)])
        >>> round(z, 3)
        597.46
    """
    _check(epsilon, delta)
    events_at = _giving(events_at, "noise_multiplier", "[GaussianRelease(noise_multiplier)]")
    if math.isinf(epsilon) or Tally.of(events_at(1.0)).empty:
        return 0.0

    def spent(z: float) -> float:
        return accounting.epsilon(events_at(z), delta)

    closed = _closed_form(epsilon, delta, events_at)
    if closed is not None:
        return _raised(closed, epsilon, spent)

    def quick(z: float) -> float:
        return accounting.quick_epsilon(events_at(z), delta)

    start = _bracket(quick, epsilon, delta)
    return _search(spent, epsilon, start, _slope(quick, start))


@checked(PrivacyError)
def affordable_rounds(epsilon: Real, delta: float, events_at: EventsAfter) -> int:
    """Largest number of rounds that a budget allows, with a given noise.

    Args:
        epsilon: budget of the whole run, positive and finite.
        delta: delta of the whole run, in [1e-12, 1), or 0 for a pure guarantee.
        events_at: all events of a run of a given number of rounds; more rounds must not cost less.

    Returns:
        `n` with `accounting.epsilon(events_at(n), delta) <= epsilon`; 0 if not even one round is
            within the budget. One more round exceeds it; beyond a million rounds, one in a million
            more.

    Raises:
        PrivacyError: a budget out of range, or rounds that cost nothing.
        UnsupportedEvent: an event without a proved rule.

    Example:
        >>> from tacit.privacy.event import GaussianRelease, Repeated
        >>> affordable_rounds(1.0, 1e-6, lambda rounds: [Repeated(GaussianRelease(100.0), rounds)])
        560
    """
    _check(epsilon, delta)
    events_at = _giving(events_at, "rounds", "[Repeated(GaussianRelease(100.0), rounds)]")

    def spent(rounds: int) -> float:
        return accounting.epsilon(events_at(rounds), delta)

    def quick(rounds: int) -> float:
        return accounting.quick_epsilon(events_at(rounds), delta)

    low = _affordable(quick, epsilon)
    high, step = low + 1, 1.01
    while spent(high) <= epsilon:  # the cheap bound was too pessimistic
        low, high, step = high, math.ceil(high * step), step**1.5
        high = max(high, low + 1)
    above, below = _excess(spent(high), epsilon), _excess(spent(low), epsilon) if low else -math.inf
    while high - low > max(1, int(_TOLERANCE * low)):
        share = below / (below - above) if math.isfinite(above) and math.isfinite(below) else 0.5
        # one round to the affordable side, and never at an end of the bracket
        middle = low + min(max(int((high - low) * share), 1), high - low - 1)
        value = _excess(spent(middle), epsilon)
        if value <= 0.0:
            low, below = middle, value
        else:
            high, above = middle, value
    return low


def _affordable(quick: Callable[[int], float], epsilon: float) -> int:
    """A number of rounds within the budget by the cheap bound, within a percent of the largest."""
    if quick(1) > epsilon:
        return 0
    low = 1
    while quick(2 * low) <= epsilon:
        low *= 2
        if low > _MOST_ROUNDS:
            raise PrivacyError(
                f"epsilon={epsilon!r} allows more than {_MOST_ROUNDS:,} rounds of this noise; "
                "there is no limit worth stating. Check that it is noise over sensitivity, or ask "
                "for the noise that a number of rounds needs"
            )
    high = 2 * low
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if quick(middle) <= epsilon else (low, middle)
    return low


def _closed_form(epsilon: float, delta: float, events_at: EventsAt) -> float | None:
    """The multiplier where all releases are Gaussian with noise proportional to it, else `None`."""
    one, two = Tally.of(events_at(1.0)).mu, Tally.of(events_at(2.0)).mu
    if delta == 0.0 or not one or not two or not math.isclose(one, 2.0 * two, rel_tol=1e-12):
        return None
    return one / gaussian_dp.mu_from_epsilon(epsilon, delta)


def _bracket(quick: Callable[[float], float], epsilon: float, delta: float) -> float:
    """A multiplier whose cheap bound meets the budget, within a percent of the smallest such."""
    high = 1.0
    while quick(high) > epsilon:
        high *= 2.0
        if high > _LARGEST:
            raise PrivacyError(
                f"no noise meets epsilon={epsilon!r} with delta={delta!r}: even a noise multiplier "
                f"of {_LARGEST:g} costs epsilon = {rounded_up(quick(_LARGEST))}. Gaussian noise "
                "needs delta > 0, and a value released without noise, or with fixed noise, costs "
                "the same whatever the multiplier is"
            )
    low = high / 2.0
    while quick(low) <= epsilon:
        low, high = low / 2.0, low
        if low < 1.0 / _LARGEST:
            return high
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if quick(middle) <= epsilon else (middle, high)
    return high


def _slope(quick: Callable[[float], float], start: float) -> float:
    """How fast epsilon falls with the noise, both in logarithms, by the cheap bound."""
    less, more = quick(start / _NEAR), quick(start)
    if not 0.0 < more < less < math.inf:
        return 1.0
    return max(math.log(less / more) / math.log(_NEAR), 0.5)


def _search(spent: Callable[[float], float], epsilon: float, start: float, slope: float) -> float:
    """Secant steps in logarithms within a bracket whose upper end has always been evaluated."""
    high, above = start, _excess(spent(start), epsilon)
    low, below = high, above
    # to where the slope predicts the root, and a little further
    step = min(math.exp(-above / slope), 1.1) * _BEYOND
    while below <= 0.0:  # exact accounting is tighter than the cheap bound: walk down to its root
        high, above = low, below
        low, step = low / step, step**1.5
        below = _excess(spent(low), epsilon)
        if low < 1.0 / _LARGEST:
            return high
    while high / low > 1.0 + _TOLERANCE:
        share = below / (below - above) if math.isfinite(below) and above < 0.0 else 0.5
        # Aim a little to the private side, and never leave the bracket's middle part.
        share = min(max(share, 0.02), 0.98)
        middle = low * (high / low) ** share
        nudged = min(middle * (1.0 + _TOLERANCE / 4), high / (1.0 + _TOLERANCE / 4))
        value = _excess(spent(nudged), epsilon)
        if value <= 0.0:
            high, above = nudged, value
        else:
            low, below = nudged, value
    return high


def _excess(spent: float, epsilon: float) -> float:
    """`log(spent / epsilon)`, nearly linear in the logarithm of the noise; negative within it."""
    if spent <= epsilon:
        return min(math.log(spent / epsilon), -1e-300) if spent > 0.0 else -1.0
    return math.log(spent / epsilon) if math.isfinite(spent) else math.inf


def _raised(z: float, epsilon: float, spent: Callable[[float], float]) -> float:
    """`z`, raised by the few last bits that rounding may have cost."""
    raised, slack = z, 2.0**-50
    while spent(raised) > epsilon:
        raised, slack = z * (1.0 + slack), 2.0 * slack
    return raised


def _giving(events_at: Any, takes: str, example: str) -> Any:
    """A user's function, held to give events."""

    def fits(value: Any) -> str:
        several = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
        return "" if several else f"give the events of the run, as in lambda {takes}: {example}"

    def asked(number: Any) -> Any:
        named = f"events_at({number:g})"
        return answer(events_at, number, named=named, takes=takes, fits=fits, error=PrivacyError)

    return asked


def _check(epsilon: float, delta: float) -> None:
    if not epsilon > 0.0:
        raise PrivacyError(
            f"epsilon={epsilon!r} must be positive: a budget of nothing allows no release"
        )
    accounting.check_delta(delta)
