"""The declared dimensions of a study, on which all advice rests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float, Int

from tacit.advise.columns import Columns
from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.method.phase import AbstractMethod
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.problem.constraint import FREE, AbstractConstraint
from tacit.problem.losses import AbstractLinearLoss, Hinge, Logistic, Poisson, Softmax, Squared
from tacit.problem.records import Weighting
from tacit.problem.regularisers import L2, AbstractRegulariser
from tacit.ranges import Range
from tacit.types import Oracle, Relation

PREVALENCE, GAIN = 0.3, 0.2
"""Fraction of yes, and fraction of the base rate's loss that a fit without privacy removes, if not
given: assumptions, which are named wherever something rests on them."""


MOST_FEATURES = 10_000
"""Features of a simulated record; their mixing is a matrix of as many rows and columns."""


@checked(ConfigError)
@dataclass(frozen=True, eq=False)
class Setting:
    """The facts known before any record is read.

    Attributes:
        records: number of records per site, `N_k`, at least 1: one number for all, or one per site.
        parameters: number of parameters, `P`, at least 1; a multiple of the classes for softmax.
        network: network between the sites; it determines their number, `K`.
        budget: epsilon, delta, relation, law of the noise and masks; its clip is ignored.
        loss: loss of one record.
        regulariser: public penalty, strength included; an intercept is not penalised.
        constraint: public convex set of the parameters.
        columns: composition of a record besides an intercept; `None` for numbers within bounds that
            are mapped onto [-1, 1].
        intercept: whether the last feature is a column of ones.
        row_norm: largest l2 norm of a record's features, positive; `None` for none.
        weighting: divisor of a site's sum of losses.
        normaliser: declared divisor of every site's sum instead, one number or one per site.
        oracle: `Oracle.VALUE` if only values of the loss are available.
        target: bounds of a numeric answer, after mapping.
        prevalence: fraction of yes among yes/no answers, in (0, 1); `None` assumes a default.
        gain: fraction of the base rate's loss that a fit without privacy removes, in (0, 1): the
            coefficient of determination for squared loss. `None` assumes a default.
        methods: methods of other packages, to be measured besides tacit's own.

    Raises:
        ConfigError: a number out of range, or a budget without one epsilon for all sites.
        PrivacyError: masks that hide nobody among this number of sites.
    """

    records: int | Sequence[int]
    parameters: int
    network: AbstractNetwork
    budget: Privacy
    loss: AbstractLinearLoss = field(default_factory=Squared)
    regulariser: AbstractRegulariser = field(default_factory=lambda: L2(1e-3))
    constraint: AbstractConstraint = FREE
    columns: tuple[Columns, ...] | None = None
    intercept: bool = True
    row_norm: float | None = None
    weighting: Weighting = Weighting.AGENT
    normaliser: Annotated[float | Sequence[float], Range(above=0.0)] | None = None
    oracle: Oracle = Oracle.GRADIENT
    target: tuple[float, float] = (-1.0, 1.0)
    prevalence: float | None = None
    gain: float | None = None
    methods: tuple[type[AbstractMethod], ...] = ()

    def __post_init__(self) -> None:
        if np.ndim(self.records) and (count := np.size(self.records)) != self.agents:
            raise ConfigError(
                f"records={np.asarray(self.records).tolist()} has {count} numbers for "
                f"{self.agents} sites; give one number for all, or one per site"
            )
        if np.min(self.records) < 1:
            raise ConfigError(f"records={self.records!r} must be at least 1")
        if self.parameters < 1:
            raise ConfigError(f"parameters={self.parameters!r} must be at least 1")
        if self.features > MOST_FEATURES:
            raise ConfigError(
                f"parameters={self.parameters} make {self.features:,} features of a record, and "
                f"advice simulates records of at most {MOST_FEATURES:,}; ask about fewer"
            )
        if self.row_norm is not None and not (math.isfinite(self.row_norm) and self.row_norm > 0):
            raise ConfigError(f"row_norm={self.row_norm!r} must be positive and finite")
        for name in ("prevalence", "gain"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < 1.0:
                raise ConfigError(f"{name}={value!r} must be above 0 and below 1")
        if not self.target[0] < self.target[1]:
            raise ConfigError(f"target={self.target!r} must be a lower and an upper bound")
        if self.parameters % self.classes:
            raise ConfigError(
                f"parameters={self.parameters} must be a multiple of the {self.classes} classes: "
                "softmax has one parameter per feature and class"
            )
        if self.columns is not None:
            width = sum(each.count for each in self.columns) + int(self.intercept)
            if width != self.features:
                raise ConfigError(
                    f"the columns make {width} features and parameters={self.parameters} need "
                    f"{self.features}"
                )
        if self.budget.relation is Relation.METRIC:
            raise ConfigError(
                "advice is about records, and relation='metric' about whole costs; take "
                "relation='replace_one' or 'add_remove'"
            )
        self.budget.hides.check_agents(self.agents)
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
    def counts(self) -> Int[np.ndarray, " agents"]:
        """`N_k`, number of records of every site."""
        return np.broadcast_to(np.asarray(self.records, dtype=np.int64), (self.agents,))

    @property
    def uneven(self) -> bool:
        """Whether the largest site has over one and a half times the records of the smallest."""
        return bool(self.counts.max() > 1.5 * self.counts.min())

    @property
    def divisors(self) -> Float[np.ndarray, " agents"]:
        """Divisor of every site's sum of losses."""
        if self.normaliser is not None:
            return np.broadcast_to(np.asarray(self.normaliser, dtype=float), (self.agents,))
        counts = self.counts.astype(float)
        return {
            Weighting.AGENT: counts,
            Weighting.RECORD: np.full(self.agents, counts.sum()),
            Weighting.SUM: np.ones(self.agents),
        }[self.weighting]

    @property
    def epsilon(self) -> float:
        """Epsilon for the whole run."""
        assert self.budget.epsilon is not None
        return float(self.budget.epsilon)

    @property
    def classes(self) -> int:
        """Number of scores of one record: the classes of softmax, else 1."""
        return self.loss.classes if isinstance(self.loss, Softmax) else 1

    @property
    def binary(self) -> bool:
        """Whether answers are yes or no."""
        return isinstance(self.loss, Logistic | Hinge)

    @property
    def assumed(self) -> tuple[str, ...]:
        """Assumptions about values not given; each ends with the argument that sets it."""
        found: list[str] = []
        if self.binary and self.prevalence is None:
            found.append(f"{PREVALENCE:.0%} of the answers are yes (prevalence)")
        if self.gain is None and not isinstance(self.loss, Poisson):
            found.append(f"a fit without privacy removes {GAIN:.0%} of the base rate's loss (gain)")
        return tuple(found)

    @property
    def features(self) -> int:
        """Number of entries of one record, an intercept included."""
        return self.parameters // self.classes

    @property
    def made_of(self) -> tuple[Columns, ...]:
        """The columns, without the intercept."""
        if self.columns is not None:
            return self.columns
        count = self.features - int(self.intercept)
        return (Columns("numeric", count),) if count else ()


def changed(budget: Privacy, **values: Any) -> Privacy:
    """A budget with other values for some of its attributes."""
    return Privacy(**{each.name: getattr(budget, each.name) for each in fields(budget)} | values)


def two_digits(value: float) -> float:
    """Rounded to two significant digits: the advice is what was measured."""
    return float(f"{float(value):.2g}")
