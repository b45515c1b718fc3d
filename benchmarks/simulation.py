"""How fast the simulation is, against the same loop written by hand.

    python benchmarks/simulation.py [--repeats 5] [--only dgd dpsg d-zoa large]

* dgd: decentralised gradient descent on logistic regression (50 records x 20 features an agent,
  random 4-regular graph, float64), against a plain `vmap` + `scan` in the same process, both
  checked against a NumPy recursion; and against decent-bench 0.3.0's agent-rounds a second as
  measured on a quiet 2-core machine (27 k, 19 k and 4.4 k at 10, 100 and 1000 agents).
* dpsg: the same with noise, accounting and history, against DGD plus drawing the same normals.
* d-zoa: the paper's 5 agents, 16 trials at J = 30, against drawing the directions alone; and the
  time of 100 trials of 200 rounds.
* large: 100,000 agents.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tacit
from tacit import network, problem
from tacit._engine import batched
from tacit._engine.compiled import lay_out
from tacit._engine.contract import contract
from tacit._engine.keys import agent_secret, phase_keys
from tacit._engine.runner import Simulation
from tacit.method._directions import normal_directions
from tacit.papers.gratton2021.setting import paper_network, paper_problem

RECORDS, FEATURES, STEP = 50, 20, 0.1
ROUNDS = {10: 40_000, 100: 8_000, 1_000: 600, 10_000: 200}
DECENT_BENCH = {10: 27e3, 100: 19e3, 1_000: 4.4e3}


def median_seconds(call: Callable[[], Any], repeats: int) -> float:
    """Median wall-clock time of a call, after one that compiles."""
    jax.block_until_ready(call())
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        jax.block_until_ready(call())
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def data(agents: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and 0/1 targets of every agent."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(agents, RECORDS, FEATURES))
    return features, (rng.random((agents, RECORDS)) < 0.5).astype(float)


def make(agents: int) -> tuple[Any, Any]:
    """The logistic problem and its graph."""
    features, targets = data(agents)
    task = problem.empirical_risk(list(features), list(targets), problem.Logistic())
    return task, network.random_regular(agents, 4, seed=0)


def by_hand(agents: int, net: Any, rounds: int) -> Callable[[], Any]:
    """What one would write without a library: `vmap` over agents, `scan` over rounds."""
    features, targets = (jnp.asarray(part) for part in data(agents))
    neighbours = jnp.asarray(net.neighbours())
    weights = jnp.asarray(net.mixing(0, jax.random.key(0)).weight).reshape(agents, -1)
    own = jnp.asarray(net.self_weight)

    def gradient(x: Any, table: Any, labels: Any) -> Any:
        return table.T @ (jax.nn.sigmoid(table @ x) - labels) / RECORDS

    def body(x: Any, _: None) -> tuple[Any, None]:
        slopes = jax.vmap(gradient)(x, features, targets)
        mixed = own[:, None] * x + jnp.einsum("as,asp->ap", weights, x[neighbours])
        return mixed - STEP * slopes, None

    loop = jax.jit(lambda x: jax.lax.scan(body, x, None, length=rounds)[0])
    start = jnp.zeros((agents, FEATURES))
    return lambda: loop(start)


def by_numpy(agents: int, net: Any, rounds: int) -> np.ndarray:
    """The recursion in NumPy, for its numbers."""
    features, targets = data(agents)
    neighbours = np.asarray(net.neighbours())
    weights = np.asarray(net.mixing(0, None).weight).reshape(agents, -1)
    own = np.asarray(net.self_weight)
    x = np.zeros((agents, FEATURES))
    for _ in range(rounds):
        scores = np.einsum("anp,ap->an", features, x)
        slopes = np.einsum("anp,an->ap", features, 1 / (1 + np.exp(-scores)) - targets) / RECORDS
        mixed = own[:, None] * x + np.einsum("as,asp->ap", weights, x[neighbours])
        x = mixed - STEP * slopes
    return x


def ours(task: Any, net: Any, method: Any, rounds: int, trials: int = 1) -> Callable[[], Any]:
    """The compiled loop of the simulation, as `tacit.run` calls it."""
    agreed = contract(task, net, method, rounds=rounds, trials=trials)
    plan, roots = lay_out(agreed, task)
    bounds = np.full((32, 2), rounds)
    bounds[0, 0] = 0
    states = batched.start(plan, roots)
    return lambda: batched.advance(plan, roots, states, jnp.asarray(bounds))


def dgd(repeats: int) -> None:
    """Agent-rounds a second at four sizes."""
    print("DGD, agent-rounds a second (median of", repeats, "runs)")
    print(
        f"{'agents':>7} {'tacit':>9} {'by hand':>9} {'ratio':>6} "
        f"{'x decent-bench':>15} {'compile s':>9} {'error':>8}"
    )
    for agents, rounds in ROUNDS.items():
        task, net = make(agents)
        loop = ours(task, net, tacit.DGD(step=STEP), rounds)
        began = time.perf_counter()
        jax.block_until_ready(loop())
        first = time.perf_counter() - began
        hand = by_hand(agents, net, rounds)
        # alternate, so that a change of the machine's speed meets both
        jax.block_until_ready(hand())
        pairs = [(median_seconds(loop, 1), median_seconds(hand, 1)) for _ in range(repeats)]
        mine, plain = (statistics.median(times) for times in zip(*pairs, strict=True))
        short = min(rounds, 100)
        small = ours(task, net, tacit.DGD(step=STEP), short)()[0]["peer"].x[0]
        error = float(np.max(np.abs(np.asarray(small) - by_numpy(agents, net, short))))
        assert error < 1e-8, error
        peer = (
            f"{agents * rounds / mine / DECENT_BENCH[agents]:.0f}"
            if agents in DECENT_BENCH
            else "-"
        )
        print(
            f"{agents:>7} {agents * rounds / mine / 1e6:>7.2f} M "
            f"{agents * rounds / plain / 1e6:>7.2f} M "
            f"{plain / mine:>6.2f} {peer:>15} {first - mine:>9.2f} {error:>8.0e}"
        )


def dpsg(repeats: int) -> None:
    """The price of privacy in a simulation, beyond drawing the noise."""
    print("\nDPSG with accounting and history, against DGD + drawing the same normals")
    for agents, rounds in ROUNDS.items():
        task, net = make(agents)
        privacy = tacit.Privacy(clip=1.0, epsilon=1.0)
        method = tacit.DPSG(step=STEP, privacy=privacy)

        def private(task: Any = task, net: Any = net, method: Any = method, n: int = rounds) -> Any:
            # the history of 20 rounds, each of which evaluates the whole objective once
            return tacit.run(task, net, method, rounds=n, seed=0, record=n // 20).solutions

        plain = ours(task, net, tacit.DGD(step=STEP), rounds)
        secrets = jax.vmap(lambda a: agent_secret(jax.random.key(0), a))(jnp.arange(agents))

        @jax.jit
        def draw(secrets: Any, n: int = rounds, agents: int = agents) -> Any:
            def one(secret: Any, round: Any) -> Any:
                return jax.random.normal(phase_keys(secret, round, 0, 0).noise, (FEATURES,))

            def body(t: Any, total: Any) -> Any:
                return total + jax.vmap(lambda secret: one(secret, t))(secrets)

            return jax.lax.fori_loop(0, n, body, jnp.zeros((agents, FEATURES)))

        jax.block_until_ready((private(), plain(), draw(secrets)))
        rows = [
            (
                median_seconds(private, 1),
                median_seconds(plain, 1),
                median_seconds(lambda draw=draw, keys=secrets: draw(keys), 1),
            )
            for _ in range(repeats)
        ]
        mine, base, noise = (statistics.median(times) for times in zip(*rows, strict=True))
        print(
            f"{agents:>7} agents: {agents * rounds / mine / 1e6:.2f} M agent-rounds/s, "
            f"{mine / (base + noise):.2f} times (DGD {base:.2f} s + normals {noise:.2f} s)"
        )


def d_zoa(repeats: int) -> None:
    """The inner solver against the cost of its random directions."""
    task, net = paper_problem("ridge", seed=0), paper_network()
    inner, directions, rounds, trials = 100, 30, 4, 16
    method = tacit.DZOASolver(
        step=0.02, penalty=4.0, inner_steps=inner, directions=directions, printed=True
    )
    solve = ours(task, net, method, rounds, trials)
    keys = jax.random.split(jax.random.key(0), (trials, 5))

    @jax.jit
    def draw(keys: Any) -> Any:
        shape = (2, directions, 10)

        def one(key: Any, t: Any) -> Any:
            return normal_directions(jax.random.fold_in(key, t), shape)

        def body(t: Any, total: Any) -> Any:
            return total + jax.vmap(jax.vmap(lambda key: one(key, t)))(keys)

        zero = jnp.zeros((trials, 5, *shape), jnp.float32)
        return jax.lax.fori_loop(0, rounds * inner, body, zero)

    jax.block_until_ready((solve(), draw(keys)))
    pairs = [
        (median_seconds(solve, 1), median_seconds(lambda: draw(keys), 1)) for _ in range(repeats)
    ]
    mine, noise = (statistics.median(times) for times in zip(*pairs, strict=True))
    entries = trials * 5 * rounds * inner * 2 * directions * 10
    print(
        f"\nD-ZOA, 16 trials: {mine / noise:.2f} times drawing its directions "
        f"({noise / entries * 1e9:.1f} ns an entry)"
    )
    began = time.perf_counter()
    tacit.run(task, net, method, rounds=200, seed=0, runtime=Simulation(trials=100))
    print(
        f"D-ZOA, 100 trials of 200 rounds at J = {directions}: {time.perf_counter() - began:.0f} s"
    )


def large() -> None:
    """A hundred thousand agents, private."""
    task, net = make(100_000)
    method = tacit.DPSG(step=STEP, privacy=tacit.Privacy(clip=1.0, epsilon=1.0))
    began = time.perf_counter()
    result = tacit.run(task, net, method, rounds=20, seed=0)
    print(
        f"\n100,000 agents, 20 private rounds: {time.perf_counter() - began:.1f} s in all, "
        f"{result.status}, epsilon {result.guarantee.worst.epsilon:.3f}"
    )


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=["dgd", "dpsg", "d-zoa", "large"])
    options = parser.parse_args()
    with jax.enable_x64(True):
        if "dgd" in options.only:
            dgd(options.repeats)
        if "dpsg" in options.only:
            dpsg(options.repeats)
        if "d-zoa" in options.only:
            d_zoa(options.repeats)
        if "large" in options.only:
            large()


if __name__ == "__main__":
    main()
