"""Where standing agents meet between runs: proposals, signatures and refusals, over mutual TLS.

An agent talks to members whose cards its owner has confirmed, and to nobody else. It tells them
which runs it knows and who has signed each, and asks for what it lacks. Signatures and refusals are
checked with the cards in the manifest, so it does not matter who passes them on.
"""

from __future__ import annotations

import hashlib
import json
import logging
import queue as queues
import re
import time
from dataclasses import dataclass
from itertools import islice
from typing import Any

from tacit.deploy.agreement.manifest import parse_manifest
from tacit.deploy.files import make_folder
from tacit.deploy.identity.keys import Card
from tacit.deploy.identity.pinning import trusted
from tacit.deploy.messages.carrier import Endpoint
from tacit.deploy.messages.transport import Transport
from tacit.deploy.standing.entries import Entry, State, refused_by
from tacit.deploy.standing.members import declared_in, remember
from tacit.deploy.standing.queue import Queue
from tacit.deploy.standing.site import Site
from tacit.errors import TacitError

log = logging.getLogger("tacit.site")

_NAME = hashlib.sha256(b"tacit lobby 1\n").hexdigest()
_FORMAT = "tacit-lobby-1"
_RUN = re.compile(r"[0-9a-f]{64}")
_LARGEST = 4 << 20
_MOST_RUNS = 200
"""Runs in a list, at most; those that are over are not in it."""

_TELL_SECONDS = 1.0
_ASK_SECONDS = 5.0
_MOST_ASKED = 10_000
_SHOWN = (State.PROPOSED, State.SIGNING, State.READY, State.BEGUN, State.FAILED, State.REFUSED)


@dataclass(frozen=True)
class _Heard:
    sender: int
    key: str
    data: bytes


class Lobby:
    """An open lobby; everything but `close` happens in `tick`, which is called often.

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
        self._inbox: queues.Queue[_Heard] = queues.Queue(maxsize=256)
        self._serving: dict[str, bytes] = {}
        self._asked: dict[tuple[int, str], float] = {}
        self._told, self._bad = 0.0, set[bytes]()
        self.heard: dict[str, float] = {}
        """When each member was last heard, by name, as `time.monotonic` has it."""
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
            )
        )

    def tick(self) -> bool:
        """Take what came, and tell the others what is known here.

        Returns:
            Whether anything in the queue has changed.
        """
        changed = False
        while True:
            try:
                each = self._inbox.get_nowait()
            except queues.Empty:
                break
            changed = self._take(each) or changed
        if changed or time.monotonic() - self._told > _TELL_SECONDS:
            self.tell()
        return changed

    def tell(self) -> None:
        """Tell the others what is known here."""
        self._told = time.monotonic()
        shown = [each for each in self._queue.entries() if each.state in _SHOWN and each.signed]
        self._serving = {
            f"{self._number}/run/{each.run}": each.manifest.toml().encode() for each in shown
        }
        runs = {each.run: {"signed": list(each.signed), "refused": each.refusals} for each in shown}
        document = json.dumps({"format": _FORMAT, "runs": runs}, sort_keys=True)
        self._transport.publish(f"{self._number}/list", document.encode())

    def close(self) -> None:
        """Leave."""
        self._transport.close()

    def _serve(self, key: str) -> bytes | None:
        return self._serving.get(key)

    def _accept(self, sender: int, key: str, data: bytes) -> None:
        # from threads of the network: if there is too much of it, it comes again
        if len(data) <= _LARGEST and not self._inbox.full():
            self._inbox.put_nowait(_Heard(sender, key, data))

    def _take(self, heard: _Heard) -> bool:
        card = self._numbers.get(heard.sender)
        if card is None:
            return False
        self.heard[card.name] = time.monotonic()
        if heard.key == f"{heard.sender}/list":
            return self._listed(heard.sender, card, heard.data)
        if heard.key.startswith(f"{heard.sender}/run/"):
            return self._handed_over(card, heard.data)
        return False

    def _listed(self, sender: int, card: Card, data: bytes) -> bool:
        runs = _runs(data)
        known = {each.run: each for each in self._queue.entries()} if runs else {}
        changed = False
        for run, about in runs.items():
            entry = known.get(run)
            if entry is None or set(about["signed"]) - set(entry.signed):
                self._ask(sender, run)
            if entry is not None:
                changed = self._note(entry, card, about) or changed
        return changed

    def _note(self, entry: Entry, card: Card, about: dict[str, Any]) -> bool:
        """Note who has refused, and that this member has all signatures."""
        changed = False
        fresh = {
            name: text
            for name, text in refused_by(entry.manifest, about["refused"]).items()
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
        if everybody <= set(about["signed"]) and card.name not in entry.informed:
            self._queue.note(entry, informed=[card.name])
            changed = True
        return changed

    def _ask(self, sender: int, run: str) -> None:
        now = time.monotonic()
        if len(self._asked) > _MOST_ASKED:
            self._asked.clear()
        if now - self._asked.get((sender, run), -_ASK_SECONDS) < _ASK_SECONDS:
            return
        self._asked[sender, run] = now
        self._transport.request(sender, [f"{sender}/run/{run}"])

    def _handed_over(self, card: Card, data: bytes) -> bool:
        digest = hashlib.sha256(data).digest()
        if digest in self._bad:
            return False
        try:
            manifest = parse_manifest(data, "a manifest that was handed over", studied=False)
            known = {each.run: each for each in self._queue.entries()}
            before = known.get(manifest.run.hex())
            entry = self._queue.take(manifest, trusted=frozenset(self.cards))
        except TacitError as error:
            if len(self._bad) < 1000:
                self._bad.add(digest)
            log.warning(
                "a run that %(name)s handed over was not taken: %(why)s",
                {"name": card.name, "why": str(error)},
            )
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


def _number(card: Card) -> int:
    """A number that stands for a card in names of messages."""
    return int.from_bytes(hashlib.sha256(card.whole()).digest()[:6], "big")


def _runs(data: bytes) -> dict[str, dict[str, Any]]:
    """The runs in another agent's list; none if it is not one."""
    try:
        found = json.loads(data)
        runs = found["runs"] if found["format"] == _FORMAT else {}
        return {
            str(run): {
                "signed": [str(name) for name in about["signed"]],
                "refused": {str(name): str(text) for name, text in about["refused"].items()},
            }
            for run, about in islice(runs.items(), _MOST_RUNS)
            if _RUN.fullmatch(run)
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}
