"""Test error on MNIST of a model on oriented gradients, between ten sites that hide each other.

    TACIT_DATA=folder python benchmarks/image_features.py [--epsilons 1 0.5 0.25] [--draws 5]

The folder has the four files of MNIST as they are distributed (`train-images-idx3-ubyte.gz`, ...),
itself or in `mnist`. Every image becomes 392 public features (`data.OrientedGradients`); ten sites
fit a softmax model by gradient descent under masks, one of them may collude, delta is 1e-5, every
guarantee is proved. The step is chosen for each epsilon and relation on 10,000 images of the
training set, from 50,000 others; then all 60,000 are fitted, and the test set is scored once, with
other noise in each draw. Clip, rounds, averaging and the constants of the map were compared on the
same 10,000 before. The choices are not accounted for.

Test error, %, mean and standard deviation of five draws (906 s on two cores):

    epsilon         1            0.5          0.25
    add/remove      1.89 +- .08  2.14 +- .10  2.59 +- .11
    to reach        2.1          2.5          2.9
    replace one     2.17 +- .09  2.62 +- .10  3.28 +- .15
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any, Literal

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np

import tacit
from tacit import data, network, problem
from tacit.privacy import Masks

SITES, DELTA, CLIP, ROUNDS = 10, 1e-5, 0.1, 200
HELD_OUT = 10_000
STEPS = (512.0, 1024.0, 2048.0, 4096.0)
"""Steps that are tried, in epsilons."""
GOALS = {1.0: 2.1, 0.5: 2.5, 0.25: 2.9}
"""Test errors to reach with add/remove, in percent."""

Images = tuple[np.ndarray, np.ndarray]
Relation = Literal["add_remove", "replace_one"]


def images(folder: Path, part: str) -> Images:
    """Features and digits of `train` or `t10k`."""
    names = (f"{part}-images-idx3-ubyte.gz", f"{part}-labels-idx1-ubyte.gz")
    frame = data.load(folder / names[0], labels=folder / names[1], target="digit")
    pixels = {name: data.Numeric(0, 255) for name in frame.columns if name != "digit"}
    digits = data.ClassTarget("digit", list(range(10)))
    gradients = data.OrientedGradients(28, 28)
    found = data.prepare(frame, data.Schema(pixels, digits, intercept=False, map=gradients))
    return found.features.astype(np.float32), found.targets


def errors(
    fitted: Images, scored: Images, epsilon: float, relation: Relation, step: float, draws: int
) -> np.ndarray:
    """Errors in percent, one per draw of the noise."""
    parts = np.array_split(np.arange(len(fitted[0])), SITES)
    task = problem.empirical_risk(
        [fitted[0][part] for part in parts],
        [fitted[1][part] for part in parts],
        problem.Softmax(10),
        problem.NoRegulariser(),
        normaliser=len(fitted[0]) / SITES,
    )
    budget = tacit.Privacy(
        clip=CLIP, epsilon=epsilon, delta=DELTA, masks=Masks(coalition=1), relation=relation
    )
    result = tacit.run(
        task,
        network.Coordinator(SITES),
        tacit.GradientDescent(step=step, average=True, privacy=budget),
        rounds=ROUNDS,
        seed=0,
        record=ROUNDS,
        require="proved",
        runtime=tacit.Simulation(trials=draws, precision="float32"),
    )
    found = []
    for answer in np.asarray(result.solutions).mean(axis=1):
        said = np.argmax(scored[0] @ answer.reshape(-1, 10), axis=1)
        found.append(100.0 * np.mean(said != scored[1]))
    return np.array(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilons", type=float, nargs="*", default=list(GOALS))
    parser.add_argument("--draws", type=int, default=5)
    given = parser.parse_args()
    folder = Path(os.environ.get("TACIT_DATA", "."))
    folder = folder / "mnist" if (folder / "mnist").is_dir() else folder
    began = time.monotonic()
    train = images(folder, "train")
    print(f"60,000 images mapped to {train[0].shape[1]} features: {time.monotonic() - began:.0f} s")
    order = np.random.default_rng(0).permutation(len(train[0]))
    shuffled = (train[0][order], train[1][order])
    kept = (shuffled[0][:-HELD_OUT], shuffled[1][:-HELD_OUT])
    held = (shuffled[0][-HELD_OUT:], shuffled[1][-HELD_OUT:])
    relations: tuple[Relation, ...] = ("add_remove", "replace_one")
    chosen: dict[Any, float] = {}
    for relation in relations:
        for epsilon in given.epsilons:
            steps = [step * epsilon for step in STEPS]
            tried = [
                errors(kept, held, epsilon, relation, step, given.draws).mean() for step in steps
            ]
            chosen[relation, epsilon] = steps[int(np.argmin(tried))]
            print(f"{relation} epsilon {epsilon:g}: validation {np.round(tried, 2)}", flush=True)
    test, missed = images(folder, "t10k"), False
    print("relation     epsilon  step  test error % +- sd of a draw   goal")
    for (relation, epsilon), step in chosen.items():
        found = errors(shuffled, test, epsilon, relation, step, given.draws)
        goal = GOALS.get(epsilon) if relation == "add_remove" else None
        told = "" if goal is None else f"{goal:g} {'reached' if found.mean() <= goal else 'MISSED'}"
        missed |= "MISSED" in told
        print(
            f"{relation:12s} {epsilon:7g} {step:5g}  {found.mean():.2f} +- {found.std(ddof=1):.2f}"
            f"{'':20s}{told}",
            flush=True,
        )
    print(f"{time.monotonic() - began:.0f} s")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
