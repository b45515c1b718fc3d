"""DP-IADMM: what it refuses, where it converges, and where a trust region stops it."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit import Privacy, network, problem
from tacit.errors import ConfigError, NetworkError, ProblemError
from tacit.method import DPIADMMProx, DPIADMMTrust, GrowingPenalty, OutP
from tacit.method._dp_iadmm_step import within_ball, within_cube
from tacit.problem import Ball, Box, Free, Simplex
from tests.conformance.table import task

NOTHING = network.Coordinator(4)
WIDE = Privacy(clip=100.0, noise_multiplier=0.0)
"""No noise, and a clip that no gradient reaches."""


def on(constraint: Any) -> Any:
    rows = [np.ones((2, 2))] * 4
    return problem.empirical_risk(rows, [np.zeros(2)] * 4, problem.Squared(), constraint=constraint)


@pytest.mark.long
@pytest.mark.parametrize(
    "method",
    [
        DPIADMMProx(penalty=0.4, proximity=1e3, privacy=WIDE),
        *(
            pytest.param(method, marks=pytest.mark.slow)
            for method in (
                DPIADMMProx(penalty=0.4, proximity=1e3, point="own", privacy=WIDE),
                DPIADMMTrust(penalty=0.4, privacy=WIDE),
                OutP(penalty=0.4, proximity=1e3, privacy=WIDE),
            )
        ),
    ],
    ids=["prox", "prox, own copies", "trust", "outp"],
)
def test_without_noise_it_reaches_the_centralised_optimum(method: Any) -> None:
    data = task(0)
    result = tacit.run(data, NOTHING, method, rounds=400, seed=0, record=400)
    assert np.linalg.norm(result.solution - data.reference().solution) < 1e-4


@pytest.mark.long
def test_the_printed_trust_region_stops_near_the_start() -> None:
    data = task(0)
    stuck = DPIADMMTrust(penalty=0.4, radius=0.01, trust_region="printed", privacy=WIDE)
    result = tacit.run(data, NOTHING, stuck, rounds=400, seed=0, record=400)
    assert np.max(np.abs(data.reference().solution)) > 0.1
    assert 0.01 < np.max(np.abs(result.solution)) < 0.01 * np.pi**2 / 6


@pytest.mark.usefixtures("float64")
def test_nearest_points_of_trust_regions() -> None:
    z, far, near = jnp.array([1.0, 1.0]), jnp.array([4.0, 5.0]), jnp.array([1.1, 1.0])
    assert within_cube(far, z, 0.5).tolist() == [1.5, 1.5]
    np.testing.assert_allclose(within_ball(far, z, 0.5), [1.3, 1.4], atol=1e-15)
    for nearest in (within_cube, within_ball):
        np.testing.assert_allclose(nearest(near, z, 0.5), near)
        np.testing.assert_allclose(nearest(z, z, 0.5), z)


def test_the_printed_penalty_grows_to_its_limit() -> None:
    schedule = GrowingPenalty(5.0, base=2.0, inverse=5.0, every=10)
    assert [schedule(t) for t in (0, 8, 9)] == pytest.approx([3.0, 3.0, 3.4])
    assert schedule(100_000) == 1e9
    traced = [float(schedule(jnp.asarray(float(t)))) for t in (0, 8, 9, 100_000)]
    assert traced == pytest.approx([3.0, 3.0, 3.4, 1e9], rel=1e-6)
    assert GrowingPenalty(float("inf"))(0) == 2.0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: DPIADMMProx(penalty=0.0), "penalty=0.0"),
        (lambda: DPIADMMProx(proximity=-1.0), "proximity=-1.0"),
        (lambda: DPIADMMTrust(radius=float("inf")), "radius=inf"),
        (lambda: OutP(penalty=-1), "penalty=-1"),
        (lambda: OutP(proximity=0), "proximity=0"),
        (lambda: GrowingPenalty(0.0), "epsilon=0.0"),
        (lambda: GrowingPenalty(1.0, base=0.0), "base=0.0"),
        (lambda: GrowingPenalty(1.0, inverse=-1.0), "inverse=-1.0"),
        (lambda: GrowingPenalty(1.0, every=0), "every=0"),
    ],
)
def test_numbers_out_of_range(build: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build()


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [(DPIADMMProx, "point"), (DPIADMMTrust, "trust_region"), (DPIADMMTrust, "norm")],
)
def test_unknown_words(kind: Any, wrong: str) -> None:
    method = kind()
    object.__setattr__(method, wrong, "other")  # past the check of the annotation
    with pytest.raises(ConfigError, match=f"{wrong}='other' must be"):
        method.__check_init__()


@pytest.mark.parametrize("method", [DPIADMMProx(), DPIADMMTrust(), OutP()])
def test_clients_that_are_drawn_are_refused(method: Any) -> None:
    with pytest.raises(NetworkError, match="all of them in every round"):
        method.check(on(Free()), network.Coordinator(4, probability=0.5))


def test_sets_for_which_there_is_a_closed_form() -> None:
    for constraint in (Free(), Box(0.0, 1.0), Ball(1.0), Simplex(1.0)):
        DPIADMMProx().check(on(constraint), NOTHING)
    DPIADMMTrust().check(on(Box(0.0, 1.0)), NOTHING)
    DPIADMMTrust(norm="euclidean").check(on(Free()), NOTHING)
    with pytest.raises(ProblemError, match=r"of Ball and a trust region.*DPIADMMProx"):
        DPIADMMTrust().check(on(Ball(1.0)), NOTHING)
    with pytest.raises(ProblemError, match=r"Box and a trust region.*norm='infinity'"):
        DPIADMMTrust(norm="euclidean").check(on(Box(0.0, 1.0)), NOTHING)
    with pytest.raises(ProblemError, match="would leave Box; use DPIADMMProx"):
        OutP().check(on(Box(0.0, 1.0)), NOTHING)
