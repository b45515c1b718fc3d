"""Guidance before any data are touched: is there hope, with which method, clip and rounds.

Everything is measured on synthetic records of declared dimensions; no file of records is opened.

Example:
    >>> from tacit import network
    >>> from tacit.advise import Setting, estimate
    >>> from tacit.privacy import Privacy
    >>> tiny = Setting(20, 10, network.ring(5), Privacy(clip=1.0, epsilon=1.7, delta=1e-6))
    >>> bool(estimate(tiny).error > 0.5)  # more than half of the error of answering zero remains
    True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.advise.advice import Advice, Need, Verdict, advise
    from tacit.advise.closed_form import Estimate, estimate
    from tacit.advise.law import Law
    from tacit.advise.masks import MaskGain
    from tacit.advise.measured import Measured
    from tacit.advise.setting import Setting

_HOME = {
    "Advice": "advice",
    "Estimate": "closed_form",
    "Law": "law",
    "MaskGain": "masks",
    "Measured": "measured",
    "Need": "advice",
    "Setting": "setting",
    "Verdict": "advice",
    "advise": "advice",
    "estimate": "closed_form",
}

__all__ = [
    "Advice",
    "Estimate",
    "Law",
    "MaskGain",
    "Measured",
    "Need",
    "Setting",
    "Verdict",
    "advise",
    "estimate",
]


def __getattr__(name: str) -> Any:
    # what simulates needs JAX: found when first used
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
