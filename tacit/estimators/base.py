"""What the estimators share: from arrays to records of sites, a private fit, and its attributes."""

from __future__ import annotations

import os
import warnings
from contextlib import nullcontext
from typing import Any, ClassVar, Literal, NamedTuple, no_type_check

import numpy as np
import pandas as pd
from jaxtyping import Float, Shaped
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from tacit import checks
from tacit._engine.runner import run
from tacit.data.cells import columns_of
from tacit.data.design import design_of
from tacit.data.feature import Feature, Numeric
from tacit.data.partition import Sites, by_column, drawn, even
from tacit.data.schema import Schema
from tacit.data.table import prepare
from tacit.data.undeclared import Filled
from tacit.errors import ConfigError
from tacit.estimators import bounds as ends
from tacit.method.answer import Refused
from tacit.method.coefficients import CoefficientTable
from tacit.method.glm import PrivateGLM
from tacit.network import Coordinator
from tacit.privacy.budget import Privacy
from tacit.privacy.caution import DELTA
from tacit.privacy.guarantee import Guarantees
from tacit.privacy.ledger import Ledger
from tacit.privacy.masked import Masks
from tacit.problem.task import record_tables

_SMALLEST = 64
"""Rows to which a small site is filled up."""


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


class PrivateRegression(BaseEstimator):
    """Base of the estimators: arguments and attributes are described where they are used."""

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
    guarantee_: Guarantees
    table_: CoefficientTable
    bounds_: ends.Ends
    n_features_in_: int
    n_iter_: int

    @property
    def _poor(self) -> bool:
        """Whether noise may hide what the few hundred records of scikit-learn's checks say."""
        return self.epsilon is not None

    def _regress(self, X: Float[np.ndarray, "n d"], target: Target, groups: Any) -> np.ndarray:
        """Coefficients in the units of the data, the intercept first."""
        names = self._names(X.shape[1])
        taken: dict[str, str] = {}
        if self.bounds is None:
            self.bounds_ = ends.read_off(X)
            for name, low, high in zip(names, *self.bounds_, strict=True):
                taken[name] = f"bounds {low:g} to {high:g}"
        else:
            self.bounds_ = ends.declared("bounds", self.bounds, X.shape[1])
        features: dict[str, Feature] = {
            name: Numeric(float(low), float(high))
            for name, low, high in zip(names, *self.bounds_, strict=True)
        }
        asked = _apart("y", names)
        features[asked] = target.feature
        if target.read:
            taken[asked] = target.read
        read = Filled(features, taken)
        read.warn(
            "bounds=(0, 100), bounds=([0, 18], [1, 90]) column by column, and " + target.remedy,
            stacklevel=3,
        )
        frame = pd.DataFrame(X, columns=pd.Index(names)).assign(**{asked: target.values})
        divided, schema = self._divided(frame, read, groups)
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

    def _names(self, width: int) -> list[str]:
        given = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(width)] if given is None else [str(each) for each in given]

    def _divided(self, frame: pd.DataFrame, read: Filled, groups: Any) -> tuple[Sites, Schema]:
        """The records by site: that of their groups, or dealt to simulated sites."""
        given: dict[str, Any] = {"intercept": False, "assumptions": read.assumptions}
        if groups is not None:
            check_consistent_length(frame, groups)
            where = _apart("site", frame.columns)
            frame = frame.assign(**{where: np.asarray(groups)})
            schema = Schema(read.features, None, site=where, **given)
            return by_column(prepare(frame, schema)), schema
        schema = Schema(read.features, None, **given)
        sites = checks.whole("sites", self.sites, 2, ConfigError)
        if len(frame) < sites:
            # the words that scikit-learn looks for
            raise ValueError(
                f"n_samples={len(frame)} is fewer than sites={sites}: every site needs a record"
            )
        # where a record may come or go, its site must not depend on how many there are
        deal = drawn if self.relation == "add_remove" else even
        return deal(prepare(frame, schema), sites), schema

    def _run(self, divided: Sites, schema: Schema, asked: str) -> Any:
        """The private fit, charged to the ledger if there is one."""
        columns = columns_of(schema)
        rows = _rounded(max(divided.counts))
        records = record_tables(
            divided.features, schema, names=divided.names, size=self.size, pad_to=rows
        )
        design = design_of([column for name, column in columns.items() if name != asked])
        method = PrivateGLM(
            design, columns[asked], self._family, self.sums, self.covariance, privacy=self._budget()
        )
        if not isinstance(self.ledger, str | os.PathLike | None):
            raise ConfigError(
                f"ledger={checks.shown(self.ledger)} must be the path of a ledger: an open one "
                "could be neither cloned nor pickled"
            )
        with nullcontext() if self.ledger is None else Ledger.open(str(self.ledger)) as ledger:
            return run(
                records,
                Coordinator(len(divided.names)),
                method,
                rounds=self.sums,
                seed=_seed(self.random_state),
                ledger=ledger,
                dataset=self.dataset,
                owner=self.owner,
            )

    def _budget(self) -> Privacy | None:
        masks = self.masks
        if isinstance(masks, bool | np.bool_):
            masks = Masks() if masks else None
        if masks is not None:
            checks.instance("masks", masks, Masks, "write masks=True or False", ConfigError)
        if self.epsilon is None:
            return None
        return Privacy(
            clip=1.0, epsilon=self.epsilon, delta=self.delta, relation=self.relation, masks=masks
        )

    def _inside(self, X: Any) -> Float[np.ndarray, "n d"]:
        """New records, with values beyond the bounds moved to them, as in the fit."""
        check_is_fitted(self)
        rows: Any = validate_data(self, X, reset=False, dtype=np.float64)
        return np.clip(rows, *self.bounds_)


def _apart(name: str, others: Any) -> str:
    """A name that no column has."""
    while name in others:
        name += "_"
    return name


def _rounded(rows: int) -> int:
    """A number of rows, up to an eighth larger: fits of nearly one size then compile once."""
    step = max(1, 2 ** (max(rows - 1, 1).bit_length() - 4))
    return max(_SMALLEST, -(-rows // step) * step)


def _seed(random_state: Any) -> int | None:
    """Seed of the simulated noise; a global generator is left alone, for it could be guessed."""
    if random_state is None:
        return None
    return int(check_random_state(random_state).randint(2**31 - 1))
