"""Check the model of a run between sites, and print a table.

python -m docs.models            # everything
python -m docs.models --short    # without three members, which take minutes
"""

from __future__ import annotations

import argparse
import sys

from docs.models.cases import FAIL, HOLD
from docs.models.tlc import check


def main() -> int:
    """Check all cases; the number of those that did not end as they have to."""
    parser = argparse.ArgumentParser(prog="python -m docs.models", description=__doc__)
    parser.add_argument("--short", action="store_true", help="without three members")
    most = 2 if parser.parse_args().short else 3
    wrong = 0
    print("| kind of run | different states | computed | depth | seconds | |")
    print("|---|---|---|---|---|---|")
    for case in (*HOLD, *FAIL):
        if case.members > most:
            continue
        found = check(case)
        wrong += bool(found.broken) is not bool(case.removed)
        told = f"{found.broken} broken in {found.steps} states" if found.broken else "holds"
        print(
            f"| {case.name} | {found.states:,} | {found.generated:,} | {found.depth} "
            f"| {found.seconds:.0f} | {told} |",
            flush=True,
        )
    return wrong


if __name__ == "__main__":
    sys.exit(main())
