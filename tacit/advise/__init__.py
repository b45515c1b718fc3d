"""Forecasts before any data are touched: feasibility, method, clip and number of rounds.

Everything is measured on synthetic records of declared dimensions; no file of records is opened.

Example:
    >>> from tacit import network
    >>> from tacit.advise import Setting
    >>> from tacit.privacy import Privacy
    >>> Setting([20, 80, 50], 10, network.ring(3), Privacy(clip=1.0, epsilon=1.7)).uneven
    True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.advise.advice import Advice, Change, Need, Verdict, advise
    from tacit.advise.columns import Columns
    from tacit.advise.forecast import Forecast
    from tacit.advise.law import Law
    from tacit.advise.measured import Measured
    from tacit.advise.plans import Plan
    from tacit.advise.setting import Setting
    from tacit.advise.widths import Width
    from tacit.advise.widths_cox import cox_widths
    from tacit.advise.widths_regression import regression_width
    from tacit.advise.widths_survival import survival_widths
    from tacit.advise.widths_table import table_widths

_HOME = {
    "Advice": "advice",
    "Change": "advice",
    "Columns": "columns",
    "Forecast": "forecast",
    "Law": "law",
    "Measured": "measured",
    "Need": "advice",
    "Plan": "plans",
    "Setting": "setting",
    "Verdict": "advice",
    "Width": "widths",
    "advise": "advice",
    "cox_widths": "widths_cox",
    "regression_width": "widths_regression",
    "survival_widths": "widths_survival",
    "table_widths": "widths_table",
}

__all__ = [
    "Advice",
    "Change",
    "Columns",
    "Forecast",
    "Law",
    "Measured",
    "Need",
    "Plan",
    "Setting",
    "Verdict",
    "Width",
    "advise",
    "cox_widths",
    "regression_width",
    "survival_widths",
    "table_widths",
]


def __getattr__(name: str) -> Any:
    # simulations need JAX: loaded when first used
    if name not in _HOME:
        from tacit.checks import absent

        raise absent(__name__, name, __all__)
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
