"""DP-IADMM and OutP: rounds worked from the papers' forms, and the identities of their means.

Agent k of two holds one record, `f_k(x) = (x - a_k)^2`; the penalty is `x^2 / 2`, of which each
agent has a half, so that its share of the gradient is `x / 2`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import dblquad

import tacit
from tacit import network, problem
from tacit.method import DPIADMMProx, DPIADMMTrust, GrowingPenalty, OutP
from tacit.method._dp_iadmm_step import penalty_at
from tacit.papers.ryu2021.outp_as_coded import OutPAsCoded
from tacit.problem.constraint import FREE
from tacit.problem.public import Public
from tacit.problem.regularisers import NO_REGULARISER
from tacit.types import Context, Inbox, PublicContext, Relation, Role, Unit

TARGETS = (Fraction(3), Fraction(-1))
RHO, CLIP = Fraction(4), Fraction(3)
ROOTS = [Fraction(math.sqrt(t)) for t in (1, 2, 3)]
Local = Callable[[int, Fraction, Fraction, Fraction, Fraction], Fraction]
"""From round, `w`, multiplier, gradient and `z_p` to the new `z_p`."""


def slope(x: Fraction, target: Fraction, clip: Fraction | None) -> Fraction:
    gradient = 2 * (x - target)
    return (gradient if clip is None else max(-clip, min(clip, gradient))) + x / 2


def prox(t: int, w: Fraction, dual: Fraction, gradient: Fraction, z: Fraction) -> Fraction:
    """Eq (5) with `eta = 1 / sqrt t`."""
    return (RHO * w + dual - gradient + z * ROOTS[t]) / (RHO + ROOTS[t])


def boxed_prox(t: int, w: Fraction, dual: Fraction, gradient: Fraction, z: Fraction) -> Fraction:
    """The same on [0, 1/4]."""
    return max(Fraction(0), min(Fraction(1, 4), prox(t, w, dual, gradient, z)))


def trust(power: int) -> Local:
    """Eq (6) with `delta = 1 / (4 t^power)`."""

    def local(t: int, w: Fraction, dual: Fraction, gradient: Fraction, z: Fraction) -> Fraction:
        radius = Fraction(1, 4 * (t + 1) ** power)
        return max(z - radius, min(z + radius, w + (dual - gradient) / RHO))

    return local


def iadmm(local: Local, rounds: int, *, own: bool = False, clip: Fraction | None = None) -> Any:
    """Algorithm 1 without noise: w, then z_p, then lambda_p, all from 0."""
    z, dual = [Fraction(0)] * 2, [Fraction(0)] * 2
    for t in range(rounds):
        w = sum((z[k] - dual[k] / RHO for k in (0, 1)), Fraction(0)) / 2
        mean = sum(z, Fraction(0)) / 2
        slopes = [slope(z[k] if own else mean, TARGETS[k], clip) for k in (0, 1)]
        z = [local(t, w, dual[k], slopes[k], z[k]) for k in (0, 1)]
        dual = [dual[k] + RHO * (w - z[k]) for k in (0, 1)]
    return sum(z) / 2


def outp(rounds: int) -> Fraction:
    """z_p from the last w, then w, then lambda_p; gradients at w."""
    w, z, dual = Fraction(0), [Fraction(0)] * 2, [Fraction(0)] * 2
    for t in range(rounds):
        z = [prox(t, w, dual[k], slope(w, TARGETS[k], CLIP), z[k]) for k in (0, 1)]
        w = sum((z[k] - dual[k] / RHO for k in (0, 1)), Fraction(0)) / 2
        dual = [dual[k] + RHO * (w - z[k]) for k in (0, 1)]
    return w


SILENT = tacit.Privacy(clip=float(CLIP), noise_multiplier=0.0)
"""A clip without noise."""

CASES: dict[str, tuple[Any, Callable[[int], Fraction], Any]] = {
    "prox": (DPIADMMProx(penalty=4.0), lambda n: iadmm(prox, n), FREE),
    "prox, own copies": (
        DPIADMMProx(penalty=4.0, point="own"),
        lambda n: iadmm(prox, n, own=True),
        FREE,
    ),
    "prox, box, clipped": (
        DPIADMMProx(penalty=4.0, privacy=SILENT),
        lambda n: iadmm(boxed_prox, n, clip=CLIP),
        problem.Box(0.0, 0.25),
    ),
    "trust as coded": (
        DPIADMMTrust(penalty=4.0, radius=0.25),
        lambda n: iadmm(trust(0), n),
        FREE,
    ),
    "trust printed, own copies": (
        DPIADMMTrust(penalty=4.0, radius=0.25, trust_region="printed", point="own"),
        lambda n: iadmm(trust(2), n, own=True),
        FREE,
    ),
    "outp": (OutP(penalty=4.0, privacy=SILENT), outp, FREE),
}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_two_rounds_of_dp_iadmm_worked_by_hand(case: str) -> None:
    method, by_hand, constraint = CASES[case]
    task = problem.empirical_risk(
        [np.ones((1, 1))] * 2,
        [np.array([float(a)]) for a in TARGETS],
        problem.Squared(),
        regulariser=problem.L2(0.5),
        constraint=constraint,
    )
    for rounds in (1, 2):
        done = tacit.run(task, network.Coordinator(2), method, rounds=rounds, seed=0)
        assert done.solution[0] == pytest.approx(float(by_hand(rounds)), abs=1e-12)
    assert done.solution[0] != 0.0


AGENTS, SIZE, ROUNDS = 3, 4, 9
GROWING = GrowingPenalty(0.5, every=2)
PENALTIES = pytest.mark.parametrize(
    "penalty",
    [
        pytest.param(3.0, id="constant", marks=pytest.mark.long),
        pytest.param(GROWING, id="growing"),
    ],
)


def _context(round: int) -> Context:
    return Context(
        round=jnp.asarray(round),
        step=0,
        agent=jnp.asarray(0),
        degree=jnp.asarray(1),
        key=jax.random.key(0),
        public=Public(NO_REGULARISER, FREE),
        rounds=jnp.asarray(ROUNDS),
        agents=AGENTS,
    )


def _inbox(value: Any, mixed: Any = None) -> Inbox:
    return Inbox(None, None, None, jnp.zeros(()), jnp.asarray(1), mixed, value)


def noised_gradients() -> Any:
    """What clients may release, `G[t, p]`: any vectors at all."""
    return np.random.default_rng(3).normal(size=(ROUNDS, AGENTS, SIZE))


def begin(method: Any) -> tuple[Any, list[Any]]:
    x0 = jnp.linspace(-0.1, 0.1, SIZE)
    return method.init(Role.SERVER, x0, 1), [method.init(Role.CLIENT, x0, 1)] * AGENTS


def round_of(
    method: Any, server: Any, clients: list[Any], released: Any, t: int
) -> tuple[Any, list[Any]]:
    """One round of DP-IADMM, phase by phase, for given noised gradients."""
    context = _context(t)
    server, told = method.agree(server, None, context)
    heard = [method.hear(client, _inbox(told), context) for client in clients]
    sent = [method.solve(c, jnp.asarray(g), context) for c, g in zip(heard, released, strict=True)]
    mixed = sum(z for _, z in sent) / AGENTS
    return method.collect(server, _inbox(None, mixed), context), [client for client, _ in sent]


@pytest.mark.usefixtures("float64")
@PENALTIES
@pytest.mark.parametrize("kind", [DPIADMMProx, DPIADMMTrust], ids=["prox", "trust"])
def test_the_mean_takes_noised_gradient_steps(kind: Any, penalty: Any) -> None:
    method = kind(penalty=penalty) if kind is DPIADMMProx else kind(penalty=penalty, radius=1e6)
    server, clients = begin(method)
    for t, released in enumerate(noised_gradients()):
        before, rho = server.mean, float(penalty_at(penalty, t))
        server, clients = round_of(method, server, clients, released, t)
        # 1/eta = sqrt t, counted from 1; a trust region has no such term
        curvature = rho + (math.sqrt(t + 1) if kind is DPIADMMProx else 0.0)
        step = released.mean(axis=0) / curvature
        np.testing.assert_allclose(server.mean, before - step, atol=1e-12)
        # the server knows the mean of the multipliers without having seen them
        np.testing.assert_allclose(server.dual, sum(c.dual for c in clients) / AGENTS, atol=1e-12)
        if kind is DPIADMMTrust:
            for client, gradient in zip(clients, released, strict=True):
                np.testing.assert_allclose(client.dual, gradient, atol=1e-12)
            after = float(penalty_at(penalty, t + 1))
            w = method.agree(server, None, _context(t + 1))[0].w
            # w repeats the step just taken, noise included
            again = released.mean(axis=0) / after
            np.testing.assert_allclose(w, server.mean - again, atol=1e-12)


@pytest.mark.usefixtures("float64")
@PENALTIES
def test_output_perturbation_takes_the_path_of_the_proximal_variant(penalty: Any) -> None:
    prox, out = DPIADMMProx(penalty=penalty), OutP(penalty=penalty)
    server, clients = begin(prox)
    _, others = begin(out)
    for t, released in enumerate(noised_gradients()):
        server, clients = round_of(prox, server, clients, released, t)
        context = _context(t)
        sent = [
            out.solve(c, jnp.asarray(g), context) for c, g in zip(others, released, strict=True)
        ]
        w = sum(z for _, z in sent) / AGENTS
        # the multipliers have mean 0, so the server need not know them
        mean_dual = sum(client.dual for client, _ in sent) / AGENTS
        np.testing.assert_allclose(mean_dual, 0.0, atol=1e-12)
        others = [out.ascend(client, _inbox(w), context) for client, _ in sent]
        np.testing.assert_allclose(w, server.mean, atol=1e-12)


def test_output_perturbation_as_coded_squares_its_standard_deviation() -> None:
    (local, _) = OutPAsCoded(epsilon=2.0, penalty=3.0).phases()
    assert local.query is not None and local.release is not None
    public = PublicContext(0, 2, 3, 5, 100, 100.0, Unit.RECORD, 1, 5, dimension=4)
    growth = math.log(1.25 / 1e-6)
    # round 3 is t = 4: 1/eta = 100/4 + 2 sqrt(4 L) / 2
    curvature = 3.0 + 25.0 + 2.0 * math.sqrt(4.0 * growth) / 2.0
    sigma = 2.0 * math.sqrt(2.0 * growth) / (2.0 * curvature)
    scale = local.release.mechanism.scale(local.query, public, Relation.REPLACE_ONE)
    assert scale == pytest.approx(sigma**2, rel=1e-14)
    bound = local.query.sensitivity(public, Relation.REPLACE_ONE)
    assert bound == pytest.approx(2.0 / (100.0 * curvature), rel=1e-14)


def test_the_density_of_the_noise_has_a_factor_for_every_coordinate() -> None:
    """Eq (11a) has one: in two dimensions it integrates to `2 b`."""
    scale = 0.3

    def density(y: float, x: float) -> float:
        return math.exp(-(abs(x) + abs(y)) / scale) / (2.0 * scale) ** 2

    quarter, _ = dblquad(density, 0.0, 40.0 * scale, 0.0, 40.0 * scale)
    assert 4.0 * quarter == pytest.approx(1.0, abs=1e-6)
    assert 4.0 * quarter * 2.0 * scale == pytest.approx(0.6, abs=1e-6)  # as printed
    drawn = np.asarray(jax.random.laplace(jax.random.key(0), (200_000, 2))) * scale
    inside = np.mean(np.all(np.abs(drawn) < scale, axis=1))
    whole, _ = dblquad(density, 0.0, scale, 0.0, scale)
    assert inside == pytest.approx(4.0 * whole, abs=0.005)


@pytest.mark.usefixtures("float64")
def test_the_copies_of_all_agents_are_further_apart_than_one_set_is_wide() -> None:
    """Theorem 2 bounds the squared distance of the stacked copies by `U2`; it reaches `P U2^2`."""
    box = problem.Box(-1.0, 1.0)
    width = 2.0 * math.sqrt(SIZE)  # U2, the diameter of the set
    stacks = []
    for sign in (1.0, -1.0):
        method = DPIADMMProx(penalty=1.0)
        server, clients = begin(method)
        context = replace(_context(0), public=Public(NO_REGULARISER, box))
        _, told = method.agree(server, None, context)
        heard = [method.hear(client, _inbox(told), context) for client in clients]
        pull = jnp.full(SIZE, sign * 100.0)
        stacks.append(np.stack([method.solve(client, pull, context)[1] for client in heard]))
    distance = float(np.sum((stacks[0] - stacks[1]) ** 2))
    assert distance == pytest.approx(AGENTS * width**2)
    # and `gamma U2`, of multipliers of length gamma along that difference, is `gamma sqrt(P) U2`
    assert math.sqrt(distance) == pytest.approx(math.sqrt(AGENTS) * width)
    assert distance > width
