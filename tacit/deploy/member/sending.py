"""How a message leaves: what it holds of private is noised and charged, it is stored, then sent."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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


@dataclass(frozen=True)
class Releaser:
    """How this member's private answers leave: on a grid with secure noise, at a stated cost.

    Attributes:
        noised: the release of a phase's private answer, by number of the phase.
        events: what one release of a phase costs.
        owner: in the ledger.
    """

    noised: dict[int, Callable[[Any], Any]]
    events: dict[int, Event]
    owner: str

    def charge(self, run: bytes, turn: Turn, input_hash: str) -> Charge:
        """The cost of this turn's message.

        Args:
            run: its id, 32 bytes.
            turn: of the message.
            input_hash: of the state that it was made from.
        """
        at, phase = turn.at, turn.phase
        id = ReleaseId(self.owner, run.hex(), at.round + 1, phase.name, at.step)
        return Charge(id, self.events[at.phase], input_hash)


class Sender:
    """Sends a member's messages, once they are on the disk.

    Args:
        terms: of the run.
        member: its number.
        keys: of the member.
        outgoing: what it has made.
        neighbours: who get it.
    """

    def __init__(
        self, terms: RunSpec, member: int, keys: Keys, outgoing: Outgoing, neighbours: Neighbours
    ) -> None:
        self._terms, self._member, self._keys = terms, member, keys
        self._outgoing, self._neighbours = outgoing, neighbours

    def send(
        self, turn: Turn, arrays: Sequence[np.ndarray], after: State, charge: Charge | None = None
    ) -> None:
        """Put a message on the disk with the state after it; then send it.

        Args:
            turn: of the message.
            arrays: that it holds.
            after: the method's state after it.
            charge: what it costs; `None` if it releases nothing.

        Raises:
            BudgetExceeded: the ledger does not pay for it.
            RuntimeFailure: it cannot be stored, or holds a number that nobody takes.
        """
        address = self._address(turn)
        made = Made(turn.position, address.key(), encode(address, arrays, self._keys.identity))
        # what stays here is charged as well
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
        """Send what is on the disk.

        Returns:
            The arrays of the message; none if it is not there.

        Raises:
            RuntimeFailure: it holds a number that nobody takes.
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
        """Send a message that is on the disk."""
        transport = self._neighbours.transport
        assert transport is not None
        data = self._outgoing.find(address.key())
        if data is not None:
            if log.isEnabledFor(logging.DEBUG):
                # a digest of what everybody gets says nothing that they do not know
                sent = hashlib.sha256(data).hexdigest()[:16]
                log.debug("sent %(key)s %(digest)s", {"key": address.key(), "digest": sent})
            transport.publish(address.key(), data)

    def _address(self, turn: Turn) -> Address:
        return Address(self._terms.run, self._member, *turn.at)
