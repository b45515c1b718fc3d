"""What is claimed for one noised iteration of ADMM, from a bound that nothing enforces."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import numpy as np

from tacit.errors import PrivacyError
from tacit.method.schedule import positive
from tacit.method.worst_case import LinearUnits, Neighbours
from tacit.privacy.budget import NoiseKind
from tacit.privacy.event import Event, GaussianRelease, LaplaceRelease, PerReleaseClaim
from tacit.privacy.mechanism import Gaussian, L2Laplace
from tacit.privacy.sensitivity import AbstractQuery, own_public
from tacit.types import PublicContext, Relation

_REASON = "nothing enforces that bound, and the epsilon is counted for one iteration at a time"


class ClaimedGaussian(Gaussian):
    """Gaussian noise of `sqrt(2.1 log(1.25 / delta)) / epsilon` times an assumed sensitivity.

    By analogy with the noise that Gratton et al. (2021) count for their own method in theorem 1, eq
    (20), whose 2.1 stands for the usual 2. They print no noise for the methods that they compare
    with, so for those this one is ours. Status per_release.

    Attributes:
        epsilon: as claimed for one iteration, positive.
        delta: of that claim, in (0, 1).
        source: where the claim stands.
        assumption: what would have to be true.
    """

    epsilon: Any = eqx.field(kw_only=True)
    delta: Any = eqx.field(kw_only=True)
    source: str = eqx.field(static=True, kw_only=True)
    assumption: str = eqx.field(static=True, kw_only=True)
    # the claim fixes it
    noise_multiplier: None = eqx.field(static=True, kw_only=True, default=None)

    @property
    def multiplier(self) -> float:
        """Noise scale over sensitivity."""
        return claimed_multiplier(self.epsilon, self.delta)

    def scale(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
        return self.multiplier * query.sensitivity(public, relation)

    def event(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> Event:
        claim = GaussianRelease(self.multiplier)
        return PerReleaseClaim(claim, self.source, self.assumption, _REASON)


class ClaimedL2Laplace(L2Laplace):
    """Noise of density proportional to `exp(-epsilon ||v||_2 / D)`, `D` an assumed sensitivity.

    The law of Zhang, Zhu (2017), whose rate `zeta` is `epsilon / D` here. Status per_release.

    Attributes:
        epsilon: as claimed for one iteration, positive.
        source: where the claim stands.
        assumption: what would have to be true.
    """

    epsilon: Any = eqx.field(kw_only=True)
    source: str = eqx.field(static=True, kw_only=True)
    assumption: str = eqx.field(static=True, kw_only=True)
    # the claim fixes it
    noise_multiplier: None = eqx.field(static=True, kw_only=True, default=None)

    def scale(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
        return query.sensitivity(public, relation) / own_public(self.epsilon, 0)

    def event(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> Event:
        claim = LaplaceRelease(1.0 / own_public(self.epsilon, 0))
        return PerReleaseClaim(claim, self.source, self.assumption, _REASON)


def claimed_multiplier(epsilon: Any, delta: Any) -> float:
    """`z = sqrt(2.1 log(1.25 / delta)) / epsilon`: noise over sensitivity, as claimed.

    Example:
        >>> round(claimed_multiplier(0.15, 1e-3), 3)
        25.798
    """
    return math.sqrt(2.1 * math.log(1.25 / own_public(delta, 0))) / own_public(epsilon, 0)


def check_claim(
    epsilon: Any, delta: Any, gradient_bound: Any, noise: NoiseKind = NoiseKind.GAUSSIAN
) -> None:
    """Refuse a claim that no noise can stand for.

    Raises:
        ConfigError: `gradient_bound` is not positive.
        PrivacyError: `epsilon` or `delta` out of its range, or noise of another kind.
    """
    if noise is NoiseKind.LAPLACE:
        raise PrivacyError(
            "noise='laplace' belongs to neither form: 'gaussian' is ours, by analogy with eq (20) "
            "of Gratton et al. (2021), 'l2_laplace' that of Zhang, Zhu (2017)"
        )
    positive("gradient_bound", gradient_bound)
    if isinstance(epsilon, int | float) and not 0.0 < epsilon < math.inf:
        raise PrivacyError(f"epsilon={epsilon!r} must be positive and finite")
    if isinstance(delta, int | float) and not 0.0 < delta < 1.0:
        raise PrivacyError(f"claimed_delta={delta!r} must be in (0, 1)")


def opposite_gradients(bound: Any, problem: Any, owner: int) -> Neighbours:
    """One linear loss with a gradient of length `bound` or its opposite, all other losses zero."""
    gradients = np.zeros((problem.agents, 1, problem.dimension))
    gradients[owner, 0, 0] = own_public(bound, 0)
    return Neighbours(
        LinearUnits(problem.normaliser, gradients),
        LinearUnits(problem.normaliser, -gradients),
        (owner,),
        "one linear loss with the longest gradient assumed, replaced by its opposite, all other "
        "losses zero",
        others_zero=True,
    )
