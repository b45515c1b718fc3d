"""What lower bounds reach: power on exact mechanisms, known mistakes, and the time of transcripts.

    python benchmarks/audit.py [power] [plan] [controls] [planted] [transcripts] [--repetitions 200]

power: the 95 % bound at 50,000 runs a side over the true epsilon, and how often it is above it.
plan: runs a side for 90 % power, by the factor by which the noise is too small.
controls: how often each known mistake is refuted in the stated number of runs, and its twin.
planted: mistakes in the code that runs, in audits by the command; the table of docs/audit.md.
transcripts: 20,000 runs a side of ten numbers in each of 50 rounds.
"""

from __future__ import annotations

import argparse
import io
import math
import sys
import tempfile
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit import network, problem
from tacit.audit import lower_bounds, trials_for_power

sys.path.insert(0, str(Path(__file__).parents[1]))  # for tests.statistical
from tests.end_to_end.study import STUDY
from tests.statistical.controls import CONTROLS
from tests.statistical.planted import MISTAKES, SAMPLED, audited, finders
from tests.statistical.test_audit_power import DELTA, MECHANISMS, RUNS, bounds


def power(repetitions: int) -> None:
    print(f"{'mechanism':>9} {'epsilon':>7} {'mean':>6} {'least':>6} {'above':>5} of {repetitions}")
    for name in MECHANISMS:
        for epsilon in (0.1, 0.5, 1.0, 3.0, 8.0):
            found = bounds(name, epsilon, RUNS, repetitions)
            print(
                f"{name:>9} {epsilon:>7} {found.mean() / epsilon:>6.3f} "
                f"{found.min() / epsilon:>6.3f} {np.sum(found > epsilon):>5}",
                flush=True,
            )
    perfect = lower_bounds(np.ones(RUNS), np.zeros(RUNS), delta=0.0)
    print(f"a perfect attack: {max(b.epsilon for b in perfect):.2f}; ", end="")
    print(f"ln(n/3.7) = {math.log(RUNS / 3.7):.2f}")


def plan(repetitions: int) -> None:
    print(f"{'noise':>9} {'claim':>6} {'1.25x':>9} {'1.5x':>9} {'2x':>9}")
    for kind, delta in (("laplace", 0.0), ("gaussian", DELTA)):
        for claim in (0.1, 0.5, 1.0, 3.0):
            needed = [
                trials_for_power(claim, delta, factor=factor, kind=kind)
                for factor in (1.25, 1.5, 2.0)
            ]
            print(f"{kind:>9} {claim:>6} " + " ".join(f"{each or '-':>9}" for each in needed))


def controls(repetitions: int) -> None:
    print(f"{'mistake':<42} {'runs':>6} {'refuted':>8} {'correct':>8} of {repetitions}")
    for name, control in CONTROLS.items():
        rng = np.random.default_rng(0)
        counts = [
            sum(control.refuted(rng, correct=correct) for _ in range(repetitions))
            for correct in (False, True)
        ]
        print(f"{name:<42} {control.trials:>6} {counts[0]:>8} {counts[1]:>8}", flush=True)


def planted(repetitions: int) -> None:
    """One audit each, whatever the repetitions."""
    print("| planted mistake | found by | runs a side |\n| --- | --- | --- |")
    for name, mistake in {**MISTAKES, **dict.fromkeys(("none", "none, sampled"))}.items():
        study = SAMPLED if "sampled" in name else STUDY
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
            document = audited(Path(folder), mistake, study)
        by = ", ".join(dict.fromkeys(each.split(", ")[-1] for each in finders(document)))
        print(f"| {name} | {by or 'nothing'} | {document['trials']:,} |", flush=True)


def transcripts(repetitions: int) -> None:
    rng = np.random.default_rng(0)
    sites = [rng.normal(size=(20, 10)) for _ in range(5)]
    task = problem.empirical_risk(sites, [np.ones(20)] * 5, problem.Squared())
    method: Any = tacit.DPSG(step=0.1, privacy=tacit.Privacy(clip=1.0, epsilon=1.0, delta=DELTA))
    wall, processor = time.perf_counter(), time.process_time()
    found = tacit.audit_method(
        task, network.ring(5), method, rounds=50, trials=20_000, seed=0, stop=False
    )
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(
        f"10 numbers, 50 rounds, {found.trials:,} runs a side: {wall:.1f} s ({processor:.1f} s of"
    )
    print(f"processor time); epsilon is at least {found.best.epsilon:.3f}, claimed 1")


PARTS = {
    "power": power,
    "plan": plan,
    "controls": controls,
    "planted": planted,
    "transcripts": transcripts,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="part")
    parser.add_argument("--repetitions", type=int, default=200)
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"{part!r} is none of {', '.join(PARTS)}")
        PARTS[part](options.repetitions)


if __name__ == "__main__":
    main()
