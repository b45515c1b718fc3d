"""The fewest faults that still fail: parts of the list are left out for as long as it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.simulated_sites.faults import Fault

MOST = 400
"""Runs that are tried, at most."""


def shrunk(faults: Sequence[Fault], fails: Callable[[Sequence[Fault]], bool]) -> list[Fault]:
    """A list from which no fault can be left out.

    Args:
        faults: faults with which a run fails.
        fails: function that says whether a run with some of them fails in the same way.
    """
    left, tried, parts = list(faults), 0, 2
    while len(left) > 1 and tried < MOST:
        size = -(-len(left) // parts)
        for first in range(0, len(left), size):
            fewer = left[:first] + left[first + size :]
            tried += 1
            if fails(fewer):
                left, parts = fewer, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(2 * parts, len(left))
    if len(left) == 1 and fails([]):
        return []
    return left
