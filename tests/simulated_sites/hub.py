"""Virtual time: one heap of events, and threads that run until they wait.

A thread of a simulated process is a greenlet. It runs until it waits for something; then the hub
takes the next event, which lets another thread run. Nothing else decides an order.
"""

from __future__ import annotations

import heapq
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from greenlet import getcurrent, greenlet

from tests.simulated_sites.chance import Chance


class Killed(BaseException):
    """The process has ended; whatever runs in it stops where it is."""


_idle: list[greenlet] = []
"""Greenlets whose thread is over; each holds memory that a new one would have to ask for."""


def _threads(thread: Thread) -> None:
    """Run a thread, and then others."""
    own = getcurrent()
    while True:
        thread.run()
        del thread
        _idle.append(own)
        thread = own.parent.switch()


class Thread:
    """A thread of a process."""

    def __init__(self, process: Process, function: Callable[[], Any], hub: Hub) -> None:
        self.process, self._function, self.token, self.over = process, function, 0, False
        self.greenlet: greenlet | None = None
        self.joiners: list[Thread] = []
        process.threads.append(self)
        self._hub = hub

    def run(self) -> None:
        try:
            self._function()
        except Killed:
            pass
        except BaseException:
            self._hub.errors.append(traceback.format_exc())
        finally:
            self.over = True
            if self in self.process.threads:
                self.process.threads.remove(self)
            for each in self.joiners:
                self._hub.wake(each)


class Process:
    """One start of a member: it ends by itself, or is killed.

    Attributes:
        member: number of the member.
        twin: whether it was started although the member runs.
        start: how many processes of this member were started before, in this run.
        dead: whether it has ended.
        stalled: virtual time until which it is stopped.
        party: its `Session`, once it is connected.
        relays: whether its connections carry others' messages, too.
        sent: digests of what has left it.
        on_disk: messages that were seen on its disk.
    """

    def __init__(self, member: int, start: int, *, twin: bool = False) -> None:
        self.twin = twin
        self.member, self.start, self.dead, self.stalled = member, start, False, 0.0
        self.threads: list[Thread] = []
        self.party: Any = None
        self.relays = False
        self.sent: set[str] = set()
        self.on_disk: set[bytes] = set()
        self.draws: dict[str, int] = {}
        self.connections: dict[str, list[Any]] = {}
        """What it has open, by path."""
        self.images: dict[Path, Any] = {}
        """What its end leaves of databases, where that is not what is there."""
        self.unsure: dict[Path, Any] = {}
        """What is certain to be left of databases that did not wait for the disk."""
        self.cut = False
        """Whether it ends by a power cut."""


class Hub:
    """The virtual time of one run.

    Args:
        chance: chance of the run.
        preempted: probability with which a thread is stopped for a moment wherever it asks the
            machine for something.
    """

    def __init__(self, chance: Chance, preempted: float = 0.0) -> None:
        self.main = getcurrent()
        self.now, self._count = 0.0, 0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self.current: Thread | None = None
        self.chance, self._preempted, self._touched = chance, preempted, 0
        self.over = False
        self.errors: list[str] = []
        """What a thread ended with that no thread may end with."""

    def at(self, time: float, call: Callable[[], None]) -> None:
        """Call at a time, or at once if it has passed."""
        self._count += 1
        heapq.heappush(self._events, (max(time, self.now), self._count, call))

    def spawn(self, process: Process, function: Callable[[], Any]) -> Thread:
        """A thread that begins at the next event."""
        thread = Thread(process, function, self)
        self.at(self.now, partial(self._enter, thread, thread.token))
        return thread

    def run(self, until: float) -> None:
        """Take events until `over`, or until this time."""
        while self._events and not self.over:
            time, _, call = heapq.heappop(self._events)
            if time > until:
                self.now = until
                return
            self.now = time
            call()

    def park(self, deadline: float | None = None) -> bool:
        """Let others run, until `wake` or a deadline; whether it was woken."""
        thread = self.current
        assert thread is not None
        if thread.process.dead:
            raise Killed
        thread.token += 1
        if deadline is not None:
            self.at(deadline, partial(self._enter, thread, thread.token))
        woken = bool(self.main.switch())
        if thread.process.dead:
            raise Killed
        return woken

    def wake(self, thread: Thread) -> None:
        """Let a parked thread go on, at this time."""
        self.at(self.now, partial(self._enter, thread, thread.token, True))

    def touch(self) -> None:
        """A thread asks the machine for something: it may be stopped here, or be dead."""
        thread = self.current
        if thread is None:
            return
        if thread.process.dead:
            raise Killed
        if self._preempted:
            self._touched += 1
            share = self.chance.share("preempted", self._touched)
            if share < self._preempted:
                self.park(self.now + 0.1 * share / self._preempted)

    def kill(self, process: Process) -> None:
        """End a process: no thread of it does anything any more."""
        process.dead = True
        own = self.current
        for thread in list(process.threads):
            if thread is own or thread.over:
                continue
            thread.token += 1
            self.current = thread
            if thread.greenlet is not None:
                thread.greenlet.parent = getcurrent()  # it comes back here
                thread.greenlet.throw(Killed)
            thread.over = True
        self.current = own
        process.threads = [each for each in process.threads if each is own]

    def _enter(self, thread: Thread, token: int, woken: bool = False) -> None:
        process = thread.process
        if thread.token != token or thread.over or process.dead:
            return
        if process.stalled > self.now:
            self.at(process.stalled, partial(self._enter, thread, token, woken))
            return
        thread.token += 1
        self.current = thread
        if thread.greenlet is None:
            thread.greenlet = _idle.pop() if _idle else greenlet(_threads)
            thread.greenlet.parent = self.main
            thread.greenlet.switch(thread)
        else:
            thread.greenlet.switch(woken)
        self.current = None
