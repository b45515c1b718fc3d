"""What a site's own log says of its simulator."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from tacit import problem
from tacit.deploy.member.process import _tell_failures


def test_an_owner_reads_where_its_simulator_gave_no_value(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def cost(x: np.ndarray, agent: int) -> float:
        return float("nan") if x[0] > 0.5 else 1.0

    def losses(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.where(rows > x[0], np.inf, 0.0)

    whole = problem.black_box_problem(cost, agents=2, x0=[0.0], on_failure="skip").objectives
    records = problem.black_box_problem(losses, [np.arange(3.0)] * 2, x0=[0.0]).objectives
    whole.host.evaluate(np.array([[0.0], [0.75]]), [0, 0])
    records.host.evaluate(np.array([[1.0]]), [0])
    with caplog.at_level(logging.WARNING, logger="tacit.site"):
        _tell_failures(whole)
        _tell_failures(records)
    some, lost = (each.getMessage() for each in caplog.records)
    assert "some evaluations of this site's simulator" in some
    assert "returned nan, which is not a finite number, at x0 = 0.75" in some
    assert ": 1, the first that of its record 2 at x0 = 1" in lost
    whole.host.evaluate(np.array([[0.75]]), [1])
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="tacit.site"):
        _tell_failures(whole)
    assert caplog.records[1].getMessage().startswith("every evaluation of this site's simulator")
