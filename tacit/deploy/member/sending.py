"""How a message leaves: noise is added to private content, it is charged, stored, then sent."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tacit._engine.agent_step import At
from tacit.deploy.identity.keys import Keys
from tacit.deploy.member.divergence import check_sent
from tacit.deploy.member.peers import Neighbours
from tacit.deploy.member.run_spec import RunSpec
from tacit.deploy.member.schedule import Turn
from tacit.deploy.messages.outgoing import Charge, Made, Outgoing
from tacit.deploy.messages.wire import Address, decode, encode
from tacit.privacy.event import Event
from tacit.privacy.ledger.outbox import ReleaseId
from tacit.types import State

log = logging.getLogger("tacit.site")


Noised: TypeAlias = Callable[[np.ndarray, At], np.ndarray]
"""From a private answer and its place in the run to the release."""


@dataclass(frozen=True)
class Releaser:
    """How this member's private answers leave: on a grid with secure noise, at a stated cost.

    Attributes:
        noised: how each phase's private answer becomes its release, by number of the phase.
        events: cost of one release of each phase.
        owner: name of the owner in the ledger.
    """

    noised: dict[int, Noised]
    events: dict[int, Event]
    owner: str

    def charge(self, run: bytes, turn: Turn, input_hash: str) -> Charge:
        """The cost of this turn's message.

        Args:
            run: id of the run, 32 bytes.
            turn: turn of the message.
            input_hash: digest of the state that the message was made from.
        """
        at, phase = turn.at, turn.phase
        id = ReleaseId(self.owner, run.hex(), at.round + 1, phase.name, at.step)
        return Charge(id, self.events[at.phase], input_hash)


class Sender:
    """Sends a member's messages, once they are on disk.

    Args:
        terms: terms of the run.
        member: number of the member.
        keys: keys of the member.
        outgoing: messages that it has made.
        neighbours: neighbours that receive its messages.
    """

    def __init__(
        self, terms: RunSpec, member: int, keys: Keys, outgoing: Outgoing, neighbours: Neighbours
    ) -> None:
        self._terms, self._member, self._keys = terms, member, keys
        self._outgoing, self._neighbours = outgoing, neighbours

    def send(
        self, turn: Turn, arrays: Sequence[np.ndarray], after: State, charge: Charge | None = None
    ) -> None:
        """Store a message on disk with the state after it; then send it.

        Args:
            turn: turn of the message.
            arrays: arrays of the message.
            after: state of the method after it.
            charge: cost of the message; `None` if it releases nothing.

        Raises:
            BudgetExceeded: the ledger does not cover it.
            RuntimeFailure: it cannot be stored, or holds a number that nobody accepts.
        """
        address = self._address(turn)
        made = Made(turn.position, address.key(), encode(address, arrays, self._keys.identity))
        # a release that stays here is charged as well
        recipients = (
            [self._keys.card.name]
            if turn.phase.receiver is None
            else [card.name for card in self._neighbours.cards.values()]
        )
        self._outgoing.commit(made, after, recipients, charge)
        if turn.phase.receiver is not None:
            check_sent(self._terms, turn.at, self._member, arrays)
            self.publish(address)

    def send_again(self, turn: Turn) -> list[np.ndarray]:
        """Send a message that is on disk.

        Returns:
            The arrays of the message; none if it is not there.

        Raises:
            RuntimeFailure: it holds a number that nobody accepts.
        """
        address, key = self._address(turn), self._keys.identity.public_key()
        data = self._outgoing.find(address.key())
        if data is None:
            return []
        leaves = decode(data, address, self._terms.forms[turn.at.phase].leaves, key).leaves
        arrays = [np.frombuffer(leaf, dtype).reshape(shape) for leaf, dtype, shape in leaves]
        check_sent(self._terms, turn.at, self._member, arrays)
        self.publish(address)
        return arrays

    def publish(self, address: Address) -> None:
        """Send a message that is on disk."""
        transport = self._neighbours.transport
        assert transport is not None
        data = self._outgoing.find(address.key())
        if data is not None:
            if log.isEnabledFor(logging.DEBUG):
                # a digest of what everybody gets reveals nothing new
                sent = hashlib.sha256(data).hexdigest()[:16]
                log.debug("sent %(key)s %(digest)s", {"key": address.key(), "digest": sent})
            transport.publish(address.key(), data)

    def _address(self, turn: Turn) -> Address:
        return Address(self._terms.run, self._member, *turn.at)
