"""A sweep that is made up: two budgets of one method, one without noise, a study to quote."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from tacit.report.sweep import Series, SweepData


def sweep_sample(**changed: Any) -> SweepData:
    cells = [
        {
            **{"case": "Gradient tracking", "method": "gradient-tracking", "step": 0.5},
            **{"decay": 0.5, "network": "erdos_renyi (probability 0.3, seed 1)"},
            **{"epsilon": b, "guarantee": "proved", "mean": m, "standard_error": 0.01234},
        }
        for b, m in ((0.5, 0.7), (1.0, 0.8))
    ]
    data = SweepData(
        title="Visits <b>&</b>",
        summary="30 runs: 3 cells with 10 seeds each.",
        warnings=["Simulation only.", "Runs add up."],
        measure="AUC",
        axis="epsilon of one run",
        logarithmic=False,
        series=[
            Series("dpsg", [0.5, 1.0], [0.7, 0.8], [0.02, math.nan]),
            Series("dgd <i>", [None], [0.9], [math.nan], level=True),
        ],
        cells=cells,
        alike="In all cells: rounds 20.",
        others={"accuracy": cells},
        study='title = "Visits </pre><script>"',
        notes=["The records are made up."],
        environment={"python": "3.11"},
    )
    return replace(data, **changed)
