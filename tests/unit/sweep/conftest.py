"""A sweep that is planned, and need not run."""

from __future__ import annotations

import pytest

from tacit.study import read_study
from tacit.sweep import Grid, Plan, plan
from tests.end_to_end import study


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """Two budgets and a method without noise."""
    source = read_study(study.write(tmp_path_factory.mktemp("study")))
    return plan(source, Grid(3, ("dpsg", "dgd"), {"privacy.epsilon": (1.0, 2.0)}))
