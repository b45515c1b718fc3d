"""A coordinator that has lost its state resumes from what its clients have.

It releases nothing private, and includes its state in each of its messages. Every client stores
the newest message on disk before using it, and the digest and signature of each older one. So a
coordinator asks all of them, takes the newest message with its own signature, and resumes as after
a crash: it repeats the same bytes. Nobody has used a message that no client has, so it may send a
different one there. Hence it waits for every client: one of them could have a newer message.
"""

from __future__ import annotations

import logging
import struct
import time
from collections.abc import Sequence

from tacit.deploy.identity.keys import Keys
from tacit.deploy.member.peers import Neighbours
from tacit.deploy.member.run_spec import GO_ON, Progress, RunSpec
from tacit.deploy.messages.heard import HeardStore
from tacit.deploy.messages.mailbox import Heard, Mailbox
from tacit.deploy.messages.outgoing import Made
from tacit.deploy.messages.wire import FINISHED, Address, Leaf, Received, decode, was_sent
from tacit.errors import PeerTimeout, RuntimeFailure, WireError
from tacit.types import Role

log = logging.getLogger("tacit.site")

_HEAD, _ROW = struct.Struct("<qI"), struct.Struct("<q32s64s")


def restore_key(client: int) -> str:
    """The name under which a client answers what it has from its coordinator."""
    return f"{client}/restore"


def write_copy(stored: HeardStore, mailbox: Mailbox, coordinator: int) -> bytes:
    """What a client has from its coordinator: the newest message, and digests of all."""
    position, message = max(stored.copy(), mailbox.copy())
    heard = [each for each in mailbox.unstored() if each.sender == coordinator]
    rows = [_ROW.pack(*each[1:]) for each in (*stored.of(coordinator), *heard)]
    return b"".join([_HEAD.pack(position, len(message)), message, *rows])


class Restorer:
    """Asks the clients what they have from a coordinator. `take` may be called from any thread.

    Args:
        terms: terms of the run.
        coordinator: number of the coordinator.
        keys: keys of the coordinator.
        neighbours: clients of the coordinator.
        progress: progress of the member, kept up to date.
        last: arrays of the coordinator's last word.
    """

    def __init__(
        self,
        terms: RunSpec,
        coordinator: int,
        keys: Keys,
        neighbours: Neighbours,
        progress: Progress,
        last: list[Leaf],
    ) -> None:
        self._terms, self._coordinator, self._last = terms, coordinator, last
        self._key, self._neighbours, self._progress = keys.card.public_key(), neighbours, progress
        self._answers: dict[int, bytes] = {}
        schedule, run = terms.schedule, terms.run
        # every message that the coordinator may have sent, by position
        self._mine = {
            position: Address(run, coordinator, *at)
            for position, at, phase in schedule.turns()
            if phase.sender is Role.SERVER and phase.receiver is not None
        }
        self._mine[schedule.length] = Address.last(run, coordinator, schedule.rounds)

    def take(self, sender: int, key: str, data: bytes) -> bool:
        """Take a client's answer; return whether it is one."""
        if key != restore_key(sender):
            return False
        if len(data) <= self._terms.largest:
            self._answers[sender] = data
        return True

    def found(self) -> tuple[Made, Received, list[Heard]] | None:
        """The newest message, and what clients heard of all; `None` if nobody heard anything.

        Raises:
            PeerTimeout: a client does not answer, or claims to have a message that nobody shows.
            RuntimeFailure: the state is too large to be handed over, or two different messages of
                one address have the coordinator's signature.
        """
        phases = {each.phase for each in self._mine.values() if each.kind != FINISHED}
        if any(self._terms.forms[phase].after is None for phase in phases):
            raise RuntimeFailure(
                "the state of this run's coordinator is too large to be handed over with each "
                "message, so clients have none. Put the newest --state back, or agree on a new "
                "manifest, for a run of its own"
            )
        transport, waited = self._neighbours.transport, self._terms.waited()
        assert transport is not None
        while True:
            self._progress.stop_if_asked()
            heard = self._neighbours.hear_from_all()
            everybody = self._neighbours.cards
            silent = [i for i in everybody if i not in heard or i not in self._answers]
            shown = [self._message(data) for data in list(self._answers.values())]
            position, received = max(shown, default=(-1, None), key=lambda each: each[0])
            ahead = [i for i, newest in heard.items() if newest > position]
            if not silent and not ahead:
                break
            self._progress.waiting_for = tuple(silent or ahead)
            if waited() > self._terms.patience:
                raise PeerTimeout(self._refusal(silent, ahead))
            for client in silent or ahead:
                transport.request(client, [restore_key(client)])
            time.sleep(self._terms.ask_every)
        self._progress.waiting_for = ()
        if received is None:
            return None
        made = Made(position, received.address.key(), received.data())
        log.warning(
            "restored with the newest message that its clients have: %(key)s of %(rounds)d rounds",
            {"key": made.key, "rounds": self._terms.schedule.rounds},
        )
        return made, received, self._said()

    def _refusal(self, silent: Sequence[int], ahead: Sequence[int]) -> str:
        names = ", ".join(repr(self._neighbours.cards[i].name) for i in silent or ahead)
        if silent:
            return (
                f"nothing is restored: {names} did not report which messages it has from this "
                f"coordinator, and could have a newer one than the others. {GO_ON}"
            )
        return (
            f"nothing is restored: {names} claims to have a newer message from this coordinator "
            "than any member can show. Contact its owner"
        )

    def _message(self, answer: bytes) -> tuple[int, Received | None]:
        """The message in an answer and its position; -1 if it is not from this coordinator."""
        try:
            position, length = _HEAD.unpack_from(answer)
            address = self._mine[position]
            ended = address.kind == FINISHED
            form = self._last if ended else self._terms.forms[address.phase].leaves
            data = answer[_HEAD.size : _HEAD.size + length]
            return position, decode(data, address, form, self._key)
        except (struct.error, KeyError, WireError):
            return -1, None

    def _said(self) -> list[Heard]:
        """What was heard from this coordinator, each entry with the coordinator's signature."""
        found: dict[int, Heard] = {}
        for answer in list(self._answers.values()):
            for heard in self._rows(answer):
                known = found.get(heard.position)
                if (known is not None and known.digest == heard.digest) or not self._is_mine(heard):
                    continue
                if known is not None:
                    raise RuntimeFailure(
                        "nothing is restored: two different messages "
                        f"{self._mine[heard.position].key()} bear this coordinator's signature. "
                        "It ran twice; agree on a new manifest, for a run of its own"
                    )
                found[heard.position] = heard
        return list(found.values())

    def _rows(self, answer: bytes) -> list[Heard]:
        try:
            rows = answer[_HEAD.size + _HEAD.unpack_from(answer)[1] :]
            return [Heard(self._coordinator, *row) for row in _ROW.iter_unpack(rows)]
        except struct.error:
            return []

    def _is_mine(self, heard: Heard) -> bool:
        address = self._mine.get(heard.position)
        if address is None:
            return False
        ended = address.kind == FINISHED
        arrays = len(self._last if ended else self._terms.forms[address.phase].leaves)
        return was_sent(address, arrays, heard.digest, heard.signature, self._key)
