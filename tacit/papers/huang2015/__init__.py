"""Huang, Mitra and Vaidya (2015): PDOP as published, its theorems, and its figure."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.papers.huang2015.method import PDOPPrinted
    from tacit.papers.huang2015.tuning import PDOPConstants, tune_pdop

_HOMES = {
    "PDOPConstants": "tuning",
    "PDOPPrinted": "method",
    "tune_pdop": "tuning",
}

__all__ = [
    "PDOPConstants",
    "PDOPPrinted",
    "tune_pdop",
]


def __getattr__(name: str) -> Any:
    # figures need Plotly and data, so they are imported on demand
    if name not in _HOMES:
        from tacit.checks import absent

        raise absent(__name__, name, _HOMES)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
