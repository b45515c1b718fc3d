"""Targets, weights and budgets that a private regression refuses, with the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit import checks
from tacit.data.cells import Column
from tacit.data.design import Design
from tacit.errors import ConfigError, PrivacyError
from tacit.method._glm_family import Family
from tacit.privacy.budget import Privacy
from tacit.privacy.laws import NoiseKind


def check_target(column: Column, family: Family) -> None:
    """Refuse a target that the family is not about."""
    checks.instance(
        "target", column, Column, "give a column of the records: task.column('visits')", ConfigError
    )
    if family.classes:
        if len(column.levels) < 3:
            raise ConfigError(
                f"target={column.name!r} has {len(column.levels) or 'no'} levels; "
                "family='multinomial' needs a categorical column with three or more, all of which "
                "are compared with the first; for two take family='binomial'"
            )
        return
    if family.logistic:
        if len(column.levels) != 2:
            raise ConfigError(
                f"target={column.name!r} has {len(column.levels) or 'no'} levels; "
                "family='binomial' needs two: a boolean, or a categorical column with two levels, "
                "the second of which counts as 1; for more levels take family='multinomial'"
            )
        return
    if column.levels or column.scale is None:
        other = "binomial" if len(column.levels) == 2 else "multinomial"
        raise ConfigError(
            f"target={column.name!r} has levels; family={family.name!r} needs a number with "
            f"bounds, and for levels there is family='{other}'"
        )
    if column.scale.upper > family.most:
        raise ConfigError(
            f"target={column.name!r} may be {column.scale.upper:g}; family={family.name!r} takes "
            f"counts of at most {family.most:g}: declare a lower bound, or take family='gamma' or "
            "'gaussian'"
        )
    if family.link == "log" and column.scale.lower < 0.0:
        raise ConfigError(
            f"target={column.name!r} may be {column.scale.lower:g}; family={family.name!r} needs "
            "a lower bound of at least 0"
        )


def check_offset(design: Design, family: Family) -> None:
    """Refuse an offset where there is a linear predictor for every class."""
    if family.classes and design.offset is not None:
        raise ConfigError(
            f"offset({design.offset.column.name}) has no meaning with family={family.name!r}, "
            "which has a linear predictor for every class; leave it out"
        )


def check_weights(weights: Column | None, target: Column) -> None:
    """Refuse weights that are no weights."""
    if weights is None:
        return
    if weights.levels or weights.scale is None:
        raise ConfigError(f"weights={weights.name!r} has levels; weights are numbers with bounds")
    if weights == target:
        raise ConfigError(f"weights={weights.name!r} is also the target")
    low, high = weights.scale.lower, weights.scale.upper
    if low < 0.0 or high <= 0.0:
        raise ConfigError(
            f"weights={weights.name!r} may be from {low:g} to {high:g}; declare a lower bound of "
            "at least 0 and a positive upper one"
        )


def check_covariance(covariance: Any, weights: Column | None) -> None:
    """Refuse what is no covariance, and the model's for weighted records."""
    if covariance is None:
        return
    if not isinstance(covariance, str) or covariance not in ("model", "robust"):
        raise ConfigError(f"covariance={checks.shown(covariance)} must be 'model' or 'robust'")
    if covariance == "model" and weights is not None:
        raise ConfigError(
            f"covariance='model' with weights={weights.name!r}: no model says how much a weighted "
            "record varies; leave covariance out, or write 'robust'"
        )


def check_budget(privacy: Privacy) -> None:
    """Refuse noise or a sample that the intervals are not about."""
    if privacy.noise is not NoiseKind.GAUSSIAN:
        raise PrivacyError(
            f"noise={str(privacy.noise)!r}: intervals are of Gaussian noise; leave noise at "
            "'gaussian'"
        )
    if privacy.sampling < 1.0:
        raise PrivacyError(
            f"sampling={privacy.sampling!r}: intervals are of all records; leave sampling at 1"
        )
    if np.any(np.asarray(privacy.clip, dtype=float) != 1.0):
        raise PrivacyError(
            f"clip={checks.shown(privacy.clip)} is not used, because bounds follow from the "
            "declared columns; leave it at 1"
        )
