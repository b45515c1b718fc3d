"""How much noise a budget for the whole run asks for.

The noise multiplier that is returned has been evaluated: the accountant's epsilon at it is at most
the budget's. The search never starts from a fixed bracket (tiny multipliers make loss distributions
of many million points) but from the Renyi bound, which is cheap and on the private side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from tacit.errors import PrivacyError
from tacit.privacy import accounting, gaussian_dp
from tacit.privacy.event import Event
from tacit.privacy.tally import Tally

EventsAt = Callable[[float], Iterable[Event]]
"""All events of a run, given the noise multiplier of its releases."""

_TOLERANCE = 1e-6
"""Relative; the result is at most this far above the smallest sufficient multiplier."""

_LARGEST = 1e12
"""A budget that asks for more noise than this times the sensitivity is taken for a mistake."""


def noise_multiplier(epsilon: float, delta: float, events_at: EventsAt) -> float:
    """Smallest noise multiplier, rounded up, at which a run stays within its budget.

    Args:
        epsilon: budget of the whole run, positive; infinite for no noise.
        delta: of the whole run, in [1e-12, 1), or 0 for a pure guarantee.
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
    if math.isinf(epsilon) or Tally.of(events_at(1.0)).empty:
        return 0.0

    def spent(z: float) -> float:
        return accounting.epsilon(events_at(z), delta)

    closed = _closed_form(epsilon, delta, events_at)
    if closed is not None:
        return _raised(closed, epsilon, spent)

    def quick(z: float) -> float:
        return accounting.quick_epsilon(events_at(z), delta)

    return _search(spent, epsilon, _bracket(quick, epsilon, delta))


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
                f"of {_LARGEST:g} costs {quick(_LARGEST):.3g}. Gaussian noise needs delta > 0, and "
                "no budget pays for a value released without noise; else allow a larger epsilon"
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


def _search(spent: Callable[[float], float], epsilon: float, start: float) -> float:
    """Secant steps in logarithms within a bracket whose upper end has always been evaluated."""
    high, above = start, _excess(spent(start), epsilon)
    low, below = high, above
    step = 1.02
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


def _check(epsilon: float, delta: float) -> None:
    if not epsilon > 0.0:
        raise PrivacyError(
            f"epsilon={epsilon!r} must be positive: a budget of nothing allows no release"
        )
    accounting.check_delta(delta)
