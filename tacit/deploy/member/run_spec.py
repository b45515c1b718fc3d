"""What all members know of a run, and how far this one is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tacit.deploy.agreement.bounds import Bounds
from tacit.deploy.member.schedule import Form, Schedule
from tacit.deploy.messages.transport import LARGEST
from tacit.errors import RuntimeFailure
from tacit.network.base import Mixing

GO_ON = "Everything is stored: give the same command again when they are back, and the run goes on"
"""What is said wherever a member stops because others are silent."""


@dataclass(frozen=True)
class RunSpec:
    """What all members know of a run.

    Attributes:
        run: its id, 32 bytes.
        schedule: all turns.
        forms: what each phase sends.
        mixing: who talks to whom in a round; before round 0 for -1.
        patience: seconds to wait for a silent neighbour.
        skipping: whether to go on without one then.
        largest: bytes that a message may have.
        early: whether the run may end before all turns are taken.
        bounds: on the numbers in messages; `None` for none.
        ask_every: seconds after which a missing message is asked for, again and again.
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


@dataclass
class Progress:
    """How far a member is, for whoever asks. Public values only.

    Attributes:
        round: that it is in.
        rounds: of the run.
        waiting_for: numbers of the neighbours it waits for.
        seconds: the time that recent rounds took.
        stopping: set to end after the current turn.
        left_out: numbers of the silent neighbours that the run goes on without.
        failure: why the run cannot go on, found by another thread; empty if it can.
    """

    round: int = -1
    rounds: int = 0
    waiting_for: tuple[int, ...] = ()
    seconds: list[float] | None = None
    stopping: threading.Event | None = None
    left_out: tuple[int, ...] = ()
    failure: str = ""
    _entered: float | None = field(default=None, init=False, repr=False)

    def enter(self, round: int) -> None:
        """The member is in this round now: note how long the one before took."""
        if round == self.round:
            return
        now = time.monotonic()
        if self.seconds is not None and self._entered is not None:
            self.seconds.append(now - self._entered)
        self._entered, self.round = now, round

    def stop_if_asked(self) -> None:
        """Between turns and while waiting.

        Raises:
            RuntimeFailure: `failure` is set.
            KeyboardInterrupt: `stopping` is set.
        """
        if self.failure:
            raise RuntimeFailure(self.failure)
        if self.stopping is not None and self.stopping.is_set():
            raise KeyboardInterrupt
