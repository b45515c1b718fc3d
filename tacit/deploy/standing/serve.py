"""The standing agent: it meets the others, and takes part in one approved run after the other."""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tacit.deploy.files import write_json
from tacit.deploy.identity.keys import WARN_DAYS
from tacit.deploy.identity.pinning import trusted
from tacit.deploy.member.process import neighbours
from tacit.deploy.standing.asking import Asked, agent_lock, ask, asked
from tacit.deploy.standing.child import Bundling, Child
from tacit.deploy.standing.entries import Entry, State
from tacit.deploy.standing.lobby import Lobby
from tacit.deploy.standing.members import strangers
from tacit.deploy.standing.overview import SEE_LIST
from tacit.deploy.standing.queue import Queue
from tacit.deploy.standing.site import Site, find
from tacit.errors import ConfigError, TacitError, TransportError

log = logging.getLogger("tacit.site")

_TICK_SECONDS = 0.25
_WROTE_SECONDS = 1.0
_MEET_SECONDS = 5.0
"""How long the others can be met after a run was set aside."""

_BUNDLES = 3
"""How often a bundle is tried: a ledger may be locked for a moment."""

_WRONG = 2
_STOPPED = 130


@dataclass
class _Tried:
    """What became of the attempts at a run."""

    failures: int = 0
    set_aside: int = 0
    again: float = 0.0


@dataclass(eq=False)
class Agent:
    """A standing agent.

    Args:
        site: the site.
        stopping: event that is set to stop.
        patience: after how many seconds in a run it is set aside, for a while, if a neighbour was
            never there: it may lack a signature, or be in another run.
    """

    site: Site
    stopping: threading.Event
    patience: float = 60.0
    page: str = ""
    _queue: Queue = field(init=False)
    _lobby: Lobby | None = None
    _child: Child | None = None
    _tried: dict[str, _Tried] = field(default_factory=dict)
    _around: dict[str, frozenset[str]] = field(default_factory=dict)
    _bundling: Bundling | None = None
    _bundles: Counter[str] = field(default_factory=Counter)
    _meet_until: float = 0.0
    _wrote: float = 0.0
    _told: str = ""

    def __post_init__(self) -> None:
        self._queue = Queue(self.site)

    def serve(self) -> Asked:
        """Serve until it is asked to stop, or to start again.

        Returns:
            What it was asked for.

        Raises:
            RuntimeFailure: another process serves this site.
            TacitError: keys or files that cannot be read.
        """
        keys = self.site.load_keys()
        lock = agent_lock(self.site)
        try:
            if asked(self.site) is not Asked.PAUSE:
                ask(self.site, None)  # what an earlier agent was asked
            for entry in self._queue.entries():
                (entry.folder / "failure.json").unlink(missing_ok=True)  # tried once more
            log.info("%(name)s: serving %(folder)s", {"name": keys.card.name, "folder": self._at})
            while True:
                now = asked(self.site)
                if self.stopping.is_set() or now is Asked.STOP:
                    return Asked.STOP
                if now is Asked.RESTART and self._child is None:
                    return Asked.RESTART
                try:
                    self._step(paused=now is not None)
                except (OSError, TacitError) as error:  # a full disk, a file of somebody else's
                    self._say(f"something is wrong, and is tried again: {error}")
                self._write(paused=now is not None)
                self.stopping.wait(_TICK_SECONDS)
        finally:
            try:
                self._close()
            finally:
                lock.release()

    @property
    def _at(self) -> str:
        return str(self.site.folder)

    def _close(self) -> None:
        if self._child is not None:
            log.info("stopping run %(run)s after its turn", {"run": self._child.entry.run[:12]})
            self._child.end()
            self._child = None
        if self._bundling is not None:
            self._bundling.end()
        if self._lobby is not None:
            self._lobby.close()
            self._lobby = None
        with suppress(OSError):
            (self.site.folder / "serving.json").unlink(missing_ok=True)
        if asked(self.site) is not Asked.PAUSE:
            ask(self.site, None)

    def _step(self, *, paused: bool) -> None:
        entries = self._queue.entries()
        self._bundle(entries, paused=paused)
        if self._child is not None:
            self._watch(self._child)
            return
        candidate = None if paused else self._next(entries)
        if candidate is None:
            self._meet()
            return
        if self._lobby is not None:
            self._lobby.tell()  # that all signatures are here: a neighbour may wait to know
            self._lobby.close()
            self._lobby = None
        try:
            self.site = find(self.site.folder)  # datasets may have been added
            self._child = Child(self.site, candidate)
        except (TacitError, KeyError) as error:
            self._fail(candidate, str(error))
            return
        log.info(
            "run %(run)s: %(title)s; its log is %(log)s",
            {
                "run": candidate.run[:12],
                "title": candidate.study.title,
                "log": str(candidate.folder / "log.txt"),
            },
        )

    def _next(self, entries: list[Entry]) -> Entry | None:
        """The run to take part in: one that has begun before one that has not, then by id."""
        now = time.monotonic()
        if now < self._meet_until:
            return None
        ready = [
            each
            for each in entries
            if each.state in (State.READY, State.BEGUN)
            and (each.state is State.BEGUN or not each.refusals)
            and now >= self._tried.setdefault(each.run, _Tried()).again
            and (each.state is State.BEGUN or self._may_begin(each))
        ]
        return min(ready, key=lambda each: (not self._begun(each), each.run), default=None)

    def _may_begin(self, entry: Entry) -> bool:
        """Whether all members are still trusted, and the neighbours know that all have signed."""
        try:
            unknown = strangers(self.site, entry.manifest)
        except ConfigError as error:  # a card was replaced since
            self._fail(entry, str(error))
            return False
        return not unknown and self._neighbours(entry) <= entry.informed | entry.met

    def _begun(self, entry: Entry) -> bool:
        return entry.state is State.BEGUN and self._neighbours(entry) <= entry.met

    def _neighbours(self, entry: Entry) -> frozenset[str]:
        """Names of the members with which this one exchanges messages in a run."""
        if entry.run not in self._around:
            manifest = entry.manifest
            number = manifest.number(self.site.load_keys().card.name)
            names = [manifest.members[each].name for each in neighbours(manifest, number)]
            self._around[entry.run] = frozenset(names)
        return self._around[entry.run]

    def _watch(self, child: Child) -> None:
        """See whether a run has ended, or has to be set aside."""
        entry, tried = child.entry, self._tried.setdefault(child.entry.run, _Tried())
        heard, never, seconds = child.unmet()
        if heard - entry.met:
            self._queue.note(entry, met=sorted(heard))
            entry.met |= heard
        code = child.code
        if code is None:
            now = self._queue.find(entry.run)
            if now.state is State.REFUSED:
                child.stop()
            elif never - entry.met and seconds > self.patience * 2**tried.set_aside:
                if not child.stopping:
                    names = ", ".join(sorted(never - entry.met))
                    log.info(
                        "run %(run)s is set aside for a moment: %(names)s was never there",
                        {"run": entry.run[:12], "names": names},
                    )
                    tried.set_aside = min(tried.set_aside + 1, 4)
                child.stop()
            return
        child.end()
        self._child = None
        if code == 0:
            self._tried.pop(entry.run, None)
            log.info("run %(run)s has ended", {"run": entry.run[:12]})
        elif code == _STOPPED:
            self._meet_until = time.monotonic() + _MEET_SECONDS
        elif code == _WRONG:
            self._fail(entry, child.failure())
        else:
            tried.failures += 1
            pause = min(5.0 * 2**tried.failures, 600.0)
            tried.again = time.monotonic() + pause
            log.warning(
                "run %(run)s stopped (%(log)s says why); it is resumed in %(seconds).0f s",
                {
                    "run": entry.run[:12],
                    "log": str(entry.folder / "log.txt"),
                    "seconds": pause,
                },
            )

    def _fail(self, entry: Entry, told: str) -> None:
        """Note that a run cannot go on as it is; it is tried again when the agent is started.

        Why is for the owner alone, and a service's log has other readers.
        """
        log.error("run %(run)s failed: %(where)s", {"run": entry.run[:12], "where": SEE_LIST})
        write_json(entry.folder / "failure.json", {"told": told})

    def _bundle(self, entries: list[Entry], *, paused: bool) -> None:
        """Write the bundle of a run that has ended; a failure costs nothing but the file."""
        if self._bundling is not None:
            if self._bundling.code is None:
                return
            self._bundled(self._bundling.entry, self._bundling.code)
            self._bundling = None
        # its process still compares with the others, and writes the report last
        going = None if self._child is None else self._child.entry.run
        for each in [] if paused else entries:
            if each.run == going:
                continue
            missing = each.state is State.FINISHED and not each.bundle.exists()
            if missing and each.decision is not None and self._bundles[each.run] < _BUNDLES:
                self._bundles[each.run] += 1
                with suppress(OSError):
                    shutil.copy(each.state_folder / "report.html", each.report)
                self._bundling = Bundling(self.site, each)
                return

    def _bundled(self, entry: Entry, code: int) -> None:
        told = "report and bundle are in %(place)s" if code == 0 else "no bundle, see %(place)s"
        place = entry.folder if code == 0 else entry.folder / "log.txt"
        log.info("run %(run)s: " + told, {"run": entry.run[:12], "place": str(place)})

    def _meet(self) -> None:
        """Meet the others, if somebody is confirmed."""
        cards = trusted(self.site.keys)
        if self._lobby is not None and self._lobby.cards != cards:
            self._lobby.close()
            self._lobby = None
        if self._lobby is None and cards:
            try:
                self._lobby = Lobby(self.site, self._queue)
            except TransportError as error:
                self._say(f"the others cannot be met: {error}")
                self._meet_until = 0.0
                return
        if self._lobby is None:
            self._say(
                "nobody is confirmed yet; approve a run whose file you were sent: tacit site "
                "approve FILE"
            )
            return
        left = self.site.load_keys().days_left()
        self._say(
            f"meeting {', '.join(cards)}"
            + (f"; the certificate ends in {left:.0f} days" if left < WARN_DAYS else "")
        )
        self._lobby.tick()

    def _say(self, told: str) -> None:
        if told != self._told:
            log.info("%(told)s", {"told": told})
        self._told = told

    def _write(self, *, paused: bool) -> None:
        """Write what the agent does, for other commands and the page."""
        if time.monotonic() - self._wrote < _WROTE_SECONDS:
            return
        self._wrote = now = time.monotonic()
        child, lobby = self._child, self._lobby
        busy = child is not None or (paused and self._bundling is not None)
        doing = "runs" if busy else "paused" if paused else "meets"
        document: dict[str, Any] = {
            "format": "tacit-serving-1",
            "time": time.time(),
            "pid": os.getpid(),
            "doing": doing,
            "run": None if child is None else child.entry.run,
            "page": self.page,
            "heard": {}
            if lobby is None
            else {name: round(now - at, 1) for name, at in lobby.heard.items()},
        }
        with suppress(OSError):
            write_json(self.site.folder / "serving.json", document, durable=False)
