"""Composition by Renyi orders: cheap, never sharp, and the only rule for some releases.

`eps(alpha)` of a sequence is the sum over its releases (Mironov 2017, proposition 1), and turns
into `(epsilon, delta)` by Canonne, Kamath, Steinke (2020), proposition 12. Gaussian and Laplace
releases and Poisson-sampled Gaussian ones use dp-accounting; the others are here:

- a discrete Gaussian release has `eps(alpha) <= alpha / (2 z^2)`, as the continuous one (Canonne,
  Kamath, Steinke 2020, theorem 4, summed over the coordinates);
- a pure `e`-DP release has at most the curve of randomised response (Kairouz, Oh, Viswanath 2015,
  theorem 2.1), and remains pure when sampled;
- a sampled discrete Gaussian release obeys the general bound for Poisson sampling (Zhu, Wang 2019,
  theorem 5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tacit.privacy.event import (
    DiscreteGaussianRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    PoissonSampled,
)
from tacit.privacy.loss_distribution import bucketed
from tacit.privacy.tally import Tally, pure_epsilon

_FAR = np.geomspace(2e3, 1e7, 40)
"""The best order for a small budget is very large."""

_DENSE = 1.0 + np.geomspace(0.05, 1e7, 640)
"""Orders where nothing but Renyi orders applies; the ratio 1.03 costs 0.01 % of epsilon."""


_SMALL = 1.0
_LAST_BITS = 1e-14


@dataclass(frozen=True)
class Renyi:
    """`eps(alpha)` of a sequence of releases, at several orders.

    Attributes:
        orders: Renyi orders, above 1, shape `(orders,)`.
        values: bounds on the Renyi divergence between neighbours, shape `(orders,)`.
    """

    orders: Float[np.ndarray, " orders"]
    values: Float[np.ndarray, " orders"]

    @classmethod
    def of(cls, tally: Tally) -> Renyi:
        """Compose all releases of a tally; none of them may be exposed."""
        from dp_accounting import (
            ComposedDpEvent,
            DpEvent,
            GaussianDpEvent,
            LaplaceDpEvent,
            PoissonSampledDpEvent,
            SelfComposedDpEvent,
        )
        from dp_accounting.rdp import RdpAccountant

        counts = bucketed(dict(tally.releases))
        rounded = sum(count for event, count in counts.items() if _cancels(event))
        accountant = RdpAccountant(orders=_orders(counts))
        orders = np.asarray(accountant.orders, dtype=float)
        known: list[DpEvent] = []
        values = np.zeros_like(orders)
        for event, count in counts.items():
            match event:
                case GaussianRelease(z) | DiscreteGaussianRelease(z):
                    known.append(SelfComposedDpEvent(GaussianDpEvent(z), count))
                case LaplaceRelease(z):
                    known.append(SelfComposedDpEvent(LaplaceDpEvent(z), count))
                case PoissonSampled(rate, GaussianRelease(z)):
                    one = PoissonSampledDpEvent(rate, GaussianDpEvent(z))
                    known.append(SelfComposedDpEvent(one, count))
                case PoissonSampled(rate, DiscreteGaussianRelease(z)):
                    values += count * sampled(rate, 1.0 / (2.0 * z**2), orders)
                case _:
                    values += count * randomised_response(pure_epsilon(event), orders)
        if known:
            with np.errstate(over="ignore"):  # an infinite bound is still a bound
                accountant.compose(ComposedDpEvent(known))
        # logarithms of sums close to 1 lose their last bits, which must not earn privacy
        lost = rounded * _LAST_BITS / (orders - 1.0)
        return cls(orders, values + np.maximum(accountant.rdp, 0.0) + lost)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon over all orders, for positive `delta`."""
        from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

        return float(compute_epsilon(self.orders.tolist(), self.values.tolist(), delta)[0])

    def delta(self, epsilon: float) -> float:
        """The smallest delta over all orders, for non-negative `epsilon`."""
        from dp_accounting.rdp.rdp_privacy_accountant import compute_delta

        # less than a rounding error would be taken for 0, whose logarithm fails
        values = np.maximum(self.values, np.finfo(float).eps)
        return float(compute_delta(self.orders.tolist(), values.tolist(), epsilon)[0])


def randomised_response(
    epsilon: float, orders: Float[np.ndarray, " orders"]
) -> Float[np.ndarray, " orders"]:
    """Renyi divergence of the two answers of `epsilon`-randomised response, exactly.

    Args:
        epsilon: privacy parameter, positive.
        orders: Renyi orders, above 1.

    Example:
        >>> bool(randomised_response(1.0, np.array([1e9]))[0] > 0.999999)  # pure in the limit
        True
    """
    # (p^a q^(1-a) + q^a p^(1-a)) with p = 1/(1 + e^-eps), q = e^-eps p
    up, down = (orders - 1.0) * epsilon, -orders * epsilon
    both = math.log1p(math.exp(-epsilon))
    # the same minus 1, a product of positive numbers: nothing cancels where the loss is tiny
    small = orders * epsilon < _SMALL
    far, near = np.where(small, 0.0, up), np.where(small, orders * epsilon, 0.0)
    product = np.sinh(near / 2.0) * np.sinh(np.where(small, up, 0.0) / 2.0)
    less_one = 4.0 * product * math.exp(-epsilon / 2.0 - both)
    moment = np.where(small, np.log1p(less_one), np.logaddexp(far, down) - both)
    return moment / (orders - 1.0)


def sampled(
    rate: float, slope: float, orders: Float[np.ndarray, " orders"]
) -> Float[np.ndarray, " orders"]:
    """A release with curve `slope * alpha`, on a Poisson sample (Zhu, Wang 2019, theorem 5).

    Args:
        rate: sampling rate, in (0, 1).
        slope: slope of the release's own curve, positive.
        orders: Renyi orders, integers of at least 2.
    """
    from scipy.special import gammaln

    keep, take = math.log1p(-rate), math.log(rate)
    bounds: list[float] = []
    for order in orders:
        first = (order - 1.0) * keep + math.log1p(order * rate - rate)
        drawn = np.arange(2.0, order + 1.0)
        chosen = gammaln(order + 1.0) - gammaln(drawn + 1.0) - gammaln(order - drawn + 1.0)
        terms = chosen + (order - drawn) * keep + drawn * take + (drawn - 1.0) * slope * drawn
        terms[1:] += math.log(3.0)
        bounds.append(float(np.logaddexp.reduce(np.append(terms, first))) / (order - 1.0))
    return np.maximum(bounds, 0.0)


def _cancels(event: Event) -> bool:
    """Whether the release's curve is computed from a logarithm that may be close to 0."""
    return isinstance(event, LaplaceRelease) or (
        isinstance(event, PoissonSampled)
        and isinstance(event.event, GaussianRelease | DiscreteGaussianRelease)
    )


def _orders(counts: dict[Event, int]) -> list[float]:
    """Orders at which every release has a fast rule that converges."""
    from dp_accounting.rdp.rdp_privacy_accountant import DEFAULT_RDP_ORDERS

    sampled_gaussian = any(
        isinstance(event, PoissonSampled)
        and isinstance(event.event, GaussianRelease | DiscreteGaussianRelease)
        for event in counts
    )
    if sampled_gaussian:
        # takes time linear in an integer order; the series for a fractional one may not converge
        return [float(order) for order in DEFAULT_RDP_ORDERS if float(order).is_integer()]
    if any(isinstance(event, DiscreteGaussianRelease) for event in counts):
        return _DENSE.tolist()
    return [*map(float, DEFAULT_RDP_ORDERS), *_FAR.tolist()]
