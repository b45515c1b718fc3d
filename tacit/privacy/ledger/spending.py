"""What one owner has released about one dataset, summed so that no total is ever too small.

Sums of Gaussian-DP squares and of pure epsilons are whole multiples of 2^-256, each term rounded
up, so a release costs two additions however many came before. Where neither sum decides, the
accountants do: first the quick bound, then loss distributions. These take a second, so once they
are needed they are asked about more and more releases at a time, and what they allow is used up
without asking again: omitting releases never costs more.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from tacit.privacy import accounting, gaussian_dp
from tacit.privacy.event import Event, GaussianRelease, Repeated
from tacit.privacy.tally import Tally, pure_epsilon, split

SLACK = 1e-9
"""Relative tolerance within which an epsilon equals a budget: the last bits of its computation."""

GRID_ERROR = 1e-3
"""Relative tolerance between two evaluations of the same releases by accountants on a grid."""

_BITS = 256


class Spending:
    """All releases so far and their running sums.

    Attributes:
        counts: number of occurrences of each event.
        exposed: whether something was released without protection.
    """

    def __init__(self) -> None:
        self.counts: dict[Event, int] = {}
        self.exposed = False
        self._squares = 0
        self._pure = 0
        self._other_than_gaussian = False
        self._without_pure = False
        # allowed by loss distributions: this many more of each event, at (epsilon, delta)
        self._allowed: tuple[float, float, dict[Event, int]] = (0.0, 0.0, {})
        self._ahead = 0

    def add(self, tally: Tally) -> None:
        """Add releases that have been made."""
        self.exposed = self.exposed or tally.exposed
        for event, count in tally.releases:
            self.counts[event] = self.counts.get(event, 0) + count
            self._squares += count * _square(event)
            self._pure += count * _pure(event)
            self._other_than_gaussian |= not isinstance(event, GaussianRelease)
            self._without_pure |= math.isinf(pure_epsilon(event))
            allowed = self._allowed[2]
            allowed[event] = allowed.get(event, 0) - count

    def is_exact(self, delta: float) -> bool:
        """Whether epsilon has a closed form, without a grid."""
        return self._exact(delta, None) is not None

    def epsilon(self, delta: float, more: Tally | None = None) -> float:
        """Cost of everything so far and `more` together at this delta, by all accountants."""
        exact = self._exact(delta, more)
        if exact is not None:
            return exact
        return min(accounting.epsilon(self._events(more), delta), self._pure_sum(more))

    def fits(self, epsilon: float, delta: float, more: Tally) -> bool:
        """Whether `more` stays within a budget; quick except for an occasional call."""
        if more.empty:
            return True
        limit = epsilon * (1.0 + SLACK)
        if delta > 0.0 and (mu := self._mu(more)) is not None:
            # a single evaluation of the curve; its inverse would take a hundred
            return mu == 0.0 or bool(gaussian_dp.log_delta(mu, limit) <= math.log(delta))
        exact = self._exact(delta, more)
        if exact is not None:
            return exact <= limit
        if self._pure_sum(more) <= limit or self._is_allowed(epsilon, delta, more):
            return True
        if accounting.quick_epsilon(self._events(more), delta) <= limit:
            return True
        while not self._allow(epsilon, delta, more):
            if self._ahead == 0:
                return False
            self._ahead //= 8
        self._ahead = 4 * self._ahead + 4
        return True

    def _exact(self, delta: float, more: Tally | None) -> float | None:
        """Epsilon in closed form, or `None` if only an accountant can compute it."""
        if self.exposed or (more is not None and more.exposed):
            return math.inf
        if delta == 0.0:
            return self._pure_sum(more)
        mu = self._mu(more)
        return None if mu is None else _epsilon(mu, delta)

    def _mu(self, more: Tally | None) -> float | None:
        """Gaussian-DP parameter, rounded up, if everything is an unsampled Gaussian release."""
        releases = more.releases if more is not None else frozenset[tuple[Event, int]]()
        if (
            self.exposed
            or self._other_than_gaussian
            or (more is not None and more.exposed)
            or any(not isinstance(event, GaussianRelease) for event, _ in releases)
        ):
            return None
        squares = self._squares + sum(count * _square(event) for event, count in releases)
        # (isqrt(n) + 1)^2 > n: the root is rounded up, too
        root = math.isqrt(squares) + 1 if squares else 0
        return _float_above(Fraction(root, 2 ** (_BITS // 2)))

    def _pure_sum(self, more: Tally | None) -> float:
        releases = more.releases if more is not None else frozenset[tuple[Event, int]]()
        if self._without_pure or any(math.isinf(pure_epsilon(event)) for event, _ in releases):
            return math.inf
        total = self._pure + sum(count * _pure(event) for event, count in releases)
        return _float_above(Fraction(total, 2**_BITS))

    def _events(self, more: Tally | None, ahead: int = 0) -> list[Event]:
        counts = dict(self.counts)
        for event, count in more.releases if more is not None else ():
            counts[event] = counts.get(event, 0) + count + ahead
        return [Repeated(event, count) for event, count in counts.items()]

    def _is_allowed(self, epsilon: float, delta: float, more: Tally) -> bool:
        known_epsilon, known_delta, left = self._allowed
        return (
            known_epsilon <= epsilon
            and known_delta == delta
            and all(left.get(event, 0) >= count for event, count in more.releases)
            and all(count >= 0 for count in left.values())
        )

    def _allow(self, epsilon: float, delta: float, more: Tally) -> bool:
        """Check `more` together with further releases like it."""
        if accounting.epsilon(self._events(more, self._ahead), delta) > epsilon * (1.0 + SLACK):
            return False
        self._allowed = (
            epsilon,
            delta,
            {event: count + self._ahead for event, count in more.releases},
        )
        return True


@lru_cache(maxsize=4096)
def _epsilon(mu: float, delta: float) -> float:
    """Epsilon of Gaussian releases; asked for the same ones whenever a ledger is read or told."""
    return float(gaussian_dp.epsilon_from_mu(mu, delta))


@lru_cache(maxsize=65536)
def _square(event: Event) -> int:
    """`1 / z^2` in units of 2^-256, rounded up; 0 for releases that are not Gaussian."""
    if not isinstance(event, GaussianRelease):
        return 0
    return math.ceil(2**_BITS / Fraction(event.noise_multiplier) ** 2)


@lru_cache(maxsize=65536)
def _pure(event: Event) -> int:
    """Pure epsilon in units of 2^-256, rounded up; 0 for a release that has none."""
    base, rate = split(event)
    if math.isinf(pure_epsilon(event)):
        return 0
    if rate == 1.0:
        return math.ceil(2**_BITS / Fraction(base.noise_multiplier))
    # logarithms of the C library are off by at most one last bit
    above = math.nextafter(math.nextafter(pure_epsilon(event), math.inf), math.inf)
    return math.ceil(2**_BITS * Fraction(above))


def _float_above(value: Fraction) -> float:
    """The smallest float that is not below `value`."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)
