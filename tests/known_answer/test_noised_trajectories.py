"""Baselines over their noise: the same draws, fed to a few lines of NumPy from each source's form.

Four agents with 3, 4, 5 and 6 records in three dimensions, a squared loss and a ridge penalty, of
which each has a fourth, so that its share's gradient is `b / 4`. Nothing is clipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import tacit
from tacit import DPSG, GradientDescent, Privacy, network, problem
from tacit._engine.keys import PhaseKeys, agent_secret, phase_keys, trial_key
from tacit.method import DPADMM, DPIADMMProx, DPIADMMTrust, FedAvg, OutP
from tacit.papers.gratton2021.dp_admm import DPADMMPrinted
from tacit.papers.gratton2021.dvp import DVPPrinted
from tacit.papers.gratton2021.pvp import PVPPrinted
from tacit.papers.ryu2021.dp_iadmm import DPIADMMPrinted
from tacit.papers.ryu2021.outp_as_coded import OutPAsCoded
from tests.quick import only

SEED, ROUNDS, K, P = 3, 4, 4, 3
COUNTS = np.array([3, 4, 5, 6])
RHO, STEP, FAR, Z = 0.7, 0.4, 1e6, 0.3
EPSILON, DELTA, BOUND = 0.5, 1e-3, 0.2
CLAIMED = np.sqrt(2.1 * np.log(1.25 / DELTA)) / EPSILON
RNG = np.random.default_rng(0)
ROWS = [RNG.normal(size=(n, P)) / 2 for n in COUNTS]
ANSWERS = [RNG.normal(size=n) for n in COUNTS]
LINKS = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]], dtype=float)
SILENT = Privacy(clip=FAR, noise_multiplier=Z / FAR)
"""A clip that nothing reaches: replacing a record moves a gradient by `2 FAR / N_k`."""

Draw = Callable[[int, int], Any]
"""From an agent and a round, from 1, to its standard noise."""


def slope(k: int, b: Any) -> Any:
    """The gradient of agent k's mean loss."""
    return 2 * ROWS[k].T @ (ROWS[k] @ b - ANSWERS[k]) / COUNTS[k]


def drawn(kind: Callable[..., Any], field: str, phase: int, repeat: int = 0) -> Draw:
    def draw(k: int, t: int) -> Any:
        with jax.enable_x64(True):
            secret = agent_secret(trial_key(SEED, 0), k)
            keys: PhaseKeys = phase_keys(secret, t - 1, phase, repeat)
            return np.asarray(kind(getattr(keys, field), (P,)))

    return draw


def gradient_descent(noise: Draw) -> Any:
    """The mean of all noised gradients; the ridge by its proximal map."""
    b = np.zeros(P)
    for t in range(1, ROUNDS + 1):
        g = [slope(k, b) + Z * 2 / COUNTS[k] * noise(k, t) for k in range(K)]
        b = (b - STEP * np.mean(g, axis=0)) / (1 + STEP / K)
    return b


LOCAL, PROXIMAL, SERVER = 3, 0.2, 0.8


def fed_avg(noises: list[Draw]) -> Any:
    """Li et al. (2020): local steps on the loss, the ridge and (m / 2) |x_k - w|^2, then the mean.

    The ridge of a share by its proximal map.
    """
    w = np.zeros(P)
    for t in range(1, ROUNDS + 1):
        local = np.tile(w, (K, 1))
        for k in range(K):
            for noise in noises:
                g = slope(k, local[k]) + Z * 2 / COUNTS[k] * noise(k, t)
                away = local[k] - w
                local[k] = (local[k] - STEP * (g + PROXIMAL * away)) / (1 + STEP / K)
        w = w + SERVER * (np.mean(local, axis=0) - w)
    return w


def fed_avg_of_updates(noise: Draw) -> Any:
    """McMahan et al. (2018), algorithm 1: the mean of all noised changes of the model."""
    w = np.zeros(P)
    for t in range(1, ROUNDS + 1):
        changes = []
        for k in range(K):
            local = w.copy()
            for _ in range(LOCAL):
                g = slope(k, local) + PROXIMAL * (local - w)
                local = (local - STEP * g) / (1 + STEP / K)
            changes.append(local - w + Z * 2 * noise(k, t))
        w = w + SERVER * np.mean(changes, axis=0)
    return w


def dpsg(noise: Draw) -> Any:
    """b_k <- sum_l W_kl b_l - s_t (g_k + noise), Metropolis weights of a ring: thirds."""
    weights = (LINKS + np.eye(K)) / 3
    b = np.zeros((K, P))
    for t in range(1, ROUNDS + 1):
        g = [slope(k, b[k]) + b[k] / K + Z * 2 / COUNTS[k] * noise(k, t) for k in range(K)]
        b = weights @ b - STEP / np.sqrt(t) * np.array(g)
    return b


def dp_admm(noise: Draw, scale: float) -> Any:
    """Huang et al. (2020), algorithm 2; `scale / N_k` over `rho + 1/eta` is a solution's noise."""
    w, own, dual = np.zeros(P), np.zeros((K, P)), np.zeros((K, P))
    for t in range(1, ROUNDS + 1):
        inverse = np.sqrt(t) / STEP
        for k in range(K):
            g = slope(k, own[k]) + own[k] / K / 2 * 2 / 1
            exact = (RHO * w + inverse * own[k] - g + dual[k]) / (RHO + inverse)
            own[k] = exact - scale / (COUNTS[k] * (RHO + inverse)) * noise(k, t)
        w = np.mean(own - dual / RHO, axis=0)
        dual = dual - RHO * (own - w)
    return w


def pvp_or_dvp(noise: Draw, *, dual_noise: bool) -> Any:
    """Zhang, Zhu (2017): noise on the solution, or on the linear term of the problem."""
    b, dual, degree = np.zeros((K, P)), np.zeros((K, P)), 2
    for t in range(1, ROUNDS + 1):
        fresh = np.zeros((K, P))
        for k in range(K):
            linear = dual[k] - RHO * (degree * b[k] + LINKS[k] @ b)
            if dual_noise:
                linear = linear + CLAIMED * 2 * BOUND / COUNTS[k] * noise(k, t)
            # the slope of loss, share, quadratic and linear term is 0
            matrix = 2 * ROWS[k].T @ ROWS[k] / COUNTS[k] + np.eye(P) * (1 / K + 2 * RHO * degree)
            fresh[k] = np.linalg.solve(matrix, 2 * ROWS[k].T @ ANSWERS[k] / COUNTS[k] - linear)
            if not dual_noise:
                fresh[k] += CLAIMED * BOUND / (RHO * degree * COUNTS[k]) * noise(k, t)
        b = fresh
        dual = dual + RHO * (degree * b - LINKS @ b)
    return b


def dp_iadmm(noise: Draw, *, trust: bool) -> Any:
    """Ryu, Kim (2021), algorithm 1, gradients at the mean; w, then z_p, then the multipliers."""
    z, dual = np.zeros((K, P)), np.zeros((K, P))
    for t in range(1, ROUNDS + 1):
        w, mean = np.mean(z - dual / RHO, axis=0), np.mean(z, axis=0)
        for k in range(K):
            g = slope(k, mean) + mean / K + Z * 2 / COUNTS[k] * noise(k, t)
            if trust:
                z[k] = np.clip(w + (dual[k] - g) / RHO, z[k] - STEP, z[k] + STEP)
            else:
                inverse = np.sqrt(t) / STEP
                z[k] = (RHO * w + dual[k] - g + inverse * z[k]) / (RHO + inverse)
        dual = dual + RHO * (w - z)
    return np.mean(z, axis=0)


def dp_iadmm_printed(noise: Draw) -> Any:
    """The same at each own copy, with Laplace noise of eq (20); the answer is `w`."""
    z, dual, w = np.zeros((K, P)), np.zeros((K, P)), np.zeros(P)
    for t in range(1, ROUNDS + 1):
        w = np.mean(z - dual / RHO, axis=0)
        for k in range(K):
            each = 2 * (ROWS[k] @ z[k] - ANSWERS[k])[:, None] * ROWS[k]
            scale = np.max(np.sum(np.abs(each), axis=1)) / COUNTS[k] / EPSILON
            g, inverse = slope(k, z[k]) + z[k] / K + scale * noise(k, t), np.sqrt(t) / STEP
            z[k] = (RHO * w + dual[k] - g + inverse * z[k]) / (RHO + inverse)
        dual = dual + RHO * (w - z)
    return w


def outp(noise: Draw, *, coded: bool) -> Any:
    """z_p noised, then w, then the multipliers; as coded at own copies, with sigma squared."""
    w, z, dual = np.zeros(P), np.zeros((K, P)), np.zeros((K, P))
    for t in range(1, ROUNDS + 1):
        for k in range(K):
            n, at = COUNTS[k], z[k] if coded else w
            inverse = np.sqrt(t) / STEP
            if coded:
                inverse = (n / 4 + 2 * np.sqrt(t * np.log(1.25 / DELTA)) / EPSILON) / STEP
            g = slope(k, at) + at / K
            exact = (RHO * w + dual[k] - g + inverse * z[k]) / (RHO + inverse)
            if coded:
                sigma = 2 * np.sqrt(2 * np.log(1.25 / DELTA)) / EPSILON / (RHO + inverse)
                z[k] = exact + sigma**2 * noise(k, t)
            else:
                z[k] = exact - Z * 2 / (n * (RHO + inverse)) * noise(k, t)
        w = np.mean(z - dual / RHO, axis=0)
        dual = dual + RHO * (w - z)
    return w


CLAIM: dict[str, Any] = {"epsilon": EPSILON, "claimed_delta": DELTA, "gradient_bound": BOUND}
NORMAL, LAPLACE = jax.random.normal, jax.random.laplace
CASES: dict[str, tuple[Any, bool, Callable[[], Any]]] = {
    "gradient-descent": (
        GradientDescent(STEP, privacy=SILENT),
        True,
        lambda: gradient_descent(drawn(NORMAL, "noise", 1)),
    ),
    "fedavg": (
        FedAvg(STEP, LOCAL, PROXIMAL, SERVER, privacy=SILENT),
        True,
        lambda: fed_avg([drawn(NORMAL, "noise", 1, repeat) for repeat in range(LOCAL)]),
    ),
    "fedavg, with whole updates": (
        FedAvg(STEP, LOCAL, PROXIMAL, SERVER, release="update", privacy=SILENT),
        True,
        lambda: fed_avg_of_updates(drawn(NORMAL, "noise", 1)),
    ),
    "dpsg": (
        DPSG(STEP, decay=0.5, privacy=SILENT, average=False, proximal=False),
        False,
        lambda: dpsg(drawn(NORMAL, "noise", 0)),
    ),
    "dp-admm": (
        DPADMM(RHO, STEP, privacy=SILENT),
        True,
        lambda: dp_admm(drawn(NORMAL, "noise", 0), Z * 2),
    ),
    "dp-admm, printed": (
        DPADMMPrinted(penalty=RHO, step=STEP, **CLAIM),
        True,
        lambda: dp_admm(drawn(NORMAL, "noise", 0), CLAIMED * 2 * BOUND),
    ),
    "pvp, printed": (
        PVPPrinted(penalty=RHO, tolerance=1e-13, **CLAIM),
        False,
        lambda: pvp_or_dvp(drawn(NORMAL, "noise", 0), dual_noise=False),
    ),
    "dvp, printed": (
        DVPPrinted(penalty=RHO, tolerance=1e-13, **CLAIM),
        False,
        lambda: pvp_or_dvp(drawn(NORMAL, "objective", 0), dual_noise=True),
    ),
    "dp-iadmm-prox": (
        DPIADMMProx(RHO, proximity=STEP, privacy=SILENT),
        True,
        lambda: dp_iadmm(drawn(NORMAL, "noise", 1), trust=False),
    ),
    "dp-iadmm-trust": (
        DPIADMMTrust(RHO, radius=STEP, privacy=SILENT),
        True,
        lambda: dp_iadmm(drawn(NORMAL, "noise", 1), trust=True),
    ),
    "dp-iadmm-prox, printed": (
        DPIADMMPrinted(DPIADMMProx(RHO, proximity=STEP), EPSILON),
        True,
        lambda: dp_iadmm_printed(drawn(LAPLACE, "noise", 1)),
    ),
    "outp": (
        OutP(RHO, STEP, privacy=SILENT),
        True,
        lambda: outp(drawn(NORMAL, "noise", 0), coded=False),
    ),
    "outp, as coded": (
        OutPAsCoded(EPSILON, DELTA, RHO, STEP),
        True,
        lambda: outp(drawn(NORMAL, "noise", 0), coded=True),
    ),
}


METHODS = [name for name in CASES if "," not in name]
"""The others are variants."""


@pytest.mark.long
@pytest.mark.parametrize("name", only(METHODS, CASES))
def test_noised_rounds_are_those_of_the_source(name: str) -> None:
    method, star, expected = CASES[name]
    task = problem.empirical_risk(
        ROWS, ANSWERS, problem.Squared(), regulariser=problem.L2(0.5), weighting="agent"
    )
    net = network.Coordinator(K) if star else network.ring(K)
    done = tacit.run(task, net, method, rounds=ROUNDS, seed=SEED, record=[])
    found = done.solution if star else done.solutions[0]
    np.testing.assert_allclose(found, expected(), rtol=1e-10, atol=1e-10)
