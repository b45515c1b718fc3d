"""The rendezvous of Huang, Mitra, Vaidya (2015): the accuracy of PDOP, as printed and certified.

Person `i` lives at `m_i` in the square [-1, 1]^2 and pays `||x - m_i||^2`; all start at 0, the
answer is the mean of the addresses. Errors are by definition 2: the squared distance from it of the
mean of all people's answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import tacit
from tacit import Privacy, Simulation, network, problem
from tacit.method import PDOP
from tacit.papers.huang2015 import PDOPConstants, tune_pdop
from tacit.papers.huang2015.heuristic import coordinate_heuristic
from tacit.papers.huang2015.method import PDOPPrinted
from tacit.papers.huang2015.tuning import Tuned

CURVATURE = 2.0
"""Curvature of every cost: `C3`."""

DIAMETER = 8.0**0.5
"""Diameter of the square: `C1`."""

GRADIENT_BOUND = CURVATURE * DIAMETER
"""Largest gradient norm: `C2`."""

LONGEST = 4.0
"""Largest l1 norm of the private part of a gradient, `2 m_i`."""

DRAWS = 200
"""Draws of addresses to choose from."""

STEPS = (0.0005, 0.002, 0.01, 0.03, 0.08, 0.15, 0.25, 0.35, 0.45, 0.5)
"""Steps tried by simulation."""

TUNING = 500
"""Number of runs for each of them."""

SILENT = 1e9
"""An epsilon with negligible noise."""

Graph: TypeAlias = Literal["complete", "ring"]
Row: TypeAlias = dict[str, list[float]]
"""Lists by name, with one number for every epsilon."""


def cost(x: Float[Array, " 2"], address: Float[Array, " 2"]) -> Float[Array, ""]:
    """Squared distance from home."""
    return jnp.sum((x - address) ** 2)


def drawn(agents: int, squared: float) -> Float[np.ndarray, "agents 2"]:
    """Addresses: of many uniform draws the one whose mean is nearest to a squared distance from 0.

    A run on the complete graph depends on the addresses only through that distance.
    """
    draws = [np.random.default_rng(s).uniform(-1.0, 1.0, (agents, 2)) for s in range(DRAWS)]
    return min(draws, key=lambda each: abs(np.sum(each.mean(axis=0) ** 2) - squared))


def constants(agents: int, epsilon: float, rounds: int) -> PDOPConstants:
    """The constants available to tuning: the square, the number of people, the budget."""
    return PDOPConstants(
        epsilon=epsilon,
        dimension=2,
        agents=agents,
        curvature=CURVATURE,
        gradient_bound=GRADIENT_BOUND,
        diameter=DIAMETER,
        distance=2.0 * LONGEST,
        # distance of the mean of uniform addresses from the centre of the square
        start=(2.0 / 3.0 / agents) ** 0.5,
        rounds=rounds,
    )


def chosen(agents: int, epsilon: float, rounds: int) -> Tuned:
    """`c`, `q` and `p` by the heuristic of section 4.5, with its conditions as printed."""
    return coordinate_heuristic(constants(agents, epsilon, rounds), form="printed")


def as_printed(
    agents: int,
    squared: float,
    graph: Graph,
    epsilons: Sequence[float],
    rounds: int,
    trials: int,
) -> dict[str, Any]:
    """The printed algorithm with parameters by the printed heuristic.

    Args:
        agents: number of people.
        squared: approximate squared distance `||x0 - x*||^2`.
        graph: communication graph, with equal weights.
        epsilons: claimed epsilons, with parameters chosen for each.
        rounds: number of rounds of a run.
        trials: number of runs for each epsilon.

    Returns:
        "claimed": with eq (8) at each epsilon, which really loses `epsilon / p`. "least": the same
        with the parameters that minimise theorem 10. "true": these with noise `1/p` times as large,
        which loses `epsilon`.
    """
    kinds: dict[str, Row] = {"claimed": {}, "least": {}, "true": {}}
    places = drawn(agents, squared)
    for epsilon in epsilons:
        tuned = chosen(agents, epsilon, rounds)
        least = tune_pdop(constants(agents, epsilon, rounds), "printed")
        for kind, parameters, share in (
            ("claimed", tuned, 1.0),
            ("least", least, 1.0),
            ("true", least, least.noise_ratio),
        ):
            method = _printed(parameters, epsilon * share)
            _add(kinds[kind], _scored(places, graph, method, rounds, trials))
            _add(kinds[kind], _parameters(parameters))
    return dict(kinds)


def fixed(
    agents: int,
    squared: float,
    tuned_at: float,
    epsilons: Sequence[float],
    rounds: int,
    trials: int,
) -> dict[str, Any]:
    """The printed algorithm on the complete graph with one `c`, `q` and `p` at every epsilon.

    Args:
        agents: number of people.
        squared: approximate squared distance `||x0 - x*||^2`.
        tuned_at: epsilon for which the heuristic chooses parameters.
        epsilons: claimed epsilons.
        rounds: number of rounds of a run.
        trials: number of runs for each epsilon.

    Returns:
        A row, and "silent", the error without noise.
    """
    places = drawn(agents, squared)
    tuned = chosen(agents, tuned_at, rounds)
    found: Row = {}
    for epsilon in (*epsilons, SILENT):
        _add(found, _scored(places, "complete", _printed(tuned, epsilon), rounds, trials))
    silent = found["error"][-1]
    return {name: values[:-1] for name, values in found.items()} | {
        "silent": silent,
        **_parameters(tuned),
    }


def _printed(tuned: Tuned, epsilon: float) -> PDOPPrinted:
    return PDOPPrinted(
        step=tuned.step,
        ratio=tuned.ratio,
        noise_ratio=tuned.noise_ratio,
        epsilon=epsilon,
        gradient_bound=GRADIENT_BOUND,
    )


def certified(
    agents: int, squared: float, epsilons: Sequence[float], rounds: int, trials: int
) -> dict[str, Any]:
    """The certified PDOP on the complete graph, with `c`, `q` and `p` from a formula.

    Returns:
        "least": parameters that minimise theorem 10, every run at its epsilon. "exact": parameters
        of the exact formula. "total": the same at `epsilon / p`, what the printed run really loses.
    """
    kinds: dict[str, Row] = {"least": {}, "exact": {}, "total": {}}
    places = drawn(agents, squared)
    for epsilon in epsilons:
        total = epsilon / chosen(agents, epsilon, rounds).noise_ratio
        for kind, spent, tuned in (
            ("least", epsilon, tune_pdop(constants(agents, epsilon, rounds), "printed")),
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

    The simulations use other addresses, so nothing private is read. Budgets are the true losses of
    the printed run at each epsilon.
    """
    other = np.random.default_rng(DRAWS).uniform(-1.0, 1.0, (agents, 2))
    other *= (2.0 / 3.0 / agents) ** 0.5 / np.linalg.norm(other.mean(axis=0))
    places = drawn(agents, squared)
    found: Row = {}
    for epsilon in epsilons:
        total = epsilon / chosen(agents, epsilon, 1).noise_ratio

        def method(step: float, total: float = total) -> PDOP:
            return PDOP(
                step=step,
                curvature=CURVATURE,
                centred=True,
                one_shot=True,
                privacy=_budget(total),
            )

        # on the complete graph one exchange computes the average
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
    """Mean error by definition 2, its standard error, and the true loss."""
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
    errors = np.sum((result.solutions.mean(axis=1) - best) ** 2, axis=1)
    return {
        "error": float(errors.mean()),
        "deviation": float(errors.std(ddof=1)) / trials**0.5,
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
