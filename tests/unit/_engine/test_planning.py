"""What masks save: the noise that `run` adds, and that of its alternatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import network, problem
from tacit._engine.planning import account, contract, mean_noise
from tacit.errors import ConfigError
from tacit.method import (
    DGD,
    DPSG,
    ORZO,
    ZOOADMM,
    DPIADMMProx,
    DPIADMMTrust,
    DZOAStar,
    FedAvg,
    GradientDescent,
)
from tacit.privacy import Masks, Privacy

AGENTS, ROUNDS = 6, 40
COUNTS = (60, 80, 100, 120, 140, 160)


def task(counts: tuple[int, ...] = (100,) * AGENTS) -> Any:
    rows = [np.ones((count, 2)) for count in counts]
    return problem.empirical_risk(rows, [np.ones(c) for c in counts], problem.Squared())


def budget(masks: Masks | None = None, **values: Any) -> Privacy:
    given: dict[str, Any] = {"epsilon": 1.0} | values
    return Privacy(clip=1.0, masks=masks, **given)


HUB = network.Coordinator(AGENTS)


def compared(private: Any, hub: Any = HUB, counts: Any = (100,) * AGENTS) -> Any:
    found = mean_noise(task(counts), hub, private, rounds=ROUNDS)
    assert found is not None
    return found


def added(private: Any, hub: Any = HUB, counts: Any = (100,) * AGENTS) -> float:
    """Standard deviation of the noise in the mean that a run adds, when all take part."""
    planned = account(task(counts), hub, private, rounds=ROUNDS)
    scales = [rows[0].noise_scale for rows in planned.releases]
    return float(np.linalg.norm(scales)) / AGENTS


def test_equal_agents_follow_the_law() -> None:
    found = compared(GradientDescent(step=1.0, privacy=budget()))
    assert (found.agents, found.cohort, found.attempts) == (AGENTS, AGENTS, ROUNDS)
    relative = (np.array([found.local, *found.masked]) / found.central) ** 2
    np.testing.assert_allclose(relative, [6.0, 1.0, 6 / 5, 6 / 4, 6 / 3, 6 / 2, 6.0])
    assert found.coalition is None and not found.bare
    assert found.gain(1) == pytest.approx(np.sqrt(5))


@pytest.mark.long
@pytest.mark.parametrize(
    "values",
    [
        {},
        {"noise_multiplier": 7.0, "epsilon": None},
        {"epsilon": np.linspace(0.5, 3.0, AGENTS)},
        {"records_per_person": 2},
    ],
    ids=["budget", "multiplier", "budgets", "persons"],
)
@pytest.mark.parametrize(
    "masks",
    [
        pytest.param(Masks(), marks=pytest.mark.long),
        *(pytest.param(m, marks=pytest.mark.slow) for m in (Masks(3), Masks(1, 4))),
        Masks(2, attempts=90),
    ],
)
def test_it_is_the_noise_that_a_run_adds(masks: Masks, values: Any) -> None:
    private = GradientDescent(step=1.0, privacy=budget(masks, **values))
    found = compared(private, counts=COUNTS)
    assert found.coalition == masks.coalition
    assert found.masked[masks.coalition] == pytest.approx(added(private, counts=COUNTS))
    alone = GradientDescent(step=1.0, privacy=budget(**values))
    if "noise_multiplier" not in values:
        assert found.local == pytest.approx(added(alone, counts=COUNTS))
    assert mean_noise(task(COUNTS), HUB, alone, rounds=ROUNDS) is not None


def test_sums_that_are_given_up_are_paid_for() -> None:
    hub = network.Coordinator(AGENTS, dropout=0.05)
    private = GradientDescent(step=1.0, privacy=budget(Masks(1, 4)))
    found = compared(private, hub)
    assert found.cohort == 4 and found.attempts > ROUNDS
    assert found.masked[1] == pytest.approx(added(private, hub), rel=0.05)
    # of sites that differ the neediest one decides: noise of each may be less
    unlike = compared(GradientDescent(step=1.0, privacy=budget(Masks(4))), counts=COUNTS)
    assert unlike.gain(4) < 1.0 and not unlike.bare
    assert compared(GradientDescent(step=1.0, privacy=budget(Masks(5)))).bare


@pytest.mark.long
@pytest.mark.parametrize(
    "private",
    [
        FedAvg(step=1.0, release="update", privacy=budget()),
        DZOAStar(privacy=budget()),
        DPIADMMProx(privacy=budget()),
        DPIADMMTrust(privacy=budget()),
        ORZO(step=0.1, privacy=budget()),
        ZOOADMM(step=0.1, privacy=budget()),
    ],
    ids=lambda method: method.name,
)
def test_methods_that_could_be_masked(private: Any) -> None:
    found = compared(private)
    assert found.local == pytest.approx(np.sqrt(6) * found.central)
    sums = network.ExactSum(network.ring(AGENTS), by="tree")
    again = compared(private, sums)
    assert again.local == pytest.approx(found.local)


@pytest.mark.parametrize(
    ("private", "hub"),
    [
        (GradientDescent(step=1.0), HUB),
        (FedAvg(step=1.0, privacy=budget()), HUB),
        (DPIADMMProx(point="own", privacy=budget()), HUB),
        (GradientDescent(step=1.0, privacy=budget(noise="laplace")), HUB),
        (GradientDescent(step=1.0, privacy=budget(sites_per_person=2)), HUB),
        (GradientDescent(step=1.0, privacy=budget(epsilon=np.inf)), HUB),
        (GradientDescent(step=1.0, privacy=budget(epsilon=None, noise_multiplier=0.0)), HUB),
        (GradientDescent(step=1.0, privacy=budget()), network.Coordinator(AGENTS, 0.5)),
        (DPSG(step=1.0, privacy=budget()), network.ring(AGENTS)),
    ],
)
def test_where_masks_cannot_be_used_there_is_nothing_to_compare(private: Any, hub: Any) -> None:
    assert mean_noise(task(), hub, private, rounds=ROUNDS) is None


class Looks(DGD):
    """Chooses something by the data before a run."""

    def prepare(self, problem: Any, network: Any) -> DGD:
        raise AssertionError("an account looks at declared numbers only")


def test_an_account_lets_no_method_look_at_the_data() -> None:
    stated = account(task(), network.ring(AGENTS), Looks(step=0.1), rounds=2).guarantee
    assert stated.worst.epsilon == np.inf


@pytest.mark.parametrize("stops", [[-1, 31], [31], [1.5], "ab", [[1]], 3])
def test_rounds_that_are_none_are_refused(stops: Any) -> None:
    agreed = contract(task(), HUB, GradientDescent(step=0.1, privacy=budget()), rounds=30)
    for asked in (agreed.evaluations, agreed.taken, agreed.spent):
        with pytest.raises(ConfigError, match="stops"):
            asked(stops)


def test_phases_and_owners_that_are_none_are_refused() -> None:
    agreed = contract(task(), HUB, GradientDescent(step=0.1, privacy=budget()), rounds=30)
    for place in (-1, 99, 1.5, "a"):
        with pytest.raises(ConfigError, match=f"phase={place!r}"):
            agreed.release(place, 0)
        with pytest.raises(ConfigError, match=f"phase={place!r}"):
            agreed.spread(place)
        with pytest.raises(ConfigError, match=f"agent={place!r}"):
            agreed.table_of(place)
    silent = next(k for k, phase in enumerate(agreed.phases) if phase.release is None)
    with pytest.raises(ConfigError, match="releases nothing"):
        agreed.release(silent, 0)


@pytest.mark.parametrize("points", ["all", -3, 0, 2.5])
def test_points_of_a_curve_are_counted(points: Any) -> None:
    found = account(task(), HUB, GradientDescent(step=1.0, privacy=budget()), rounds=10)
    with pytest.raises(ConfigError, match="points="):
        found.curve(points)
    assert len(found.curve(1)) == 1
