"""Pieces of work on the law of D-ZOA's gradient estimates, and on the variance of its iterates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tacit._engine.plan import as_arrays
from tacit.method import DZOASolver
from tacit.method import _consensus_admm as admm
from tacit.method._consensus_admm import Consensus
from tacit.method._directions import normal_directions
from tacit.method.d_zoa_solver import two_point_slopes
from tacit.papers.gratton2021.noise_runs import claimed_deviation
from tacit.papers.gratton2021.setting import (
    EDGES,
    PENALTY,
    SMOOTHING,
    Kind,
    paper_method,
    paper_network,
    paper_problem,
)
from tacit.types import Context

BINS = np.linspace(-4.0, 4.0, 41)
"""Edges of the histogram, in standard deviations."""

ITERATES = 100
"""Number of draws of a gradient for each whole new iterate."""


def gradient_entries(
    kind: Kind,
    epsilon: float,
    delta: float,
    data: int,
    agent: int,
    outer: int,
    inner: int,
    seed: int,
    runs: int,
    draws: int,
) -> dict[str, Any]:
    """Many estimates of a gradient, at the point reached by each of several runs of D-ZOA.

    Args:
        kind: kind of regulariser.
        epsilon: epsilon claimed per iteration.
        delta: delta claimed per iteration.
        data: seed of the data set.
        agent: agent whose gradient is estimated.
        outer: round `m`, from 1.
        inner: inner step `t`, from 1.
        seed: seed of the randomness.
        runs: number of independent runs that reach the point.
        draws: number of draws of the gradient in each; one new iterate per `ITERATES` of them.

    Returns:
        `density` of the first entry, standardised in each run, in `BINS`, and its `quantiles` at
        `probabilities`; of every run and entry the `correlations` of its QQ plot and its
        `kurtosis` (in excess of the normal law's); `directions`; and for every agent the
        `variances` of an entry of the iterate that it sends in round `outer`, beside the `claimed`
        ones.
    """
    task, net = paper_problem(kind, data), paper_network()
    method = paper_method(task, net, kind, epsilon, delta).solver
    short = paper_method(task, net, kind, epsilon, delta, inner_steps=inner - 1).solver
    count = int(np.asarray(method.directions)[agent])
    everybody = np.arange(task.agents)
    with jax.enable_x64(True):
        agents = _Agents(task, net, method)

        @jax.jit
        def one_run(key: Array) -> tuple[Array, Array]:
            before, there, drawn = jax.random.split(key, 3)
            states = agents.after(outer - 1, before)
            state = jax.tree.map(lambda leaf: leaf[agent], states)
            # the point of the inner descent before its step t
            b = agents.minimised(short, state, agent, there)
            keys = jax.random.split(drawn, draws)
            return (
                jax.lax.map(
                    lambda own: agents.gradient(state, agent, b, inner, count, own),
                    keys,
                    batch_size=500,
                ),
                jax.lax.map(
                    lambda own: agents.round(states, everybody, own),
                    keys[: draws // ITERATES],
                    batch_size=50,
                ),
            )

        found = [one_run(key) for key in jax.random.split(jax.random.key(seed), runs)]
    claimed = [
        claimed_deviation(epsilon, delta, int(degree), int(records)) ** 2
        for degree, records in zip(net.degrees, task.counts, strict=True)
    ]
    variances = [np.var(np.asarray(iterates), axis=0, ddof=1).mean(axis=1) for _, iterates in found]
    return {
        **_law([np.asarray(gradients) for gradients, _ in found]),
        "directions": count,
        "variances": np.mean(variances, axis=0).tolist(),
        "claimed": claimed,
    }


class _Agents:
    """The rounds of D-ZOA by hand, with accessible states."""

    def __init__(self, task: Any, net: Any, method: DZOASolver) -> None:
        self.method, self.public = as_arrays(method), as_arrays(task.public)
        self.objectives = as_arrays(task.objectives)
        self.degrees = jnp.asarray(net.degrees)
        self.adjacent = jnp.zeros((task.agents, task.agents))
        for one, other in EDGES:
            self.adjacent = self.adjacent.at[one, other].set(1.0).at[other, one].set(1.0)
        self.agents, self.x0 = task.agents, jnp.asarray(task.x0)

    def context(self, agent: Any, key: Any) -> Context:
        return Context(
            round=jnp.asarray(0),
            step=jnp.asarray(0),
            agent=jnp.asarray(agent),
            degree=self.degrees[agent],
            key=key,
            public=self.public,
            rounds=jnp.asarray(1),
            agents=self.agents,
        )

    def minimised(self, method: DZOASolver, state: Consensus, agent: Any, key: Any) -> Array:
        objective = jax.tree.map(lambda leaf: leaf[agent], self.objectives)
        return method.minimise(state, objective, self.context(agent, key))

    def round(self, states: Consensus, agents: Any, key: Any) -> Float[Array, "agents p"]:
        """The messages of all agents."""
        keys = jax.random.split(key, self.agents)
        return jax.vmap(lambda state, agent, own: self.minimised(self.method, state, agent, own))(
            states, agents, keys
        )

    def after(self, rounds: int, key: Any) -> Consensus:
        """The states of all agents after a number of rounds."""
        each = jnp.arange(self.agents)

        def round(m: Any, states: Consensus) -> Consensus:
            x = self.round(states, each, jax.random.fold_in(key, m))
            return jax.vmap(_dual_step)(states, x, self.adjacent @ x, self.degrees)

        started = jax.vmap(lambda degree: admm.start(self.x0, degree))(self.degrees)
        return jax.lax.fori_loop(0, rounds, round, started)

    def gradient(
        self, state: Consensus, agent: int, b: Array, inner: int, count: int, key: Any
    ) -> Float[Array, " p"]:
        """The estimate of inner step `inner` at `b`: `(1/J) sum_j slope_j n2_j`."""
        context = self.context(agent, key)
        objective = jax.tree.map(lambda leaf: leaf[agent], self.objectives)
        linear = admm.linear_part(state, PENALTY, context)
        directions = normal_directions(key, (2, count, b.shape[0])).astype(b.dtype)

        def augmented(point: Array) -> Array:
            return objective.value(point) + admm.known_part(point, linear, PENALTY, context)

        slopes = two_point_slopes(augmented, b, float(inner), SMOOTHING, directions)
        return slopes @ directions[1] / count


def _dual_step(state: Consensus, x: Array, neighbours: Array, degree: Array) -> Consensus:
    """The state of an agent after sending `x` and receiving its neighbours' sum."""
    return Consensus(x, state.dual + PENALTY * (degree * x - neighbours), neighbours, x)


PROBABILITIES = (np.arange(99) + 1) / 100


def _law(gradients: Sequence[Float[np.ndarray, "draws p"]]) -> dict[str, Any]:
    """The law of the entries in each run; that of the first one over all of them."""
    from scipy import stats

    normal = stats.norm.ppf(PROBABILITIES)
    standard = [(each - each.mean(axis=0)) / each.std(axis=0) for each in gradients]
    first = np.concatenate([each[:, 0] for each in standard])
    density, _ = np.histogram(first, BINS, density=True)
    return {
        "density": density.tolist(),
        "probabilities": PROBABILITIES.tolist(),
        "quantiles": np.quantile(first, PROBABILITIES).tolist(),
        "correlations": [
            [
                float(np.corrcoef(normal, quantiles)[0, 1])
                for quantiles in np.quantile(each, PROBABILITIES, axis=0).T
            ]
            for each in standard
        ],
        "kurtosis": [stats.kurtosis(each).tolist() for each in standard],
    }
