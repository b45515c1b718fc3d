"""Sweeps: a study in many settings and with many seeds, in one table and one page.

`Grid` defines what is varied, and `sweep` runs it: batched on one core, on several, or on a Dask
cluster. `tacit sweep` does the same from the command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit._jobs.cluster import Cluster
from tacit.checks import absent
from tacit.sweep.cells import Cell, Plan, plan
from tacit.sweep.grid import Grid
from tacit.sweep.run import Sweep, finish, sweep, waiting
from tacit.sweep.table import Runs
from tacit.sweep.written import read_grid

__all__ = [
    "Cell",
    "Cluster",
    "Grid",
    "Plan",
    "Runs",
    "Sweep",
    "finish",
    "plan",
    "read_grid",
    "sweep",
    "waiting",
]


if not TYPE_CHECKING:  # type checkers read the names above; this would let any name pass

    def __getattr__(name: str) -> Any:
        raise absent(__name__, name, __all__)
