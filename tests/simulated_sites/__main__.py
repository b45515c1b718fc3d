"""Run simulated sites from the command line.

python -m tests.simulated_sites --seeds 0:1000 --workers 2
python -m tests.simulated_sites --seeds 0:1 --members 256
python -m tests.simulated_sites --replay 38
python -m tests.simulated_sites --mutants 0:2000 --only lock
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.simulated_sites import watchers
from tests.simulated_sites.cast import large
from tests.simulated_sites.first import FIRST, UNFOUND
from tests.simulated_sites.mutants import named
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
    rate, of_faults = tally.seeds / tally.spent, tally.faults / tally.spent
    print(f"\n{wall:,.0f} seconds on {workers} processes, {tally.spent:,.0f} of processor time")
    print(f"{rate:.3g} seeds and {of_faults:.3g} faults a second of processor time")
    print(
        f"a night of 8 hours on {workers} cores at that rate: {rate * NIGHT * workers:,.0f} seeds, "
        f"{of_faults * NIGHT * workers:,.0f} faults"
    )


def _progress(tally: Tally) -> None:
    print(f"{tally.seeds:,} seeds, {len(tally.broken)} fail", end="\r", file=sys.stderr, flush=True)


def _seeds(first: int, after: int, workers: int, seconds: float, members: int | None) -> int:
    began, shape = time.monotonic(), None if members is None else large(members)
    tally = many(first, after, workers, seconds, _progress, shape)
    print(file=sys.stderr)
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
    if not wrong:
        print(timeline(ran, verbose=verbose))
        print(f"\neverything holds; digest of all that happened {ran.digest()[:16]}")
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


def _mutants(first: int, after: int, only: str) -> int:
    missed = 0
    for names in (*FIRST, *UNFOUND):
        if only not in " + ".join(names):
            continue
        planted = [named(name) for name in names]
        seed, found = caught(planted, first, after)
        missed += seed is None
        print(f"{'-' if seed is None else seed:>6}  {' + '.join(names)}: {', '.join(found)}")
        for mutant in planted:
            print(f"{'':8}{mutant.why}", flush=True)
    return min(missed, 1)


def _range(text: str) -> tuple[int, int]:
    first, _, after = text.partition(":")
    if not (first.isdecimal() and after.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not A:B, such as 0:1000")
    return int(first), int(after)


def main() -> int:
    """Read the options, and run."""
    options = argparse.ArgumentParser(prog="python -m tests.simulated_sites")
    options.add_argument(
        "--seeds", type=_range, metavar="A:B", default=(0, 100), help="run seeds from A to B - 1"
    )
    options.add_argument("--workers", type=int, default=1, help="processes that share them")
    options.add_argument(
        "--seconds", type=float, default=float("inf"), help="begin no more seeds after this time"
    )
    options.add_argument("--members", type=int, help="size of a ring, instead of a seed's own run")
    options.add_argument("--replay", type=int, metavar="SEED", help="run one seed, and tell it")
    options.add_argument("--verbose", action="store_true", help="tell more of it")
    options.add_argument(
        "--mutants", type=_range, metavar="A:B", help="plant mistakes; find each with these seeds"
    )
    options.add_argument("--only", metavar="TEXT", default="", help="mistakes with this in a name")
    given = options.parse_args()
    if given.replay is not None:
        return _replay(given.replay, verbose=given.verbose)
    if given.mutants is not None:
        return _mutants(*given.mutants, given.only)
    return _seeds(*given.seeds, given.workers, given.seconds, given.members)


if __name__ == "__main__":
    sys.exit(main())
