"""The objective at the start and at the answer, where evaluations fail."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tacit._engine.ends import ends
from tacit.cli import app
from tacit.problem import black_box_problem

ANSWER = [0.5, 0.5]


class Flaky:
    """A cost that fails the first times it is asked at the answer."""

    def __init__(self, failures: int) -> None:
        self.left, self.asked = failures, 0

    def __call__(self, x: np.ndarray, agent: int) -> float:
        if not np.allclose(x, ANSWER):
            return 1.0
        self.asked += 1
        if self.left:
            self.left -= 1
            raise RuntimeError("the licence server was busy")
        return 2.0


@pytest.mark.parametrize(
    ("on_failure", "tries", "failures", "asked", "value"),
    [
        ("stop", None, 1, 1, math.nan),
        ("retry", None, 2, 3 + 1, 4.0),
        ("skip", None, 1, 2, math.nan),
        ("skip", 3, 2, 3 + 1, 4.0),
    ],
)
def test_a_failure_is_tried_again_as_it_is_during_a_run(
    on_failure: Any, tries: int | None, failures: int, asked: int, value: float
) -> None:
    cost = Flaky(failures)
    task = black_box_problem(cost, agents=2, x0=[0.0, 0.0], on_failure=on_failure, tries=tries)
    first, last = ends(task, np.array(ANSWER)) or (0.0, 0.0)
    assert first == 2.0 and cost.asked == asked
    np.testing.assert_equal(last, value)


STUDY = """\
[problem]
x0 = [0.0]
[problem.simulator]
function = "failing_at_the_answer:cost"
on_failure = "skip"
[partition]
sites = ["north", "south"]
[network]
graph = "coordinator"
[method]
name = "or-zo"
step = 0.1
[run]
rounds = 4
"""
MODULE = """\
calls = []
def cost(x, agent):
    calls.append(x)
    if len(calls) > 2 * 2 * 10 * 4 + 2 + 2:  # the run, the look at the start twice, and the start
        raise RuntimeError("the disk is full")
    return float((x[0] - 1) ** 2)
"""


def test_a_failed_evaluation_at_the_end_is_told_once_and_as_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "failing_at_the_answer.py").write_text(MODULE)
    (tmp_path / "study.toml").write_text(STUDY)
    done = CliRunner().invoke(app, ["run", str(tmp_path / "study.toml")])
    assert done.exit_code == 0, done.output
    assert re.findall(r"Evaluating the objective at the answer failed .*", done.output) == [
        "Evaluating the objective at the answer failed or was interrupted, so nothing says whether "
        "the answer is better than the start. It is 2 at the start. The run was over by then, and "
        "its answer stands."
    ]
    assert "nan" not in done.output
