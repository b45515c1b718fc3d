"""Private models as estimators of scikit-learn: pipelines, clones, pickles and scores.

Regressions with intervals, and a linear classifier and regressor by any of tacit's methods.

Each fit spends the whole of its budget on the records it is given, and no fit knows of another: a
search over parameters fits some of them again and again. Give `ledger=`, and every fit is charged
to one budget; the guide says what else a search costs (docs/regression.md).
"""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ModuleNotFoundError(
        "tacit.estimators needs scikit-learn: pip install 'tacit[sklearn]'", name="sklearn"
    )

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
