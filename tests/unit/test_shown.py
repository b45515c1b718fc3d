"""What public objects look like where they are printed: a few lines, whatever they hold."""

from typing import Any

import numpy as np
import pytest

import tacit
import tacit.errors
from tacit import network, problem
from tacit.method import FittedRegression
from tests.public_calls import every_call

RECORDS = [np.ones((40, 2))] * 3


def task() -> problem.Problem:
    return problem.empirical_risk(RECORDS, [np.ones(40)] * 3, problem.Logistic())


def test_a_result_is_a_line_a_summary_and_a_table() -> None:
    method = tacit.DPSG(step=0.1, privacy=tacit.Privacy(clip=1.0, epsilon=1.0))
    found = tacit.run(task(), network.ring(3), method, rounds=2, seed=0)
    assert repr(found) == (
        "<Result of 3 agents, 2 rounds, finished: (1, 1e-6)-DP per record, replace-one, proved, "
        "simulated noise>"
    )
    assert repr(found.guarantee[0]).startswith("<Guarantee of agent 0: (1, 1e-6)-DP")
    assert repr(found.history) == "<History of 2 rounds, recorded 3 times: consensus, objective>"
    assert found.summary() == str(found) and "Assumed: the number of records" in found.summary()
    table = found.frame()
    np.testing.assert_array_equal(table["value"], found.solution)
    shown = found._repr_html_()
    assert "<table" in shown and "Simulated noise: not a certificate" in shown


def test_what_is_not_proved_says_so_in_a_line() -> None:
    model = tacit.privacy.plan_gossip(
        network.weight_matrix(network.ring(4)), steps=2, noise_multiplier=2.0
    )
    assert "model claim, not a proof" in repr(model)
    open_ = tacit.account(task(), network.ring(3), tacit.DGD(step=0.1), rounds=2)
    assert repr(open_).endswith("no guarantee>")


def test_tasks_and_networks_are_a_line() -> None:
    assert repr(task()).startswith("<Problem of 3 agents, 2 parameters: EmpiricalRisk")
    assert repr(network.ring(5)) == "<Graph of 5 agents, 10 links, ring>"
    assert repr(network.Coordinator(4)) == "<Coordinator of 4 agents>"


@pytest.mark.slow
def test_whatever_is_public_prints_a_few_lines() -> None:
    long: list[Any] = []
    left_out: set[str] = set()
    for call in every_call():
        try:
            made = call.target(**call.given)
        except tacit.errors.TacitError:
            left_out.add(call.target.__name__)
            continue
        text = repr(made)
        table = isinstance(made, tacit.Regression | tacit.Description | FittedRegression)
        if len(text) > (1500 if table else 720) or text.count("\n") > 18:
            long.append((call.target, len(text), text[:100]))
    assert not long and left_out <= {"check_between_sites"}  # which needs a study of its own
