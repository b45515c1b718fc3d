"""Masked sums over a ring of peers beside a star with a coordinator, on this machine.

    python benchmarks/peer_sums.py [--agents 5] [--floats 20] [--rounds 200]

All members are real processes, as `tacit rehearse` starts them: mutual TLS, signatures, masks,
journals and ledgers; noise is that of a seed, so that the models can be compared with the bitwise
simulation. Prints the median over members of the median round, and the largest difference of any
member's model from the simulation's.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import tacit
from tacit.deploy.operate.rehearse import perform, prepare
from tacit.study import assemble
from tacit.study.read import parse_study

STUDY = """
title = "Sums over {agents} made-up sites"
[data]
path = "records.csv"
[data.features]
{features}
[data.target]
column = "ill"
positive = "yes"
[partition]
by = "even"
sites = {agents}
[problem]
loss = "logistic"
[network]
{network}
[method]
name = "gradient-descent"
step = 1.0
[privacy]
epsilon = 4.0
delta = 1e-6
clip = 1.0
masks = {{ coalition = 1, spare = 10 }}
[run]
rounds = {rounds}
"""

NETWORKS = {
    "star with a coordinator": 'graph = "coordinator"',
    "ring, tree": 'graph = "ring"\nexact_sum = "tree"',
    "ring, flooding": 'graph = "ring"\nexact_sum = "flooding"',
}


def measure(folder: Path, network: str, agents: int, floats: int, rounds: int) -> tuple[float, ...]:
    """Seconds of a round, and the largest difference from the simulation."""
    columns = [f"x{i}" for i in range(floats - 1)]  # and an intercept
    rng = np.random.default_rng(0)
    rows = [",".join([*columns, "ill"])]
    for values in rng.random((40 * agents, len(columns))):
        rows.append(",".join([*map(repr, values.tolist()), "yes" if values[0] > 0.4 else "no"]))
    (folder / "records.csv").write_text("\n".join(rows) + "\n")
    features = "\n".join(f"{name} = {{ lower = 0, upper = 1 }}" for name in columns)
    text = STUDY.format(agents=agents, features=features, network=network, rounds=rounds)
    source = parse_study(text, "study.toml", folder)
    rehearsal = prepare(source, folder / "rehearsal", patience=120.0)
    found = perform(rehearsal, ["--test-seed", "5"])
    parts, exact = assemble(source), tacit.Simulation(exact=True)
    expected = tacit.run(
        parts.problem, parts.network, parts.method, rounds=rounds, seed=5, runtime=exact
    ).solutions[0][0]
    off = max(float(np.abs(each["solution"] - expected).max()) for each in found)
    return statistics.median(each["round_seconds"]["median"] for each in found), off


def main() -> None:
    """Read the options, and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--agents", type=int, default=5)
    parser.add_argument("--floats", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    for name, network in NETWORKS.items():
        with TemporaryDirectory() as folder:
            seconds, off = measure(
                Path(folder), network, options.agents, options.floats, options.rounds
            )
        print(
            f"{name}: {options.agents} agents, {options.floats} floats: a round "
            f"{1e3 * seconds:.1f} ms; off the simulation by {off:g}",
            flush=True,
        )


if __name__ == "__main__":
    main()
