"""Audits: does a claim of privacy survive an attack? The package itself can be called.

`tacit.audit(problem, network, method, rounds=...)` is `audit_method`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from tacit.audit.callable import audit_callable
from tacit.audit.checks import Check
from tacit.audit.curve import Curve
from tacit.audit.estimators import lower_bounds, trials_to_reject
from tacit.audit.family import scaled
from tacit.audit.method import audit_method
from tacit.audit.neighbours import replace_record
from tacit.audit.one_run import one_run_bound
from tacit.audit.readings import Bound
from tacit.audit.result import Audit
from tacit.audit.scores import (
    LearnedScore,
    exposure,
    gaussian_log_ratio,
    laplace_log_ratio,
    sampled_gaussian_log_ratio,
)
from tacit.audit.trials import trials_for_power

__all__ = [
    "Audit",
    "Bound",
    "Check",
    "Curve",
    "LearnedScore",
    "audit_callable",
    "audit_method",
    "exposure",
    "gaussian_log_ratio",
    "laplace_log_ratio",
    "lower_bounds",
    "one_run_bound",
    "replace_record",
    "sampled_gaussian_log_ratio",
    "scaled",
    "trials_for_power",
    "trials_to_reject",
]


class _Callable(ModuleType):
    """A package that is also its most important function."""

    def __call__(self, *args: Any, **kwargs: Any) -> Audit:
        """See `audit_method`."""
        return audit_method(*args, **kwargs)


# `tacit.audit` names this package, and `tacit.audit(...)` is what one wants of it: a module may be
# given a class of its own (Python reference, "Customizing module attribute access").
sys.modules[__name__].__class__ = _Callable
