"""What accounting costs: time, processor time and memory of long runs and of calibration.

    python benchmarks/accounting.py [CASE]

Without a case, each runs in its own process, so that nothing is cached and the peak of memory is
its own; the imports are left out. "Target" is the most seconds that a case should take.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module

import numpy as np

from tacit.privacy.event import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    PoissonSampled,
    Repeated,
)

ROUNDS, DELTA = 20_000, 1e-6


def sampled(z: float) -> Event:
    """A Gaussian release on a hundredth of the records."""
    return PoissonSampled(0.01, GaussianRelease(z))


def distinct(kind: Callable[[float], Event], rounds: int = ROUNDS) -> list[Event]:
    """As many releases, no two of which have the same noise."""
    return [kind(float(z)) for z in np.linspace(200.0, 400.0, rounds)]


def spent(events: list[Event]) -> Callable[[], float]:
    """Epsilon of a run."""

    def answer() -> float:
        from tacit.privacy.accounting import epsilon

        return epsilon(events, DELTA)

    return answer


def noise(kind: Callable[[float], Event], epsilon: float = 1.0) -> Callable[[], float]:
    """Noise for a budget."""

    def answer() -> float:
        from tacit.privacy.calibration import noise_multiplier

        return noise_multiplier(epsilon, DELTA, lambda z: [Repeated(kind(z), ROUNDS)])

    return answer


def rounds(kind: Callable[[float], Event], z: float) -> Callable[[], float]:
    """Rounds that a budget of 1 affords."""

    def answer() -> float:
        from tacit.privacy.calibration import affordable_rounds

        return affordable_rounds(1.0, DELTA, lambda n: [Repeated(kind(z), n)])

    return answer


def curve() -> float:
    """The last point of a profile of fifty."""
    from tacit.privacy.accounting import profile

    return float(profile([Repeated(LaplaceRelease(200.0), ROUNDS)], np.linspace(0.0, 4.0, 50))[-1])


MIXED: list[Event] = [
    Repeated(GaussianRelease(500.0), ROUNDS // 2),
    Repeated(LaplaceRelease(500.0), ROUNDS // 2),
]
CASES: dict[str, tuple[Callable[[], float], float]] = {
    "20,000 Gaussian": (spent([Repeated(GaussianRelease(200.0), ROUNDS)]), 1.0),
    "20,000 Laplace": (spent([Repeated(LaplaceRelease(200.0), ROUNDS)]), 1.0),
    "20,000 sampled Gaussian": (spent([Repeated(sampled(1.0), ROUNDS)]), 1.0),
    "20,000 discrete Laplace": (spent([Repeated(DiscreteLaplaceRelease(200.0), ROUNDS)]), 1.0),
    "20,000 discrete Gaussian": (spent([Repeated(DiscreteGaussianRelease(200.0), ROUNDS)]), 1.0),
    "20,000 mixed": (spent(MIXED), 1.0),
    "20,000 distinct Gaussian": (spent(distinct(GaussianRelease)), 5.0),
    "20,000 distinct Laplace": (spent(distinct(LaplaceRelease)), 5.0),
    "20,000 distinct discrete Laplace": (spent(distinct(DiscreteLaplaceRelease)), 5.0),
    "20,000 distinct of both kinds": (
        spent(distinct(LaplaceRelease, ROUNDS // 2) + distinct(GaussianRelease, ROUNDS // 2)),
        5.0,
    ),
    "20,000 distinct sampled Gaussian": (
        spent([PoissonSampled(0.01, GaussianRelease(float(z))) for z in np.linspace(1, 2, ROUNDS)]),
        5.0,
    ),
    "calibration Gaussian": (noise(GaussianRelease), 3.0),
    "calibration Laplace": (noise(LaplaceRelease), 3.0),
    "calibration sampled Gaussian": (noise(sampled), 3.0),
    "calibration sampled Gaussian, epsilon 8": (noise(sampled, 8.0), 3.0),
    "calibration discrete Gaussian": (noise(DiscreteGaussianRelease), 3.0),
    "calibration discrete Laplace": (noise(DiscreteLaplaceRelease), 3.0),
    "rounds Gaussian": (rounds(GaussianRelease, 500.0), 3.0),
    "rounds Laplace": (rounds(LaplaceRelease, 500.0), 3.0),
    "rounds sampled Gaussian": (rounds(sampled, 2.0), 3.0),
    "profile of 50 points, Laplace": (curve, 1.0),
}


def measure(name: str) -> None:
    """One case in this process."""
    for library in ("dp_accounting.pld", "dp_accounting.rdp", "scipy.signal", "scipy.special"):
        import_module(library)  # what they take is not the accountant's time

    answer, target = CASES[name]
    wall, processor = time.perf_counter(), time.process_time()
    found = answer()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{name:<42} {found:>12.6g} {wall:>7.2f} {processor:>7.2f} {target:>7.0f} {peak:>7.2f}",
        flush=True,
    )


def main() -> None:
    """All cases, or one."""
    if len(sys.argv) > 1:
        measure(sys.argv[1])
        return
    print(f"{'case':<42} {'answer':>12} {'wall s':>7} {'cpu s':>7} {'target':>7} {'peak GB':>7}")
    for name in CASES:
        subprocess.run([sys.executable, __file__, name], check=True)


if __name__ == "__main__":
    main()
