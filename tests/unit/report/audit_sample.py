"""The page of an audit as one of a private method would fill it in."""

from typing import Any

import numpy as np
from scipy.stats import norm

from tacit.report import AuditData, TradeOff


def curve(measured: float, claimed: float, width: float = 0.03) -> TradeOff:
    """Trade-off curves of two Gaussians `mu` apart."""
    x = np.linspace(0.0, 1.0, 101)
    middle = norm.cdf(norm.isf(x) - measured)
    return TradeOff(
        false_alarms=x,
        measured=middle,
        low=np.clip(middle - width, 0, 1),
        high=np.clip(middle + width, 0, 1),
        claimed=norm.cdf(norm.isf(x) - claimed),
    )


def audit_sample(**changes: Any) -> AuditData:
    """The data of an audit's page, with some fields replaced."""
    fields: dict[str, Any] = {
        "title": "Any outpatient visit: eight sites, one model",
        "claim": "For site 1: the whole run is (1, 1e-6)-DP.",
        "verdict": "The audit did not refute the claim; it cannot prove it.",
        "refuted": False,
        "facts": [("Claimed epsilon", "1"), ("Lower bound", "0.82"), ("Runs", "20,000 a side")],
        "bounds": [
            {"estimator": "Clopper-Pearson", "lower_bound": 0.61, "claim": 1.0},
            {"estimator": "Gaussian-DP", "lower_bound": 0.82, "claim": 1.0},
        ],
        "power": "750 runs a side would refute a claim that is twice too strong.",
        "curve": curve(0.3, 0.32),
        "how": ("One record of site 1 was replaced.", "200 rounds were run, 20,000 times a side."),
        "environment": {"tacit": "0.2.0.dev5", "seed": "7"},
    }
    return AuditData(**{**fields, **changes})
