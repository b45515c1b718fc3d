"""The regression or model that a study fitted, as a file that predicts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from tacit.data.feature import Feature
from tacit.data.formula import named_in
from tacit.data.schema import Schema
from tacit.data.target import BinaryTarget, ClassTarget, NumericTarget
from tacit.method.answer import Answer
from tacit.method.coefficients import CoefficientTable
from tacit.method.cox_answer import HazardRatios
from tacit.method.fitted import FittedRegression
from tacit.method.fitted_hazards import FittedHazards
from tacit.method.fitted_model import FittedModel
from tacit.problem.losses import LOSSES
from tacit.study.model import RegressionStudy
from tacit.study.read import Source
from tacit.study.tables import schema

NAME, MODEL = "regression.json", "model.json"
"""Names of the files."""

REGRESSIONS = (CoefficientTable, HazardRatios)
"""Answers of which there is a file of that name."""


def fitted(
    source: Source, answer: Answer | None, protection: str, papers: tuple[str, ...]
) -> FittedRegression | FittedHazards | None:
    """The fitted regression of a study; `None` if it fits none, or there is no table.

    Args:
        source: study file.
        answer: answer of its run.
        protection: guarantee of the run, in words.
        papers: names of the papers that describe its method.
    """
    study = source.study
    if isinstance(answer, HazardRatios):
        return _hazards(source, answer, protection, papers)
    if not isinstance(study, RegressionStudy) or not isinstance(answer, CoefficientTable):
        return None
    formula = study.model.formula
    used = _declared(source, named_in(formula))
    return FittedRegression(formula, answer, used, protection, papers=papers)


def _hazards(
    source: Source, answer: HazardRatios, protection: str, papers: tuple[str, ...]
) -> FittedHazards:
    method = dict(source.study.method)
    on, strata = method["columns"], method["strata"]
    names = [each.column for each in on] + ([] if strata is None else [strata.column])
    return FittedHazards(
        answer,
        {each.column: tuple(each.edges) for each in on},
        _declared(source, names),
        protection,
        () if strata is None else tuple(strata.edges),
        papers=papers,
    )


def _declared(source: Source, names: Iterable[str]) -> Schema:
    """The declarations of these columns."""
    declared = schema(source)
    features = {name: declared.features[name] for name in names}
    return replace(declared, features=features, site=None)


def fitted_model(
    source: Source,
    names: Sequence[str],
    solution: Float[np.ndarray, " p"],
    protection: str,
    *,
    seeded: bool = False,
    taken: Mapping[str, Feature] = MappingProxyType({}),
) -> FittedModel | None:
    """The fitted model of a study; `None` if it is none that a file can hold.

    A file holds linear models of declared columns: no statistics, no loss, column, target or map of
    another package, no columns that only a table names, no parameters that are not finite.

    Args:
        source: study file.
        names: names of the parameters.
        solution: the parameters, shape `(p,)`.
        protection: guarantee of the run, in words.
        seeded: whether the noise can be drawn again from the study's seed, which a digest of the
            study would help to guess.
        taken: declarations of the columns for which the study lets the records tell bounds, levels,
            mean or deviation, with what they told, which the guarantee assumes to be public.
    """
    study = source.study
    if source.statistics or source.costs or source.foreign:
        return None
    if any("*" in name for name in study.data.features):
        return None
    declared = schema(source)
    target, loss = declared.target, study.problem.loss.kind
    known = isinstance(target, BinaryTarget | NumericTarget | ClassTarget)
    if not known or declared.map is not None or loss not in LOSSES:
        return None
    if not np.all(np.isfinite(solution)):
        return None
    digest = "" if seeded else hashlib.sha256(source.text.encode()).hexdigest()
    return FittedModel(
        study.title,
        loss,
        tuple(names),
        np.asarray(solution, dtype=float),
        replace(
            declared,
            features={**declared.features, **taken},
            target=None,
            site=None,
            assumptions=(),
        ),
        target,
        protection,
        digest,
    )
