"""What the regressions with intervals share: a fit by tacit's regression, and its table."""

from __future__ import annotations

import os
import warnings
from typing import Any, ClassVar, Literal, NamedTuple, no_type_check

import numpy as np
import pandas as pd
from jaxtyping import Float, Shaped
from sklearn.exceptions import ConvergenceWarning

from tacit._engine.result import Result
from tacit.data.cells import columns_of
from tacit.data.design import design_of
from tacit.data.feature import Feature
from tacit.data.partition import Sites
from tacit.data.schema import Schema
from tacit.data.undeclared import Filled
from tacit.errors import ConfigError
from tacit.estimators import bounds as ends
from tacit.estimators.base import DECLARE, PrivateEstimator, apart, masks_of, rounded
from tacit.method.answer import Refused
from tacit.method.coefficients import CoefficientTable
from tacit.method.glm import PrivateGLM
from tacit.network import Coordinator
from tacit.privacy.caution import DELTA
from tacit.privacy.masked import Masks
from tacit.problem.task import record_tables


class Target(NamedTuple):
    """The target of a fit.

    Attributes:
        values: one per record.
        feature: how the column is declared.
        read: what was read off the records, in words, or nothing.
        remedy: argument that declares it.
    """

    values: Shaped[np.ndarray, " n"]
    feature: Feature
    read: str
    remedy: str


class PrivateRegression(PrivateEstimator):
    """Base of the regressions: arguments and attributes are described where they are used."""

    _family: ClassVar[str]

    # scikit-learn's rule for constructors: whatever they are given is kept, and `fit` refuses it
    @no_type_check
    def __init__(
        self,
        *,
        epsilon: float | None = 1.0,
        delta: float = DELTA,
        relation: Literal["replace_one", "add_remove"] = "replace_one",
        masks: bool | Masks = True,
        sums: int = 4,
        covariance: Literal["model", "robust"] = "model",
        bounds: ends.Bounds | None = None,
        sites: int = 4,
        size: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        ledger: str | os.PathLike[str] | None = None,
        dataset: str = "",
        owner: str | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.relation = relation
        self.masks = masks
        self.sums = sums
        self.covariance = covariance
        self.bounds = bounds
        self.sites = sites
        self.size = size
        self.random_state = random_state
        self.ledger = ledger
        self.dataset = dataset
        self.owner = owner

    # set by fit
    table_: CoefficientTable

    def _regress(self, X: Float[np.ndarray, "n d"], target: Target, groups: Any) -> np.ndarray:
        """Coefficients in the units of the data, the intercept first."""
        features, taken = self._columns(X)
        names = list(features)
        asked = apart("y", names)
        features[asked] = target.feature
        if target.read:
            taken[asked] = target.read
        read = Filled(features, taken)
        read.warn(DECLARE + target.remedy, stacklevel=3)
        frame = pd.DataFrame(X, columns=pd.Index(names)).assign(**{asked: target.values})
        declared = Schema(features, None, intercept=False, assumptions=read.assumptions)
        divided, schema = self._divided(frame, declared, groups)
        found = self._run(divided, schema, asked)
        answer = found.answer
        if not isinstance(answer, CoefficientTable):
            reason = f": {answer.reason}; {answer.needs}" if isinstance(answer, Refused) else ""
            raise ConfigError(f"there are no coefficients{reason}")
        if answer.refusal is not None:
            warnings.warn(
                f"coefficients without intervals: {answer.refusal.reason}; {answer.refusal.needs}",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.guarantee_, self.table_, self.n_iter_ = found.guarantee, answer, self.sums
        return answer.values

    def _run(self, divided: Sites, schema: Schema, asked: str) -> Result:
        """The private fit."""
        columns = columns_of(schema)
        rows = rounded(max(divided.counts))
        records = record_tables(
            divided.features, schema, names=divided.names, size=self.size, pad_to=rows
        )
        design = design_of([column for name, column in columns.items() if name != asked])
        budget = self._budget(1.0, masks_of(self.masks))
        method = PrivateGLM(
            design, columns[asked], self._family, self.sums, self.covariance, privacy=budget
        )
        return self._charged(records, Coordinator(len(divided.names)), method, self.sums)
