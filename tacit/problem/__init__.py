"""What the agents minimise: private objectives, a public regulariser and a public constraint."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "erm": ("EmpiricalRisk",),
    "bounds": ("RecordBounds",),
    "records": ("Weighting", "empirical_risk"),
    "cost": ("Cost", "costs"),
    "convex_cost": ("ConvexCost", "convex_costs"),
    "problem": ("Problem",),
    "task": ("Records", "Rows", "Task", "record_tables"),
    "public": ("Public",),
    "smoothness": ("curvature", "smooth"),
    "reference": ("Reference", "solve"),
    "losses": (
        "LOSSES",
        "AbstractLinearLoss",
        "AbstractLoss",
        "AbstractScalarLoss",
        "Hinge",
        "Huber",
        "JaxLoss",
        "Logistic",
        "Poisson",
        "Quantile",
        "Softmax",
        "Squared",
    ),
    "regularisers": (
        "REGULARISERS",
        "AbstractRegulariser",
        "L1",
        "L2",
        "ElasticNet",
        "GroupL1",
        "NoRegulariser",
    ),
    "constraint": (
        "CONSTRAINTS",
        "AbstractConstraint",
        "Affine",
        "Ball",
        "Box",
        "ConvexSet",
        "Free",
        "Polyhedron",
        "Simplex",
    ),
    "boxes": ("BlackBox", "CostBox", "RecordBox"),
    "blackbox": ("black_box", "black_box_problem", "record_box"),
    "noise": ("Noise", "measure_noise"),
    "simulator": ("AbstractBlackBox",),
    "stored": ("forget_failures",),
}
"""The module that defines each public name; it is imported when the name is first used."""

_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        from tacit.checks import absent

        raise absent(__name__, name, __all__)
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
