"""The regression that a study fitted, as a file that predicts."""

from __future__ import annotations

from dataclasses import replace

from tacit.data.formula import named_in
from tacit.method.answer import Answer
from tacit.method.coefficients import CoefficientTable
from tacit.method.fitted import FittedRegression
from tacit.study.model import RegressionStudy
from tacit.study.read import Source
from tacit.study.tables import schema

NAME = "regression.json"
"""Name of the file."""


def fitted(source: Source, answer: Answer | None, protection: str) -> FittedRegression | None:
    """The fitted regression of a study; `None` if it fits none, or there is no table.

    Args:
        source: study file.
        answer: answer of its run.
        protection: guarantee of the run, in words.
    """
    study = source.study
    if not isinstance(study, RegressionStudy) or not isinstance(answer, CoefficientTable):
        return None
    declared, formula = schema(source), study.model.formula
    used = {name: declared.features[name] for name in named_in(formula)}
    return FittedRegression(
        formula, answer, replace(declared, features=used, site=None), protection
    )
