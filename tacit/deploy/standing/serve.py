"""The standing agent: it meets the others, and takes part in one approved run after the other."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import tacit
from tacit.deploy.files import write_json
from tacit.deploy.identity.keys import WARN_DAYS, Card
from tacit.deploy.identity.pinning import trusted
from tacit.deploy.standing.asking import Asked, agent_lock, asked, forget, restarted, restarting
from tacit.deploy.standing.bundling import Bundling
from tacit.deploy.standing.child import Child
from tacit.deploy.standing.choosing import Chooser, apart
from tacit.deploy.standing.entries import Entry, State
from tacit.deploy.standing.installed import Installed
from tacit.deploy.standing.listing import UPGRADING
from tacit.deploy.standing.lobby import Lobby
from tacit.deploy.standing.overview import SEE_LIST
from tacit.deploy.standing.pausing import Pause
from tacit.deploy.standing.queue import Queue
from tacit.deploy.standing.site import Site, find
from tacit.errors import TacitError, TransportError

log = logging.getLogger("tacit.site")

_VERSION = tacit.__version__
_TICK_SECONDS = 0.25
_WROTE_SECONDS = 1.0
_LOOK_SECONDS = 2.0
"""How often keys and cards are read again."""

_WRONG = 2
_STOPPED = 130


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
    _chooser: Chooser = field(init=False)
    _bundling: Bundling = field(init=False)
    _cards: dict[str, Card] = field(default_factory=dict)
    _days_left: float = 0.0
    _looked: float = -_LOOK_SECONDS
    _wrote: float = 0.0
    _silent: bool = False
    _told: str = ""
    _pause: Pause = field(default_factory=Pause)
    _installed: Installed = field(init=False)
    _unable: list[str] = field(default_factory=list)
    _since: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        self._queue, self._bundling = Queue(self.site), Bundling(self.site)
        self._chooser = Chooser(self.site, self._fail)
        self._installed = Installed(self.site.folder)

    def serve(self) -> Asked:
        """Serve until it is asked to stop, or to start again.

        Returns:
            What it was asked for.

        Raises:
            SiteBusy: another process serves this site.
            TacitError: keys or files that cannot be read.
        """
        keys = self.site.load_keys()
        lock = agent_lock(self.site)
        try:
            forget(self.site)  # what an earlier agent was asked
            restarted(self.site)
            for entry in self._queue.entries():
                (entry.folder / "failure.json").unlink(missing_ok=True)  # tried once more
            log.info("%(name)s: serving %(folder)s", {"name": keys.card.name, "folder": self._at})
            while True:
                now = asked(self.site)
                if self.stopping.is_set() or now is Asked.STOP:
                    return Asked.STOP
                self._installed.look()
                moved = self._installed.settled and not self._unable
                again = now is Asked.RESTART or (now is None and moved)
                if again and self._child is None:
                    restarting(self.site)
                    return Asked.RESTART
                paused = now is not None or self._installed.other
                try:
                    self._step(paused=paused)
                except (OSError, TacitError) as error:  # a full disk, a file of somebody else's
                    self._say(f"something is wrong, and is tried again: {error}")
                self._write(paused=paused)
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
        self._bundling.end()
        if self._lobby is not None:
            self._lobby.close()
            self._lobby = None
        with suppress(OSError):
            (self.site.folder / "serving.json").unlink(missing_ok=True)
        forget(self.site)

    def _step(self, *, paused: bool) -> None:
        entries = self._queue.entries()
        self._unable = self._installed.unable(entries)
        going = None if self._child is None else self._child.entry.run
        # the installed version would write them
        self._bundling.step([] if self._installed.other else entries, going)
        self._wait_for(entries, paused=paused)
        if self._child is not None:
            self._watch(self._child)
            return
        candidate = self._chooser.next(entries, self._lobby, paused=paused)
        if candidate is not None and not self._installed.other:
            self._installed.look(again=True)
        if self._installed.other:  # its process would have that one
            candidate, paused = None, True
        if candidate is None:
            self._meet(entries, paused=paused)
            return
        if self._lobby is not None:
            # that all signatures are here, or that this member is back: a neighbour may wait for it
            self._lobby.tell(serving=candidate.run)
            self._lobby.close()
            self._lobby = None
        try:
            self.site = find(self.site.folder)  # datasets may have been added
            self._child = Child(self.site, candidate)
        except (TacitError, KeyError) as error:
            if candidate.state is State.FINISHED:  # it stays so, though it cannot be served
                self._chooser.served(candidate, well=False)
            else:
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

    def _wait_for(self, entries: Sequence[Entry], *, paused: bool) -> None:
        """Pause when nothing is left that ends with this version, here or at a neighbour."""
        chooser, lobby = self._chooser, self._lobby
        begun = not self._installed.other and any(
            each.state is State.BEGUN or chooser.joins(each) for each in entries
        )
        self._pause.step(
            asked=paused,
            busy=self._child is not None or self._bundling.busy or begun,
            needed=frozenset[str]().union(*map(chooser.uncertain, entries)),
            heard={} if lobby is None else lobby.heard,
        )

    def _watch(self, child: Child) -> None:
        """See whether a run has ended, or has to be set aside."""
        entry, chooser = child.entry, self._chooser
        heard, never, seconds = child.unmet()
        if heard - entry.met:
            self._queue.note(entry, met=sorted(heard))
            entry.met |= heard
        code = child.code
        if code is None:
            now = self._queue.find(entry.run)
            if now.state is State.REFUSED:
                child.stop()
            elif self._waits_in_vain(child, heard, never, seconds):
                if not child.stopping:
                    log.info(
                        "run %(run)s is set aside for a moment: not there: %(names)s",
                        {"run": entry.run[:12], "names": ", ".join(sorted(never))},
                    )
                    chooser.set_aside(entry)
                child.stop()
            return
        child.end()
        self._child = None
        if child.again:
            well = code in (0, _STOPPED)
            chooser.served(entry, well=well)
            told = (
                "was served for a member that came late"
                if well
                else f"cannot be served for a member that came late; {entry.folder / 'log.txt'} "
                "says why. " + chooser.late(entry)
            )
            log.log(
                logging.INFO if well else logging.WARNING,
                "run %(run)s has ended, and %(told)s",
                {"run": entry.run[:12], "told": told},
            )
        elif code == 0:
            chooser.ended(entry)
            log.info("run %(run)s has ended", {"run": entry.run[:12]})
        elif code == _STOPPED:
            chooser.meet()
        elif code == _WRONG:
            self._fail(entry, child.failure())
        else:
            log.warning(
                "run %(run)s stopped (%(log)s says why); it is resumed in %(seconds).0f s",
                {
                    "run": entry.run[:12],
                    "log": str(entry.folder / "log.txt"),
                    "seconds": chooser.stopped(entry),
                },
            )

    def _waits_in_vain(
        self, child: Child, heard: frozenset[str], never: frozenset[str], seconds: float
    ) -> bool:
        """Whether the others may be met in vain here: one was never there, or now nobody is."""
        patience = self.patience * 2 ** self._chooser.of(child.entry).set_aside
        alone = bool(never - child.entry.met) or not heard
        return not child.again and alone and seconds > patience

    def _fail(self, entry: Entry, told: str) -> None:
        """Note that a run cannot go on as it is; it is tried again when the agent is started.

        Why is for the owner alone, and a service's log has other readers.
        """
        log.error("run %(run)s failed: %(where)s", {"run": entry.run[:12], "where": SEE_LIST})
        write_json(entry.folder / "failure.json", {"told": told})

    def _meet(self, entries: Sequence[Entry], *, paused: bool) -> None:
        """Meet the others, if somebody is confirmed."""
        if time.monotonic() - self._looked > _LOOK_SECONDS:
            self._looked = time.monotonic()
            self._cards = trusted(self.site.keys)
            self._days_left = self.site.load_keys().days_left()
        cards, left = self._cards, self._days_left
        if self._lobby is not None and self._lobby.cards != cards:
            self._lobby.close()
            self._lobby = None
        if self._lobby is None and cards:
            try:
                self._lobby = Lobby(self.site, self._queue)
            except TransportError as error:
                self._say(f"the others cannot be met: {error}")
                return
        if self._lobby is None:
            self._say(
                "nobody is confirmed yet; approve a run whose file you were sent: tacit site "
                "approve FILE"
            )
            return
        self._say(
            f"meeting {', '.join(cards)}"
            + (f"; the certificate ends in {left:.0f} days" if left < WARN_DAYS else "")
            + (self._installed.told(self._unable) or apart(entries, self._chooser.versions))
        )
        self._lobby.version = UPGRADING if paused else _VERSION
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
        resting = "meets" if not paused else "paused" if self._pause.over else "pausing"
        document: dict[str, Any] = {
            "format": "tacit-serving-1",
            "time": time.time(),
            "pid": os.getpid(),
            "since": self._since,
            "doing": resting if child is None else "runs",
            "run": None if child is None else child.entry.run,
            "page": self.page,
            "version": _VERSION,
            "versions": self._chooser.versions,
            "begun": self._chooser.begun,
            "failed": {name: sorted(runs) for name, runs in self._chooser.failed.items()},
            "heard": {}
            if lobby is None
            else {name: round(now - at, 1) for name, at in lobby.heard.items()},
        }
        try:
            write_json(self.site.folder / "serving.json", document, durable=False)
        except OSError as error:
            if not self._silent:
                log.warning(
                    "%(path)s cannot be written (%(why)s), so `tacit site list` and the page do "
                    "not know what this agent does",
                    {"path": str(error.filename), "why": error.strerror},
                )
            self._silent = True
        else:
            self._silent = False
