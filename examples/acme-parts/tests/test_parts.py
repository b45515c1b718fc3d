"""The parts are held to what tacit's own are held to."""

from __future__ import annotations

import numpy as np
import pytest
from acme_parts.log_cosh import LogCosh
from acme_parts.momentum import Momentum
from acme_parts.wheel import Wheel

from tacit import Privacy, network, problem
from tacit.testing import check_claim, check_graph, check_loss, check_method

BUDGET = Privacy(clip=0.5, epsilon=2.0, delta=1e-5)
HALF = Privacy(clip=0.5, epsilon=2.0, delta=1e-5, relation="add_remove", sampling=0.5)


def task() -> problem.Problem:
    """Four sites with a few records each."""
    rng = np.random.default_rng(0)
    features = [rng.uniform(-1.0, 1.0, size=(count, 3)) for count in (9, 7, 9, 5)]
    targets = [rows @ [1.0, -1.0, 0.5] for rows in features]
    return problem.empirical_risk(features, targets, LogCosh(scale=2.0), normaliser=8.0)


@pytest.mark.parametrize("privacy", [BUDGET, HALF], ids=["all records", "sampled records"])
def test_momentum(privacy: Privacy) -> None:
    """Its messages, its query, its bits."""
    check_method(task(), network.ring(4), Momentum(step=0.3, privacy=privacy))


def test_the_claim_of_momentum() -> None:
    """It survives an audit."""
    check_claim(task(), network.ring(4), Momentum(step=0.3, privacy=BUDGET))


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_log_cosh(scale: float) -> None:
    """Value, derivative and what it states of them."""
    check_loss(LogCosh(scale), [-1.0, 0.0, 2.5])


@pytest.mark.parametrize("hub", [0, 2])
def test_wheel(hub: int) -> None:
    """Connected, and the same when drawn again."""
    check_graph(Wheel(hub))
