"""Parts of the output that the runs of tests/end_to_end do not reach."""

import errno
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.config import read_study
from tacit.errors import RuntimeFailure
from tacit.output import Destination, write
from tacit.output.files import jsonable
from tacit.output.page import report_data
from tacit.output.words import chosen_metric, findings, protection, summary
from tacit.report.data import released_only
from tacit.study import Outcome, assemble, execute
from tests.end_to_end.study import changed
from tests.end_to_end.study import write as write_study


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    text = changed('"dpsg"\nstep = 0.5', '"dgd"\nstep = 0.5').replace("hold_out = 0.2\n", "")
    text = changed("[privacy]\nepsilon = 1.0\ndelta = 1e-6\nclip = 1.0\n", "", text)
    text = changed("seed = 0", "seed = 0\ncompare = false", text)
    path = write_study(tmp_path_factory.mktemp("study"), text)
    return execute(assemble(read_study(path)))


def test_json_has_no_infinite_numbers() -> None:
    found = jsonable({"a": np.array([1.0, np.inf]), 3: (np.float64(-np.inf), float("nan"))})
    assert found == {"a": [1.0, "inf"], "3": ["-inf", None]}


def test_a_run_without_privacy_says_so(outcome: Outcome) -> None:
    assert "Nothing is protected" in protection(outcome)[0]
    assert outcome.reference is None
    assert findings(outcome) == []
    assert "4 sites" in summary(outcome)[0]


def test_the_report_of_such_a_run(outcome: Outcome) -> None:
    data = report_data(outcome, files=())
    assert data.guarantee_status == "none"
    assert data.noise == "none"
    assert data.accuracy is None
    assert data.epsilon_budget is None
    assert data.network is not None
    assert data.network.edges == [(0, 1), (0, 3), (1, 2), (2, 3)]
    assert "pooled" not in data.coefficients[0]
    assert "objective" not in released_only(data).history


def test_a_full_disk_leaves_nothing(
    outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    destination = Destination(tmp_path / "results")
    destination.prepare()
    destination.checkpoint.write_text("saved")
    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(RuntimeFailure, match=r"No space left on device.*--resume"):
        write(outcome, destination)
    assert [path.name for path in tmp_path.iterdir()] == ["results.checkpoint"]


def test_a_score_that_is_not_defined_is_not_chosen() -> None:
    assert chosen_metric({"loss": 1.0, "auc": float("nan"), "accuracy": 0.5}) == "accuracy"
    assert chosen_metric({"loss": 1.0}) == "loss"
