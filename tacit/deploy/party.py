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
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tacit.deploy.hello import HELLO, read_hello, write_hello
from tacit.deploy.keys import Card, Keys
from tacit.deploy.mailbox import Mailbox
from tacit.deploy.outgoing import Made, Outgoing, state_digest
from tacit.deploy.schedule import Form, Schedule, Turn
from tacit.deploy.transport import LARGEST, Transport
from tacit.deploy.wire import FINISHED, Address, Leaf, encode
from tacit.errors import PeerTimeout, RuntimeFailure, WireError
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
        self._greeted: dict[int, int] = {}  # rounds in which neighbours said that they are
        self._met: set[int] = set()
        self._entered: float | None = None
        self.finished_before = False
        self._word: list[np.ndarray] = []
        self._last: Any = None
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

    def accept(self, sender: int, key: str, data: bytes) -> None:
        """Take what a neighbour sent: a message, or its answer to a greeting."""
        if key != f"{sender}/{HELLO}" or sender not in self._cards:
            self.mailbox.offer(sender, key, data)
            if sender in self.mailbox.heard and sender not in self._met:
                self._met.add(sender)
                log.info("%(name)s is there", {"name": self._cards[sender].name})
            return
        with suppress(WireError):
            self._greeted[sender] = read_hello(data, self._run, self._cards[sender]).round

    def run(self, transport: Transport) -> Any:
        """Take all turns; goes on from the last message that was made.

        Returns:
            The answer, shape `(p,)`, by a coordinator's word for its clients; `None` for one who
            had finished before. It is to be kept before `farewell`, after which others may be gone.

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
        self._remember_absences()
        if first == self._schedule.length:
            # started again: what it ended with is kept already
            self.progress.round, self.finished_before = self._schedule.rounds - 1, True
            self._last = state
            self._word = [answer(self._desk, state)] if self._desk.server else []
            return None
        while first < self._schedule.length:
            try:
                for turn in self._schedule.turns(first):
                    self._stop_if_asked()
                    self._enter(turn.at.round)
                    self._notice_that_others_went_on(turn)  # before anything is released in vain
                    state = self._take(turn, state, again=turn.position == sent)
                break
            except _BehindError as behind:
                first = self._come_in_again(behind.position)
        return self._answer(state)

    def farewell(self) -> None:
        """Tell the neighbours that this member needs nothing more; serve them until they do not."""
        done = Address(self._run, self._desk.agent, self._schedule.rounds, 255, 0, FINISHED)
        word = encode(done, self._word, self._keys.identity)
        made = Made(self._schedule.length, done.key(), word)
        self._outgoing.commit(made, self._last, [])
        self._publish(done)
        most = LINGER if self.finished_before else max(self._patience, LINGER)
        ends = time.monotonic() + most
        while not self.mailbox.wait_finished(ASK_EVERY) and time.monotonic() < ends:
            self._stop_if_asked()
            if not (awaited := self._unfinished()):
                break
            self._ask([self._farewell_of(other) for other in awaited])
        # the last neighbour may not have heard of it yet
        time.sleep(2 * ASK_EVERY)
        if not self._unfinished():
            self._outgoing.settle(self._schedule.length, every=1)
            log.info("every neighbour has finished")

    def _unfinished(self) -> list[int]:
        gone = {*self.mailbox.finished, *self.mailbox.left_out()}
        return [sender for sender in self._cards if sender not in gone]

    def _farewell_of(self, sender: int) -> Address:
        return Address(self._run, sender, self._schedule.rounds, 255, 0, FINISHED)

    def _answer(self, state: Any) -> np.ndarray | None:
        """The solution: a client's is the coordinator's word."""
        self._last = state
        if self._desk.role is not Role.CLIENT:
            solution = answer(self._desk, state)
            self._word = [solution] if self._desk.server else []
            return solution
        above, ends = self._desk.plan.agents, time.monotonic() + max(self._patience, LINGER)
        while above not in self.mailbox.finished and time.monotonic() < ends:
            self._stop_if_asked()
            self._ask([self._farewell_of(above)])
            self.mailbox.wait_finished(ASK_EVERY)
        if above not in self.mailbox.finished:
            raise PeerTimeout(f"all rounds are done, and the coordinator says no model. {_GO_ON}")
        data, dtype, shape = self.mailbox.finished[above].leaves[0]
        return np.frombuffer(data, dtype).reshape(shape)

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
        if self._cards and len(self.mailbox.left_out()) == len(self._cards):
            raise PeerTimeout(
                f"every neighbour is silent in round {at.round + 1} of {self._schedule.rounds}, "
                f"and there is nobody to go on with. {_GO_ON}"
            )
        if self._desk.server and not received:
            return state  # nobody was drawn, or none of them is there
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
                f"the iterates diverged before round {at.round + 1}: they are no finite numbers "
                "any more. Agree on a manifest with a smaller step, a smaller clip or fewer rounds"
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
        started, self._greeted, told_after = time.monotonic(), {}, 15.0
        # a client can go nowhere without its coordinator
        may_skip = self._skipping and at.round >= 0 and phase.sender is not Role.SERVER
        # what came too early was not kept, and is there
        early = self.mailbox.ahead
        there = [i for i in self.mailbox.missing(position, senders) if early.get(i, -1) >= position]
        self._ask([Address(self._run, sender, *at) for sender in there])
        while not self.mailbox.wait(position, senders, ASK_EVERY):
            self._stop_if_asked()
            missing = self.mailbox.missing(position, senders)
            self.progress.waiting_for = tuple(missing)
            self._notice_that_others_went_on(turn)
            self._ask([Address(self._run, sender, *at) for sender in missing])
            waited = time.monotonic() - started
            if waited > told_after:
                names = ", ".join(self._cards[sender].name for sender in missing)
                told_after *= 2
                log.info(
                    "waiting for %(names)s for %(seconds).0f seconds, in round %(round)d of %(of)d",
                    {
                        "names": names,
                        "seconds": waited,
                        "round": at.round + 1,
                        "of": self._schedule.rounds,
                    },
                )
            if may_skip and waited > self._patience / 2:
                self._greet(missing)
            silent = [i for i in missing if waited > self._patience * (1 + self._waits(i, turn))]
            if not silent:
                continue
            names = ", ".join(repr(self._cards[sender].name) for sender in silent)
            told = (
                f"nothing from {names} for {waited:.0f} seconds, in round {at.round + 1} of "
                f"{self._schedule.rounds}"
            )
            if not may_skip:
                raise PeerTimeout(f"{told}. {_GO_ON}")
            log.warning("%(told)s; going on without", {"told": told})
            self._leave_out(silent, at.round)
        self.progress.waiting_for = ()
        self._welcome(at.round)

    def _waits(self, sender: int, turn: Turn) -> bool:
        """Whether a neighbour answers, in an earlier round: it waits for somebody itself."""
        return self._greeted.get(sender, turn.at.round) < turn.at.round

    def _greet(self, senders: Sequence[int]) -> None:
        assert self._transport is not None
        for sender in senders:
            self._transport.request(sender, [f"{sender}/{HELLO}"])

    def _leave_out(self, silent: Sequence[int], round: int) -> None:
        for sender in silent:
            if sender not in self.progress.left_out:
                self._outgoing.left(sender, round)
        self.mailbox.leave_out(silent)
        self.progress.left_out = tuple(sorted({*self.progress.left_out, *silent}))

    def _welcome(self, round: int) -> None:
        """Note who is there again."""
        gone = set(self.mailbox.left_out())
        for sender in self.progress.left_out:
            if sender not in gone:
                log.warning("%(name)r is there again", {"name": self._cards[sender].name})
                self._outgoing.back(sender, round)
        self.progress.left_out = tuple(sorted(gone))

    def _remember_absences(self) -> None:
        """After a start: who was left out before is, unless nobody else is there."""
        away = {each.agent for each in self._outgoing.absences() if each.back is None}
        self.progress.left_out = tuple(sorted(away & self._cards.keys()))
        if len(self.progress.left_out) < len(self._cards):
            self.mailbox.leave_out(self.progress.left_out)

    def _notice_that_others_went_on(self, turn: Turn) -> None:
        """Stop waiting if all neighbours who are awaited went on without this member.

        One of them alone may say what it likes; and a coordinator follows nobody.
        """
        if not self._skipping or turn.at.round < 0 or self._desk.server:
            return
        gone, ends = self.mailbox.left_out(), self._schedule.length
        places = [
            ends if sender in self.mailbox.finished else self.mailbox.ahead.get(sender, 0)
            for sender in self._cards
            if sender not in gone
        ]
        if places and min(places) > turn.position + self._schedule.window:
            raise _BehindError(min(places))

    def _come_in_again(self, position: int) -> int:
        """Where to: as far ahead as the others keep messages, so that they wait for it there."""
        schedule, here = self._schedule, self.progress.round
        first = schedule.next_round(schedule.next_round(position))
        self._outgoing.away(self._desk.agent, here, schedule.round(first))
        told = {"here": here + 1, "round": schedule.round(first) + 1}
        if first == schedule.length:
            log.warning("the others have finished without it; its model is of round %(here)d", told)
        else:
            log.warning(
                "the others went on without this member; it comes in again in round %(round)d, "
                "and takes no part in those after round %(here)d",
                told,
            )
        return first

    def _ask(self, addresses: Sequence[Address]) -> None:
        assert self._transport is not None
        for address in addresses:
            self._transport.request(address.sender, [address.key()])

    def _address(self, turn: Turn) -> Address:
        return Address(self._run, self._desk.agent, *turn.at)

    def _publish(self, address: Address) -> None:
        assert self._transport is not None
        data = self._outgoing.find(address.key())
        if data is not None:
            if log.isEnabledFor(logging.DEBUG):
                # a digest of what everybody gets says nothing that they do not know
                sent = hashlib.sha256(data).hexdigest()[:16]
                log.debug("sent %(key)s %(digest)s", {"key": address.key(), "digest": sent})
            self._transport.publish(address.key(), data)

    def _stop_if_asked(self) -> None:
        if self.progress.stopping is not None and self.progress.stopping.is_set():
            raise KeyboardInterrupt

    def _enter(self, round: int) -> None:
        if round == self.progress.round:
            return
        now = time.monotonic()
        if self.progress.seconds is not None and self._entered is not None:
            self.progress.seconds.append(now - self._entered)
        self._entered, self.progress.round = now, round


def answer(desk: Desk, state: Any) -> np.ndarray:
    """The solution in a state, shape `(p,)`."""
    return np.asarray(eqx.filter_jit(desk.plan.method.solution)(state))
