"""The end of a run: last words, and how clients check their coordinator's.

A member that has taken its turns says so, and serves its neighbours until they need nothing more.
A coordinator's last word holds the model and a record of what it announced; a client's last word
holds digests of both, which the coordinator forwards to the other clients.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence

import numpy as np

from tacit._engine.agent_step import AgentStep
from tacit.deploy.identity.keys import Card, Keys
from tacit.deploy.member.compare import Comparison, Words, word_form, word_of
from tacit.deploy.member.divergence import check_model
from tacit.deploy.member.peers import Neighbours
from tacit.deploy.member.record import Record
from tacit.deploy.member.run_spec import Progress, RunSpec
from tacit.deploy.member.sending import Sender
from tacit.deploy.messages.outgoing import Made, Outgoing
from tacit.deploy.messages.wire import Address, decode, encode
from tacit.errors import PeerTimeout
from tacit.types import Role, State

log = logging.getLogger("tacit.site")

COMPARING = 10.0
"""Seconds for which a client waits for the words of the others, or its patience."""

LINGER = 30.0
"""Seconds for which a member that has finished serves those who have not, or its patience."""


class Ending:
    """A member's last word, and those of others. `find`, `take` and `pass_on` are thread-safe.

    Args:
        terms: terms of the run.
        desk: desk of this member.
        keys: keys of this member.
        outgoing: messages that it has made.
        neighbours: neighbours that it serves until they have finished.
        sender: sender of its messages.
        progress: progress of the member, which says whether to stop.
        record: turns of the coordinator.
        clients: cards of the clients whose last words are compared or forwarded, by number.
    """

    def __init__(
        self,
        terms: RunSpec,
        desk: AgentStep,
        keys: Keys,
        outgoing: Outgoing,
        neighbours: Neighbours,
        sender: Sender,
        progress: Progress,
        record: Record,
        clients: Mapping[int, Card],
    ) -> None:
        self._terms, self._desk, self._keys, self._outgoing = terms, desk, keys, outgoing
        self._neighbours, self._mailbox = neighbours, neighbours.mailbox
        self._sender, self._progress = sender, progress
        self._record, self._above = record, desk.plan.agents
        self._words = Words(terms.run, terms.schedule.rounds, self._above, clients, record)
        self._compares = bool(clients) and desk.role is Role.CLIENT
        self._word: list[np.ndarray] = []
        self.compared: Comparison | None = None
        """What other clients were told, after `farewell`; `None` for who was told nothing."""

    def find(self, key: str) -> bytes | None:
        """A client's last word that this coordinator forwards."""
        return self._words.find(key) if self._desk.server else None

    def take(self, sender: int, key: str, data: bytes) -> bool:
        """Take a last word that the coordinator forwards; return whether it is one."""
        return sender == self._above and self._words.take(key, data)

    def pass_on(self, sender: int, key: str, data: bytes) -> None:
        """Forward a client's last word to the others, if it is one and new."""
        if not self._desk.server or key != self._last(sender).key():
            return
        name, transport = self._words.keep(sender, data), self._neighbours.transport
        if name is not None and transport is not None:
            transport.publish(name, data)

    def say(self, closing: Sequence[np.ndarray]) -> None:
        """Set what this coordinator says at the end, apart from its record."""
        said = self._outgoing.heard.digests(self._desk.agent)
        self._word = [*closing, self._record.of(said)]

    def model(self) -> np.ndarray:
        """The model in the coordinator's last word: a client's answer, shape `(p,)`.

        Raises:
            PeerTimeout: the coordinator does not send it.
        """
        above, waited = self._above, self._terms.waited()
        most = max(self._terms.patience, LINGER)
        while above not in self._mailbox.finished and waited() < most:
            self._progress.stop_if_asked()
            self._neighbours.keep_heard()
            self._neighbours.ask([self._last(above)])
            self._mailbox.wait_finished(self._terms.ask_every)
        if above not in self._mailbox.finished:
            raise PeerTimeout(
                "all rounds are done, but the coordinator sent no model. "
                f"{self._terms.go_on([above])}"
            )
        self._neighbours.keep_heard()
        leaves = self._mailbox.finished[above].leaves
        told = [data for data, _, _ in leaves]
        self._word = word_of(self._record, told, self._outgoing.heard.digests(above))
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

    def farewell(self, state: State, *, again: bool, compare: bool = True) -> None:
        """Tell the neighbours that this member needs nothing more; serve them until they finish.

        Args:
            state: state of the method after the run.
            again: whether this member had already finished before this start.
            compare: whether a client compares what it was told with the others.
        """
        done = self._last(self._desk.agent)
        # started again after its end, it repeats what it said
        said = self._outgoing.find(done.key())
        if said is not None and self._compares:
            self._word = self._said(done, said)
        word = said or encode(done, self._word, self._keys.identity)
        length = self._terms.schedule.length
        self._outgoing.commit(Made(length, done.key(), word), state, [])
        self._sender.publish(done)
        waited = self._terms.waited()
        most = LINGER if again else max(self._terms.patience, LINGER)
        while not self._mailbox.wait_finished(self._terms.ask_every) and waited() < most:
            self._progress.stop_if_asked()
            # started again, it is there for one that was left out and has come back
            if not (awaited := self._neighbours.unfinished(left_out=again)):
                break
            self._neighbours.keep_heard()
            self._neighbours.ask([self._last(other) for other in awaited])
        if compare:
            self._compare()
        # the last neighbour may not have heard it yet, nor clients each other's last words
        time.sleep((8 if self._desk.server else 2) * self._terms.ask_every)
        if not self._neighbours.unfinished():
            self._outgoing.settle(length, every=1)
            log.info("every neighbour has finished")

    def _said(self, done: Address, word: bytes) -> list[np.ndarray]:
        """The arrays of this client's last word, from its bytes."""
        form, key = word_form(self._record), self._keys.identity.public_key()
        leaves = decode(word, done, form, key).leaves
        return [np.frombuffer(data, dtype).reshape(shape) for data, dtype, shape in leaves]

    def _compare(self) -> None:
        """Learn what other clients were told, and report any difference."""
        if not self._compares or not self._word:
            return
        transport = self._neighbours.transport
        assert transport is not None
        waited, most = self._terms.waited(), min(COMPARING, self._terms.patience)
        while (missing := self._words.keys()) and waited() < most:
            self._progress.stop_if_asked()
            transport.request(self._above, missing.values())
            time.sleep(self._terms.ask_every)
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

    def _last(self, member: int) -> Address:
        """The address of a member's last word."""
        return Address.last(self._terms.run, member, self._terms.schedule.rounds)
