"""The protection that a user asks of a method."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, replace
from enum import StrEnum
from typing import Any, TypeVar

import equinox as eqx
import numpy as np
from jax.core import Tracer
from jaxtyping import Float

from tacit import checks
from tacit.arguments import checked
from tacit.clipping import ORDERS
from tacit.errors import PrivacyError
from tacit.privacy.caution import DELTA
from tacit.privacy.dose import Calibrated
from tacit.privacy.hiding import ALONE, AbstractHiding
from tacit.privacy.laws import LAWS, NoiseKind
from tacit.privacy.masked import Masks, SecureSum
from tacit.privacy.mechanism import Mechanism
from tacit.ranges import Maybe, Number, per_agent
from tacit.types import Combine, Order, Relation

_Choice = TypeVar("_Choice", bound=StrEnum)


def _norm(value: Any) -> Order | None:
    """The order of a norm; `math.inf` may be written "inf"."""
    order = math.inf if isinstance(value, str) and value == "inf" else value
    if order is None or (isinstance(order, int | float) and order in ORDERS and order is not True):
        return order
    raise PrivacyError(f"clip_norm={checks.shown(value)} must be 1, 2 or 'inf'")


def _relation(value: Any) -> Relation:
    return _chosen("relation", value, Relation)


def noise_kind(value: object) -> NoiseKind:
    """The law of noise with a given name.

    Raises:
        PrivacyError: no such law.
    """
    return _chosen("noise", value, NoiseKind)


def _chosen(name: str, value: Any, kinds: type[_Choice]) -> _Choice:
    try:
        return kinds(value)
    except (TypeError, ValueError) as error:
        words = ", ".join(repr(str(kind)) for kind in kinds)
        raise PrivacyError(f"{name}={checks.shown(value)} must be one of {words}") from error


def _masks(given: Masks | bool | None) -> Masks | None:
    """Masks as they are given: `True` for the usual ones, `False` for none."""
    if isinstance(given, bool):
        return Masks() if given else None
    return given


@checked(PrivacyError)
class Privacy(eqx.Module):
    """A budget for the whole run, the clip that bounds each record, and the adjacency.

    Give `epsilon` and `delta` (the run calibrates its noise to them) or `noise_multiplier` (the run
    reports the epsilon that follows). Entries may be one number for all owners or one per owner.

    Attributes:
        clip: largest norm of one record's contribution, positive. May be infinite where declared
            bounds imply one (`RecordBounds`), and for the relation metric.
        epsilon: for the whole run, positive; infinite for no noise.
        delta: for the whole run, in [1e-12, 1); 0 is allowed for Laplace noise of either kind.
        relation: replace one record (its number is public), add/remove one, or metric: epsilon
            for two whole costs whose gradients differ by at most 1 everywhere.
        noise: law of the noise: "gaussian", "laplace" in every coordinate, or "l2_laplace" (Laplace
            noise calibrated to a bound in the l2 norm; simulated only).
        noise_multiplier: noise scale over sensitivity of one release; calibrated when `None`.
        sampling: probability with which each record takes part in a round, in (0, 1].
        sites_per_person: maximum number of sites that hold records of one person.
        records_per_person: maximum number of records of one person at one site.
        clip_norm: norm of the clip, 1, 2 or "inf"; by default the one that the noise needs (1 for
            Laplace, else 2). With another norm the bound is converted, at a cost of up to a root of
            the dimension (docs/proofs/clipping.md).
        large_delta: accept a delta of at least one over the number of records (of agents, where
            they are the unit), at which whole records may be given away.
        masks: hide every agent's answer in a sum over a cohort, so that each needs little noise of
            its own (Gaussian noise, with a coordinator or `network.ExactSum`); `None` for none.
            `True` stands for `Masks()`, against one colluding agent.

    Raises:
        PrivacyError: a value out of its range, or neither epsilon nor noise_multiplier.

    Example:
        >>> from tacit.privacy.budget import Privacy
        >>> Privacy(clip=1.0, epsilon=1.0, delta=1e-6).order
        2
    """

    clip: Number = eqx.field(converter=per_agent)
    epsilon: Maybe = eqx.field(default=None, converter=per_agent)
    delta: Number = eqx.field(default=DELTA, converter=per_agent)
    noise_multiplier: Maybe = eqx.field(default=None, converter=per_agent)
    relation: Relation = eqx.field(static=True, default=Relation.REPLACE_ONE, converter=_relation)
    noise: NoiseKind = eqx.field(static=True, default=NoiseKind.GAUSSIAN, converter=noise_kind)
    sampling: float = eqx.field(static=True, default=1.0)
    sites_per_person: int = eqx.field(static=True, default=1)
    records_per_person: int = eqx.field(static=True, default=1)
    clip_norm: Order | None = eqx.field(static=True, default=None, converter=_norm)
    masks: Masks | None = eqx.field(static=True, default=None, converter=_masks)
    large_delta: bool = eqx.field(static=True, default=False, kw_only=True)

    @property
    def order(self) -> int:
        """Norm in which the noise needs a bound: 1 for Laplace noise, 2 for the others."""
        return 1 if self.noise is NoiseKind.LAPLACE else 2

    @property
    def repeated(self) -> bool:
        """Whether a person may have several records."""
        return max(self.sites_per_person, self.records_per_person) > 1

    @property
    def hides(self) -> AbstractHiding:
        """What hides an agent besides its own noise."""
        return ALONE if self.masks is None else SecureSum(self.masks)

    def in_any_rounds(self) -> Privacy:
        """The budget without the number of sums that it allows, which concerns a run's rounds."""
        if self.masks is None:
            return self
        return self._with(masks=replace(self.masks, attempts=None, spare=None))

    def alone(self) -> Privacy:
        """The budget with every agent hidden only by its own noise."""
        return self if self.masks is None else self._with(masks=None)

    def in_sums(self) -> Privacy:
        """The budget under masks: its own, or ones that assume that nobody is corrupted."""
        return self._with(masks=Masks(coalition=0)) if self.masks is None else self

    def calibrated(self, multiplier: float | Float[np.ndarray, " owners"]) -> Privacy:
        """The budget with the noise multiplier that it requires, of all owners or of each."""
        return eqx.tree_at(
            lambda budget: budget.noise_multiplier,
            self,
            multiplier,
            is_leaf=lambda leaf: leaf is None,
        )

    def _with(self, **values: Any) -> Privacy:
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        return Privacy(**(own | values))

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism with its noise multiplier; not a number until a run has calibrated it."""
        multiplier = math.nan if self.noise_multiplier is None else self.noise_multiplier
        return Mechanism(LAWS[self.noise], Calibrated(multiplier), self.hides)

    def mechanism_of(self, times: float) -> Mechanism:
        """The mechanism with a different share of the budget from the method's other releases.

        Args:
            times: factor on the noise multiplier, positive: one half for a Gaussian release that
                may cost twice as much.

        Raises:
            PrivacyError: a factor that is not positive and finite.
        """
        if not 0.0 < times < math.inf:
            raise PrivacyError(f"times={times!r} must be positive and finite")
        multiplier = math.nan if self.noise_multiplier is None else self.noise_multiplier
        return Mechanism(LAWS[self.noise], Calibrated(times * multiplier), self.hides)

    @property
    def combine(self) -> Combine:
        """What a receiver sees of the releases: each, or only their sum."""
        return Combine.SUM if self.hides.summed else Combine.EACH

    def __check_init__(self) -> None:
        _within("clip", self.clip, lambda v: v > 0, "positive (infinite for no clipping)")
        if self.epsilon is None and self.noise_multiplier is None:
            raise PrivacyError(
                "privacy needs epsilon (and delta) for the whole run, or a noise_multiplier; "
                "for a run without privacy leave it out altogether"
            )
        if self.epsilon is not None and self.noise_multiplier is not None:
            raise PrivacyError(
                "give epsilon or noise_multiplier, not both: one follows from the other"
            )
        if self.epsilon is not None:
            _within("epsilon", self.epsilon, lambda v: v > 0, "positive")
        if self.noise_multiplier is not None:
            _within("noise_multiplier", self.noise_multiplier, lambda v: v >= 0, "at least 0")
        pure = self.noise is not NoiseKind.GAUSSIAN
        allowed = "0, or in [1e-12, 1)" if pure else "in [1e-12, 1)"
        _within(
            "delta",
            self.delta,
            lambda v: ((v >= 1e-12) | (pure & (v == 0))) & (v < 1),
            f"{allowed}; a common choice is below one over the number of records",
        )
        if not 0.0 < self.sampling <= 1.0:
            raise PrivacyError(f"sampling={self.sampling!r} must be in (0, 1]")
        for name in ("sites_per_person", "records_per_person"):
            checks.whole(name, getattr(self, name), 1, PrivacyError)
        if self.masks is not None:
            remedy = "write masks=Masks(coalition=1), or None for local noise"
            checks.instance("masks", self.masks, Masks, remedy, PrivacyError)
            self._check_masks()

    def _check_masks(self) -> None:
        if self.noise is not NoiseKind.GAUSSIAN:
            raise PrivacyError(
                f"noise={self.noise.value!r} does not go with masks: the noise of a sum is drawn "
                "by parts, and only Gaussian parts add up to noise of the same law"
            )
        if self.sites_per_person > 1:
            raise PrivacyError(
                f"sites_per_person={self.sites_per_person} does not go with masks: one sum would "
                "move by what a person has at every site, and no rule for that is proved here; "
                "leave it at 1, or take local noise (no masks)"
            )


def _within(name: str, value: Any, test: Callable[[Any], Any], allowed: str) -> None:
    if isinstance(value, Tracer):
        return
    array = np.asarray(value, dtype=float)
    if array.ndim > 1 or np.isnan(array).any() or not np.all(test(array)):
        raise PrivacyError(f"{name}={value!r} must be {allowed}")
