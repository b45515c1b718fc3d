"""Softmax regression on MNIST with masked sums, against local noise and one central noise.

    TACIT_DATA=<directory that holds mnist/> python benchmarks/masked_mnist.py
        [--settings "masks, c=1"] [--epsilons 1] [--trials 3] [--frequencies 28]

Ten agents with 6,000 records each; add/remove one record, delta = 1e-5; gradient descent with clip
0.2 and 300 rounds. Rows are those of `mnist.py` with all 28 x 28 cosines, so nothing of an image is
left out or pooled: 7,840 parameters.

local noise  every agent's noise protects it by itself
masks, c=1   a coordinator reads sums only; safe against it with any one agent (c=2: any two)
central      one noise for all, of whoever sums: masks with c=0 add the same
ring, c=2    no coordinator: exact sums by trees over a ring, masks between all pairs of agents
by label     exact sums by flooding over a ring, c=1, and every agent has one digit only
dropouts     a coordinator, c=1; an agent goes missing after it said that it takes part, one in 20
             times. The sum is tried again without it, if 8 are left, with fresh noise. Noise is for
             440 attempts; a run that needed more would be refused. Each trial has its own absences.

The length of the path, `step x clip x rounds`, is the only thing that is tuned, for every setting
alike: on 10,000 of the training records, with the other 50,000 fitted (`--trials` draws of the
noise), beginning at 16,000 epsilon, it is doubled or halved as long as that lowers the error, and
then changed by the root of two. Then all 60,000 are fitted with as many draws and scored on the
test set. The clip had been compared with 0.05, 0.1 and 0.5, the rounds with 150 and 600, and steps
of one size with such as decay, on the same 10,000 at epsilon 1. A coarser tuning, by factors of two
with one draw, had been scored on the test set before. The choices are not accounted for.

The mean over trials is given with their standard deviation (one standard error of 10,000 test
records is 0.3, but shared by all settings). A row takes some five minutes of two busy cores.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tacit
from tacit import network, problem
from tacit._engine.keys import public_key
from tacit.errors import ConfigError
from tacit.papers.ryu2021 import images
from tacit.papers.ryu2021.certified import AGENTS, SOFTMAX, Rows, rows
from tacit.privacy.masked import Masks
from tacit.problem.scores import scores

DELTA = 1e-5
FIRST_PATH = 16_000.0
"""At epsilon 1: where tuning begins."""


@dataclass(frozen=True)
class Setting:
    """Who sums what, and what the test error should be.

    Attributes:
        masks: over the sums, or `None` for noise that protects by itself.
        network: who talks to whom.
        by_label: whether every agent has the records of one digit.
        to_reach: by epsilon, the largest test error in %; these epsilons are run by default.
    """

    masks: Masks | None
    network: Callable[[], Any] = lambda: network.Coordinator(AGENTS)
    by_label: bool = False
    to_reach: Mapping[float, float] = field(
        default_factory=lambda: dict.fromkeys((0.5, 1.0, 2.0, 4.0), np.nan)
    )


SETTINGS = {
    "local noise": Setting(None),
    "masks, c=1": Setting(Masks(coalition=1), to_reach={0.5: 9.9, 1.0: 8.75, 2.0: 8.4, 4.0: 8.25}),
    "masks, c=2": Setting(Masks(coalition=2)),
    "central": Setting(Masks(coalition=0)),
    "ring, c=2": Setting(
        Masks(coalition=2),
        lambda: network.ExactSum(network.ring(AGENTS), by="tree"),
        to_reach={1.0: 8.95},
    ),
    "by label, c=1": Setting(
        Masks(coalition=1),
        lambda: network.ExactSum(network.ring(AGENTS), by="flooding"),
        by_label=True,
        to_reach={1.0: 8.6},
    ),
    "dropouts, c=1": Setting(
        Masks(coalition=1, min_cohort=8, attempts=440),
        lambda: network.Coordinator(AGENTS, dropout=0.05),
        to_reach={1.0: 9.1},
    ),
}


@dataclass(frozen=True)
class Fitted:
    """What some trials of one fit gave.

    Attributes:
        errors: test or validation error of each trial, %.
        attempts: the most sums that anybody answered in any trial.
        epsilon: the most that anybody spent in any trial.
        seconds: of wall-clock time.
    """

    errors: np.ndarray
    attempts: int
    epsilon: float
    seconds: float


def read(frequencies: int) -> tuple[Rows, Rows]:
    """Training and test records, or an explanation and the end."""
    try:
        found = images.chosen()
    except ConfigError as error:
        sys.exit(str(error))
    if found.source != "mnist":
        sys.exit("TACIT_DATA is not set to a directory that holds mnist/ with the four files")
    return rows(images.read(found), frequencies)


def task(records: Rows, by_label: bool) -> problem.Problem:
    """The records dealt to the agents, as they come or a digit to each."""
    every = np.arange(len(records.digits))
    dealt = np.array_split(every, AGENTS)
    if by_label:
        dealt = [every[records.digits == digit] for digit in range(AGENTS)]
    return problem.empirical_risk(
        [records.rows[own] for own in dealt],
        [records.digits[own] for own in dealt],
        SOFTMAX,
        normaliser=len(every) / AGENTS,
    )


def fit(
    fitted: problem.Problem,
    held_out: Rows,
    setting: Setting,
    epsilon: float,
    path: float,
    trials: int,
    options: argparse.Namespace,
) -> Fitted:
    """Fit with several draws of the noise, and score each."""
    began = time.perf_counter()
    budget = tacit.Privacy(
        clip=options.clip,
        epsilon=epsilon,
        delta=DELTA,
        relation="add_remove",
        masks=setting.masks,
    )
    over = setting.network()
    # the trials of one run share its absences
    runs = [(seed, 1) for seed in range(trials)] if over.varying else [(0, trials)]
    errors, attempts, spent = [], 0, 0.0
    for seed, batch in runs:
        result = tacit.run(
            fitted,
            over,
            tacit.GradientDescent(step=path / (options.clip * options.rounds), privacy=budget),
            rounds=options.rounds,
            seed=seed,
            record=options.rounds,
            runtime=tacit.Simulation(trials=batch, precision=options.precision),
            require="proved",
        )
        for answers in result.solutions:
            # one iterate, which everybody knows
            found = scores(SOFTMAX, held_out.rows, held_out.digits, answers[0])
            errors.append(100.0 * found["error"])
        answered = over.attempts(options.rounds, public_key(seed))
        attempts = max(attempts, int(np.max(answered)))
        spent = max(spent, float(np.max(result.history.epsilon[-1])))
    return Fitted(np.array(errors), attempts, spent, time.perf_counter() - began)


def climb(error: Callable[[float], float], path: float) -> float:
    """Double or halve a path as long as that lowers the error, then go by the root of two."""
    for factor in (2.0, 0.5, math.sqrt(2.0), math.sqrt(0.5)):
        while error(path * factor) < error(path):
            path *= factor
    return path


def main() -> None:
    """Tune and report every row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--epsilons", type=float, nargs="+", help="by default those to be reached")
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument(
        "--frequencies", type=int, choices=range(1, 29), default=28, metavar="1..28"
    )
    parser.add_argument("--clip", type=float, default=0.2)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--path", type=float, help="in place of the one that tuning would find")
    parser.add_argument("--precision", choices=("float32", "float64"), default="float32")
    options = parser.parse_args()
    training, test = read(options.frequencies)
    order = np.random.default_rng(0).permutation(len(training.digits))
    held_out, rest = training.part(order[:10_000]), training.part(order[10_000:])
    print(
        f"clip {options.clip:g}, {options.rounds} rounds, {options.frequencies} x "
        f"{options.frequencies} cosines, {options.precision}, {options.trials} trials\n"
        "setting        epsilon  test error, % to reach    step (path)         "
        "attempts  epsilon spent  seconds, tuning included"
    )
    tasks: dict[bool, tuple[problem.Problem, problem.Problem]] = {}
    for name in options.settings:
        setting = SETTINGS[name]
        if setting.by_label not in tasks:
            tasks.clear()  # one pair is memory enough
            tasks[setting.by_label] = task(rest, setting.by_label), task(training, setting.by_label)
        tuning, whole = tasks[setting.by_label]
        for epsilon in options.epsilons or setting.to_reach:
            report(name, epsilon, tuning, whole, held_out, test, options)


def report(
    name: str,
    epsilon: float,
    tuning: problem.Problem,
    whole: problem.Problem,
    held_out: Rows,
    test: Rows,
    options: argparse.Namespace,
) -> None:
    """Tune and report one row."""
    began, setting = time.perf_counter(), SETTINGS[name]
    tried: dict[int, float] = {}

    def error(path: float) -> float:
        whole_path = round(path)  # one that is come to in two ways is one
        if whole_path not in tried:
            found = fit(tuning, held_out, setting, epsilon, whole_path, options.trials, options)
            tried[whole_path] = float(found.errors.mean())
        return tried[whole_path]

    path = options.path or round(climb(error, FIRST_PATH * epsilon))
    found = fit(whole, test, setting, epsilon, path, options.trials, options)
    spread = found.errors.std(ddof=1) if options.trials > 1 else 0.0
    aim = setting.to_reach.get(epsilon, np.nan)
    beside = "             "
    if np.isfinite(aim):
        beside = f"{aim:5.2f} {'reached' if found.errors.mean() <= aim else 'MISSED '}"
    step = path / (options.clip * options.rounds)
    print(
        f"{name:<13}  {epsilon:<7g}  {found.errors.mean():5.2f} +- {spread:4.2f} {beside}  "
        f"{step:7.1f} ({path:<8g})  {found.attempts:8d}  {found.epsilon:13.4f}  "
        f"{time.perf_counter() - began:7.0f}",
        flush=True,
    )
    told = ", ".join(f"{each:g}: {tried[each]:.2f}" for each in sorted(tried))
    if told:
        print(f"    validation error by path  {told}", flush=True)


if __name__ == "__main__":
    main()
