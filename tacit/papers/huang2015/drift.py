"""Two agents that hardly mix: a counterexample to theorem 10 of Huang, Mitra, Vaidya."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import tacit
from tacit import network, problem
from tacit.papers.huang2015.bounds import corrected_accuracy, printed_accuracy
from tacit.papers.huang2015.method import PDOPPrinted

HESSIANS = (1.0, 9.0)
MINIMISERS = (1.0, -1.0)
EPSILON = 1e9
"""Epsilon large enough for noise to be negligible."""


def cost(x: Float[Array, " 1"], own: Float[Array, " 2"]) -> Float[Array, ""]:
    """A parabola: curvature and minimiser are the agent's own."""
    return own[0] * jnp.sum((x - own[1]) ** 2) / 2.0


def drifting(weight: float, step: float, ratio: float, rounds: int) -> dict[str, Any]:
    """The accuracy on [-1, 1] by definition 2, its value by theorem 10, and a valid bound.

    Definition 2 is about the squared distance of the mean of all answers from the optimum.

    Args:
        weight: weight of the other agent's message.
        step: first step size `c`.
        ratio: step ratio `q`; `p = q^(1/3)`.
        rounds: number of rounds of the run.
    """
    own = np.transpose([HESSIANS, MINIMISERS])
    task = problem.costs(cost, own, np.zeros(1), constraint=problem.Box(-1.0, 1.0), convex=True)
    mixing = np.array([[1.0 - weight, weight], [weight, 1.0 - weight]])
    # the longest gradient on [-1, 1] is that of the steeper one at the far end
    steepest = HESSIANS[1] * 2.0
    noise_ratio = ratio ** (1.0 / 3.0)
    method = PDOPPrinted(
        step=step,
        ratio=ratio,
        noise_ratio=noise_ratio,
        epsilon=EPSILON,
        gradient_bound=steepest,
    )
    net = network.Graph.from_edges(2, [(0, 1)], weights=mixing)
    result = tacit.run(task, net, method, rounds=rounds, seed=0, record=[])
    best = np.dot(HESSIANS, MINIMISERS) / np.sum(HESSIANS)
    noise = 2.0 * steepest * step / (EPSILON * (noise_ratio - ratio))
    times = np.arange(rounds)
    return {
        "error": float(np.sum((result.solutions[0].mean(axis=0) - best) ** 2)),
        "printed": printed_accuracy(
            step,
            ratio,
            noise_ratio,
            epsilon=EPSILON,
            diameter=2.0,
            gradient_bound=steepest,
            curvature=HESSIANS[0],
            dimension=1,
        ),
        "corrected": corrected_accuracy(
            step * ratio**times,
            2.0 * (noise * noise_ratio ** (times + 2)) ** 2,
            curvature=HESSIANS[0],
            gradient_bound=steepest,
            start=abs(best),
            dimension=1,
            agents=2,
            contraction=abs(1.0 - 2.0 * weight),
        ),
    }
