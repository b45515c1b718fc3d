"""The world of the run that is under way: one at a time in a process of Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.simulated_sites.chance import Chance
from tests.simulated_sites.hub import Hub, Killed, Process

if TYPE_CHECKING:
    from tests.simulated_sites.faults import Fault


class World:
    """Everything that one run consists of, apart from its members' code.

    Args:
        seed: seed of all draws but those of the faults.
        folder: folder of all members' files.
        preempted: probability of being stopped wherever the machine is asked.
    """

    def __init__(self, seed: int, folder: Path, preempted: float = 0.0) -> None:
        self.chance, self.folder = Chance(seed), folder
        self._same = Chance(0)
        self.root = str(folder)
        self.hub = Hub(self.chance, preempted)
        self.jumped: dict[int, float] = defaultdict(float)
        self.history: list[tuple[Any, ...]] = []
        self.counts: dict[Any, int] = defaultdict(int)
        self.due: dict[tuple[str, int, int], Fault] = {}
        self.full: dict[int, int] = {}
        self.ended: Callable[[Process, Fault], None] = lambda process, fault: None
        self.reached: Callable[[Fault], None] = lambda fault: None
        self.network: Any = None
        self.shape: Any = None
        self.manifest: Any = None
        self.keys: dict[Path, Any] = {}
        self.locks: dict[Path, Any] = {}
        """By the path of a locked file, the connection that holds it."""
        self.equal_noise = False
        """Whether the noise of a release is the same in every run, however often it is drawn."""
        self.names: dict[int, list[Any]] = defaultdict(list)
        """By member, changes of names in folders that no power cut would keep for certain."""
        self.unsynced: dict[str, int] = {}
        """Files of which no power cut would keep the contents for certain, with their member."""

    def note(self, kind: str, process: Process | None, *what: Any) -> None:
        """Add to the history."""
        who = (-1, 0) if process is None else (process.member, process.start)
        self.history.append((round(self.hub.now, 6), kind, *who, *what))

    @property
    def process(self) -> Process | None:
        """The process that runs now."""
        thread = self.hub.current
        return None if thread is None else thread.process

    def point(self, point: str, process: Process) -> Fault | None:
        """The fault that is due where a member is for the nth time, and count it."""
        count = self.counts[point, process.member]
        self.counts[point, process.member] = count + 1
        return self.due.get((point, process.member, count))

    def die(self, process: Process, fault: Fault) -> None:
        """Kill the process that runs now."""
        self.note("killed", process, fault.kind)
        self.hub.kill(process)
        self.ended(process, fault)
        raise Killed

    def fills(self, process: Process) -> bool:
        """Whether a member's disk is full for what it writes now."""
        left = self.full.get(process.member, 0)
        if left > 0:
            self.full[process.member] = left - 1
            self.note("full", process)
        return left > 0

    def random(self, count: int, purpose: str) -> bytes:
        """Random bytes for the process that asks."""
        process = self.process
        if process is None:
            return self.chance.data(count, purpose)
        if self.equal_noise and purpose == "noise" and process.party is not None:
            return self._same.data(count, purpose, process.member, process.party.progress.round)
        drawn = process.draws.get(purpose, 0)
        process.draws[purpose] = drawn + 1
        return self.chance.data(count, purpose, process.member, process.start, drawn)


_here: list[World] = []


def world() -> World:
    """The world of the run that is under way."""
    return _here[-1]


def enter(found: World) -> None:
    """Begin a run."""
    _here.append(found)


def leave() -> None:
    """End it."""
    _here.pop()


def simulating() -> bool:
    """Whether a run is under way."""
    return bool(_here)
