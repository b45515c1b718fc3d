"""One member of a run: sends when it is its turn, waits for its neighbours, survives a crash.

Rounds are synchronous per neighbourhood: a member goes on as soon as the messages that it needs are
there. What it needs and does not get, it asks for every quarter of a second. Where the manifest
says so, a round goes on without who is silent; whoever was left out sleeps through the rounds that
it missed, and comes in again at the round in which the others are.
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
from tacit.deploy.transport import LARGEST, Transport
from tacit.deploy.wire import FINISHED, Address, Leaf, encode
from tacit.errors import PeerTimeout, RuntimeFailure
from tacit.network.base import Mixing
from tacit.privacy.event import Event
from tacit.privacy.ledger.outbox import ReleaseId
from tacit.runtime.desk import Desk
from tacit.runtime.environment import versions
from tacit.types import Role

log = logging.getLogger("tacit.site")

ASK_EVERY = 0.25
"""Seconds after which a missing message is asked for, again and again."""

LINGER = 30.0
"""Seconds for which a member that has finished serves those who have not, or its patience."""

_GO_ON = "Everything is stored: give the same command again when they are back, and the run goes on"


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
        left_out: numbers of the silent neighbours that the run goes on without.
    """

    round: int = -1
    rounds: int = 0
    waiting_for: tuple[int, ...] = ()
    seconds: list[float] | None = None
    stopping: threading.Event | None = None
    left_out: tuple[int, ...] = ()


@dataclass(frozen=True)
class Terms:
    """What all members know of a run.

    Attributes:
        run: its id, 32 bytes.
        schedule: all turns.
        forms: what each phase sends.
        mixing: who talks to whom in a round; before round 0 for -1.
        patience: seconds to wait for a silent neighbour.
        skipping: whether to go on without one then.
        largest: bytes that a message may have.
    """

    run: bytes
    schedule: Schedule
    forms: dict[int, Form]
    mixing: Callable[[int], Mixing]
    patience: float
    skipping: bool = False
    largest: int = LARGEST


class _BehindError(Exception):
    """The neighbours are at this position, and went there without this member."""

    def __init__(self, position: int) -> None:
        self.position = position


class Party:
    """A member's part in a run.

    Args:
        terms: of the run.
        desk: its compiled halves.
        objective: its private objective; `None` for a coordinator.
        releaser: how answers leave; `None` draws simulated noise from the desk's secret (tests).
        keys: of this member.
        cards: of the neighbours, by number.
        outgoing: what it has made.
        progress: kept up to date.
        refused: told of messages that were refused.
    """

    def __init__(
        self,
        terms: Terms,
        desk: Desk,
        objective: Any,
        releaser: Releaser | None,
        keys: Keys,
        cards: dict[int, Card],
        outgoing: Outgoing,
        progress: Progress,
        refused: Callable[[int, str, str], None],
    ) -> None:
        self._desk, self._objective, self._releaser = desk, objective, releaser
        self._run, self._schedule, self._forms = terms.run, terms.schedule, terms.forms
        self._mixing, self._patience, self._skipping = terms.mixing, terms.patience, terms.skipping
        self._keys, self._cards, self._outgoing = keys, cards, outgoing
        self.progress = progress
        above = desk.plan.agents
        model: Leaf = ("<f8", desk.plan.x0.shape)
        self.mailbox = Mailbox(
            terms.run,
            cards,
            {index: form.leaves for index, form in terms.forms.items()},
            terms.schedule.position,
            terms.schedule.window,
            terms.largest,
            refused,
            drifting=terms.skipping or desk.plan.network.varying,
            last={above: [model]},
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
            The answer, shape `(p,)`, by a coordinator's word for its clients; `None` for one who
            did not hear it.

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
        gone = [each.agent for each in self._outgoing.absences() if each.back is None]
        self.mailbox.leave_out([agent for agent in gone if agent in self._cards])
        self.progress.left_out = tuple(self.mailbox.left_out())
        began = time.monotonic()
        while first < self._schedule.length:
            try:
                for turn in self._schedule.turns(first):
                    self._stop_if_asked()
                    state = self._take(turn, state, again=turn.position == sent)
                    first = turn.position + 1
                    if turn.at.round != self.progress.round:
                        self._tick(turn.at.round, began)
                        began = time.monotonic()
            except _BehindError as behind:
                missed, first = self.progress.round + 1, self._schedule.next_round(behind.position)
                self._outgoing.left(self._desk.agent, missed)
                self._outgoing.back(self._desk.agent, self._schedule.round(first))
                log.warning(
                    "the others went on without this member; it comes in again in round %(round)d "
                    "and has released nothing in between",
                    {"round": self._schedule.round(first)},
                )
        return self._finish(state)

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
        if senders and not received:
            raise PeerTimeout(
                f"every neighbour is silent in round {at.round} of {self._schedule.rounds}, and "
                f"there is nobody to go on with. {_GO_ON}"
            )
        form = self._forms[at.phase]
        wire = {sender: (form.structure, message.leaves) for sender, message in received.items()}
        self._settle()
        return self._desk.receive(at, phase, state, wire, mixing, form.blank())

    def _settle(self) -> None:
        """Forget what everybody who is awaited has; before round 0 nobody is left out."""
        reached = self.mailbox.reached
        if not self._skipping:
            self._outgoing.settle(min(reached.values(), default=0))
        elif min(reached.values(), default=0) >= self._schedule.start:
            gone = self.mailbox.left_out()
            here = [position for sender, position in reached.items() if sender not in gone]
            self._outgoing.settle(min(here, default=0))

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
        position, at, phase = turn
        started = time.monotonic()
        # a client can go nowhere without its coordinator
        may_skip = self._skipping and at.round >= 0 and phase.sender is not Role.SERVER
        # what came too early was not kept, and is there
        early = self.mailbox.ahead
        there = [i for i in self.mailbox.missing(position, senders) if early.get(i, 0) > position]
        self._ask([Address(self._run, sender, *at) for sender in there])
        while not self.mailbox.wait(position, senders, ASK_EVERY):
            self._stop_if_asked()
            missing = self.mailbox.missing(position, senders)
            self.progress.waiting_for = tuple(missing)
            if self._skipping and at.round >= 0:
                self._come_in_again(position, missing)
            self._ask([Address(self._run, sender, *at) for sender in missing])
            now = time.monotonic()
            silent = [
                sender
                for sender in missing
                if now - max(started, self.mailbox.heard[sender]) > self._patience
            ]
            if not silent:
                continue
            names = ", ".join(repr(self._cards[sender].name) for sender in silent)
            told = (
                f"nothing from {names} for {self._patience:g} seconds, in round {at.round} of "
                f"{self._schedule.rounds}"
            )
            if not may_skip:
                raise PeerTimeout(f"{told}. {_GO_ON}")
            log.warning("%(told)s; going on without", {"told": told})
            self.mailbox.leave_out(silent)
        self.progress.waiting_for = ()
        if self._skipping:
            self._note_absences(at.round)

    def _note_absences(self, round: int) -> None:
        before, now = set(self.progress.left_out), set(self.mailbox.left_out())
        for sender in sorted(now - before):
            self._outgoing.left(sender, round)
        for sender in sorted(before - now):
            log.warning("%(name)r is there again", {"name": self._cards[sender].name})
            self._outgoing.back(sender, round)
        self.progress.left_out = tuple(sorted(now))

    def _come_in_again(self, position: int, missing: Sequence[int]) -> None:
        """Go where the neighbours are, if they went on without this member."""
        ends = self._schedule.length
        places = [
            ends if sender in self.mailbox.finished else self.mailbox.ahead.get(sender, 0)
            for sender in missing
        ]
        if max(places, default=0) > position + self._schedule.window:
            raise _BehindError(max(places))

    def _ask(self, addresses: Sequence[Address]) -> None:
        assert self._transport is not None
        for address in addresses:
            self._transport.request(address.sender, [address.key()])

    def _finish(self, state: Any) -> np.ndarray | None:
        """Tell the neighbours, and serve them until they have finished too."""
        desk, plan, rounds = self._desk, self._desk.plan, self._schedule.rounds
        client = desk.role is Role.CLIENT
        solution = None if client else answer(desk, state)
        done = Address(self._run, desk.agent, rounds, 255, 0, FINISHED)
        told = [solution] if desk.server and solution is not None else []
        word = encode(done, told, self._keys.identity)
        made = Made(self._schedule.length, done.key(), word)
        self._outgoing.commit(made, state, [])
        self._publish(done)
        ends = time.monotonic() + max(self._patience, LINGER)
        while not self.mailbox.wait_finished(ASK_EVERY) and time.monotonic() < ends:
            self._stop_if_asked()
            gone = {*self.mailbox.finished, *self.mailbox.left_out()}
            awaited = [sender for sender in self._cards if sender not in gone]
            if not awaited:
                break
            self._ask([Address(self._run, other, rounds, 255, 0, FINISHED) for other in awaited])
        # the last neighbour may not have heard of it yet
        time.sleep(2 * ASK_EVERY)
        if client and plan.agents in self.mailbox.finished:
            data, dtype, shape = self.mailbox.finished[plan.agents].leaves[0]
            solution = np.frombuffer(data, dtype).reshape(shape)
        return solution

    def _address(self, turn: Turn) -> Address:
        return Address(self._run, self._desk.agent, *turn.at)

    def _publish(self, address: Address) -> None:
        assert self._transport is not None
        data = self._outgoing.find(address.key())
        if data is not None:
            # a digest of what everybody gets says nothing that they do not know
            sent = hashlib.sha256(data).hexdigest()[:16]
            log.info("sent %(key)s %(digest)s", {"key": address.key(), "digest": sent})
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
