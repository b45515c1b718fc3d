"""One member of a run: sends when it is its turn, waits for its neighbours, survives a crash.

Rounds are synchronous per neighbourhood: a member goes on as soon as the messages that it needs are
there. What it needs and does not get, it asks for every quarter of a second.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tacit.deploy.hello import HELLO, write_hello
from tacit.deploy.keys import Card, Keys
from tacit.deploy.mailbox import Mailbox
from tacit.deploy.outgoing import Made, Outgoing, state_digest
from tacit.deploy.schedule import Form, Schedule, Turn
from tacit.deploy.transport import Transport
from tacit.deploy.wire import FINISHED, Address, encode
from tacit.errors import PeerTimeout, RuntimeFailure
from tacit.network.base import Mixing
from tacit.privacy.event import Event
from tacit.privacy.ledger.outbox import ReleaseId
from tacit.runtime.desk import Desk
from tacit.runtime.environment import versions

log = logging.getLogger("tacit.site")

ASK_EVERY = 0.25
"""Seconds after which a missing message is asked for, again and again."""

LINGER = 30.0
"""Seconds for which a member that has finished serves those who have not."""


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


@dataclass
class Progress:
    """How far a member is, for whoever asks. Public values only.

    Attributes:
        round: that it is in.
        rounds: of the run.
        waiting_for: numbers of the neighbours it waits for.
        seconds: the time that recent rounds took.
        stopping: set to end after the current turn.
    """

    round: int = -1
    rounds: int = 0
    waiting_for: tuple[int, ...] = ()
    seconds: list[float] | None = None
    stopping: threading.Event | None = None


class Party:
    """A member's part in a run.

    Args:
        desk: its compiled halves.
        objective: its private objective; `None` for a coordinator.
        releaser: how answers leave; `None` draws simulated noise from the desk's secret (tests).
        schedule: of the run.
        forms: what each phase sends.
        keys: of this member.
        run: id of the run, 32 bytes.
        cards: of the neighbours, by number.
        outgoing: what it has made.
        patience: seconds to wait for a silent neighbour.
        mixing: who talks to whom in a round; before round 0 for -1.
        progress: kept up to date.
        refused: told of messages that were refused.
    """

    def __init__(
        self,
        desk: Desk,
        objective: Any,
        releaser: Releaser | None,
        schedule: Schedule,
        forms: dict[int, Form],
        keys: Keys,
        run: bytes,
        cards: dict[int, Card],
        outgoing: Outgoing,
        patience: float,
        mixing: Callable[[int], Mixing],
        progress: Progress,
        refused: Callable[[int, str, str], None],
        largest: int,
    ) -> None:
        self._desk, self._objective, self._releaser = desk, objective, releaser
        self._schedule, self._forms = schedule, forms
        self._keys, self._run, self._cards = keys, run, cards
        self._outgoing, self._patience = outgoing, patience
        self._mixing, self.progress = mixing, progress
        self.mailbox = Mailbox(
            run,
            cards,
            {index: form.leaves for index, form in forms.items()},
            schedule.position,
            schedule.window,
            largest,
            refused,
        )
        self._transport: Transport | None = None
        self._versions = versions()

    def initial(self) -> Any:
        """The state before the run."""
        plan = self._desk.plan
        return plan.method.init(self._desk.role, plan.x0, jnp.asarray(self._desk.degree))

    def serve(self, key: str) -> bytes | None:
        """An own message that a neighbour asks for, or word that this member is there."""
        if key == f"{self._desk.agent}/{HELLO}":
            return write_hello(self._run, self.progress.round, self._versions, self._keys.identity)
        return self._outgoing.find(key)

    def run(self, transport: Transport) -> Any:
        """Take all turns; goes on from the last message that was made.

        Returns:
            The state at the end.

        Raises:
            PeerTimeout: a neighbour was silent for longer than `patience`.
            BudgetExceeded: the ledger does not pay for a release.
        """
        self._transport = transport
        state, first, sent = self.initial(), 0, -1
        before = self._outgoing.resume(state)
        if before is not None:
            sent, state = before
            first = sent
        began = time.monotonic()
        for turn in self._schedule.turns(first):
            self._stop_if_asked()
            state = self._take(turn, state, again=turn.position == sent)
            if turn.at.round != self.progress.round:
                self._tick(turn.at.round, began)
                began = time.monotonic()
        self._finish(state)
        return state

    def _take(self, turn: Turn, state: Any, *, again: bool) -> Any:
        position, at, phase = turn
        self.mailbox.advance(position)
        mixing = self._mixing(at.round)
        server = self._desk.server
        awake = server or bool(np.asarray(mixing.participates)[self._desk.agent])
        role = self._desk.role
        if phase.sender is role and awake:
            if again:  # it is on the disk, and so is the state after it
                if phase.receiver is not None:
                    self._publish(self._address(turn))
            else:
                state = self._send(turn, state)
        if phase.receiver is not role or not awake:
            return state
        senders = self._desk.awaited(phase, mixing)
        self._await(turn, senders)
        received = self.mailbox.take(position, senders)
        structure = self._forms[at.phase].structure
        wire = {sender: (structure, message.leaves) for sender, message in received.items()}
        self._outgoing.settle(min(self.mailbox.reached.values(), default=0))
        return self._desk.receive(at, phase, state, wire, mixing)

    def _send(self, turn: Turn, state: Any) -> Any:
        position, at, phase = turn
        private = phase.query is not None
        id = event = None
        input_hash = ""
        if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state)):
            raise RuntimeFailure(
                f"the iterates diverged before round {at.round}: they are no finite numbers any "
                "more. Agree on a manifest with a smaller step, a smaller clip or fewer rounds"
            )
        if private and self._releaser is not None:
            # a record that is no finite number counts 0 in the query: the answer is always finite
            input_hash = state_digest(position, state)
            id = ReleaseId(self._releaser.owner, self._run.hex(), at.round + 1, phase.name, at.step)
            event = self._releaser.events[at.phase]
            answer = self._desk.ask(at, state, self._objective)
            released = self._releaser.noised[at.phase](np.asarray(answer))
            replay = jnp.asarray(released, self._desk.plan.x0.dtype)
            after, (_, leaves), _ = self._desk.send(at, state, self._objective, replay)
        else:
            after, (_, leaves), _ = self._desk.send(at, state, self._objective)
        address = self._address(turn)
        arrays = [np.frombuffer(data, dtype).reshape(shape) for data, dtype, shape in leaves]
        made = Made(position, address.key(), encode(address, arrays, self._keys.identity))
        # what stays here is charged as well
        recipients = (
            [self._keys.card.name]
            if phase.receiver is None
            else [card.name for card in self._cards.values()]
        )
        self._outgoing.commit(made, after, recipients, id, event, input_hash)
        if phase.receiver is not None:
            self._publish(address)
        return after

    def _await(self, turn: Turn, senders: Sequence[int]) -> None:
        position, at, _ = turn
        started = time.monotonic()
        while not self.mailbox.wait(position, senders, ASK_EVERY):
            self._stop_if_asked()
            missing = self.mailbox.missing(position, senders)
            self.progress.waiting_for = tuple(missing)
            assert self._transport is not None
            for sender in missing:
                asked = Address(self._run, sender, at.round, at.phase, at.step)
                self._transport.request(sender, [asked.key()])
            now = time.monotonic()
            silent = [
                sender
                for sender in missing
                if now - max(started, self.mailbox.heard[sender]) > self._patience
            ]
            if silent:
                names = ", ".join(repr(self._cards[sender].name) for sender in silent)
                raise PeerTimeout(
                    f"nothing from {names} for {self._patience:g} seconds, in round {at.round} of "
                    f"{self._schedule.rounds}. Everything is stored: give the same command again "
                    "when they are back, and the run goes on"
                )
        self.progress.waiting_for = ()

    def _finish(self, state: Any) -> None:
        """Tell the neighbours, and serve them until they have finished too."""
        done = Address(self._run, self._desk.agent, self._schedule.rounds, 255, 0, FINISHED)
        made = Made(self._schedule.length, done.key(), encode(done, [], self._keys.identity))
        self._outgoing.commit(made, state, [])
        self._publish(done)
        assert self._transport is not None
        ends = time.monotonic() + LINGER
        while not self.mailbox.wait_finished(ASK_EVERY) and time.monotonic() < ends:
            for sender in set(self._cards) - self.mailbox.finished:
                asked = Address(self._run, sender, self._schedule.rounds, 255, 0, FINISHED)
                self._transport.request(sender, [asked.key()])
        # the last neighbour may not have heard of it yet
        time.sleep(2 * ASK_EVERY)

    def _address(self, turn: Turn) -> Address:
        return Address(self._run, self._desk.agent, *turn.at)

    def _publish(self, address: Address) -> None:
        assert self._transport is not None
        data = self._outgoing.find(address.key())
        if data is not None:
            # a digest of what everybody gets says nothing that they do not know
            log.info("sent %s %s", address.key(), hashlib.sha256(data).hexdigest()[:16])
            self._transport.publish(address.key(), data)

    def _stop_if_asked(self) -> None:
        if self.progress.stopping is not None and self.progress.stopping.is_set():
            raise KeyboardInterrupt

    def _tick(self, round: int, began: float) -> None:
        self.progress.round = round
        if self.progress.seconds is not None:
            self.progress.seconds.append(time.monotonic() - began)


def answer(desk: Desk, state: Any) -> np.ndarray:
    """The solution in a state, shape `(p,)`."""
    return np.asarray(eqx.filter_jit(desk.plan.method.solution)(state))
