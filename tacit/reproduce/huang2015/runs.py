"""The rendezvous of Huang, Mitra, Vaidya (2015): what PDOP scores on it, as printed and certified.

Person `i` lives at `m_i` in the square [-1, 1]^2 and pays `||x - m_i||^2`; all start at 0, the
answer is the mean of the addresses. Errors are squared distances from it, mean over the agents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import tacit
from tacit import Privacy, Simulation, network, problem
from tacit.method import PDOP, PDOPConstants, PDOPPrinted, tune_pdop
from tacit.method.pdop_tuning import Tuned

CURVATURE = 2.0
"""Of every cost: `C3`."""

DIAMETER = 8.0**0.5
"""Of the square: `C1`."""

GRADIENT_BOUND = CURVATURE * DIAMETER
"""`C2`."""

LONGEST = 4.0
"""Largest l1 norm of the private part of a gradient, `2 m_i`."""

DRAWS = 200
"""Draws of addresses to choose from."""

STEPS = (0.0005, 0.002, 0.01, 0.03, 0.08, 0.15, 0.25, 0.35, 0.45, 0.5)
"""Steps tried by simulation."""

TUNING = 500
"""Runs for each of them."""

Graph: TypeAlias = Literal["complete", "ring"]
Row: TypeAlias = dict[str, list[float]]
"""Names to one number for every epsilon."""


def cost(x: Float[Array, " 2"], address: Float[Array, " 2"]) -> Float[Array, ""]:
    """Squared distance from home."""
    return jnp.sum((x - address) ** 2)


def drawn(agents: int, squared: float) -> Float[np.ndarray, "agents 2"]:
    """Addresses: of many uniform draws the one whose mean is nearest to a squared distance from 0.

    That distance is all that a run on the complete graph knows of the addresses.
    """
    draws = [np.random.default_rng(s).uniform(-1.0, 1.0, (agents, 2)) for s in range(DRAWS)]
    return min(draws, key=lambda each: abs(np.sum(each.mean(axis=0) ** 2) - squared))


def constants(agents: int, epsilon: float, rounds: int) -> PDOPConstants:
    """What tuning may look at: the square, the number of people, the budget."""
    return PDOPConstants(
        epsilon=epsilon,
        dimension=2,
        agents=agents,
        curvature=CURVATURE,
        gradient_bound=GRADIENT_BOUND,
        diameter=DIAMETER,
        distance=2.0 * LONGEST,
        # the mean of addresses all over the square is this far from its centre
        start=(2.0 / 3.0 / agents) ** 0.5,
        rounds=rounds,
    )


def as_printed(
    agents: int,
    squared: float,
    graph: Graph,
    epsilons: Sequence[float],
    rounds: int,
    trials: int,
) -> dict[str, Any]:
    """The printed algorithm with the parameters that minimise theorem 10 as printed.

    Args:
        agents: how many people.
        squared: `||x0 - x*||^2`, approximately.
        graph: who hears whom; equal weights.
        epsilons: for each of which parameters are chosen.
        rounds: of a run.
        trials: runs for each epsilon.

    Returns:
        "claimed": with eq (8) at each epsilon, which really loses `epsilon / p`. "true": with noise
        `1/p` times as large, which loses `epsilon`.
    """
    claimed: Row = {}
    true: Row = {}
    places = drawn(agents, squared)
    for epsilon in epsilons:
        tuned = tune_pdop(constants(agents, epsilon, rounds), "printed")
        for found, share in ((claimed, 1.0), (true, tuned.noise_ratio)):
            method = PDOPPrinted(
                step=tuned.step,
                ratio=tuned.ratio,
                noise_ratio=tuned.noise_ratio,
                epsilon=epsilon * share,
                gradient_bound=GRADIENT_BOUND,
            )
            _add(found, _scored(places, graph, method, rounds, trials))
            _add(found, _parameters(tuned))
    return {"claimed": claimed, "true": true}


def certified(
    agents: int, squared: float, epsilons: Sequence[float], rounds: int, trials: int
) -> dict[str, Any]:
    """The certified PDOP on the complete graph, with `c`, `q` and `p` from a formula.

    Returns:
        "printed": parameters of theorem 10, every run at its epsilon. "exact": parameters of the
        exact formula. "total": the same at `epsilon / p`, what the printed run really loses.
    """
    kinds: dict[str, Row] = {"printed": {}, "exact": {}, "total": {}}
    places = drawn(agents, squared)
    for epsilon in epsilons:
        printed = tune_pdop(constants(agents, epsilon, rounds), "printed")
        total = epsilon / printed.noise_ratio
        for kind, spent, tuned in (
            ("printed", epsilon, printed),
            ("exact", epsilon, tune_pdop(constants(agents, epsilon, rounds))),
            ("total", total, tune_pdop(constants(agents, total, rounds))),
        ):
            method = PDOP(
                step=tuned.step,
                ratio=tuned.ratio,
                noise_ratio=tuned.noise_ratio,
                curvature=CURVATURE,
                centred=True,
                privacy=_budget(spent),
            )
            found = kinds[kind]
            _add(found, _scored(places, "complete", method, rounds, trials, proved=True))
            _add(found, _parameters(tuned))
    return dict(kinds)


def simulated(
    agents: int, squared: float, epsilons: Sequence[float], trials: int
) -> dict[str, Any]:
    """The certified PDOP in one noisy step, of the size that scores best in simulations.

    They are made on other addresses, so nothing private is looked at. Budgets are what the printed
    run really loses at each epsilon.
    """
    other = np.random.default_rng(DRAWS).uniform(-1.0, 1.0, (agents, 2))
    other *= (2.0 / 3.0 / agents) ** 0.5 / np.linalg.norm(other.mean(axis=0))
    places = drawn(agents, squared)
    found: Row = {}
    for epsilon in epsilons:
        total = epsilon / tune_pdop(constants(agents, epsilon, 1), "printed").noise_ratio

        def method(step: float, total: float = total) -> PDOP:
            return PDOP(
                step=step,
                curvature=CURVATURE,
                centred=True,
                one_shot=True,
                privacy=_budget(total),
            )

        # on the complete graph one exchange makes the average
        tried = [_scored(other, "complete", method(s), 1, TUNING)["error"] for s in STEPS]
        step = STEPS[int(np.argmin(tried))]
        scored = _scored(places, "complete", method(step), 1, trials, proved=True)
        _add(found, {**scored, "step": step})
    return dict(found)


def _budget(epsilon: float) -> Privacy:
    return Privacy(clip=LONGEST, epsilon=epsilon, delta=0.0, noise="laplace")


def _scored(
    places: Float[np.ndarray, "agents 2"],
    graph: Graph,
    method: Any,
    rounds: int,
    trials: int,
    *,
    proved: bool = False,
) -> dict[str, float]:
    """Mean squared error, its standard error, tenth and ninetieth percentile, and the true loss."""
    agents = len(places)
    task = problem.costs(cost, places, np.zeros(2), constraint=problem.Box(-1.0, 1.0), convex=True)
    result = tacit.run(
        task,
        network.complete(agents) if graph == "complete" else network.ring(agents),
        method,
        rounds=rounds,
        seed=0,
        record=[],
        runtime=Simulation(trials=trials),
        require="proved" if proved else None,
    )
    best = places.mean(axis=0)
    errors = np.mean(np.sum((result.solutions - best) ** 2, axis=2), axis=1)
    return {
        "error": float(errors.mean()),
        "deviation": float(errors.std(ddof=1)) / trials**0.5,
        "low": float(np.quantile(errors, 0.1)),
        "high": float(np.quantile(errors, 0.9)),
        "start": float(np.sum(best**2)),
        "loss": float(result.guarantee.worst.epsilon),
    }


def _parameters(tuned: Tuned) -> dict[str, float]:
    return {
        "step": tuned.step,
        "ratio": tuned.ratio,
        "noise_ratio": tuned.noise_ratio,
        "stated": tuned.accuracy,
    }


def _add(found: Row, one: dict[str, float]) -> None:
    for name, value in one.items():
        found.setdefault(name, []).append(value)
