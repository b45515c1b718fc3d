"""How fast safe noise is: a million coordinates, against OpenDP's exact samplers.

    python benchmarks/safe_noise.py [--count 1000000] [--reference 20000]

Wall-clock and processor seconds, one thread. OpenDP draws fewer, and its time is scaled up.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from tacit.privacy.laws import NoiseKind
from tacit.privacy.noise import OpenDPNoise, SecureNoise, grid_release

LAWS = (NoiseKind.GAUSSIAN, NoiseKind.LAPLACE)  # those that a grid has
SCALES = (1.0, 1e3, 2.0**20, 2.0**30, 2.0**44)


def seconds(call: Callable[[], object]) -> tuple[float, float]:
    """Wall-clock and processor time of the fastest of three calls."""
    taken = []
    for _ in range(3):
        wall, processor = time.perf_counter(), time.process_time()
        call()
        taken.append((time.perf_counter() - wall, time.process_time() - processor))
    return min(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10**6)
    parser.add_argument("--reference", type=int, default=20_000)
    arguments = parser.parse_args()
    zeros, few = (np.zeros(n, np.int64) for n in (arguments.count, arguments.reference))
    secure, reference = SecureNoise(), OpenDPNoise()
    print(f"{arguments.count:,} coordinates; OpenDP scaled up from {arguments.reference:,}")
    print(f"{'law':<10}{'scale':>10}{'wall s':>10}{'cpu s':>10}{'OpenDP s':>10}{'ratio':>8}")
    for law in LAWS:
        for scale in SCALES:
            wall, processor = seconds(partial(secure.added, zeros, law, scale))
            began = time.process_time()
            reference.added(few, law, scale)
            theirs = (time.process_time() - began) * arguments.count / arguments.reference
            print(
                f"{law.value:<10}{scale:>10.3g}{wall:>10.2f}{processor:>10.2f}{theirs:>10.1f}"
                f"{theirs / processor:>8.0f}"
            )
    value = np.random.default_rng(0).normal(size=arguments.count)
    for law in LAWS:
        release = grid_release(law, 10.0, sensitivity=1e-3, dimension=value.size, largest=10.0)
        wall, processor = seconds(partial(release, value, secure))
        print(f"whole release, {law.value}: {wall:.2f} s wall, {processor:.2f} s cpu")


if __name__ == "__main__":
    main()
