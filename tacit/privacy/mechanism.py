"""The mechanism of a release: law, dose, hiding and claim, composed in one final class.

The runtime, not the method, applies it to the answer of a query. Scales and events are computed in
plain Python from public constants; the code that adds the noise takes the scale as an argument.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from tacit.arguments import checked
from tacit.arguments.own import is_own
from tacit.errors import PrivacyError
from tacit.privacy.dose import AbstractDose, Calibrated, bounded_sensitivity
from tacit.privacy.event import Event, ModelClaim, NonPrivate, NoRelease, PoissonSampled
from tacit.privacy.hiding import ALONE, AbstractHiding, Alone
from tacit.privacy.laws import GAUSSIAN, L2_LAPLACE, LAPLACE, LAWS, Law, NoiseKind
from tacit.privacy.query import AbstractQuery, PerAgent
from tacit.privacy.tilted import Tilted
from tacit.ranges import Numbers
from tacit.types import (
    AbstractDifferentiable,
    AbstractPrivate,
    PublicContext,
    Relation,
    State,
    Unit,
)


class Into(StrEnum):
    """Where the noise goes."""

    ANSWER = "answer"
    OBJECTIVE = "objective"
    """As a random linear term."""
    NOWHERE = "nowhere"
    """Nowhere: a claim is about the method's own randomness."""


@final
@checked(PrivacyError)
class Mechanism(eqx.Module):
    """How one release is protected. No class can be derived from it, since proofs are of this code.

    Without a claim, `law` and `dose` state what is proved: `v + z` with `z` of the law, of scale
    `noise_multiplier * D`, `D` the sensitivity of the query in the law's norm.

    Attributes:
        law: law of the noise, one of `LAWS`; `None` for no noise. A release with the noise of
            another law is a model claim, since nothing here proves how it is drawn.
        dose: size of the noise; `Calibrated` unless there is a claim.
        hides: what else hides an agent: nothing (`ALONE`), a sum that alone can be read
            (`SecureSum`) or noise that pairs share (`PairNoise`).
        claim: what a paper claims instead of what is proved; its event is that of the noise, if
            there is noise.
        into: place where the noise is added; the answer unless there is a claim.

    Raises:
        PrivacyError: parts that do not go together.
        TypeError: a class derived from it.
    """

    law: Law | None = eqx.field(static=True, default=None)
    dose: AbstractDose | None = None
    hides: AbstractHiding = eqx.field(static=True, default=ALONE)
    claim: ModelClaim | None = eqx.field(static=True, default=None)
    into: Into = eqx.field(static=True, default=Into.ANSWER)

    def __init_subclass__(cls, **kwargs: object) -> None:
        raise TypeError(
            "no class can be derived from Mechanism, because a guarantee is proved of its code; "
            "compose one of law=, dose= and hides=, or state a claim="
        )

    def __check_init__(self) -> None:
        if (self.law is None) != (self.dose is None):
            raise PrivacyError("give the law of the noise and its size (dose=), or neither")
        if self.law is None and self.into is Into.OBJECTIVE:
            raise PrivacyError(
                "no noise goes into the objective: give the law of the noise and its size (dose=)"
            )
        if not is_own(type(self.hides)):
            raise PrivacyError(f"hides={type(self.hides).__name__} is not a known kind of hiding")
        if self.claim is None:
            if self.into is not Into.ANSWER:
                raise PrivacyError("nothing is proved of noise that is not added to an answer")
            if not (self.dose is None or type(self.dose) is Calibrated):
                raise PrivacyError(
                    f"dose={type(self.dose).__name__} without a claim: what is proved is proved of "
                    "calibrated noise; give a claim, or Calibrated(noise_multiplier)"
                )
        elif not isinstance(self.hides, Alone):
            raise PrivacyError("a claim speaks of a release by itself; leave hides=ALONE")

    @property
    def bare(self) -> bool:
        """Whether it releases answers unchanged and claims nothing."""
        return self.law is None and self.claim is None

    @property
    def calibrated(self) -> bool:
        """Whether it adds noise without a claim of a publication: it is calibrated then."""
        return self.law is not None and self.claim is None

    @property
    def noised(self) -> Law | None:
        """Law of the noise in the release; `None` if anything else protects it."""
        return self.law if self.into is Into.ANSWER else None

    @property
    def varying(self) -> bool:
        """Whether scale and event differ between rounds."""
        return self.dose is not None and self.dose.varying

    @property
    def own_records(self) -> bool:
        """Whether the noise scales with the agent's own records."""
        return self.dose is not None and self.dose.own_records

    @property
    def name(self) -> str:
        """Its name in tables of releases."""
        if self.law is None:
            return "NoNoise" if self.claim is None else "Intrinsic"
        kind = "Claimed" if self.claim is not None else "Varying" if self.varying else ""
        return f"{self.hides.prefix}{kind}{self.law.title}"

    @property
    def words(self) -> str:
        """What it does, as a clause."""
        if self.law is None:
            if self.claim is None:
                return "releases the answer as it is, which is not private"
            return "adds nothing; a claim is about the method's own randomness"
        what = "adds z'x to the objective" if self.into is Into.OBJECTIVE else "releases v + z"
        noise = f"{what}, z {self.law.formula}"
        if self.claim is not None:
            return f"{noise}, with s as its source has it"
        return f"{noise}, s = noise_multiplier * D{self.hides.words}"

    def scale(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
        """Noise scale of this release, from declared constants."""
        if self.law is None or self.dose is None:
            return 0.0
        return self.dose.scale(self.law, query, public, relation)

    def event(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> Event:
        """What an adversary who reads every message learns from this release."""
        if self.law is None or self.dose is None:
            return NonPrivate() if self.claim is None else self.claim
        multiplier = self.dose.multiplier(query, public, relation)
        if math.isnan(multiplier):
            raise PrivacyError(
                f"the noise of the release of {type(query).__name__} is not calibrated: a run "
                "calibrates the method's own budget. Take self.privacy.mechanism in phases, and "
                "not that of another budget"
            )
        if self.claim is not None:
            if multiplier == math.inf:
                return NoRelease()
            return replace(self.claim, event=self.law.event(multiplier))
        if multiplier == 0.0:
            return NonPrivate()
        _check_relation(self.law, public, relation)
        # an event is a claim: without a bounded query there is nothing to claim
        bounded_sensitivity(self.law, query, public, relation)
        own = _sampled(self.law.event(multiplier), query, relation)
        event = self.hides.event(own, public)
        known = self.law in LAWS.values() or isinstance(event, ModelClaim)
        return event if known else _of_others(event)

    def shown(
        self, objective: AbstractPrivate, scale: Numbers, key: PRNGKeyArray
    ) -> AbstractPrivate:
        """The objective that the query sees, given the noise scale."""
        if self.into is not Into.OBJECTIVE:
            return objective
        assert self.law is not None
        if not isinstance(objective, AbstractDifferentiable):
            raise PrivacyError(
                f"{type(objective).__name__} gives values only, and noise in the objective is seen "
                "in its gradients"
            )
        return Tilted(objective.normaliser, objective, scale, key, self.law)

    def add(
        self, answer: State, scale: Numbers, key: PRNGKeyArray, shared: Array | None = None
    ) -> Any:
        """The release, given the query's answer and the noise scale.

        Args:
            answer: answer of the query.
            scale: noise scale.
            key: random key for the agent's own noise.
            shared: noise of scale 1 that the agent shares with others, summed; `None` if none.

        Raises:
            TypeError: shared noise that is missing, or has another shape than the answer.
        """
        if self.law is None or self.into is not Into.ANSWER:
            return answer
        if self.hides.shares and shared is None:
            raise TypeError("this noise is shared by pairs of agents: the runtime must draw it")
        noised, size = self.noise_in(answer, scale)
        noised = jnp.asarray(noised)
        noise = self.law.sample(key, noised)
        if shared is not None:
            if shared.shape != noised.shape:
                raise TypeError(
                    f"shared noise of shape {shared.shape} for an answer of shape {noised.shape}"
                )
            noise = noise + shared
        return noised + size * noise

    def noise_in(self, answer: State, scale: Numbers) -> tuple[Any, Any]:
        """The part of the answer that gets noise, and the scale of that noise."""
        if self.dose is None:
            return answer, scale
        if self.into is not Into.ANSWER:
            return answer, 0.0 * scale
        return self.dose.split(answer, scale)


def gaussian(noise_multiplier: PerAgent) -> Mechanism:
    """Gaussian noise of `noise_multiplier` times the sensitivity in the l2 norm.

    Args:
        noise_multiplier: noise scale over sensitivity, at least 0 (0 is not private); may differ
            per agent.

    Example:
        >>> from tacit.privacy import gaussian
        >>> gaussian(5.0).name
        'Gaussian'
    """
    return Mechanism(GAUSSIAN, Calibrated(noise_multiplier))


def laplace(noise_multiplier: PerAgent) -> Mechanism:
    """Laplace noise of `noise_multiplier` times the sensitivity in the l1 norm.

    Args:
        noise_multiplier: noise scale over sensitivity, at least 0 (0 is not private); may differ
            per agent.
    """
    return Mechanism(LAPLACE, Calibrated(noise_multiplier))


def l2_laplace(noise_multiplier: PerAgent) -> Mechanism:
    """Noise of density proportional to `exp(-||z||_2 / s)`, `s` as large as for Gaussian noise.

    Args:
        noise_multiplier: noise scale over sensitivity, at least 0 (0 is not private); may differ
            per agent.
    """
    return Mechanism(L2_LAPLACE, Calibrated(noise_multiplier))


NO_NOISE = Mechanism()
"""Releases the answer unchanged. Not private."""


@checked(PrivacyError)
@dataclass(frozen=True)
class Release:
    """What leaves an agent in one phase, and how it is protected.

    Attributes:
        name: description for the table of releases.
        mechanism: mechanism that the runtime applies to the query's answer.
        relation: adjacency of the data sets.
    """

    name: str
    mechanism: Mechanism
    relation: Relation = Relation.REPLACE_ONE


def _check_relation(law: Law, public: PublicContext, relation: Relation) -> None:
    if relation is Relation.METRIC and law.kind is NoiseKind.L2_LAPLACE:
        raise PrivacyError(
            "relation='metric' measures costs in the l1 norm for Laplace noise and in the l2 "
            "norm for Gaussian noise; with 'l2_laplace' it is not offered"
        )
    if public.unit is Unit.AGENT and relation is Relation.ADD_REMOVE:
        raise PrivacyError(
            "an agent's whole cost cannot be added or removed without everybody noticing; "
            "use relation='replace_one'"
        )
    if public.unit is not Unit.AGENT and relation is Relation.METRIC:
        raise PrivacyError(
            "relation='metric' measures the distance between whole costs, and this problem "
            f"protects a {public.unit.value}; use relation='replace_one'"
        )


def _sampled(event: Event, query: AbstractQuery, relation: Relation) -> Event:
    """The release of a sample of the records."""
    if query.rate >= 1.0:
        return event
    if relation is not Relation.ADD_REMOVE:
        raise PrivacyError(
            f"Poisson sampling (rate {query.rate:g}) is accounted under add/remove only; "
            "set relation='add_remove' or take every record (rate 1)"
        )
    return PoissonSampled(query.rate, event)


def _of_others(event: Event) -> ModelClaim:
    return ModelClaim(
        event,
        "noise of a law that is not tacit's",
        "the noise follows the law that it is accounted as",
        "nothing here proves how it is drawn",
    )
