"""Results of a sweep that are made up."""

from __future__ import annotations

import math
from typing import Any

from tacit.sweep import Plan, Runs


def ended(planned: Plan, *objectives: list[float], **further: Any) -> list[Runs]:
    """One list of objectives a cell; a run without a finite one diverged."""
    return [
        Runs.of(
            cell,
            [
                {
                    "finished": [math.isfinite(v) for v in row],
                    "measured": {"objective": row, **further},
                }
            ],
            planned.seeds,
        )
        for cell, row in zip(planned.cells, objectives, strict=True)
    ]
