"""What a change of structure must leave as it is: the bits of every method.

    python -m tests.bits keep FILE       digests of all rows of the conformance table (minutes)
    python -m tests.bits compare FILE    make them again, and say what differs

Digests depend on the processor and on the versions of libraries: keep them on the machine that
compares, before the change. Fingerprints of runs are left out, for every edit changes them.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tacit._engine import batched as simulation
from tacit.testing.observed import Subject
from tests.conformance.table import ROWS, Row
from tests.laid_out import lay_out
from tests.matrix import forget_programs


def digests(row: Row) -> dict[str, str]:
    """Digests of a row: what it releases, its states in both runtimes, scales, events, epsilons."""
    run = Subject(row.task(0), row.task(0), row.network, row.method, row.rounds).observed
    with jax.enable_x64(True):
        plan, roots, agreed = lay_out(row.task(0), row.network, row.method, row.rounds, seed=1)
        bounds = np.array([[0, row.rounds]])
        begun = simulation.start(plan, roots)
        batched, _ = simulation.advance(plan, roots, begun, jax.numpy.asarray(bounds))
    return {
        "released": _digest(
            [part for place in sorted(run.released) for part in (place, run.released[place])]
        ),
        "exact": _digest([run.states]),
        "batched": _digest(jax.tree.leaves(batched)),
        "scales": _digest(plan.scales),
        "events": _digest([repr(agreed.events).encode()]),
        "epsilons": _digest([[each.epsilon for each in agreed.guarantee]]),
    }


def _digest(values: Sequence[Any]) -> str:
    found = hashlib.sha256()
    for value in values:
        data = value if isinstance(value, bytes) else _bytes(np.asarray(value))
        found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest()


def _bytes(array: np.ndarray) -> bytes:
    return f"{array.dtype.str} {array.shape} ".encode() + array.tobytes()


def compared(kept: dict[str, dict[str, str]], found: dict[str, dict[str, str]]) -> list[str]:
    """What differs, a line each."""
    return [
        f"{name}: {part}"
        for name in sorted(kept.keys() | found.keys())
        for part in sorted(kept.get(name, {}).keys() | found.get(name, {}).keys())
        if kept.get(name, {}).get(part) != found.get(name, {}).get(part)
    ]


def _all(say: Callable[[str], None]) -> Iterator[tuple[str, dict[str, str]]]:
    for number, row in enumerate(ROWS, 1):
        yield row.name, digests(row)
        say(f"{number} of {len(ROWS)}: {row.name}")
        if number % 12 == 0:
            forget_programs()


def main(command: str, file: str) -> int:
    """Keep the digests, or compare them with those that were kept."""
    kept = json.loads(Path(file).read_text()) if command == "compare" else {}
    found = dict(_all(lambda line: print(line, file=sys.stderr, flush=True)))
    if command == "keep":
        Path(file).write_text(json.dumps(found, indent=1))
        return 0
    differences = compared(kept, found)
    print("\n".join(differences) or f"all {len(found)} rows as they were")
    return int(bool(differences))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("keep", "compare"):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
