"""What all members know about a run, and the progress of this one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tacit.deploy.agreement.bounds import Bounds
from tacit.deploy.member.schedule import Form, Schedule
from tacit.deploy.messages.settings import LARGEST
from tacit.deploy.waited import Waited
from tacit.errors import RuntimeFailure
from tacit.network.base import Mixing

GO_ON = "Everything is stored: rerun the same command when they are back, and the run resumes"
"""What is said wherever a member stops because others are silent."""


@dataclass(frozen=True)
class RunSpec:
    """What all members know about a run.

    Attributes:
        run: id of the run, 32 bytes.
        schedule: all turns.
        forms: form of the messages of each phase.
        mixing: function that gives the network of a round; -1 stands for before round 0.
        patience: time to wait for a silent neighbour, in seconds.
        skipping: whether to continue without the silent neighbour then.
        largest: largest size of a message, in bytes.
        early: whether the run may end before all turns are taken.
        bounds: bounds on the numbers in messages; `None` for none.
        ask_every: interval between requests for a missing message, in seconds.
        cut_off: function that says of silent neighbours, by number, where messages may be held up
            on their way; empty where there is nobody on the way.
        beside: whether who adds up is beside an agent, at the same site.
    """

    run: bytes
    schedule: Schedule
    forms: dict[int, Form]
    mixing: Callable[[int], Mixing]
    patience: float
    skipping: bool = False
    largest: int = LARGEST
    early: bool = False
    bounds: Bounds | None = None
    ask_every: float = 0.25
    cut_off: Callable[[Sequence[int]], str] = lambda silent: ""
    beside: bool = False

    def waited(self) -> Waited:
        """A measure of how long a member waits from now on."""
        return Waited(self.ask_every, max(self.patience / 4, 4 * self.ask_every))

    def go_on(self, silent: Sequence[int]) -> str:
        """What to do about silent neighbours, by number."""
        return f"{self.cut_off(silent)} {GO_ON}".lstrip()


class Stopping(Protocol):
    """What says that a member has to stop, such as a `threading.Event`; asked in its own thread."""

    def is_set(self) -> bool:
        """Whether to stop after the current turn, or while waiting."""
        ...


@dataclass
class Progress:
    """Progress of a member, for anyone who asks. Public values only.

    Attributes:
        round: current round.
        rounds: number of rounds of the run.
        waiting_for: numbers of the neighbours it waits for.
        seconds: durations of recent rounds, in seconds.
        stopping: event that is set to end after the current turn, or to stop waiting.
        left_out: numbers of the silent neighbours that the run continues without.
        failure: reason why the run cannot continue, found by another thread; empty if it can.
    """

    round: int = -1
    rounds: int = 0
    waiting_for: tuple[int, ...] = ()
    seconds: list[float] | None = None
    stopping: Stopping | None = None
    left_out: tuple[int, ...] = ()
    failure: str = ""
    _entered: float | None = field(default=None, init=False, repr=False)

    def enter(self, round: int) -> None:
        """Enter this round, and note the duration of the previous one."""
        if round == self.round:
            return
        now = time.monotonic()
        if self.seconds is not None and self._entered is not None:
            self.seconds.append(now - self._entered)
        self._entered, self.round = now, round

    def stop_if_asked(self) -> None:
        """Raise if the run has to stop; called between turns and while waiting.

        Raises:
            RuntimeFailure: `failure` is set.
            KeyboardInterrupt: `stopping` is set.
        """
        if self.failure:
            raise RuntimeFailure(self.failure)
        if self.stopping is not None and self.stopping.is_set():
            raise KeyboardInterrupt
