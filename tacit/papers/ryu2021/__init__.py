"""Ryu and Kim (2021): DP-IADMM as published and OutP as coded, their theorems, and figures."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.papers.ryu2021.dp_iadmm import DPIADMMPrinted
    from tacit.papers.ryu2021.outp_as_coded import OutPAsCoded

_HOMES = {
    "DPIADMMPrinted": "dp_iadmm",
    "OutPAsCoded": "outp_as_coded",
}

__all__ = [
    "DPIADMMPrinted",
    "OutPAsCoded",
]


def __getattr__(name: str) -> Any:
    # figures need Plotly and data, so they are imported on demand
    if name not in _HOMES:
        from tacit.checks import absent

        raise absent(__name__, name, _HOMES)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
