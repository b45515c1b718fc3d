"""A private rendezvous: ten people find a meeting point, and nobody learns where anybody lives.

Person `i` lives at `m_i` in the square [-1, 1]^2 and wants to meet nearby: the cost is
`f_i(x) = ||x - m_i||^2`. The best place for all is the mean of the addresses. Everybody talks to
everybody, and PDOP promises each person epsilon-differential privacy
of the whole cost, that is of the address, against whoever reads every message.

The gradient `2x - 2 m_i` has a public part, `2x`. What is private is at most 4 long in the l1 norm,
and that clip is enforced: two addresses move a gradient by at most 8.

    python examples/rendezvous.py --epsilon 10
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

import tacit
from tacit import Privacy, network, problem
from tacit.method import PDOP
from tacit.papers.huang2015 import PDOPConstants, tune_pdop

CURVATURE = 2.0
"""Of every cost."""

LONGEST = 4.0
"""Largest l1 norm of the private part of a gradient, `2 m_i`."""

FARTHEST = 2.0 * 2.0**0.5
"""Diameter of the square."""


def cost(x: Float[Array, " 2"], address: Float[Array, " 2"]) -> Float[Array, ""]:
    """Squared distance from home."""
    return jnp.sum((x - address) ** 2)


def rendezvous(addresses: Float[ArrayLike, "agents 2"]) -> problem.Problem:
    """The problem of finding the place that is best for all.

    Args:
        addresses: one a person, in [-1, 1]^2.
    """
    return problem.costs(
        cost,
        np.asarray(addresses, dtype=np.float64),
        np.zeros(2),
        constraint=problem.Box(-1.0, 1.0),
        parameter_names=("east", "north"),
        convex=True,
    )


def method(epsilon: float, agents: int, rounds: int) -> PDOP:
    """PDOP with parameters chosen by the exact formula, from public constants only.

    Args:
        epsilon: of every person, for the whole run.
        agents: how many persons.
        rounds: of the run.
    """
    constants = PDOPConstants(
        epsilon=epsilon,
        dimension=2,
        agents=agents,
        curvature=CURVATURE,
        gradient_bound=CURVATURE * FARTHEST,
        diameter=FARTHEST,
        distance=2.0 * LONGEST,
        # the mean of addresses all over the square is this far from its centre
        start=(2.0 / 3.0 / agents) ** 0.5,
        rounds=rounds,
    )
    tuned = tune_pdop(constants, "exact")
    return PDOP(
        step=tuned.step,
        ratio=tuned.ratio,
        noise_ratio=tuned.noise_ratio,
        curvature=CURVATURE,
        centred=True,
        privacy=Privacy(clip=LONGEST, epsilon=epsilon, delta=0.0, noise="laplace"),
    )


def meet(
    addresses: Float[ArrayLike, "agents 2"], epsilon: float, *, rounds: int = 40, seed: int = 0
) -> tacit.Result:
    """Find the meeting point over a complete graph.

    Args:
        addresses: one a person, in [-1, 1]^2.
        epsilon: of every person, for the whole run; positive.
        rounds: of the run.
        seed: of the simulated noise.
    """
    agents = len(np.asarray(addresses))
    return tacit.run(
        rendezvous(addresses),
        network.complete(agents),
        method(epsilon, agents, rounds),
        rounds=rounds,
        seed=seed,
        require="proved",
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw addresses, meet, and print where, how good that is, and what was promised."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    given: Any = parser.parse_args(arguments)
    addresses = np.random.default_rng(given.seed).uniform(-1.0, 1.0, (given.people, 2))
    best = addresses.mean(axis=0)
    result = meet(addresses, given.epsilon, seed=given.seed)
    print(f"best place    {best.round(3)}")
    print(f"meeting point {result.solution.round(3)}")
    print(f"distance      {float(np.linalg.norm(result.solution - best)):.3f}")
    print(result.guarantee.sentence())


if __name__ == "__main__":
    main()
