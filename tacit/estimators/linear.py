"""What the general estimators share: a linear model fitted by any of tacit's methods."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, no_type_check

import numpy as np
import pandas as pd
from jaxtyping import Float, Shaped
from sklearn.exceptions import ConvergenceWarning

from tacit import checks
from tacit.data.partition import Sites
from tacit.data.schema import Schema
from tacit.data.target import ClassTarget, NumericTarget
from tacit.data.undeclared import Filled
from tacit.errors import ConfigError
from tacit.estimators import bounds as ends
from tacit.estimators.base import DECLARE, PrivateEstimator, apart, masks_of, rounded
from tacit.estimators.choices import (
    Made,
    Named,
    check_given,
    entry_of,
    network_of,
)
from tacit.method.phase import AbstractMethod
from tacit.network.base import AbstractNetwork
from tacit.privacy.masked import Masks
from tacit.problem.bounds import RecordBounds
from tacit.problem.losses import AbstractLinearLoss
from tacit.problem.problem import Problem
from tacit.problem.records import empirical_risk
from tacit.problem.regularisers import L2
from tacit.types import Unit

if TYPE_CHECKING:
    import networkx


class Answers(NamedTuple):
    """The target of a fit.

    Attributes:
        values: one per record.
        declared: how the column is declared, under any name.
        loss: loss of one record.
        bounds: bounds of the target as the loss sees it.
        read: what was read off the records, in words, or nothing.
        remedy: argument that declares it.
    """

    values: Shaped[np.ndarray, " n"]
    declared: ClassTarget | NumericTarget
    loss: AbstractLinearLoss
    bounds: tuple[float, float]
    read: str
    remedy: str


class PrivateLinearModel(PrivateEstimator):
    """Base of the general estimators: arguments are described where they are used."""

    # scikit-learn's rule for constructors: whatever they are given is kept, and `fit` refuses it
    @no_type_check
    def __init__(
        self,
        *,
        method: str | AbstractMethod,
        method_params: Mapping[str, object] | None,
        loss: str | AbstractLinearLoss,
        epsilon: float | None,
        delta: float,
        relation: Literal["replace_one", "add_remove"],
        masks: bool | Masks | Literal["auto"],
        clip: float | None,
        rounds: int,
        network: str | AbstractNetwork | networkx.Graph[Any] | None,
        penalty: float,
        bounds: ends.Bounds | None,
        sites: int,
        size: int | None,
        random_state: int | np.random.RandomState | None,
        ledger: str | os.PathLike[str] | None,
        dataset: str,
        owner: str | None,
    ) -> None:
        self.method = method
        self.method_params = method_params
        self.loss = loss
        self.epsilon = epsilon
        self.delta = delta
        self.relation = relation
        self.masks = masks
        self.clip = clip
        self.rounds = rounds
        self.network = network
        self.penalty = penalty
        self.bounds = bounds
        self.sites = sites
        self.size = size
        self.random_state = random_state
        self.ledger = ledger
        self.dataset = dataset
        self.owner = owner

    # set by fit
    method_: AbstractMethod

    def _optimise(
        self, X: Float[np.ndarray, "n d"], target: Answers, groups: Any
    ) -> tuple[Float[np.ndarray, "s d"], Float[np.ndarray, " s"]]:
        """Slopes and offset of every score, for columns in the units of the data."""
        features, taken = self._columns(X)
        names = list(features)
        asked = apart("y", names)
        if target.read:
            taken[asked] = target.read
        read = Filled(features, taken)
        read.warn(DECLARE + target.remedy, stacklevel=3)
        frame = pd.DataFrame(X, columns=pd.Index(names)).assign(**{asked: target.values})
        declared = Schema(
            features,
            replace(target.declared, name=asked),
            intercept=False,
            assumptions=read.assumptions,
        )
        divided, _ = self._divided(frame, declared, groups)
        rounds = checks.whole("rounds", self.rounds, 1, ConfigError)
        method, network = self._chosen(
            Made(X.shape[1], len(divided.names), target.loss, target.bounds), divided.names
        )
        rounds = rounds if method.only_rounds is None else method.only_rounds
        problem = self._problem(divided, target.loss, method)
        found = self._charged(problem, network, method, rounds, record=rounds)
        if not found.finished.all():
            warnings.warn(
                f"the run diverged: {found.status}; take a shorter step (method_params) or a "
                "smaller clip",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.guarantee_, self.method_, self.n_iter_ = found.guarantee, method, found.rounds
        low, high = self.bounds_
        scores = (
            np.asarray(found.solutions[0].mean(axis=0), dtype=float).reshape(X.shape[1] + 1, -1).T
        )
        slopes = scores[:, :-1] / ((high - low) / 2.0)
        return slopes, scores[:, -1] - slopes @ ((low + high) / 2.0)

    def _problem(self, divided: Sites, loss: AbstractLinearLoss, method: AbstractMethod) -> Problem:
        """Mean loss over all records, and the penalty."""
        agents = len(divided.names)
        checks.real("penalty", self.penalty, ConfigError)
        if not self.penalty >= 0.0:
            raise ConfigError(f"penalty={self.penalty!r} must be at least 0")

        def with_divisor(normaliser: float | None) -> Problem:
            return empirical_risk(
                divided.features,
                divided.targets,
                loss,
                L2(agents * self.penalty),
                normaliser=normaliser,
                names=divided.names,
                feature_names=divided.feature_names,
                intercept=True,
                pad_to=rounded(max(divided.counts)),
                # columns lie in [-1, 1]; where slopes are bounded, too, no clip has to be longer
                bounds=RecordBounds(row=1.0, order=math.inf, beyond="clip"),
            )

        if self.size is not None:
            return with_divisor(float(checks.whole("size", self.size, 1, ConfigError)))
        if self.relation != "replace_one":
            raise ConfigError(
                f"relation={self.relation!r} makes the number of records private; declare "
                "size=..., a public number near the number of records of a site"
            )
        # one divisor for all sites, so that every record counts alike; it is as public as the
        # numbers of records, which are not where a whole site is protected
        problem = with_divisor(sum(divided.counts) / agents)
        return problem if method.protects(problem) is Unit.RECORD else with_divisor(None)

    def _chosen(self, made: Made, sites: Sequence[str]) -> tuple[AbstractMethod, AbstractNetwork]:
        """The method and its network."""
        auto = isinstance(self.masks, str) and self.masks == "auto"
        masks = None if auto else masks_of(self.masks, "write masks='auto', True or False")
        method = self.method
        if isinstance(method, AbstractMethod):
            if self.method_params is not None:
                raise ConfigError(
                    "method_params are for a method by its name; give this one its arguments itself"
                )
            clip = 1.0 if self.clip is None else self.clip
            budget = self._budget(clip, masks)
            check_given(method, budget, masks=not auto, clip=self.clip is not None)
            return method, network_of(self.network, method.coordinated, sites)
        if not isinstance(method, str):
            raise ConfigError(
                f"method={checks.shown(method)} must be the name of a method, such as 'dpsg', or a "
                "method with its arguments"
            )
        named = Named(entry_of(method), self.method_params)
        named.check(private=self.epsilon is not None)
        network = network_of(self.network, named.entry.coordinated, sites)
        slopes = made.slopes(network)
        clip = named.clip(slopes) if self.clip is None or self.epsilon is None else self.clip
        budget = self._budget(clip, masks)
        near = float(np.mean(network.degrees))
        arguments = named.arguments(made, slopes, clip, self.rounds, near)
        if auto and budget is not None:
            hiding = self._budget(clip, Masks())
            if hiding is not None and named.hidden(arguments, hiding, network):
                budget = hiding
        return named.build(arguments, budget), network
