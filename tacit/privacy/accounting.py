"""What a sequence of releases costs together: one small interface over all accountants.

`epsilon(events, delta)` and `delta(events, epsilon)` hold for adaptive composition: each release
may depend on all earlier ones. Unsampled Gaussian releases are composed exactly, in closed form.
All others get the smallest of three upper bounds: the sum of pure epsilons, Renyi orders, and
privacy loss distributions on a grid, with every rounding charged. Releases of
owners whose records are disjoint do not add up: `parallel_epsilon`.

An event without a proved rule is refused. A `ModelClaim` costs what it amounts to under its model,
so a result that contains one rests on the claim's assumption.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from tacit.arguments import checked
from tacit.errors import PrivacyError
from tacit.privacy import gaussian_dp
from tacit.privacy.event import Event
from tacit.privacy.tally import Tally

if TYPE_CHECKING:
    from tacit.privacy.convolution import Sum
    from tacit.privacy.renyi import Renyi

SMALLEST_DELTA = 1e-12
"""Smaller ones have no use; down to it every accountant here is tested to be an upper bound."""

_CURVE_POINTS = 20
"""Number of points of a curve that are composed on a grid."""


@checked(PrivacyError)
def epsilon(events: Iterable[Event], delta: float) -> float:
    """Smallest epsilon, up to the accountant's error, at which all events together are private.

    Args:
        events: everything that is released, in any order; may be empty.
        delta: delta of the guarantee, in [1e-12, 1), or 0 for a pure guarantee.

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
        delta: delta of the guarantee, in [1e-12, 1), or 0 for a pure guarantee.

    Raises:
        PrivacyError: as for `epsilon`.
        UnsupportedEvent: as for `epsilon`.
    """
    check_delta(delta)
    return _quick_epsilon(Tally.of(events), delta)


@checked(PrivacyError)
def delta(events: Iterable[Event], epsilon: float) -> float:
    """Smallest delta, up to the accountant's error, at which all events together are private.

    Args:
        events: everything that is released, in any order; may be empty.
        epsilon: privacy parameter, at least 0.

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
    return float(_profile(Tally.of(events), np.array([epsilon]))[0])


@checked(PrivacyError)
def profile(
    events: Iterable[Event], epsilons: Float[np.ndarray, " points"] | Sequence[float]
) -> Float[np.ndarray, " points"]:
    """The privacy profile: `delta(events, epsilon)` at many epsilons for the price of one.

    Args:
        events: everything that is released, in any order; may be empty.
        epsilons: each at least 0, in any order.

    Returns:
        Upper bounds, 1 where something is released without protection.

    Raises:
        PrivacyError: an epsilon or a parameter of an event out of range.
        UnsupportedEvent: an event without a proved rule.

    Example:
        >>> from tacit.privacy.event import GaussianRelease
        >>> profile([GaussianRelease(1.0)], [0.0, 1.0, 4.0]).round(6)
        array([3.82925e-01, 1.26937e-01, 4.70000e-05])
    """
    points = np.asarray(epsilons, dtype=float).reshape(-1)
    if not np.all(points >= 0.0):
        raise PrivacyError(f"epsilons={epsilons!r} must all be at least 0")
    ascending, back = np.unique(points, return_inverse=True)
    return _profile(Tally.of(events), ascending)[back.reshape(-1)]


@checked(PrivacyError)
def parallel_epsilon(owners: Iterable[Iterable[Event]], delta: float) -> float:
    """Epsilon of several owners' releases together, for a record that only one owner holds.

    Only that owner's releases depend on the record, so the whole costs it what its own owner's
    releases cost: the largest over the owners, and not the sum. Where one person's records may
    be at several sites, those sites' events belong in one sequence instead.

    Args:
        owners: all releases of each owner.
        delta: delta of the guarantee, in [1e-12, 1), or 0 for a pure guarantee.

    Raises:
        PrivacyError: as for `epsilon`.
        UnsupportedEvent: as for `epsilon`.

    Source: McSherry (2009), theorem 4. Proof: docs/proofs/composition.md.

    Example:
        >>> from tacit.privacy.event import GaussianRelease
        >>> clinics = [[GaussianRelease(5.0)], [GaussianRelease(10.0)]]
        >>> parallel_epsilon(clinics, 1e-6) == epsilon([GaussianRelease(5.0)], 1e-6)
        True
    """
    check_delta(delta)
    return max((_epsilon(Tally.of(events), delta) for events in owners), default=0.0)


@checked(PrivacyError)
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
        delta: delta of the guarantee, in [1e-12, 1), or 0 for a pure guarantee.

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
    pure = np.concatenate([[0.0], np.cumsum([tally.pure for tally in tallies])])
    return _between(lambda point: Tally.of(taken[: points[point]]), pure[points], delta)


def growing_epsilon(spent: Sequence[Iterable[Event]], delta: float) -> Float[np.ndarray, " points"]:
    """Epsilon of what has been released so far, at several times: each holds all of the one before.

    Args:
        spent: everything released until then, at each time.
        delta: delta of the guarantee, in [1e-12, 1), or 0 for a pure guarantee.

    Raises:
        PrivacyError: as for `epsilon`.
        UnsupportedEvent: as for `epsilon`.

    Example:
        >>> from tacit.privacy.event import GaussianRelease, Repeated
        >>> once = GaussianRelease(100.0)
        >>> growing_epsilon([[Repeated(once, 10)], [Repeated(once, 1000)]], delta=1e-5).round(4)
        array([0.097 , 1.1994])
    """
    check_delta(delta)
    tallies = [Tally.of(events) for events in spent]
    if not tallies:
        return np.zeros(0)
    mus = [tally.mu for tally in tallies if tally.mu is not None]
    if delta > 0.0 and len(mus) == len(tallies):
        return gaussian_dp.epsilon_from_mu(np.array(mus), delta)
    return _between(lambda point: tallies[point], [tally.pure for tally in tallies], delta)


def check_delta(delta: float) -> None:
    """Refuse a delta that is neither 0 nor in [1e-12, 1).

    Raises:
        PrivacyError: a delta outside that set.
    """
    # in single precision, 1e-12 is a little smaller
    if not (delta == 0.0 or SMALLEST_DELTA * (1.0 - 1e-6) <= delta < 1.0):
        raise PrivacyError(
            f"delta={delta!r} must be 0 or in [{SMALLEST_DELTA:g}, 1); a common choice is below "
            "one over the number of records"
        )


def _between(
    tally: Callable[[int], Tally],
    pure: Sequence[float] | Float[np.ndarray, " points"],
    delta: float,
) -> Float[np.ndarray, " points"]:
    """Composed at `_CURVE_POINTS` of the points; a point between takes the value of the next."""
    chosen = np.unique(np.linspace(0, len(pure) - 1, _CURVE_POINTS).round().astype(int))
    exact = np.array([_epsilon(tally(int(point)), delta) for point in chosen])
    return np.minimum(exact[np.searchsorted(chosen, np.arange(len(pure)))], pure)


@lru_cache(maxsize=4096)
def _epsilon(tally: Tally, delta: float) -> float:
    quick = _quick_epsilon(tally, delta)
    if delta == 0.0 or tally.exposed or tally.mu is not None or tally.renyi_only:
        return quick
    return min(quick, max(losses.epsilon(delta) for losses in _composed(tally)))


@lru_cache(maxsize=4096)
def _quick_epsilon(tally: Tally, delta: float) -> float:
    if delta == 0.0 or tally.exposed:
        return tally.pure
    if tally.mu is not None:
        return float(gaussian_dp.epsilon_from_mu(tally.mu, delta))
    return min(tally.pure, _renyi(tally).epsilon(delta))


def _profile(tally: Tally, points: Float[np.ndarray, " points"]) -> Float[np.ndarray, " points"]:
    """Delta at ascending epsilons."""
    if tally.exposed:
        return np.ones_like(points)
    found = np.zeros_like(points)
    # no loss exceeds the sum of the pure epsilons
    below = points < tally.pure
    if tally.empty or not below.any():
        return found
    asked = points[below]
    if tally.mu is not None:
        found[below] = np.exp(gaussian_dp.log_delta(tally.mu, asked))
        return found
    curve = _renyi(tally)
    bound = np.array([curve.delta(float(epsilon)) for epsilon in asked])
    if not tally.renyi_only:
        ways = [[losses.delta(float(e)) for e in asked] for losses in _composed(tally)]
        bound = np.minimum(bound, np.max(ways, axis=0))
    found[below] = bound
    return found


@lru_cache(maxsize=256)
def _renyi(tally: Tally) -> Renyi:
    from tacit.privacy.renyi import Renyi

    return Renyi.of(tally)


# only a few, because one may hold tens of megabytes
@lru_cache(maxsize=2)
def _composed(tally: Tally) -> tuple[Sum, ...]:
    from tacit.privacy import convolution

    return convolution.composed(tally)
