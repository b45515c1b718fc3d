"""One member of a run: sends in its turns, waits for its neighbours, recovers from crashes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from tacit._engine.agent_step import AgentStep
from tacit._engine.environment import versions
from tacit.deploy.identity.keys import Card, Keys
from tacit.deploy.member.compare import Comparison, word_form
from tacit.deploy.member.divergence import answer, check_diverged
from tacit.deploy.member.ending import Ending
from tacit.deploy.member.peers import BehindError, Neighbours
from tacit.deploy.member.record import Record
from tacit.deploy.member.restore import Restorer, restore_key, write_copy
from tacit.deploy.member.run_spec import Progress, RunSpec
from tacit.deploy.member.schedule import Turn
from tacit.deploy.member.sending import Releaser, Sender
from tacit.deploy.messages.carrier import Link
from tacit.deploy.messages.handshake import Question, write_hello
from tacit.deploy.messages.outgoing import Charge, Outgoing, state_digest
from tacit.deploy.messages.wire import Leaf
from tacit.types import Role

log = logging.getLogger("tacit.site")


class Session:
    """A member's part in a run.

    Args:
        terms: terms of the run.
        desk: compiled halves of the phases for this member.
        objective: private objective of this member; `None` for a coordinator.
        releaser: how answers leave; `None` draws simulated noise from the desk's secret (tests).
        keys: keys of this member.
        cards: cards of the neighbours, by number.
        outgoing: messages that it has made.
        progress: progress of the member, kept up to date.
        refused: function called for each refused message.
        clients: cards of all other clients of a coordinator, by number, with which the model is
            compared; for a coordinator, cards of the clients whose last words it forwards.
        restore: whether a coordinator whose state was lost begins with what its clients have.
    """

    def __init__(
        self,
        terms: RunSpec,
        desk: AgentStep,
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
        below = range(above if desk.plan.network.coordinated else 0)
        record = Record(terms.schedule, "sum" if terms.early else "round")
        closing = [*self._closing(), record.form]
        self._neighbours = Neighbours(
            terms,
            desk.agent,
            cards,
            {above: closing} | {client: word_form(record) for client in below},
            outgoing.heard,
            outgoing.absences,
            progress,
            refused,
            coordinator=desk.server,
            varying=desk.plan.network.varying,
            keeping=above if desk.role is Role.CLIENT else None,
        )
        self.mailbox = self._neighbours.mailbox
        self._restorer = None
        if desk.server and restore:
            self._restorer = Restorer(terms, above, keys, self._neighbours, progress, closing)
        self._sender = Sender(terms, desk.agent, keys, outgoing, self._neighbours)
        self._ending = Ending(
            terms,
            desk,
            keys,
            outgoing,
            self._neighbours,
            self._sender,
            progress,
            record,
            clients or {},
        )
        # before that an agent beside it gets nothing from who adds up that it could answer again
        self._met = not (desk.server and terms.beside)
        self.finished_before = False
        self._last: Any = None
        self._versions = versions()

    def run(self, transport: Link) -> Any:
        """Take all turns, resuming from the last message that was made.

        Returns:
            The answer, shape `(p,)`; for clients, the coordinator's; `None` for a member that had
            already finished. Store it before `farewell`, after which others may be gone.

        Raises:
            PeerTimeout: a neighbour was silent for longer than `patience`.
            RuntimeFailure: a neighbour has messages that this member does not know it sent.
            BudgetExceeded: the ledger does not cover a release.
        """
        self._neighbours.transport = transport
        state, first, sent = self.initial(), 0, -1
        before = self._outgoing.resume(state)
        if before is None and self._restorer is not None:
            self._restore(self._restorer)
            before = self._outgoing.resume(state)
        if before is not None:
            sent, state = before
            first = sent
        self._neighbours.remember_absences(sent)
        if first == self._schedule.length:
            # started again: its result is already stored
            self.finished_before = self._met = True
            self._last = state
            self._say_at_last(state)
            # a run that ended early has none of the rounds after: nobody owes a message of those
            self.progress.round = self.rounds - 1
            return None
        if before is not None:
            self.progress.round = self._schedule.round(sent)
            log.info(
                "resuming in round %(round)d of %(of)d",
                {"round": self.progress.round + 1, "of": self._schedule.rounds},
            )
        try:
            return self._answer(self._turns(state, first, sent))
        except KeyboardInterrupt:
            self._neighbours.keep_heard()  # including what nobody has waited for yet
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
            state = self._taken(*form.handed(received.leaves))
        self._outgoing.restore(made, state, said)

    def _turns(self, state: Any, first: int, sent: int) -> Any:
        """The state after all turns, from a position on."""
        self._neighbours.meet(sent)
        self._met = True
        while first < self._schedule.length:
            try:
                for turn in self._schedule.turns(first):
                    self.progress.stop_if_asked()
                    if self._over(state):
                        break
                    self.progress.enter(turn.at.round)
                    # before anything is released for nothing
                    self._neighbours.notice_that_they_went_on(turn)
                    state = self._take(turn, state, again=turn.position == sent)
                break
            except BehindError as behind:
                first = self._come_in_again(behind.position)
        return state

    def _come_in_again(self, position: int) -> int:
        return self._neighbours.come_in_again(position)

    def _take(self, turn: Turn, state: Any, *, again: bool) -> Any:
        position, at, phase = turn
        self.mailbox.advance(position)
        mixing = self._terms.mixing(at.round)
        server = self._desk.server
        awake = server or bool(np.asarray(mixing.participates)[self._desk.agent])
        role = self._desk.role
        if phase.sender is role and awake:
            if again:  # it is on disk, and so is the state after it
                if phase.receiver is not None:
                    self._sender.send_again(turn)
            else:
                state = self._send(turn, state)
        if phase.receiver is not role or not awake:
            return state
        senders = self._desk.awaited(phase, mixing)
        self._neighbours.wait(turn, senders)
        received = self._neighbours.take(position, senders)
        if self._desk.server and not received:
            return state  # nobody was drawn, or nobody drawn is present
        form = self._terms.forms[at.phase]
        wire = {
            sender: (form.structure, message.leaves[: form.sent])
            for sender, message in received.items()
        }
        self._outgoing.settle(self._neighbours.passed())
        like = next(iter(wire.values())) if wire else form.blank()
        return self._desk.receive(at, phase, state, wire, mixing, like)

    def _send(self, turn: Turn, state: Any) -> Any:
        position, at, phase = turn
        check_diverged(self._desk, state, at.round)
        charge = replay = None
        if phase.query is not None and self._releaser is not None:
            # a record that is not finite counts as 0 in the query: the answer is always finite
            charge = self._releaser.charge(self._terms.run, turn, state_digest(position, state))
            private = self._desk.ask(at, state, self._objective)
            released = self._releaser.noised[at.phase](np.asarray(private), at)
            if self._terms.bounds is not None:
                released = self._terms.bounds.cut(at.phase, self._desk.agent, released)
            replay = np.asarray(released, self._desk.plan.x0.dtype)
        after, (_, leaves), _ = self._desk.send(at, state, self._objective, replay)
        arrays = [np.frombuffer(data, dtype).reshape(shape) for data, dtype, shape in leaves]
        self._keep(turn, arrays, after, charge)
        return after

    def _keep(
        self, turn: Turn, arrays: Sequence[np.ndarray], after: Any, charge: Charge | None = None
    ) -> None:
        """Send a message; a coordinator's includes part of the state after it."""
        if self._terms.forms[turn.at.phase].after is not None:
            arrays = [*arrays, *map(np.asarray, jax.tree.leaves(self._handed(after)))]
        self._sender.send(turn, arrays, after, charge)

    def _answer(self, state: Any) -> np.ndarray | None:
        """The solution: a client's comes from the coordinator."""
        self._last = state
        if self._desk.role is Role.CLIENT:
            return self._ending.model()
        self._say_at_last(state)
        return self._solution(state)

    def _say_at_last(self, state: Any) -> None:
        if self._desk.server:
            self._ending.say(self._last_word(state))

    def farewell(self, *, compare: bool = True) -> None:
        """Tell the neighbours that this member needs nothing more; serve them until they finish.

        Args:
            compare: whether to compare with the other clients what the coordinator told.
        """
        self._ending.farewell(self._last, again=self.finished_before, compare=compare)

    @property
    def compared(self) -> Comparison | None:
        """What other clients were told, after `farewell`; `None` if this one was told nothing."""
        return self._ending.compared

    def serve(self, key: str) -> bytes | None:
        """This member's message that a neighbour asks for, or its answer to a greeting."""
        if self._desk.role is Role.CLIENT and key == restore_key(self._desk.agent):
            return write_copy(self._outgoing.heard, self.mailbox, self._desk.plan.agents)
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
        return (self._ending.find(key) or self._outgoing.find(key)) if self._met else None

    def accept(self, sender: int, key: str, data: bytes) -> None:
        """Take what a neighbour sent."""
        if self._ending.take(sender, key, data):
            return
        if self._restorer is not None and self._restorer.take(sender, key, data):
            return
        self._neighbours.accept(sender, key, data)
        self._ending.pass_on(sender, key, data)

    def initial(self) -> Any:
        """The state before the run."""
        return self._desk.initial()

    @property
    def rounds(self) -> int:
        """The number of rounds that were run."""
        return self._schedule.rounds

    def _handed(self, after: Any) -> Any:
        """The part of a coordinator's state that its message includes."""
        return after

    def _taken(self, state: Any, announced: Sequence[np.ndarray]) -> Any:
        """The whole state, rebuilt from that part and the rest of the message."""
        return state

    def _over(self, state: Any) -> bool:
        """Whether the run ends here, before all turns are taken."""
        return False

    def _closing(self) -> list[Leaf]:
        """The arrays of a coordinator's last word, apart from its record."""
        return [("<f8", self._desk.plan.x0.shape)]

    def _last_word(self, state: Any) -> list[np.ndarray]:
        """What a coordinator says at the end, apart from its record: the model."""
        return [self._solution(state)]

    def _solution(self, state: Any) -> np.ndarray:
        return answer(self._desk, state)
