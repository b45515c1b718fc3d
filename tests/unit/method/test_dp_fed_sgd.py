"""DP-FedSGD: its two clips, what each of them protects, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit
from tacit import Privacy, network, problem
from tacit.errors import ConfigError, PrivacyError
from tacit.method import DPFedSGD, FedAvg, GradientDescent
from tacit.types import Unit

pytestmark = pytest.mark.long

DRAWN = network.Coordinator(3, probability=0.7)
BUDGET = Privacy(clip=0.5, epsilon=4.0)


def task() -> Any:
    rng = np.random.default_rng(1)
    rows = [rng.normal(size=(count, 2)) for count in (4, 9, 30)]
    return problem.empirical_risk(rows, [x @ [1.0, -1.0] for x in rows], problem.Squared())


@pytest.mark.parametrize(
    ("method", "same"),
    [
        (
            DPFedSGD(step=0.3, decay=0.5, privacy=BUDGET),
            GradientDescent(step=0.3, decay=0.5, privacy=BUDGET),
        ),
        (
            DPFedSGD(step=0.3, decay=0.5, release="update", privacy=BUDGET),
            FedAvg(step=0.3, local_steps=1, decay=0.5, release="update", privacy=BUDGET),
        ),
    ],
    ids=["gradients", "updates"],
)
def test_it_is_the_special_case_that_its_page_says(method: Any, same: Any) -> None:
    found, expected = (
        tacit.run(task(), DRAWN, each, rounds=3, seed=0, record=[]) for each in (method, same)
    )
    np.testing.assert_array_equal(found.solution, expected.solution)
    assert found.guarantee.worst == expected.guarantee.worst


def test_gradients_protect_a_record_and_updates_a_client() -> None:
    hub = network.Coordinator(3)
    record = tacit.account(task(), hub, DPFedSGD(step=0.3, privacy=BUDGET), rounds=5)
    whole = DPFedSGD(step=0.3, release="update", privacy=BUDGET)
    client = tacit.account(task(), hub, whole, rounds=5)
    assert {each.unit for each in record.guarantee} == {Unit.RECORD}
    assert {each.unit for each in client.guarantee} == {Unit.AGENT}
    assert [rows[0].sensitivity for rows in record.releases] == [1 / 4, 1 / 9, 1 / 30]
    assert [rows[0].sensitivity for rows in client.releases] == [1.0, 1.0, 1.0]
    assert {each.releases for each in (*record.guarantee, *client.guarantee)} == {5}


def test_a_budget_is_needed_and_must_fit() -> None:
    nothing: Any = None
    with pytest.raises(ConfigError, match="privacy is None"):
        DPFedSGD(step=0.1, privacy=nothing)
    drawn = Privacy(clip=0.5, epsilon=4.0, sampling=0.5, relation="add_remove")
    assert DPFedSGD(step=0.1, privacy=drawn).privacy is drawn
    with pytest.raises(PrivacyError, match=r"sampling=0\.5 draws records"):
        DPFedSGD(step=0.1, release="update", privacy=drawn)
