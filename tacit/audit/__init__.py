"""Audits: attempts to refute a claim of privacy by attacking it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from tacit.checks import absent

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


if not TYPE_CHECKING:  # type checkers read the names above; this would let any name pass

    def __getattr__(name: str) -> Any:
        raise absent(__name__, name, __all__)
