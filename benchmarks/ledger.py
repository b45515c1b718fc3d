"""What a release costs: milliseconds of a committed one against a bare synced write.

For payloads of 80 B, 80 KB and 8 MB, in turns on the same disk, so that whatever else the machine
does falls on both. The bare write appends the same bytes to a file and syncs it. Then what an entry
costs to open and to verify, and what a budget check costs after many releases of different noise.

    python benchmarks/ledger.py [folder] [repetitions]
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tacit.privacy.event import Event, GaussianRelease, LaplaceRelease
from tacit.privacy.ledger import Ledger, ReleaseId, verify
from tacit.privacy.ledger.spending import Spending
from tacit.privacy.tally import Tally

SIZES = {"80 B": 80, "80 KB": 80_000, "8 MB": 8_000_000}


def committed(ledger: Ledger, round: int, payload: bytes) -> float:
    """Seconds to prepare one release."""
    began = time.perf_counter()
    ledger.prepare(
        ReleaseId("clinic", f"{len(payload)}", round, "gradient"),
        GaussianRelease(1e5),
        payload,
        input_hash="state",
        dataset="visits",
        recipients=("north", "south"),
    )
    return time.perf_counter() - began


def written(file: int, payload: bytes) -> float:
    """Seconds to append bytes and sync them."""
    began = time.perf_counter()
    os.write(file, payload)
    os.fsync(file)
    return time.perf_counter() - began


def releases(folder: Path, repetitions: int) -> None:
    print("payload   release ms   bare ms   ratio   release CPU ms   (medians)")
    with Ledger.create(folder / "ledger") as ledger:
        ledger.set_budget("clinic", "visits", epsilon=1.0, delta=1e-6)
        for name, size in SIZES.items():
            file = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            ours: list[float] = []
            bare: list[float] = []
            used = 0.0
            committed(ledger, 0, os.urandom(size))
            number = max(repetitions if size < 1_000_000 else repetitions // 10, 3)
            for round in range(1, number + 1):
                payload = os.urandom(size)
                began = time.process_time()
                ours.append(committed(ledger, round, payload))
                used += time.process_time() - began
                bare.append(written(file, payload))
                ledger.acknowledge(
                    ReleaseId("clinic", f"{size}", round, "gradient"), "north", "south"
                )
            os.close(file)
            a, b = 1e3 * statistics.median(ours), 1e3 * statistics.median(bare)
            print(f"{name:>7}   {a:10.2f}   {b:7.2f}   {a / b:5.1f}   {1e3 * used / number:14.2f}")


def reopening(folder: Path, entries: int) -> None:
    path = folder / "long"
    with Ledger.create(path) as ledger:
        ledger.set_budget("clinic", "visits", epsilon=1.0, delta=1e-6)
        for round in range(entries):
            committed(ledger, round, b"x" * 80)
    for name, use in {
        "open": lambda: Ledger.open(path).close(),
        "verify": lambda: verify(path),
    }.items():
        began = time.process_time()
        use()
        each = (time.process_time() - began) / entries
        print(f"{name}: {1e6 * each:.0f} us of CPU an entry, of {entries:,}")


def checking(kind: type[GaussianRelease] | type[LaplaceRelease], number: int) -> None:
    spending = Spending()
    events: list[Event] = [kind(2e4 + i) for i in range(number)]
    slowest, began = 0.0, time.process_time()
    for event in events:
        one, start = Tally.of([event]), time.process_time()
        assert spending.fits(1.0, 1e-6, one)
        spending.add(one)
        slowest = max(slowest, time.process_time() - start)
    mean = (time.process_time() - began) / number
    print(
        f"budget check, {number:,} different {kind.__name__}: {1e6 * mean:.0f} us of CPU each, "
        f"at most {1e3 * slowest:.1f} ms"
    )


def main(folder: str = ".", repetitions: int = 100) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        releases(Path(temporary), repetitions)
        reopening(Path(temporary), 10 * repetitions)
    checking(GaussianRelease, 20_000)
    checking(LaplaceRelease, 10_000)


if __name__ == "__main__":
    where, *number = sys.argv[1:] or ["."]
    main(where, *map(int, number))
