"""Run simulated sites from the command line.

python -m tests.simulated_sites --seeds 0:1000 --workers 2
python -m tests.simulated_sites --replay 38
python -m tests.simulated_sites --mutants 0:2000
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.simulated_sites import mutants, watchers
from tests.simulated_sites.planting import caught
from tests.simulated_sites.seams import replaced
from tests.simulated_sites.seeds import COLUMNS, Tally, least, many, of_seed
from tests.simulated_sites.timeline import timeline, told

NIGHT = 8 * 3600.0
"""Seconds."""


def _print(tally: Tally, wall: float, workers: int) -> None:
    print(f"{'seeds':28}{tally.seeds:>12,}")
    for name in COLUMNS:
        print(f"{name:28}{tally.column(name):>12,}")
    print(f"{'faults, as the sum':28}{tally.faults:>12,}")
    print(f"{'messages cut by partitions':28}{tally.counts['cut']:>12,}")
    print(f"{'starts of members':28}{tally.counts['starts']:>12,}")
    print(f"{'messages':28}{tally.counts['messages']:>12,}")
    print(f"{'virtual days':28}{tally.seconds / 86400:>12,.1f}")
    print(f"{'seeds that fail':28}{len(tally.broken):>12,}")
    rate = tally.seeds / wall
    print(
        f"\n{rate:.1f} seeds and {tally.faults / wall:.0f} faults a second on {workers} processes"
    )
    print(f"{tally.seeds / tally.spent:.1f} seeds a second of processor time")
    print(
        f"a night of 8 hours at that rate: {rate * NIGHT:,.0f} seeds, "
        f"{tally.faults / wall * NIGHT:,.0f} faults"
    )


def _seeds(first: int, after: int, workers: int, seconds: float) -> int:
    began = time.monotonic()
    tally = many(first, after, workers, seconds)
    _print(tally, time.monotonic() - began, workers)
    for seed, wrong in sorted(tally.broken.items()):
        print(f"\nseed {seed}:")
        for name, each in wrong.items():
            print(f"  {name}: {each[0][-300:]}")
    return 1 if tally.broken else 0


def _replay(seed: int, *, verbose: bool) -> int:
    with replaced():
        ran = of_seed(seed)
        wrong = watchers.broken(ran)
    print(ran.digest())
    if not wrong:
        print(timeline(ran, verbose=verbose))
        print("\neverything holds")
        return 0
    few = least(seed)
    with replaced():
        ran = of_seed(seed, few)
        wrong = watchers.broken(ran)
    print(timeline(ran, verbose=verbose))
    for name, each in wrong.items():
        print(f"\n{name}: {each[0]}")
    print(f"\nthe fewest faults, {len(few)}:")
    for fault in few:
        print(f"  {told(fault)}")
    return 1


def _mutants(first: int, after: int) -> int:
    missed = 0
    alone = [(each,) for each in mutants.MUTANTS]
    for each in [*alone, *(tuple(map(mutants.named, pair)) for pair in mutants.PAIRS)]:
        seed, names = caught(each, first, after)
        missed += seed is None
        told = " + ".join(mutant.name for mutant in each)
        print(f"{'-' if seed is None else seed:>6}  {told}: {', '.join(names)}", flush=True)
    return min(missed, 1)


def main() -> int:
    """Read the options, and run."""
    options = argparse.ArgumentParser(prog="python -m tests.simulated_sites")
    options.add_argument("--seeds", metavar="A:B", default="0:100", help="seeds from A to B - 1")
    options.add_argument("--workers", type=int, default=1, help="processes that share them")
    options.add_argument("--seconds", type=float, default=float("inf"), help="stop after a time")
    options.add_argument("--replay", type=int, metavar="SEED", help="run one, and tell it")
    options.add_argument("--verbose", action="store_true", help="tell more of it")
    options.add_argument("--mutants", metavar="A:B", help="plant mistakes; find each")
    given = options.parse_args()
    if given.replay is not None:
        return _replay(given.replay, verbose=given.verbose)
    if given.mutants is not None:
        return _mutants(*map(int, given.mutants.split(":")))
    first, after = map(int, given.seeds.split(":"))
    return _seeds(first, after, given.workers, given.seconds)


if __name__ == "__main__":
    sys.exit(main())
