"""In the place of `threading` and `time`: threads that the hub runs in turn."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from types import SimpleNamespace
from typing import Any

from tests.simulated_sites import hub as hubs
from tests.simulated_sites.world import world

BEGINS = datetime(2030, 1, 1, tzinfo=UTC).timestamp()
"""The wall clocks' time at which every run begins."""


class Lock:
    """A lock that its holder may take again if `again`."""

    again = False

    def __init__(self) -> None:
        self._owner: Any = None
        self._depth = 0
        self._waiting: list[hubs.Thread] = []

    def acquire(self) -> bool:
        hub = world().hub
        hub.touch()
        me = hub.current
        while self._owner is not None and (self._owner is not me or not self.again):
            if me is None:
                raise AssertionError("a callback waits for a lock outside of a process")
            self._waiting.append(me)
            hub.park()
        self._owner, self._depth = me or self, self._depth + 1
        return True

    def release(self) -> None:
        self._depth -= 1
        if self._depth <= 0:
            self._owner, self._depth = None, 0
            if self._waiting:
                world().hub.wake(self._waiting.pop(0))

    def __enter__(self) -> Lock:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class RLock(Lock):
    again = True


class Condition:
    def __init__(self) -> None:
        self._lock = RLock()
        self._waiting: list[hubs.Thread] = []

    def __enter__(self) -> Condition:
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        hub = world().hub
        ends = None if timeout is None else hub.now + timeout
        while not (found := predicate()):
            if ends is not None and hub.now >= ends:
                break
            me = hub.current
            assert me is not None
            self._waiting.append(me)
            self._lock.release()
            try:
                hub.park(ends)
            finally:
                if me in self._waiting:
                    self._waiting.remove(me)
            self._lock.acquire()
        return found

    def notify_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            world().hub.wake(each)


class Event:
    def __init__(self) -> None:
        self._set = False
        self._waiting: list[hubs.Thread] = []

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            world().hub.wake(each)

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        hub = world().hub
        hub.touch()
        if not self._set and hub.current is not None:
            self._waiting.append(hub.current)
            try:
                hub.park(None if timeout is None else hub.now + timeout)
            finally:
                if hub.current in self._waiting:
                    self._waiting.remove(hub.current)
        return self._set


class Thread:
    def __init__(
        self, target: Callable[..., Any], args: tuple[Any, ...] = (), daemon: bool = False
    ) -> None:
        self._call = lambda: target(*args)
        self._thread: hubs.Thread | None = None

    def start(self) -> None:
        hub = world().hub
        assert hub.current is not None
        self._thread = hub.spawn(hub.current.process, self._call)

    def join(self, timeout: float | None = None) -> None:
        hub, thread = world().hub, self._thread
        if thread is None or thread.over or hub.current is None or hub.current.process.dead:
            return
        thread.joiners.append(hub.current)
        hub.park(None if timeout is None else hub.now + timeout)


THREADING = SimpleNamespace(Lock=Lock, RLock=RLock, Condition=Condition, Event=Event, Thread=Thread)
"""In the place of `threading`."""


def monotonic() -> float:
    hub = world().hub
    hub.touch()
    return hub.now


def wall() -> float:
    """The wall clock of the process that asks, which may jump."""
    at = world()
    at.hub.touch()
    thread = at.hub.current
    return BEGINS + at.hub.now + (at.jumped[thread.process.member] if thread else 0.0)


def sleep(seconds: float) -> None:
    hub = world().hub
    hub.park(hub.now + seconds)


TIME = SimpleNamespace(
    monotonic=monotonic, time=wall, sleep=sleep, perf_counter=monotonic, process_time=monotonic
)
"""In the place of `time`."""


class Datetime(datetime):
    """In the place of `datetime.datetime`."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Any:
        return datetime.fromtimestamp(wall(), tz)
