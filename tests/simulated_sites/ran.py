"""What became of a run: its history, and what is on its members' disks."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.simulated_sites import cast
from tests.simulated_sites.faults import Fault
from tests.simulated_sites.left import Left


@dataclass
class Ran:
    """What became of a run.

    Attributes:
        seed: its seed.
        shape: kind of run.
        faults: what was to go wrong.
        equal: whether its models are to be those of a run without faults.
        history: what happened: time, kind, member, number of its start, and more.
        ended: by member, how it ended: "finished", or an error.
        models: by member, the digest of its model.
        left: by member, what it has on its disk at the end.
        counts: what happened how often: faults, starts, messages.
        seconds: virtual seconds.
        traceback: of an error that no member may end with.
    """

    seed: int
    shape: cast.Shape
    faults: Sequence[Fault]
    equal: bool = False
    history: list[tuple[Any, ...]] = field(default_factory=list)
    ended: dict[int, str] = field(default_factory=dict)
    models: dict[int, str] = field(default_factory=dict)
    left: dict[int, Left] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    traceback: str = ""

    def of(self, *kinds: str) -> list[tuple[Any, ...]]:
        """What happened of some kinds."""
        return [each for each in self.history if each[1] in kinds]

    def digest(self) -> str:
        """A digest of everything that happened."""
        told = repr((self.history, sorted(self.models.items()), sorted(self.ended.items())))
        return hashlib.sha256(told.encode()).hexdigest()
