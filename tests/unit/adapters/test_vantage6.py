"""The algorithm of vantage6: its folder and bags, and runs through its mock client."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tacit.adapters.bag import REFUSED, Bag
from tacit.adapters.vantage6 import turn
from tacit.errors import ConfigError
from tests.hosted import MASKS, Hosted


@pytest.mark.parametrize(
    "mounted", [{}, {"FOLDER_DATABASE_URI": ""}, {"FOLDER_DATABASE_URI": "/no/such/folder"}]
)
def test_a_task_without_a_mounted_folder_is_refused(
    mounted: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosted = Hosted(tmp_path, rounds=1)
    monkeypatch.chdir(hosted.folders[0])  # what an empty path would mean
    monkeypatch.setenv("USER_REQUESTED_DATABASE_LABELS", "folder,other")
    for name, value in mounted.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match="name a database of the node's configuration"):
        turn("{}")


def test_text_that_is_no_bag_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hosted = Hosted(tmp_path, rounds=1)
    monkeypatch.setenv("USER_REQUESTED_DATABASE_LABELS", "folder")
    monkeypatch.setenv("FOLDER_DATABASE_URI", str(hosted.folders[0]))
    assert Bag.read(turn("\ud800").encode()) == Bag("", REFUSED)


@pytest.mark.parametrize("budget", [pytest.param("", marks=pytest.mark.long), MASKS])
def test_the_algorithm_computes_what_the_simulation_does_to_the_bit(
    tmp_path: Path, budget: str
) -> None:
    tools = pytest.importorskip(
        "vantage6.algorithm.tools.mock_client", reason="vantage6-algorithm-tools is not installed"
    )

    hosted = Hosted(tmp_path, budget)
    tables = [[{"database": pd.DataFrame({"folder": [str(own)]})}] for own in hosted.folders]
    client = tools.MockAlgorithmClient(
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
