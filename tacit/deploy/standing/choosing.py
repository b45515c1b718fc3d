"""Which run an agent takes part in next, and when it tries one again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import tacit
from tacit.deploy.member.neighbours import linked
from tacit.deploy.standing.entries import Entry, State
from tacit.deploy.standing.listing import UPGRADING
from tacit.deploy.standing.lobby import Lobby
from tacit.deploy.standing.members import strangers
from tacit.deploy.standing.site import Site
from tacit.errors import ConfigError

_MEET_SECONDS = 5.0
"""How long the others can be met after a run was set aside."""

_FAILED_SECONDS, _SERVED_SECONDS = 10.0, 60.0
"""Until a run that stopped is resumed, and one that has ended is served once more; then longer."""

_LONGEST_SECONDS = 600.0
_MOST_DOUBLINGS = 4


@dataclass
class Tried:
    """What became of the attempts at a run.

    Attributes:
        failures: how often it stopped by itself.
        set_aside: how often the others were not there.
        served: how often it was served after its end.
        again: when it may be tried again, as `time.monotonic` has it.
    """

    failures: int = 0
    set_aside: int = 0
    served: int = 0
    again: float = 0.0


class Chooser:
    """Chooses a run. All agents have one order, so no two wait in different runs for long.

    Args:
        site: the site.
        failed: function that is told why a run cannot begin.
    """

    def __init__(self, site: Site, failed: Callable[[Entry, str], None]) -> None:
        self._site, self._failed = site, failed
        self._tried: dict[str, Tried] = {}
        self._around: dict[str, frozenset[str]] = {}
        self._needed: dict[str, frozenset[str]] = {}
        self._meet_until = 0.0
        self.versions: dict[str, str] = {}
        """The version of tacit that each member has, by name, as it last said."""
        self.failed: dict[str, frozenset[str]] = {}
        """Ids of the runs that have failed at each member, by its name."""
        self.begun: dict[str, dict[str, str]] = {}
        """Members that have begun a run, and with which version, by the run's id."""

    def next(
        self, entries: Sequence[Entry], lobby: Lobby | None = None, *, paused: bool = False
    ) -> Entry | None:
        """The run to take part in, if there is one.

        First one that has ended here and that a neighbour is still at, for what is kept here; then
        one that has begun; then by id.

        Args:
            entries: all runs.
            lobby: where the others are met.
            paused: whether only what has begun goes on, here or at a neighbour.
        """
        if lobby is not None:
            self.versions |= lobby.versions
            self.failed |= lobby.failed
            for run, begun in lobby.begun.items():
                self.begun[run] = self.begun.get(run, {}) | begun
        if paused:
            entries = [each for each in entries if each.state is State.BEGUN or self.joins(each)]
        elif lobby is not None:
            for each in entries:
                behind = lobby.behind(each.run)
                if behind and self._serves(each) and behind & self._needing(each):
                    return each
        ready = [each for each in entries if self._ready(each, lobby)]
        return min(ready, key=lambda each: (not self._begun(each), each.run), default=None)

    def neighbours(self, entry: Entry) -> frozenset[str]:
        """Names of the members with which this one exchanges messages in a run."""
        if entry.run not in self._around:
            self._around[entry.run] = neighbours_of(entry, self._site.load_keys().card.name)
        return self._around[entry.run]

    def _needing(self, entry: Entry) -> frozenset[str]:
        """Names of the members that need this one's process in a run, and whose this one needs.

        They are its neighbours; where messages pass from site to site, all others.
        """
        if entry.run not in self._needed:
            manifest, own = entry.manifest, self._site.load_keys().card.name
            others = frozenset(manifest.names) - {own}
            self._needed[entry.run] = others if manifest.relayed else self.neighbours(entry)
        return self._needed[entry.run]

    def joins(self, entry: Entry) -> bool:
        """Whether neighbours have begun a run that is ready here, all with this version.

        It cannot end without this member.
        """
        begun = self._begun_around(entry)
        open_ = entry.state is State.READY and not entry.refusals
        return open_ and bool(begun) and set(begun.values()) == {tacit.__version__}

    def uncertain(self, entry: Entry) -> frozenset[str]:
        """Neighbours that may have begun a run that is ready here, by what they last said."""
        if entry.state is not State.READY or entry.refusals:
            return frozenset()
        may = (tacit.__version__, UPGRADING)
        return frozenset(
            name
            for name in self.neighbours(entry)
            if self.versions.get(name, tacit.__version__) in may
        )

    def _begun_around(self, entry: Entry) -> dict[str, str]:
        around, begun = self.neighbours(entry), self.begun.get(entry.run, {})
        return {name: version for name, version in begun.items() if name in around}

    def late(self, entry: Entry) -> str:
        """What lets members end a run that has ended here with another version; or nothing."""
        begun = self._begun_around(entry)
        late = {name: said for name, said in begun.items() if said not in ("", tacit.__version__)}
        if not late:
            return ""
        told = ", ".join(f"{name} is still at it with tacit {said}" for name, said in late.items())
        return f"{told}: upgrade back to that until it has ended, or have it refused there"

    def of(self, entry: Entry) -> Tried:
        """What became of the attempts at a run."""
        return self._tried.setdefault(entry.run, Tried())

    def ended(self, entry: Entry) -> None:
        """Note that a run has ended well."""
        self._tried.pop(entry.run, None)

    def set_aside(self, entry: Entry) -> None:
        """Note that the others were not there: they are waited for longer the next time."""
        tried = self.of(entry)
        tried.set_aside = min(tried.set_aside + 1, _MOST_DOUBLINGS)

    def meet(self) -> None:
        """Note that a run was stopped, to meet the others for a moment."""
        self._meet_until = time.monotonic() + _MEET_SECONDS

    def stopped(self, entry: Entry) -> float:
        """Note that a run stopped by itself; after how many seconds it is resumed."""
        tried = self.of(entry)
        pause = min(_FAILED_SECONDS * 2**tried.failures, _LONGEST_SECONDS)
        tried.failures += 1
        tried.again = time.monotonic() + pause
        return pause

    def served(self, entry: Entry, *, well: bool) -> None:
        """Note that a run was served after its end; nobody can ask for that all the time.

        Args:
            entry: the run.
            well: whether that could be done; if not, as after an upgrade, it is not tried again.
        """
        tried = self.of(entry)
        pause = min(_SERVED_SECONDS * 2**tried.served, _LONGEST_SECONDS)
        tried.served += 1
        tried.again = time.monotonic() + pause if well else math.inf

    def _serves(self, entry: Entry) -> bool:
        approved = entry.decision is not None and entry.decision.approved
        due = time.monotonic() >= self.of(entry).again
        return entry.state is State.FINISHED and approved and due

    def _ready(self, entry: Entry, lobby: Lobby | None) -> bool:
        if entry.state is State.BEGUN:
            # a neighbour that has ended serves it for a moment only
            now = lobby is not None and bool(lobby.served(entry.run) & self._needing(entry))
            return now or self._due(entry)
        waits = entry.state is not State.READY or entry.refusals or not self._due(entry)
        return not waits and self._may_begin(entry)

    def _due(self, entry: Entry) -> bool:
        return time.monotonic() >= max(self.of(entry).again, self._meet_until)

    def _may_begin(self, entry: Entry) -> bool:
        """Whether the neighbours know that all have signed, and all members are still trusted.

        And have one version, as they said since this agent was started: a run ends with the one
        that it began with. Where neighbours have begun it, their version is what counts.
        """
        around = self.neighbours(entry)
        if around - entry.informed - entry.met:
            return False
        if self._begun_around(entry):
            if not self.joins(entry):
                return False
        elif around - set(self.versions) or others(entry, self.versions):
            return False
        try:
            return not strangers(self._site, entry.manifest)
        except ConfigError as error:  # a card was replaced since
            self._failed(entry, str(error))
            return False

    def _begun(self, entry: Entry) -> bool:
        return entry.state is State.BEGUN and self.neighbours(entry) <= entry.met


def neighbours_of(entry: Entry, own: str) -> frozenset[str]:
    """Names of the members with which a member exchanges messages in a run."""
    members = entry.manifest.members
    found = linked(entry.manifest, entry.manifest.number(own))
    return frozenset(members[each].name for each in found)


def others(
    entry: Entry, versions: Mapping[str, str], own: str = tacit.__version__
) -> dict[str, str]:
    """Members of a run that have another version of tacit than it needs, with that version.

    Args:
        entry: the run.
        versions: what members said, by name; nothing is known of the others.
        own: the version that it needs.
    """
    said = {each.name: versions.get(each.name, own) for each in entry.manifest.members}
    return {name: _worded(version) for name, version in said.items() if version != own}


def apart(entries: Sequence[Entry], versions: Mapping[str, str]) -> str:
    """Who has another version, where an approved run waits for that; empty if nobody.

    Args:
        entries: all runs.
        versions: what members said, by name.
    """
    waiting = [each for each in entries if each.state is State.READY]
    found = {name: said for each in waiting for name, said in others(each, versions).items()}
    if not found:
        return ""
    told = ", ".join(f"{name} has {version}" for name, version in found.items())
    own = tacit.__version__
    return f"; a run begins when all have one version of tacit ({told}, this site {own})"


def _worded(version: str) -> str:
    return "none, as it is upgraded" if version == UPGRADING else version or "an earlier one"
