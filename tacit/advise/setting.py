"""The declared dimensions of a study: all that advice rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from tacit.errors import ConfigError
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.problem.constraint import FREE, AbstractConstraint
from tacit.problem.losses import AbstractLinearLoss, Softmax, Squared
from tacit.problem.regularisers import L2, AbstractRegulariser
from tacit.types import Oracle, Order, Relation


@dataclass(frozen=True, eq=False)
class Setting:
    """What is known before any record is read.

    Attributes:
        records: of one site, `N_k`, at least 1.
        parameters: `P`, at least 1; a multiple of the classes for softmax.
        network: who talks to whom; it has the number of sites, `K`.
        budget: epsilon, delta, relation, law of the noise and masks; its clip is not looked at.
        loss: of one record.
        regulariser: public penalty, strength included.
        constraint: public set of the parameters.
        row_norm: typical l2 norm of a record's features, positive.
        weight: a site's divisor of its sum of losses over its number of records; 1 for a mean.
        oracle: `Oracle.VALUE` where only values of the loss can be had.
        signal: standard deviation of the scores that the synthetic truth gives, positive.
        noise: standard deviation of a synthetic answer around its score, where the loss is about
            numbers; in units of `signal`, at least 0.
        decay: the synthetic features' variances fall as `j^-decay`, at least 0; 0 for features
            that are all alike, which is easier than most records are.

    Raises:
        ConfigError: a number out of range, or a budget without one epsilon for all sites.
        PrivacyError: masks that hide nobody among so many sites.
    """

    records: int
    parameters: int
    network: AbstractNetwork
    budget: Privacy
    loss: AbstractLinearLoss = field(default_factory=Squared)
    regulariser: AbstractRegulariser = field(default_factory=lambda: L2(1e-3))
    constraint: AbstractConstraint = FREE
    row_norm: float = 1.0
    weight: float = 1.0
    oracle: Oracle = Oracle.GRADIENT
    signal: float = 1.0
    noise: float = 0.3
    decay: float = 1.0

    def __post_init__(self) -> None:
        for name in ("records", "parameters"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)!r} must be at least 1")
        for name in ("row_norm", "weight", "signal"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ConfigError(f"{name}={value!r} must be positive and finite")
        for name in ("noise", "decay"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ConfigError(f"{name}={value!r} must be at least 0 and finite")
        if self.parameters % self.classes:
            raise ConfigError(
                f"parameters={self.parameters} must be a multiple of the {self.classes} classes: "
                "softmax has one parameter a feature and class"
            )
        if self.budget.relation is Relation.METRIC:
            raise ConfigError(
                "advice is about records, and relation='metric' about whole costs; take "
                "relation='replace_one' or 'add_remove'"
            )
        if self.budget.masks is not None:
            self.budget.masks.cohort(self.agents)
        for name in ("epsilon", "delta"):
            value = getattr(self.budget, name)
            if value is None or np.ndim(value) or not math.isfinite(value):
                raise ConfigError(
                    f"advice needs one finite {name} for all sites, got {name}={value!r}; "
                    "where they differ, ask about the smallest"
                )

    @property
    def agents(self) -> int:
        """`K`, the number of sites."""
        return self.network.agents

    @property
    def epsilon(self) -> float:
        """Of the whole run."""
        return float(self.budget.epsilon)

    @property
    def classes(self) -> int:
        """Scores of one record: the classes of softmax, else 1."""
        return self.loss.classes if isinstance(self.loss, Softmax) else 1

    @property
    def features(self) -> int:
        """Entries of one record."""
        return self.parameters // self.classes

    @property
    def clip_norm(self) -> Order:
        """Norm of the clip; the one that the noise needs unless the budget names another."""
        return self.budget.order if self.budget.clip_norm is None else self.budget.clip_norm

    @property
    def moves(self) -> float:
        """By how many clips one record can move a site's sum: 2 when replaced, 1 when added."""
        return 2.0 if self.budget.relation is Relation.REPLACE_ONE else 1.0


def changed(budget: Privacy, **values: Any) -> Privacy:
    """A budget with other values for some of its attributes."""
    return Privacy(**{each.name: getattr(budget, each.name) for each in fields(budget)} | values)


def unmasked(budget: Privacy) -> Privacy:
    """A budget without masks."""
    return changed(budget, masks=None)


def two_digits(value: Any) -> float:
    """Rounded to two significant digits: what is advised is what was measured."""
    return float(f"{float(value):.2g}")
