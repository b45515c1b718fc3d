"""tacit: differentially private distributed optimisation.

Example:
    >>> import tacit
    >>> tacit.__version__
    '0.2.0.dev5'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit import audit as audit
    from tacit._engine.contract import Contract
    from tacit._engine.measures import History
    from tacit._engine.planning import Account, MeanNoise, account, contract, mean_noise
    from tacit._engine.result import ReleaseRow, Result
    from tacit._engine.runner import Simulation, run
    from tacit.audit.method import audit_method
    from tacit.method import DGD, DPSG, DZOA, DZOASolver, GradientDescent
    from tacit.privacy import Privacy
    from tacit.report import plot as plot
    from tacit.statistics import (
        Cox,
        Description,
        Regression,
        Survival,
        cox,
        glm,
        survival,
        table1,
    )

__version__ = "0.2.0.dev5"

_MODULES = {"audit": "tacit.audit", "plot": "tacit.report.plot"}

_PACKAGES = (
    "advise",
    "data",
    "method",
    "network",
    "privacy",
    "problem",
    "statistics",
    "study",
    "testing",
)

_HOMES = {
    "DGD": "tacit.method",
    "DPSG": "tacit.method",
    "DZOA": "tacit.method",
    "DZOASolver": "tacit.method",
    "Account": "tacit._engine.planning",
    "Contract": "tacit._engine.contract",
    "Cox": "tacit.statistics",
    "Description": "tacit.statistics",
    "GradientDescent": "tacit.method",
    "History": "tacit._engine.measures",
    "MeanNoise": "tacit._engine.planning",
    "Privacy": "tacit.privacy",
    "Regression": "tacit.statistics",
    "ReleaseRow": "tacit._engine.result",
    "Result": "tacit._engine.result",
    "Simulation": "tacit._engine.runner",
    "Survival": "tacit.statistics",
    "account": "tacit._engine.planning",
    "contract": "tacit._engine.planning",
    "cox": "tacit.statistics",
    "glm": "tacit.statistics",
    "mean_noise": "tacit._engine.planning",
    "audit_method": "tacit.audit.method",
    "run": "tacit._engine.runner",
    "survival": "tacit.statistics",
    "table1": "tacit.statistics",
}

__all__ = [
    "DGD",
    "DPSG",
    "DZOA",
    "Account",
    "Contract",
    "Cox",
    "DZOASolver",
    "Description",
    "GradientDescent",
    "History",
    "MeanNoise",
    "Privacy",
    "Regression",
    "ReleaseRow",
    "Result",
    "Simulation",
    "Survival",
    "account",
    "audit_method",
    "contract",
    "cox",
    "glm",
    "mean_noise",
    "run",
    "survival",
    "table1",
]


if not TYPE_CHECKING:  # type checkers read the names above; this would let any name pass

    def __getattr__(name: str) -> Any:
        # importing JAX takes half a second, so names are loaded when they are first used
        if name in _MODULES:
            return importlib.import_module(_MODULES[name])
        if name in _PACKAGES:
            return importlib.import_module(f"tacit.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'tacit' has no attribute {name!r}{_elsewhere(name)}")
        return getattr(importlib.import_module(_HOMES[name]), name)


def _elsewhere(name: str) -> str:
    """Suggest the module that a public name was moved to or is defined in."""
    # tools look up dunders and submodules, and should not have to wait for JAX
    if name.startswith("_"):
        return ""
    if name == "fit":
        return "; the command `tacit fit` is tacit.glm in Python"
    if name[:1].isupper() and name in importlib.import_module("tacit.method").__all__:
        return f"; it is in tacit.method: from tacit.method import {name}"
    found = importlib.import_module("tacit.checks").close(name, [*__all__, *_MODULES, *_PACKAGES])
    return f"; did you mean {found[0]!r}?" if found else ""


def __dir__() -> list[str]:
    return [*globals(), *__all__]
