"""The algorithm of vantage6, through its mock client."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.hosted import MASKS, Hosted

pytest.importorskip("vantage6.algorithm.tools", reason="vantage6-algorithm-tools is not installed")


@pytest.mark.parametrize("budget", [pytest.param("", marks=pytest.mark.long), MASKS])
def test_the_algorithm_computes_what_the_simulation_does_to_the_bit(
    tmp_path: Path, budget: str
) -> None:
    from vantage6.algorithm.tools.mock_client import MockAlgorithmClient

    hosted = Hosted(tmp_path, budget)
    tables = [[{"database": pd.DataFrame({"folder": [str(own)]})}] for own in hosted.folders]
    client = MockAlgorithmClient(
        tables, "tacit.adapters.vantage6", organization_ids=[11, 12, 13, 99]
    )
    # the coordinator's own organisation refuses to be a site, and is left out
    task = client.task.create(input_={"method": "central", "kwargs": {}}, organizations=[99])
    (result,) = client.wait_for_results(task["id"])
    expected = hosted.expected()
    assert list(result["answer"].values()) == expected.tolist()
    assert result["noise"].startswith("simulated")
    for number in range(3):
        assert np.array_equal(hosted.solution(number), expected)
