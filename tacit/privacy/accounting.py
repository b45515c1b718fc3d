"""What a sequence of releases costs together: one small interface over all accountants.

`epsilon(events, delta)` and `delta(events, epsilon)` hold for adaptive composition: each release
may depend on all earlier ones. Unsampled Gaussian releases are composed exactly, in closed form.
All others get the smallest of three upper bounds: the sum of pure epsilons, Renyi orders, and
privacy loss distributions on a grid (both from dp-accounting, imported when first needed).

An event without a proved rule is refused. A `ModelClaim` costs what it amounts to under its model,
so a result that contains one rests on the claim's assumption.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from tacit.errors import PrivacyError
from tacit.privacy import gaussian_dp
from tacit.privacy.event import Event
from tacit.privacy.tally import Tally

SMALLEST_DELTA = 1e-12
"""Below it floating-point convolutions no longer bound the tail."""

_CURVE_POINTS = 20
"""How many points of a curve are composed on a grid."""


def epsilon(events: Iterable[Event], delta: float) -> float:
    """Smallest epsilon, up to the accountant's error, at which all events together are private.

    Args:
        events: everything that is released, in any order; may be empty.
        delta: in [1e-12, 1), or 0 for a pure guarantee.

    Returns:
        An upper bound; infinite when something is released without protection.

    Raises:
        PrivacyError: `delta` or a parameter of an event out of range.
        UnsupportedEvent: an event without a proved rule.

    Example:
        >>> from tacit.privacy.event import GaussianRelease, Repeated
        >>> round(epsilon([Repeated(GaussianRelease(100.0), 20_000)], delta=1e-5), 6)
        6.57297
    """
    check_delta(delta)
    return _epsilon(Tally.of(events), delta)


def quick_epsilon(events: Iterable[Event], delta: float) -> float:
    """An upper bound on `epsilon` that takes milliseconds: no loss distributions.

    Args:
        events: everything that is released, in any order; may be empty.
        delta: in [1e-12, 1), or 0 for a pure guarantee.

    Raises:
        PrivacyError: as for `epsilon`.
        UnsupportedEvent: as for `epsilon`.
    """
    check_delta(delta)
    return _quick_epsilon(Tally.of(events), delta)


def delta(events: Iterable[Event], epsilon: float) -> float:
    """Smallest delta, up to the accountant's error, at which all events together are private.

    Args:
        events: everything that is released, in any order; may be empty.
        epsilon: at least 0.

    Returns:
        An upper bound; 1 when something is released without protection.

    Raises:
        PrivacyError: `epsilon` or a parameter of an event out of range.
        UnsupportedEvent: an event without a proved rule.

    Example:
        >>> from tacit.privacy.event import GaussianRelease
        >>> round(delta([GaussianRelease(1.0)], epsilon=1.0), 6)
        0.126937
    """
    if not epsilon >= 0.0:
        raise PrivacyError(f"epsilon={epsilon!r} must be at least 0")
    return _delta(Tally.of(events), epsilon)


def epsilon_curve(
    events: Sequence[Event], at: Sequence[int], delta: float
) -> Float[np.ndarray, " points"]:
    """Epsilon spent by the first `n` events, for each `n` in `at`.

    Gaussian runs are exact at every point. Others are composed at 20 of the points, the last one
    included; a point between takes the value of the next of these, or the sum of its own pure
    epsilons where that is smaller: an upper bound, because epsilon only grows.

    Args:
        events: everything that is released, in order.
        at: numbers of leading events, ascending, each in [0, len(events)].
        delta: in [1e-12, 1), or 0 for a pure guarantee.

    Raises:
        PrivacyError: `at` not ascending or out of range; otherwise as for `epsilon`.
        UnsupportedEvent: as for `epsilon`.

    Example:
        >>> from tacit.privacy.event import GaussianRelease
        >>> epsilon_curve([GaussianRelease(100.0)] * 1000, at=[10, 1000], delta=1e-5).round(4)
        array([0.097 , 1.1994])
    """
    check_delta(delta)
    points = np.asarray(at, dtype=int)
    if points.size == 0:
        return np.zeros(0)
    if np.any(np.diff(points) < 0) or points[0] < 0 or points[-1] > len(events):
        raise PrivacyError(f"at={at!r} must ascend within [0, {len(events)}], the number of events")
    taken = events[: points[-1]]
    known = {event: Tally.of([event]) for event in set(taken)}
    tallies = [known[event] for event in taken]
    squares = [tally.mu**2 for tally in tallies if tally.mu is not None]
    if delta > 0.0 and len(squares) == len(tallies):
        spent = np.concatenate([[0.0], np.cumsum(squares)])
        return gaussian_dp.epsilon_from_mu(np.sqrt(spent[points]), delta)
    chosen = np.unique(np.linspace(0, len(points) - 1, _CURVE_POINTS).round().astype(int))
    exact = np.array([_epsilon(Tally.of(taken[:n]), delta) for n in points[chosen]])
    upper = exact[np.searchsorted(chosen, np.arange(len(points)))]
    pure = np.concatenate([[0.0], np.cumsum([tally.pure for tally in tallies])])
    return np.minimum(upper, pure[points])


def check_delta(delta: float) -> None:
    """Refuse a delta that is neither 0 nor in [1e-12, 1).

    Raises:
        PrivacyError: otherwise.
    """
    if not (delta == 0.0 or SMALLEST_DELTA <= delta < 1.0):
        raise PrivacyError(
            f"delta={delta!r} must be 0 or in [{SMALLEST_DELTA:g}, 1); a common choice is below "
            "one over the number of records"
        )


@lru_cache(maxsize=4096)
def _epsilon(tally: Tally, delta: float) -> float:
    quick = _quick_epsilon(tally, delta)
    if delta == 0.0 or tally.exposed or tally.mu is not None:
        return quick
    from tacit.privacy import loss_distribution

    return min(quick, float(loss_distribution.composed(tally).get_epsilon_for_delta(delta)))


@lru_cache(maxsize=4096)
def _quick_epsilon(tally: Tally, delta: float) -> float:
    if delta == 0.0 or tally.exposed:
        return tally.pure
    if tally.mu is not None:
        return float(gaussian_dp.epsilon_from_mu(tally.mu, delta))
    from tacit.privacy import loss_distribution

    accountant = loss_distribution.renyi(tally)
    bound = math.inf if accountant is None else float(accountant.get_epsilon(delta))
    return min(tally.pure, bound)


@lru_cache(maxsize=4096)
def _delta(tally: Tally, epsilon: float) -> float:
    if tally.exposed or epsilon >= tally.pure:
        return float(tally.exposed)
    if tally.mu is not None:
        return float(np.exp(gaussian_dp.log_delta(tally.mu, epsilon)))
    from tacit.privacy import loss_distribution

    accountant = loss_distribution.renyi(tally)
    bound = 1.0 if accountant is None else float(accountant.get_delta(epsilon))
    return min(bound, float(loss_distribution.composed(tally).get_delta_for_epsilon(epsilon)))
