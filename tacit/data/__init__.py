"""Tables in, numbers out: read files, declare columns, encode records, divide them by site."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "cells": ("Column", "columns_of"),
    "design": ("Design", "design_of"),
    "formula": ("parse_formula", "parse_terms"),
    "maps": ("AbstractMap", "OrientedGradients", "Terms"),
    "feature": ("AbstractFeature",),
    "target": ("AbstractTarget",),
    "partitions": ("AbstractPartition",),
    "loaders": ("load", "load_idx", "load_npz", "load_parquet"),
    "csv_files": ("load_csv",),
    "excel": ("load_excel",),
    "frames": ("ArrowTable", "from_frame"),
    "schema": (
        "BinaryTarget",
        "Boolean",
        "Categorical",
        "ClassTarget",
        "Date",
        "Numeric",
        "NumericTarget",
        "Prepared",
        "Schema",
    ),
    "table": ("prepare",),
    "partition": (
        "Sites",
        "by_column",
        "dirichlet",
        "drawn",
        "even",
        "sorted_by_label",
        "train_test_split",
    ),
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
