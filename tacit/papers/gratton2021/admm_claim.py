"""The claim for one noisy iteration of ADMM, from a bound that nothing enforces."""

from __future__ import annotations

import math

import numpy as np

from tacit.errors import PrivacyError
from tacit.method._schedule import positive
from tacit.method.worst_case import LinearUnits, Neighbours
from tacit.privacy.dose import AbstractDose
from tacit.privacy.event import ModelClaim, NoRelease, PerReleaseClaim
from tacit.privacy.laws import LAWS, Law, NoiseKind
from tacit.privacy.mechanism import Into, Mechanism
from tacit.privacy.query import AbstractQuery, own_public
from tacit.problem.task import Task
from tacit.ranges import Numbers
from tacit.types import PublicContext, Relation

_REASON = "nothing enforces that bound, and the epsilon is counted for one iteration at a time"


class AssumedGaussian(AbstractDose):
    """`sqrt(2.1 log(1.25 / delta)) / epsilon` times an assumed sensitivity, for Gaussian noise.

    By analogy with the noise that Gratton et al. (2021) count for their own method in theorem 1, eq
    (20), whose 2.1 replaces the usual 2. They print no noise for the methods that they compare
    with, so for those it is ours.

    Attributes:
        epsilon: epsilon claimed per iteration, positive.
        delta: claimed delta per iteration, in (0, 1).
    """

    epsilon: Numbers
    delta: Numbers

    def scale(
        self, law: Law, query: AbstractQuery, public: PublicContext, relation: Relation
    ) -> float:
        return claimed_multiplier(self.epsilon, self.delta) * query.sensitivity(public, relation)

    def multiplier(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
        return claimed_multiplier(self.epsilon, self.delta)


class AssumedPure(AbstractDose):
    """`1 / epsilon` times an assumed sensitivity, for noise of a pure epsilon.

    With l2-Laplace noise it is the law of Zhang, Zhu (2017), whose rate `zeta` is `epsilon / D`
    here.

    Attributes:
        epsilon: epsilon claimed per iteration, positive.
    """

    epsilon: Numbers

    def scale(
        self, law: Law, query: AbstractQuery, public: PublicContext, relation: Relation
    ) -> float:
        return query.sensitivity(public, relation) / own_public(self.epsilon, 0)

    def multiplier(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
        return 1.0 / own_public(self.epsilon, 0)


def assumed(
    noise: NoiseKind,
    epsilon: Numbers,
    delta: Numbers,
    claim: ModelClaim,
    into: Into = Into.ANSWER,
) -> Mechanism:
    """Noise of one law or the other, of the claimed size.

    Args:
        noise: law of the noise, Gaussian or l2-Laplace.
        epsilon: epsilon claimed per iteration, positive.
        delta: claimed delta per iteration, for Gaussian noise.
        claim: claim to attach; its event follows from the noise.
        into: place where the noise enters.
    """
    pure = noise is NoiseKind.L2_LAPLACE
    dose = AssumedPure(epsilon) if pure else AssumedGaussian(epsilon, delta)
    return Mechanism(LAWS[noise], dose, claim=claim, into=into)


def per_release(source: str, assumption: str) -> PerReleaseClaim:
    """The claim per iteration, from a bound that nothing enforces."""
    return PerReleaseClaim(NoRelease(), source, assumption, _REASON)


def claimed_multiplier(epsilon: Numbers, delta: Numbers) -> float:
    """`z = sqrt(2.1 log(1.25 / delta)) / epsilon`: noise over sensitivity, as claimed.

    Example:
        >>> round(claimed_multiplier(0.15, 1e-3), 3)
        25.798
    """
    return math.sqrt(2.1 * math.log(1.25 / own_public(delta, 0))) / own_public(epsilon, 0)


def check_claim(
    epsilon: Numbers, delta: Numbers, gradient_bound: Numbers, noise: NoiseKind = NoiseKind.GAUSSIAN
) -> None:
    """Refuse a claim that no noise can satisfy.

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


def opposite_gradients(bound: Numbers, problem: Task, owner: int) -> Neighbours:
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
