"""How large the noise of a release is and how it is accounted, from public numbers only."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from typing import Any, ClassVar, final

import equinox as eqx

from tacit.arguments import checked
from tacit.arguments.answers import answer, number
from tacit.errors import PrivacyError
from tacit.privacy.laws import Law
from tacit.privacy.query import AbstractQuery, own_public, sensitivity_of
from tacit.ranges import Numbers, Unset, per_agent
from tacit.types import PublicContext, Relation


@checked(PrivacyError)
class AbstractDose(eqx.Module):
    """Scale of the noise of a release, and the noise multiplier that is accounted for it.

    A mechanism is proved with `Calibrated` only. A published formula has a class of its own, along
    with a claim.

    Attributes:
        own_records: whether the noise scales with the agent's own records (a local sensitivity),
            for which nothing can be proved; `scale` is then the factor on that size.
    """

    own_records: ClassVar[bool] = False

    @property
    def varying(self) -> bool:
        """Whether the noise differs between rounds."""
        return False

    @abc.abstractmethod
    def scale(
        self, law: Law, query: AbstractQuery, public: PublicContext, relation: Relation
    ) -> float:
        """Noise scale, in the unit of the answer."""

    @abc.abstractmethod
    def multiplier(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
        """Noise scale over sensitivity, as it is accounted; infinite where nothing is revealed."""

    def split(self, answer: Any, scale: Numbers) -> tuple[Any, Numbers]:
        """The part of a query's answer that gets noise, and the scale of that noise."""
        return answer, scale


@final
class Calibrated(AbstractDose):
    """A noise multiplier times the query's sensitivity in the norm of the law.

    Attributes:
        noise_multiplier: noise scale over sensitivity, at least 0 (0 is not private); may differ
            per agent.
        relative: `(round, rounds) -> factor`, positive and public: the round's factor on the noise.
    """

    noise_multiplier: Unset = eqx.field(converter=per_agent)
    relative: Callable[[int, int], float] | None = None

    @property
    def varying(self) -> bool:
        return self.relative is not None

    def scale(
        self, law: Law, query: AbstractQuery, public: PublicContext, relation: Relation
    ) -> float:
        z = own_public(self.noise_multiplier, public.agent)
        noise = 0.0 if z == 0.0 else z * bounded_sensitivity(law, query, public, relation)
        return noise if self.relative is None else self._factor(public) * noise

    def multiplier(self, query: AbstractQuery, public: PublicContext, relation: Relation) -> float:
        z = own_public(self.noise_multiplier, public.agent)
        return z if self.relative is None else self._factor(public) * z

    def _factor(self, public: PublicContext) -> float:
        assert self.relative is not None
        return answer(
            self.relative,
            public.round,
            public.rounds,
            named="Calibrated.relative",
            takes="round, rounds",
            fits=number("give a positive factor"),
            error=PrivacyError,
            public=True,
        )


def bounded_sensitivity(
    law: Law, query: AbstractQuery, public: PublicContext, relation: Relation
) -> float:
    """The query's sensitivity, which must be bounded in the norm for which the noise is made.

    Raises:
        PrivacyError: a query bounded in another norm, or not at all.
    """
    if query.order != law.order:
        raise PrivacyError(
            f"noise calibrated in the l{law.order} norm needs a query clipped in that norm; "
            f"{type(query).__name__} bounds l{query.order}. Set order={law.order}."
        )
    sensitivity = sensitivity_of(query, public, relation)
    if not math.isfinite(sensitivity) and relation is Relation.METRIC:
        raise PrivacyError(
            f"{type(query).__name__} has no bound in terms of the distance between costs; ask for "
            f"a gradient, unclipped (clip=inf) or clipped in the l{law.order} norm"
        )
    if not math.isfinite(sensitivity):
        raise PrivacyError(
            f"{type(query).__name__} of agent {public.agent} has no finite sensitivity, so no "
            "amount of noise gives a guarantee. Set a finite clip, or declare bounds of the "
            "records that imply one."
        )
    return sensitivity
