"""A loss of which only values can be had."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import tacit
from tacit.errors import OracleError, ProblemError
from tacit.method import ORZO
from tacit.network import Coordinator
from tacit.problem import AbstractBlackBox, Squared, empirical_risk
from tacit.problem.records import objective_of
from tacit.problem.simulator import tried
from tacit.testing import check_loss


class Residual(AbstractBlackBox):
    """The squared residual, in plain Python; it fails where a target is 13, and has no loss at 7.

    Args:
        scale: of the loss.
    """

    scale: float = 1.0

    def value(self, x: Any, row: Any, target: float) -> float:
        if target == 13.0:
            raise ValueError("thirteen")
        return float("nan") if target == 7.0 else self.scale * float(row @ x - target) ** 2


RNG = np.random.default_rng(0)
ROWS = [RNG.uniform(-1.0, 1.0, (count, 2)) for count in (5, 3, 4)]
TARGETS = [rows @ [0.5, -0.5] for rows in ROWS]
POINT = np.array([0.3, 0.2])


def test_its_objective_is_that_of_the_same_loss_written_out() -> None:
    box = empirical_risk(ROWS, TARGETS, Residual())
    assert box.value(POINT) == pytest.approx(
        empirical_risk(ROWS, TARGETS, Squared()).value(POINT), rel=1e-14
    )
    assert box.objectives.calls == 3
    assert "Residual" in box.objectives.assumptions[0]


@pytest.mark.slow
def test_methods_that_ask_for_values_run_and_others_are_refused() -> None:
    box = empirical_risk(ROWS, TARGETS, Residual(0.5))
    written = empirical_risk(ROWS, TARGETS, Squared())
    budget = tacit.Privacy(clip=1.0, noise_multiplier=1.0)
    method, star = ORZO(step=0.05, directions=2, privacy=budget), Coordinator(3)
    found = tacit.run(box, star, method, rounds=3, seed=1)
    assert np.isfinite(found.solutions).all() and found.guarantee.worst.status.value == "proved"
    same = empirical_risk(ROWS, TARGETS, Residual(1.0))
    np.testing.assert_allclose(
        tacit.run(same, star, method, rounds=3, seed=1).solutions,
        tacit.run(written, star, method, rounds=3, seed=1).solutions,
        rtol=1e-6,
    )
    with pytest.raises(ProblemError, match="asks for gradients"):
        tacit.run(box, star, tacit.GradientDescent(step=0.1), rounds=1)


@pytest.mark.parametrize("target", [7.0, 13.0])
def test_what_a_record_does_is_not_seen_at_a_site(target: float) -> None:
    """A failure ends a simulation; at a site the record counts 0, as one without a loss."""
    bad = TARGETS[1].copy()
    bad[1] = target
    box = empirical_risk(ROWS, [TARGETS[0], bad, TARGETS[2]], Residual())
    if target == 13.0:
        with pytest.raises(OracleError, match="agent 1 raised ValueError: thirteen"):
            box.value(POINT)
    with jax.enable_x64(True):
        own = objective_of(box, 1, ROWS[1], bad, size=6)
        losses = np.asarray(own.losses(POINT))
    own.raise_pending()
    assert losses.shape == (6,) and np.isnan(losses).tolist() == [False, True, *[False] * 4]
    expected = (ROWS[1] @ POINT - bad) ** 2
    np.testing.assert_allclose(losses[[0, 2]], expected[[0, 2]], rtol=1e-14)
    assert not losses[3:].any()


def test_an_owner_is_told_where_its_simulator_raises() -> None:
    box = empirical_risk(ROWS, TARGETS, Residual())
    own = objective_of(box, 1, ROWS[1], np.array([13.0, 7.0, 1.0]), size=6)
    told = tried(own, POINT)
    assert told.startswith("it raises at the start for 1 of the 3 records")
    assert told.endswith("ValueError: thirteen") and own.calls == 0
    assert tried(objective_of(box, 1, ROWS[1], TARGETS[1], size=6), POINT) == ""


def test_rows_cannot_be_written_to() -> None:
    class Writing(Residual):
        def value(self, x: Any, row: Any, target: float) -> float:
            row[0] = 1.0
            return 0.0

    box = empirical_risk(ROWS, TARGETS, Writing())
    with pytest.raises(OracleError, match="read-only"):
        box.value(POINT)


def test_it_can_be_checked() -> None:
    check_loss(Residual(), [0.0, 1.0])
    with pytest.raises(AssertionError, match="not finite"):
        check_loss(Residual(), [7.0])

    class Drifting(Residual):
        def value(self, x: Any, row: Any, target: float) -> float:
            return float(RNG.uniform())

    with pytest.raises(AssertionError, match="asked again"):
        check_loss(Drifting())
