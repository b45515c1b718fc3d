"""Private models as estimators of scikit-learn: pipelines, clones, pickles and scores.

Regressions with intervals, and a linear classifier and regressor by any of tacit's methods.

Each fit spends the whole of its budget on the records it is given, and no fit knows of another: a
search over parameters fits some of them again and again. Give `ledger=`, and every fit is charged
to one budget; the guide says what else a search costs (docs/regression.md).
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if find_spec("sklearn") is None:
    raise ModuleNotFoundError(
        "tacit.estimators needs scikit-learn: pip install 'tacit[sklearn]'", name="sklearn"
    )


from tacit.checks import absent
from tacit.data.undeclared import PrivacyLeakWarning
from tacit.estimators.classifier import PrivateLogisticRegression
from tacit.estimators.linear_classifier import PrivateClassifier
from tacit.estimators.linear_regressor import PrivateRegressor
from tacit.estimators.regressors import PrivateLinearRegression, PrivatePoissonRegressor

__all__ = [
    "PrivacyLeakWarning",
    "PrivateClassifier",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivatePoissonRegressor",
    "PrivateRegressor",
]


if not TYPE_CHECKING:  # type checkers read the names above; this would let any name pass

    def __getattr__(name: str) -> Any:
        raise absent(__name__, name, __all__)
