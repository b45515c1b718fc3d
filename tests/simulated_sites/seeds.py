"""Seeds: what each of them runs, and what many of them did, in columns."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context

from tests.simulated_sites import cast, watchers
from tests.simulated_sites.faults import Fault, draw
from tests.simulated_sites.ran import Ran
from tests.simulated_sites.run import simulate
from tests.simulated_sites.seams import replaced
from tests.simulated_sites.shrink import shrunk

_WEIGHTS = (2, 12, 2, 2, 2)

_PART = 600
"""Seeds that a process runs at a time; each time, what compilers hold is looked through once."""

COLUMNS = {
    "kills": ("kill", "kill before publish", "kill after publish", "kill before name"),
    "kills around a commit": ("kill before commit", "kill after commit"),
    "power cuts inside a commit": ("torn commit",),
    "power cuts elsewhere": ("power cut", "lost name"),
    "partitions": ("partition",),
    "lost": ("lost",),
    "late, repeated": ("late", "repeated"),
    "damaged": ("damaged",),
    "full disks": ("full disk",),
    "clocks": ("clock",),
    "stalls": ("stall",),
    "put back": ("copy",),
    "twins": ("twin",),
    "members that lie": ("lie",),
}
"""Faults that happened, in the columns of a table."""


def shape_of(seed: int) -> cast.Shape:
    """The kind of run of a seed."""
    shape = random.Random(f"shape {seed}").choices(cast.SHAPES, _WEIGHTS)[0]
    if shape is cast.MASKS and random.Random(f"forty rounds {seed}").random() < 0.1:
        return cast.MASKS_LONG
    return shape


def of_seed(
    seed: int, faults: Sequence[Fault] | None = None, shape: cast.Shape | None = None
) -> Ran:
    """Run a seed, with its own faults or with some of them, in its own kind of run or another."""
    shape = shape or shape_of(seed)
    drawn = draw(seed, shape) if faults is None else faults
    return simulate(seed, shape, drawn, equal=seed % 3 == 0)


@dataclass
class Tally:
    """What many seeds did.

    Attributes:
        seeds: number of seeds.
        counts: what happened how often.
        seconds: virtual seconds, as a sum.
        broken: by seed, what did not hold.
        spent: seconds of processor time.
    """

    seeds: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    broken: dict[int, dict[str, list[str]]] = field(default_factory=dict)
    spent: float = 0.0

    def add(self, other: Tally) -> None:
        """Add what other seeds did."""
        self.seeds += other.seeds
        self.counts.update(other.counts)
        self.seconds += other.seconds
        self.broken |= other.broken
        self.spent += other.spent

    def column(self, name: str) -> int:
        """How often the faults of a column happened."""
        return sum(self.counts[each] for each in COLUMNS[name])

    @property
    def faults(self) -> int:
        """Number of faults; a partition is one, however many messages it cuts."""
        return sum(map(self.column, COLUMNS))


def _some(seeds: Sequence[int], shape: cast.Shape | None) -> Tally:
    tally, began = Tally(), time.process_time()
    with replaced():
        for seed in seeds:
            ran = of_seed(seed, shape=shape)
            tally.seeds += 1
            tally.seconds += ran.seconds
            tally.counts.update(ran.counts)
            tally.counts["partition"] += sum(
                1 for each in ran.history if each[1] == "fault" and each[4] == "cut"
            )
            found = watchers.broken(ran)
            if found:
                tally.broken[seed] = found
    tally.spent = time.process_time() - began
    return tally


def many(
    first: int,
    after: int,
    workers: int = 1,
    seconds: float = float("inf"),
    told: Callable[[Tally], None] = lambda tally: None,
    shape: cast.Shape | None = None,
) -> Tally:
    """Run seeds.

    Args:
        first: the first seed.
        after: the first one that is not run.
        workers: processes that share them.
        seconds: seconds after which no further seeds are begun.
        told: function called now and then with what they did so far.
        shape: kind of run of all of them; that of each seed if `None`.
    """
    size = max(min(_PART, -(-(after - first) // workers)), 1)
    parts = [range(at, min(at + size, after)) for at in range(first, after, size)]
    total, ends = Tally(), time.monotonic() + seconds
    if workers == 1:
        for part in parts:
            if time.monotonic() > ends:
                break
            total.add(_some(part, shape))
            told(total)
        return total
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        left, running = iter(parts), set()
        while True:
            if time.monotonic() < ends:
                for part in islice(left, workers - len(running)):
                    running.add(pool.submit(_some, part, shape))
            if not running:
                break
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                total.add(each.result())
            told(total)
    return total


def least(seed: int) -> list[Fault]:
    """The fewest faults of a seed with which it fails in the same way."""
    with replaced():
        wrong = set(watchers.broken(of_seed(seed)))
        drawn = draw(seed, shape_of(seed))
        return shrunk(
            drawn, lambda faults: bool(wrong & set(watchers.broken(of_seed(seed, faults))))
        )
