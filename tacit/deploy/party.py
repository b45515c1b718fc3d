"""One member of a run: sends when it is its turn, waits for its neighbours, survives a crash."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tacit.deploy.compare import Comparison, Words, word_form, word_of
from tacit.deploy.hello import Question, write_hello
from tacit.deploy.keys import Card, Keys
from tacit.deploy.neighbours import ASK_EVERY, BehindError, Neighbours
from tacit.deploy.outgoing import Made, Outgoing, state_digest
from tacit.deploy.record import Record
from tacit.deploy.restore import Restorer, restore_key, write_copy
from tacit.deploy.schedule import Turn
from tacit.deploy.terms import GO_ON, Progress, Terms
from tacit.deploy.transport import Transport
from tacit.deploy.wire import FINISHED, Address, Leaf, decode, encode
from tacit.errors import PeerTimeout, RuntimeFailure
from tacit.metrics import within
from tacit.privacy.event import Event
from tacit.privacy.ledger.outbox import ReleaseId
from tacit.runtime.desk import Desk
from tacit.runtime.environment import versions
from tacit.types import Role

log = logging.getLogger("tacit.site")

COMPARING = 10.0
"""Seconds for which a client waits for the words of the others, or its patience."""

LINGER = 30.0
"""Seconds for which a member that has finished serves those who have not, or its patience."""


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
        clients: cards of all other clients of a coordinator, by number, with whom the model is
            compared; for a coordinator, of those whose words it passes on.
        restore: whether a coordinator whose state was lost begins with what its clients have.
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
        clients: Mapping[int, Card] | None = None,
        *,
        restore: bool = False,
    ) -> None:
        self._desk, self._objective, self._releaser = desk, objective, releaser
        self._terms, self._schedule = terms, terms.schedule
        self._keys, self._outgoing = keys, outgoing
        self.progress = progress
        above = desk.plan.agents
        self._clients = range(above if desk.plan.network.coordinated else 0)
        self._compares = bool(clients) and desk.role is Role.CLIENT
        self._record = Record(terms.schedule, "sum" if terms.early else "round")
        self._words = Words(terms.run, terms.schedule.rounds, above, clients or {}, self._record)
        self.compared: Comparison | None = None
        """What other clients were told, after `farewell`; `None` for who was told nothing."""
        self._neighbours = Neighbours(
            terms,
            desk.agent,
            cards,
            {above: [*self._closing(), self._record.form]}
            | {client: word_form(self._record) for client in self._clients},
            outgoing,
            progress,
            refused,
            coordinator=desk.server,
            varying=desk.plan.network.varying,
            keeping=above if desk.role is Role.CLIENT else None,
        )
        self._restorer = None
        if desk.server and restore:
            last = [*self._closing(), self._record.form]
            self._restorer = Restorer(terms, above, keys, self._neighbours, progress, last)
        self.mailbox = self._neighbours.mailbox
        self._transport: Transport | None = None
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
        if self._desk.role is Role.CLIENT and key == restore_key(self._desk.agent):
            return write_copy(self._outgoing, self.mailbox, self._desk.plan.agents)
        question = Question.read(key)
        if question is not None and question.asked == self._desk.agent:
            return write_hello(
                question,
                self._terms.run,
                self.progress.round,
                self._versions,
                self._keys.identity,
                self._neighbours.heard_of(question.asker),
            )
        return (self._words.find(key) if self._desk.server else None) or self._outgoing.find(key)

    def accept(self, sender: int, key: str, data: bytes) -> None:
        """Take what a neighbour sent."""
        if sender == self._desk.plan.agents and self._words.take(key, data):
            return
        if self._restorer is not None and self._restorer.take(sender, key, data):
            return
        self._neighbours.accept(sender, key, data)
        if self._desk.server and key == self._farewell_of(sender).key():
            name = self._words.keep(sender, data)
            if name is not None and self._transport is not None:
                self._transport.publish(name, data)

    def run(self, transport: Transport) -> Any:
        """Take all turns; goes on from the last message that was made.

        Returns:
            The answer, shape `(p,)`, by a coordinator's word for its clients; `None` for one who
            had finished before. It is to be kept before `farewell`, after which others may be gone.

        Raises:
            PeerTimeout: a neighbour was silent for longer than `patience`.
            RuntimeFailure: a neighbour has messages that this member does not know it sent.
            BudgetExceeded: the ledger does not pay for a release.
        """
        self._transport = self._neighbours.transport = transport
        state, first, sent = self.initial(), 0, -1
        before = self._outgoing.resume(state)
        if before is None and self._restorer is not None:
            self._restore(self._restorer)
            before = self._outgoing.resume(state)
        if before is not None:
            sent, state = before
            first = sent
        self._neighbours.remember_absences()
        if first == self._schedule.length:
            # started again: what it ended with is kept already
            self.progress.round, self.finished_before = self._schedule.rounds - 1, True
            self._last = state
            self._say_at_last(state)
            return None
        if before is not None:
            self.progress.round = self._schedule.round(sent)
            log.info(
                "goes on in round %(round)d of %(of)d",
                {"round": self.progress.round + 1, "of": self._schedule.rounds},
            )
        try:
            return self._answer(self._turns(state, first, sent))
        except KeyboardInterrupt:
            self._neighbours.keep_heard()  # also what nobody has waited for yet
            raise

    def _restore(self, restorer: Restorer) -> None:
        """Begin with the newest message that a client has, and the state that came with it."""
        found = restorer.found()
        if found is None:
            return
        made, received, said = found
        state = self.initial()
        if made.position < self._schedule.length:
            form = self._terms.forms[received.address.phase]
            arrays = [np.frombuffer(d, t).reshape(shape) for d, t, shape in received.leaves]
            kept = len(arrays) - form.after.num_leaves
            after = jax.tree.unflatten(form.after, map(jnp.asarray, arrays[kept:]))
            state = self._taken(after, arrays[form.sent : kept])
        self._outgoing.restore(made, state, said)

    def _handed(self, after: Any) -> Any:
        """The part of a coordinator's state that its message hands over."""
        return after

    def _taken(self, state: Any, announced: Sequence[np.ndarray]) -> Any:
        """The whole state again, from that part and what else was said."""
        return state

    def _turns(self, state: Any, first: int, sent: int) -> Any:
        """The state after all turns, from a position on."""
        self._neighbours.meet(sent)
        while first < self._schedule.length:
            try:
                for turn in self._schedule.turns(first):
                    self.progress.stop_if_asked()
                    if self._over(state):
                        break
                    self._enter(turn.at.round)
                    # before anything is released in vain
                    self._neighbours.notice_that_they_went_on(turn)
                    state = self._take(turn, state, again=turn.position == sent)
                break
            except BehindError as behind:
                first = self._come_in_again(behind.position)
        return state

    def _over(self, state: Any) -> bool:
        """Whether the run ends here, before all turns are taken."""
        return False

    def _come_in_again(self, position: int) -> int:
        return self._neighbours.come_in_again(position)

    @property
    def rounds(self) -> int:
        """Rounds that were run."""
        return self._schedule.rounds

    def _closing(self) -> list[Leaf]:
        """The arrays of a coordinator's last word, but for its record."""
        return [("<f8", self._desk.plan.x0.shape)]

    def _last_word(self, state: Any) -> list[np.ndarray]:
        """What a coordinator says at the end, but for its record: the model."""
        return [self._solution(state)]

    def _say_at_last(self, state: Any) -> None:
        if self._desk.server:
            said = self._outgoing.heard_of(self._desk.agent)
            self._word = [*self._last_word(state), self._record.of(said)]

    def _solution(self, state: Any) -> np.ndarray:
        return answer(self._desk, state)

    def farewell(self) -> None:
        """Tell the neighbours that this member needs nothing more; serve them until they do not."""
        done = Address(self._terms.run, self._desk.agent, self._schedule.rounds, 255, 0, FINISHED)
        # started again after its end it says what it said
        word = self._outgoing.find(done.key()) or encode(done, self._word, self._keys.identity)
        made = Made(self._schedule.length, done.key(), word)
        self._outgoing.commit(made, self._last, [])
        self._publish(done)
        most = LINGER if self.finished_before else max(self._terms.patience, LINGER)
        ends = time.monotonic() + most
        while not self.mailbox.wait_finished(ASK_EVERY) and time.monotonic() < ends:
            self.progress.stop_if_asked()
            if not (awaited := self._neighbours.unfinished()):
                break
            self._neighbours.keep_heard()
            self._neighbours.ask([self._farewell_of(other) for other in awaited])
        self._compare()
        # the last neighbour may not have heard of it yet, nor clients of each other's word
        time.sleep(2 * ASK_EVERY if not self._desk.server else 8 * ASK_EVERY)
        if not self._neighbours.unfinished():
            self._outgoing.settle(self._schedule.length, every=1)
            log.info("every neighbour has finished")

    def _compare(self) -> None:
        """Hear what other clients were told, and say so if it was something else."""
        if not self._compares or not self._word:
            return
        assert self._transport is not None
        ends = time.monotonic() + min(COMPARING, self._terms.patience)
        while (missing := self._words.keys()) and time.monotonic() < ends:
            self.progress.stop_if_asked()
            self._transport.request(self._desk.plan.agents, missing.values())
            time.sleep(ASK_EVERY)
        self.compared = found = self._words.compared(self._word)
        if found.other:
            log.error(
                "the coordinator told others something else than this member: %(names)s. It is "
                "broken, or ran two halves under one id. Do not use the model before you have "
                "spoken",
                {"names": found.others()},
            )
        if found.silent:
            log.warning(
                "what the coordinator told was not compared with %(names)s, whose word did not "
                "come",
                {"names": ", ".join(found.silent)},
            )

    def _farewell_of(self, sender: int) -> Address:
        return Address(self._terms.run, sender, self._schedule.rounds, 255, 0, FINISHED)

    def _answer(self, state: Any) -> np.ndarray | None:
        """The solution: a client's is the coordinator's word."""
        self._last = state
        if self._desk.role is not Role.CLIENT:
            self._say_at_last(state)
            return self._solution(state)
        above, ends = self._desk.plan.agents, time.monotonic() + max(self._terms.patience, LINGER)
        while above not in self.mailbox.finished and time.monotonic() < ends:
            self.progress.stop_if_asked()
            self._neighbours.keep_heard()
            self._neighbours.ask([self._farewell_of(above)])
            self.mailbox.wait_finished(ASK_EVERY)
        if above not in self.mailbox.finished:
            raise PeerTimeout(f"all rounds are done, and the coordinator says no model. {GO_ON}")
        self._neighbours.keep_heard()
        leaves = self.mailbox.finished[above].leaves
        told = [data for data, _, _ in leaves]
        self._word = word_of(self._record, told, self._outgoing.heard_of(above))
        if (doubt := int(self._word[2])) >= 0:
            log.error(
                "in %(place)s the coordinator sent this member another message than it says at the "
                "end: it is broken, or ran two halves under one id. Do not use the model before "
                "you have spoken with the others",
                {"place": self._record.place(doubt)},
            )
        data, dtype, shape = leaves[0]
        model = np.frombuffer(data, dtype).reshape(shape)
        check_model(self._desk, model)
        return model

    def _take(self, turn: Turn, state: Any, *, again: bool) -> Any:
        position, at, phase = turn
        self.mailbox.advance(position)
        mixing = self._terms.mixing(at.round)
        server = self._desk.server
        awake = server or bool(np.asarray(mixing.participates)[self._desk.agent])
        role = self._desk.role
        if phase.sender is role and awake:
            if again:  # it is on the disk, and so is the state after it
                if phase.receiver is not None:
                    self._send_again(turn)
            else:
                state = self._send(turn, state)
        if phase.receiver is not role or not awake:
            return state
        senders = self._desk.awaited(phase, mixing)
        self._neighbours.wait(turn, senders)
        received = self._neighbours.take(position, senders)
        if self._desk.server and not received:
            return state  # nobody was drawn, or none of them is there
        form = self._terms.forms[at.phase]
        wire = {
            sender: (form.structure, message.leaves[: form.sent])
            for sender, message in received.items()
        }
        self._outgoing.settle(self._neighbours.passed())
        return self._desk.receive(at, phase, state, wire, mixing, form.blank())

    def _send(self, turn: Turn, state: Any) -> Any:
        position, at, phase = turn
        private = phase.query is not None
        id = event = None
        input_hash = ""
        check_diverged(self._desk, state, at.round)
        if private and self._releaser is not None:
            # a record that is no finite number counts 0 in the query: the answer is always finite
            input_hash = state_digest(position, state)
            id = ReleaseId(
                self._releaser.owner, self._terms.run.hex(), at.round + 1, phase.name, at.step
            )
            event = self._releaser.events[at.phase]
            answer = self._desk.ask(at, state, self._objective)
            released = self._releaser.noised[at.phase](np.asarray(answer))
            if self._terms.bounds is not None:
                released = self._terms.bounds.cut(at.phase, self._desk.agent, released)
            replay = jnp.asarray(released, self._desk.plan.x0.dtype)
            after, (_, leaves), _ = self._desk.send(at, state, self._objective, replay)
        else:
            after, (_, leaves), _ = self._desk.send(at, state, self._objective)
        arrays = [np.frombuffer(data, dtype).reshape(shape) for data, dtype, shape in leaves]
        self._keep(turn, arrays, after, id, event, input_hash)
        return after

    def _keep(
        self,
        turn: Turn,
        arrays: Sequence[np.ndarray],
        after: Any,
        id: ReleaseId | None = None,
        event: Event | None = None,
        input_hash: str = "",
    ) -> None:
        """Put a message on the disk with the state after it; then send it."""
        address = self._address(turn)
        if self._terms.forms[turn.at.phase].after is not None:
            arrays = [*arrays, *map(np.asarray, jax.tree.leaves(self._handed(after)))]
        made = Made(turn.position, address.key(), encode(address, arrays, self._keys.identity))
        # what stays here is charged as well
        recipients = (
            [self._keys.card.name]
            if turn.phase.receiver is None
            else [card.name for card in self._neighbours.cards.values()]
        )
        self._outgoing.commit(made, after, recipients, id, event, input_hash)
        if turn.phase.receiver is not None:
            self._check_own(turn, arrays)
            self._publish(address)

    def _send_again(self, turn: Turn) -> None:
        """Send what is on the disk."""
        address, key = self._address(turn), self._keys.identity.public_key()
        data = self._outgoing.find(address.key())
        if data is not None:
            leaves = decode(data, address, self._terms.forms[turn.at.phase].leaves, key).leaves
            self._check_own(turn, [np.frombuffer(leaf, dtype) for leaf, dtype, _ in leaves])
            self._publish(address)

    def _check_own(self, turn: Turn, arrays: Sequence[np.ndarray]) -> None:
        """Send nothing that nobody takes. It is charged by then: a stop tells of it, too.

        Raises:
            RuntimeFailure: a number is beyond the bounds of the run.
        """
        if self._terms.bounds is None:
            return
        sent = arrays[: self._terms.forms[turn.at.phase].sent]
        beyond = self._terms.bounds.excess(turn.at.phase, self._desk.agent, sent)
        if beyond:
            raise RuntimeFailure(diverged(turn.at.round, f"one is at {beyond}"))

    def _address(self, turn: Turn) -> Address:
        return Address(self._terms.run, self._desk.agent, *turn.at)

    def _publish(self, address: Address) -> None:
        assert self._transport is not None
        data = self._outgoing.find(address.key())
        if data is not None:
            if log.isEnabledFor(logging.DEBUG):
                # a digest of what everybody gets says nothing that they do not know
                sent = hashlib.sha256(data).hexdigest()[:16]
                log.debug("sent %(key)s %(digest)s", {"key": address.key(), "digest": sent})
            self._transport.publish(address.key(), data)

    def _enter(self, round: int) -> None:
        if round == self.progress.round:
            return
        now = time.monotonic()
        if self.progress.seconds is not None and self._entered is not None:
            self.progress.seconds.append(now - self._entered)
        self._entered, self.progress.round = now, round


def check_model(desk: Desk, model: np.ndarray) -> None:
    """Say so if a coordinator's model is where no run that goes well ends."""
    far = float(np.max(np.abs(model - np.asarray(desk.plan.x0))))
    if not within(desk.plan, jnp.asarray(model)):
        log.error(
            "the coordinator's model is %(far).3g from where the run began, further than "
            "divergence in [run] allows: it diverged, or somebody sent numbers of no meaning. Do "
            "not use it",
            {"far": far},
        )


def check_diverged(desk: Desk, state: Any, round: int) -> None:
    """Refuse to send what diverged.

    Raises:
        RuntimeFailure: numbers that are not finite, or an answer too far from where it began.
    """
    finite = all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state))
    # a client's answer is the coordinator's word
    if finite and (desk.role is Role.CLIENT or within(desk.plan, jnp.asarray(answer(desk, state)))):
        return
    how = "they are further from their start than divergence in [run] allows"
    raise RuntimeFailure(diverged(round, how if finite else "they are no finite numbers any more"))


def diverged(round: int, how: str) -> str:
    """What is said of iterates that are not sent."""
    return (
        f"the iterates diverged before round {round + 1}: {how}. "
        "Agree on a manifest with a smaller step, a smaller clip or fewer rounds"
    )


def answer(desk: Desk, state: Any) -> np.ndarray:
    """The solution in a state, shape `(p,)`."""
    return np.asarray(eqx.filter_jit(desk.plan.method.solution)(state))
