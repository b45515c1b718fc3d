"""Where standing agents meet between runs: proposals, signatures and refusals, over mutual TLS.

An agent talks to members whose cards its owner has confirmed, and to nobody else. It tells them
which runs it knows and who has signed each, and asks for what it lacks. Signatures and refusals are
checked with the cards in the manifest, so it does not matter who passes them on.
"""

from __future__ import annotations

import hashlib
import logging
import time
from pathlib import Path

import tacit
from tacit.deploy.agreement.manifest import Manifest, parse_manifest
from tacit.deploy.files import make_folder
from tacit.deploy.identity.keys import Card
from tacit.deploy.identity.pinning import trusted
from tacit.deploy.messages.carrier import Endpoint
from tacit.deploy.messages.transport import Transport
from tacit.deploy.standing.entries import Entry, State, refused_by
from tacit.deploy.standing.inbox import Came, Inbox
from tacit.deploy.standing.listing import BEGUN, ENDED, FAILED, About, list_of, read_list, shown
from tacit.deploy.standing.members import declared_in, remember
from tacit.deploy.standing.queue import Queue
from tacit.deploy.standing.site import Site
from tacit.errors import ConfigError, TacitError

log = logging.getLogger("tacit.site")

_NAME = hashlib.sha256(b"tacit lobby 1\n").hexdigest()
_TELL_SECONDS = 1.0
_LATER_SECONDS = 60.0
"""Until a member is asked again for a run of its that was not taken."""

_MOST_BAD = 1000
_LONGEST_WHY = 300


class Lobby:
    """An open lobby; everything but `close` happens in `tick`, which is called often.

    A member is told of the runs that it is a member of, and of no others.

    Args:
        site: the site.
        queue: its queue.

    Raises:
        TransportError: the site cannot listen at its address.
    """

    def __init__(self, site: Site, queue: Queue) -> None:
        keys = site.load_keys()
        self._site, self._queue, self.cards = site, queue, trusted(site.keys)
        self._own = keys.card.name
        self._numbers = {_number(card): card for card in self.cards.values()}
        self._inbox = Inbox()
        self._serving: dict[str, tuple[frozenset[int], Path]] = {}
        self._later: dict[tuple[int, str], float] = {}
        self._told, self._bad = 0.0, set[bytes]()
        self._behind: dict[str, set[str]] = {}
        self._ended: dict[str, set[str]] = {}
        self.heard: dict[str, float] = {}
        """When each member was last heard, by name, as `time.monotonic` has it."""
        self.version = tacit.__version__
        """The version of tacit that the others are told."""
        self.begun: dict[str, dict[str, str]] = {}
        """Members that have begun a run, and with which version, by the run's id."""
        self.failed: dict[str, frozenset[str]] = {}
        """Ids of the runs that have failed at each member, by its name."""
        self.versions: dict[str, str] = {}
        """The version of tacit that each member has, by name."""
        folder = site.folder / "lobby"
        make_folder(folder)
        self._number = _number(keys.card)
        self._transport = Transport(
            Endpoint(
                keys,
                _NAME,
                self._number,
                self._numbers,
                folder,
                listen=bool(keys.card.address),
                serve=self._serve,
                accept=self._accept,
                apart=True,
            )
        )

    def tick(self) -> bool:
        """Take what came, and tell the others what is known here.

        Returns:
            Whether anything in the queue has changed.
        """
        changed = False
        for came in self._inbox.take():
            changed = self._take(came) or changed
        if changed or time.monotonic() - self._told > _TELL_SECONDS:
            self.tell()
        return changed

    def tell(self, serving: str = "") -> None:
        """Tell the others what is known here.

        Args:
            serving: id of a run in which this member takes part from now on, though it has ended.
        """
        self._told = time.monotonic()
        told = [
            each
            for each in self._queue.entries()
            if each.signed and (shown(each) or each.run == serving)
        ]
        before = self._serving
        self._serving = {
            each.run: before.get(each.run)
            or (_numbers(each.manifest), each.folder / "manifest.toml")
            for each in told
        }
        for other in self._numbers:
            theirs = [each for each in told if other in self._serving[each.run][0]]
            key = f"{self._number}/{other}/list"
            self._transport.publish(key, list_of(theirs, self.version))

    def behind(self, run: str) -> frozenset[str]:
        """Members that said here that they are still at a run, which has ended for this one."""
        return frozenset(self._behind.get(run, ()))

    def served(self, run: str) -> frozenset[str]:
        """Members that said here that they have ended a run, and serve it for this one."""
        return frozenset(self._ended.get(run, ()))

    def close(self) -> None:
        """Leave."""
        self._transport.close()

    def _serve(self, key: str) -> bytes | None:
        # from threads of the network, which let each member ask in its own name only
        _, other, what, run = (*key.split("/"), "", "", "")[:4]
        members, path = self._serving.get(run, (frozenset[int](), Path()))
        if what != "run" or other not in map(str, members):
            return None
        try:
            return path.read_bytes()
        except OSError:  # it was deleted meanwhile
            return None

    def _accept(self, sender: int, key: str, data: bytes) -> None:
        # from threads of the network
        start = f"{sender}/{self._number}/"
        if key == f"{start}list":
            self._inbox.put(Came(sender, "", data))
        elif key.startswith(f"{start}run/"):
            self._inbox.put(Came(sender, key.removeprefix(f"{start}run/"), data))

    def _take(self, came: Came) -> bool:
        card = self._numbers.get(came.sender)
        if card is None:
            return False
        self.heard[card.name] = time.monotonic()
        if not came.run:
            return self._listed(came.sender, card, came.data)
        return self._handed_over(came, card)

    def _listed(self, sender: int, card: Card, data: bytes) -> bool:
        told = read_list(data)
        runs, self.versions[card.name] = told.runs, told.version
        self.failed[card.name] = frozenset(run for run in runs if runs[run].at == FAILED)
        known = {each.run: each for each in self._queue.entries()} if runs else {}
        changed = False
        for run, about in runs.items():
            entry = known.get(run)
            if entry is None or about.signed - set(entry.signed):
                self._ask(sender, run)
            if entry is None:
                continue
            changed = self._note(entry, card, about) or changed
            if sender in _numbers(entry.manifest):
                if about.at == BEGUN:
                    self.begun.setdefault(run, {})[card.name] = about.version or told.version
                if (entry.state, about.at) == (State.FINISHED, BEGUN):
                    self._behind.setdefault(run, set()).add(card.name)
                elif (entry.state, about.at) == (State.BEGUN, ENDED):
                    self._ended.setdefault(run, set()).add(card.name)
        return changed

    def _note(self, entry: Entry, card: Card, about: About) -> bool:
        """Note who has refused, and that this member has all signatures."""
        changed = False
        fresh = {
            name: text
            for name, text in refused_by(entry.manifest, about.refused).items()
            if name not in entry.refusals
        }
        if fresh:
            log.info(
                "run %(run)s was refused by %(names)s",
                {"run": entry.run[:12], "names": ", ".join(fresh)},
            )
            self._queue.note(entry, refusals=fresh)
            changed = True
        everybody = {each.name for each in entry.manifest.members}
        if everybody <= about.signed and card.name not in entry.informed:
            self._queue.note(entry, informed=[card.name])
            changed = True
        return changed

    def _ask(self, sender: int, run: str) -> None:
        now = time.monotonic()
        self._later = {where: at for where, at in self._later.items() if now < at}
        if (sender, run) not in self._later and self._inbox.expect(sender, run):
            self._transport.request(sender, [f"{sender}/{self._number}/run/{run}"])

    def _handed_over(self, came: Came, card: Card) -> bool:
        try:
            manifest = parse_manifest(came.data, "a manifest that was handed over", studied=False)
            if manifest.run.hex() != came.run:
                raise ConfigError("it is the manifest of another run than was asked for")
            known = {each.run: each for each in self._queue.entries()}
            before = known.get(came.run)
            entry = self._queue.take(manifest, trusted=self.cards)
        except TacitError as error:
            self._later[came.sender, came.run] = time.monotonic() + _LATER_SECONDS
            self._say_why(came, card, str(error))
            return False
        if before is None:
            log.info(
                "run %(run)s was proposed (%(title)s): tacit site approve %(run)s",
                {"run": entry.run[:12], "title": entry.study.title},
            )
        elif set(entry.signed) == set(before.signed):
            return False
        else:
            log.info(
                "run %(run)s was signed by %(names)s",
                {
                    "run": entry.run[:12],
                    "names": ", ".join(sorted(set(entry.signed) - set(before.signed))),
                },
            )
        if entry.decision is not None and entry.decision.approved:
            remember(self._site, declared_in(entry.manifest, self._own))
        return True

    def _say_why(self, came: Came, card: Card, why: str) -> None:
        """Log once why a manifest was not taken: its sender shall not fill the disk."""
        digest = hashlib.sha256(came.data).digest()
        if digest in self._bad:
            return
        if len(self._bad) >= _MOST_BAD:
            self._bad.clear()
        self._bad.add(digest)
        log.warning(
            "a run that %(name)s handed over was not taken: %(why)s",
            {"name": card.name, "why": why[:_LONGEST_WHY]},
        )


def _numbers(manifest: Manifest) -> frozenset[int]:
    """Numbers of the members of a run."""
    return frozenset(_number(each.card) for each in manifest.members)


def _number(card: Card) -> int:
    """A number that stands for a card in names of messages."""
    return int.from_bytes(hashlib.sha256(card.whole()).digest()[:6], "big")
