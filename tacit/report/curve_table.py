"""The curves of a reproduced figure as a table, so that others can be drawn over them."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tacit.escape import cell
from tacit.report.assets import write_page
from tacit.report.reproduction import Reproduction

COLUMNS = ("half", "panel", "curve", "x_axis", "y_axis", "x", "y", "low", "high")
"""Half of the page ("published" or "certified"), titles, names of axes, a point, and the band."""


def write_curves(path: str | os.PathLike[str], found: Reproduction) -> Path:
    """Write a row for every point of every curve, as comma-separated values.

    Args:
        path: path of the file; an older one is replaced whole or not at all.
        found: result of the target.

    Raises:
        RuntimeFailure: the file could not be written.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows([cell(each) for each in row] for row in _rows(found))
    return write_page(path, text.getvalue())


def _rows(found: Reproduction) -> Iterator[tuple[Any, ...]]:
    for half in ("published", "certified"):
        for panel in getattr(found, half):
            for curve in panel.curves:
                nothing = [None] * len(curve.x)
                low, high = curve.low or nothing, curve.high or nothing
                named = (half, panel.title, curve.name, panel.x, panel.y)
                for point in zip(curve.x, curve.y, low, high, strict=True):
                    yield *named, *point
