"""Nozari, Tallapragada and Cortes (2016): theorems on functional perturbation, and figures."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.papers.nozari2016.stability import StabilityPrivacy, check_stability_privacy

_HOMES = {
    "StabilityPrivacy": "stability",
    "check_stability_privacy": "stability",
}

__all__ = [
    "StabilityPrivacy",
    "check_stability_privacy",
]


def __getattr__(name: str) -> Any:
    # figures need Plotly and data, so they are imported on demand
    if name not in _HOMES:
        from tacit.checks import absent

        raise absent(__name__, name, _HOMES)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
