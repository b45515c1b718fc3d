"""What the estimators share: from arrays to records of sites, a private run, and its attributes."""

from __future__ import annotations

import os
import warnings
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tacit import checks
from tacit._engine.result import Result
from tacit._engine.runner import run
from tacit.data.feature import Feature, Numeric
from tacit.data.oddities import PRIVATE, far_size
from tacit.data.partition import Sites, by_column, drawn, even
from tacit.data.schema import Schema
from tacit.data.table import prepare
from tacit.errors import ConfigError
from tacit.estimators import bounds as ends
from tacit.estimators.arrays import sites_of, validated
from tacit.method.phase import AbstractMethod
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.guarantees import Guarantees
from tacit.privacy.ledger import Ledger
from tacit.privacy.masked import Masks
from tacit.problem.task import Task

_SMALLEST = 64
"""Rows to which a small site is filled up."""

DECLARE = "bounds=(0, 100), bounds=([0, 18], [1, 90]) column by column, and "
"""What declares the columns; what declares the target follows."""


class PrivateEstimator(BaseEstimator):
    """Base of all estimators: from arrays to records of sites, and a run that a ledger is charged.

    The arguments are set and described by the classes that take them.
    """

    epsilon: float | None
    delta: float
    relation: Literal["replace_one", "add_remove"]
    bounds: ends.Bounds | None
    sites: int
    size: int | None
    random_state: int | np.random.RandomState | None
    ledger: str | os.PathLike[str] | None
    dataset: str
    owner: str | None

    # set by fit
    guarantee_: Guarantees
    bounds_: ends.Ends
    n_features_in_: int
    n_iter_: int

    @property
    def _poor(self) -> bool:
        """Whether noise may hide what the few hundred records of scikit-learn's checks say."""
        return self.epsilon is not None

    def _columns(self, X: Float[np.ndarray, "n d"]) -> tuple[dict[str, Feature], dict[str, str]]:
        """Declarations of the columns, and what of them was read off the records, in words."""
        names = self._names(X.shape[1])
        taken: dict[str, str] = {}
        if self.bounds is None:
            self.bounds_ = ends.read_off(X)
            for name, low, high in zip(names, *self.bounds_, strict=True):
                taken[name] = f"bounds {low:g} to {high:g}"
        else:
            self.bounds_ = ends.declared("bounds", self.bounds, X.shape[1])
            ends.warn_of_moved("X", X, *self.bounds_, stacklevel=3)
        features: dict[str, Feature] = {
            name: Numeric(float(low), float(high))
            for name, low, high in zip(names, *self.bounds_, strict=True)
        }
        return features, taken

    def _names(self, width: int) -> list[str]:
        given = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(width)] if given is None else [str(each) for each in given]

    def _divided(self, frame: pd.DataFrame, schema: Schema, groups: Any) -> tuple[Sites, Schema]:
        """The records by site: that of their groups, or dealt to simulated sites."""
        if groups is not None:
            where = apart("site", frame.columns)
            frame = frame.assign(**{where: sites_of(groups, len(frame))})
            schema = replace(schema, site=where)
            divided = by_column(prepare(frame, schema))
            self._warn_of_size(divided)
            return divided, schema
        sites = checks.whole("sites", self.sites, 2, ConfigError)
        if len(frame) < sites:
            # the words that scikit-learn looks for
            raise ValueError(
                f"n_samples={len(frame)} is fewer than sites={sites}: every site needs a record"
            )
        # where a record may come or go, its site must not depend on how many there are
        deal = drawn if self.relation == "add_remove" else even
        divided = deal(prepare(frame, schema), sites)
        self._warn_of_size(divided)
        return divided, schema

    def _warn_of_size(self, divided: Sites) -> None:
        """Say that the declared number of records is far from those of the sites."""
        declared = self.size if isinstance(self.size, int) else 0  # others are refused later
        if far := far_size(declared, divided.counts):
            warnings.warn(f"{far}. {PRIVATE}", stacklevel=5)

    def _charged(
        self,
        task: Task,
        network: AbstractNetwork,
        method: AbstractMethod,
        rounds: int,
        record: int | None = None,
    ) -> Result:
        """The run, charged to the ledger if there is one."""
        if not isinstance(self.ledger, str | os.PathLike | None):
            raise ConfigError(
                f"ledger={checks.shown(self.ledger)} must be the path of a ledger: an open one "
                "could be neither cloned nor pickled"
            )
        with nullcontext() if self.ledger is None else Ledger.open(str(self.ledger)) as ledger:
            return run(
                task,
                network,
                method,
                rounds=rounds,
                record=record,
                seed=_seed(self.random_state),
                ledger=ledger,
                dataset=self.dataset,
                owner=self.owner,
            )

    def _budget(self, clip: Any, masks: Masks | None) -> Privacy | None:
        """The budget of a fit; `None` for no privacy."""
        if self.epsilon is None:
            return None
        return Privacy(
            clip=clip, epsilon=self.epsilon, delta=self.delta, relation=self.relation, masks=masks
        )

    def _inside(self, X: Any) -> Float[np.ndarray, "n d"]:
        """New records, with values beyond the bounds moved to them, as in the fit."""
        check_is_fitted(self)
        rows: Any = validated(self, X, reset=False)
        ends.warn_of_moved("X", rows, *self.bounds_, stacklevel=3)
        return np.clip(rows, *self.bounds_)


def apart(name: str, others: Any) -> str:
    """A name that no column has."""
    while name in others:
        name += "_"
    return name


def rounded(rows: int) -> int:
    """A number of rows, up to an eighth larger: fits of nearly one size then compile once."""
    step = max(1, 2 ** (max(rows - 1, 1).bit_length() - 4))
    return max(_SMALLEST, -(-rows // step) * step)


def _seed(random_state: Any) -> int | None:
    """Seed of the simulated noise; a global generator is left alone, for it could be guessed."""
    if random_state is None:
        return None
    try:
        generator = check_random_state(random_state)
    except ValueError:
        raise ConfigError(
            f"random_state={checks.shown(random_state)} must be None, a whole number from 0 to "
            "2**32 - 1, or a numpy.random.RandomState"
        ) from None
    return int(generator.randint(2**31 - 1))


def masks_of(masks: Any, remedy: str = "write masks=True or False") -> Masks | None:
    """Masks as they are given: a truth value, or the masks themselves.

    Raises:
        ConfigError: anything else.
    """
    if isinstance(masks, bool | np.bool_):
        masks = Masks() if masks else None
    if masks is not None:
        checks.instance("masks", masks, Masks, remedy, ConfigError)
    return masks
