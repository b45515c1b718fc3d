"""Gratton et al. (2021): D-ZOA, its theorems, and the published methods it compares with."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.papers.gratton2021.d_zoa import DZOAPrinted
    from tacit.papers.gratton2021.dp_admm import DPADMMPrinted
    from tacit.papers.gratton2021.dvp import DVPPrinted
    from tacit.papers.gratton2021.pvp import PVPPrinted

_HOMES = {
    "DPADMMPrinted": "dp_admm",
    "DVPPrinted": "dvp",
    "DZOAPrinted": "d_zoa",
    "PVPPrinted": "pvp",
}

__all__ = [
    "DPADMMPrinted",
    "DVPPrinted",
    "DZOAPrinted",
    "PVPPrinted",
]


def __getattr__(name: str) -> Any:
    # figures need Plotly and data, so they are imported on demand
    if name not in _HOMES:
        from tacit.checks import absent

        raise absent(__name__, name, _HOMES)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
