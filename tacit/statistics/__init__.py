"""Statistics of tables over sites: regression, table 1, survival curves and Cox regression.

Every function takes a table, runs in this process with simulated noise, and says what sites would
get.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit.checks import absent
from tacit.statistics.hazard_ratios import Cox, cox
from tacit.statistics.regression import Regression, glm
from tacit.statistics.survival_curves import Survival, survival
from tacit.statistics.table_one import Description, table1

__all__ = [
    "Cox",
    "Description",
    "Regression",
    "Survival",
    "cox",
    "glm",
    "survival",
    "table1",
]


if not TYPE_CHECKING:  # type checkers read the names above; this would let any name pass

    def __getattr__(name: str) -> Any:
        raise absent(__name__, name, __all__)
