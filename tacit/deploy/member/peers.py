"""Waiting for neighbours: missing messages are requested, and silent members may be left out.

A member continues as soon as the messages that it needs have arrived. It requests missing ones
every quarter of a second. Where the manifest says so, a round continues without silent members; a
member that was left out skips the rounds that it missed, and rejoins in the round that the others
have reached.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np

from tacit.deploy.files import why
from tacit.deploy.identity.keys import Card
from tacit.deploy.member.greetings import Greetings
from tacit.deploy.member.run_spec import Progress, RunSpec
from tacit.deploy.member.schedule import Turn
from tacit.deploy.messages.absences import Absences
from tacit.deploy.messages.carrier import Link
from tacit.deploy.messages.heard import HeardStore
from tacit.deploy.messages.mailbox import Conflict, Mailbox
from tacit.deploy.messages.wire import Address, Leaf, Received
from tacit.errors import EnvironmentMismatch, PeerTimeout, RuntimeFailure
from tacit.types import Role

log = logging.getLogger("tacit.site")

_GREET_AFTER = 5.0
"""Seconds after which who is awaited is asked where it is."""

_TELL_AFTER = 15.0
"""Seconds of waiting after which it is logged."""


class BehindError(Exception):
    """The neighbours have reached this position without this member."""

    def __init__(self, position: int) -> None:
        self.position = position


class Neighbours:
    """The neighbours of one member: their messages, and which of them are present.

    Args:
        terms: terms of the run.
        member: number of this member.
        cards: cards of the neighbours, by number.
        last: arrays in a neighbour's last message, by its number.
        heard: store of received messages.
        absences: store of absences.
        progress: progress of the member, kept up to date.
        refused: function called for each refused message.
        coordinator: whether this member is a coordinator.
        varying: whether the graph changes.
        keeping: number of the neighbour (a coordinator) whose newest message is kept whole.
    """

    def __init__(
        self,
        terms: RunSpec,
        member: int,
        cards: dict[int, Card],
        last: dict[int, list[Leaf]],
        heard: HeardStore,
        absences: Absences,
        progress: Progress,
        refused: Callable[[int, str, str], None],
        *,
        coordinator: bool,
        varying: bool,
        keeping: int | None = None,
    ) -> None:
        self._terms, self._schedule = terms, terms.schedule
        self._member, self._coordinator, self._varying = member, coordinator, varying
        self.cards, self._progress = cards, progress
        self._heard, self._absences = heard, absences
        self.mailbox = Mailbox(
            terms.run,
            cards,
            {index: form.leaves for index, form in terms.forms.items()},
            terms.schedule.position,
            terms.schedule.window,
            terms.largest,
            refused,
            drifting=terms.skipping or varying,
            last=last,
            stored=heard.find,
            newest=heard.newest(),
            conflicting=self._contradicted,
            beyond=self._beyond,
            keeping=keeping,
        )
        self.transport: Link | None = None
        self._greetings = Greetings(terms.run, member, cards)
        self._met: set[int] = set()

    def accept(self, sender: int, key: str, data: bytes) -> None:
        """Take what a neighbour sent: a message, or its answer to a greeting."""
        if not self._greetings.is_one(sender, key):
            self.mailbox.offer(sender, key, data)
            if sender in self.mailbox.heard and sender not in self._met:
                self._met.add(sender)
                log.info("%(name)s is there", {"name": self.cards[sender].name})
            return
        try:
            believed = self._greetings.take(sender, key, data)
        except EnvironmentMismatch as error:
            believed, self._progress.failure = True, str(error)
        if believed:
            self._greetings.answered.set()

    def heard_of(self, asker: int) -> int:
        """Position of the newest message from a neighbour; -1 for none."""
        return self.mailbox.newest(asker) if asker in self.cards else -1

    def take(self, position: int, senders: Sequence[int]) -> dict[int, Received]:
        """The messages of a position that have arrived, by sender; their digests are on disk."""
        found = self.mailbox.take(position, senders)
        self.keep_heard()
        return found

    def keep_heard(self) -> None:
        """Store on disk what was received, so that it is still known after a restart."""
        if heard := self.mailbox.unstored():
            copy = self.mailbox.copy()
            self._heard.keep(heard, copy if copy[0] >= 0 else None)
            self.mailbox.forget(heard)

    def _contradicted(self, conflict: Conflict) -> None:
        """Stop the run, in the thread that runs it: a neighbour answered one question twice."""
        name = self.cards[conflict.heard.sender].name
        told = f"{name!r} answered one question twice, and what it sent could not be kept"
        try:
            told = self._heard.contradicted(name, conflict)
        except OSError as error:  # a full disk; the run stops all the same
            told += f" ({why(error)})"
        finally:
            self._progress.failure = told
            self._greetings.answered.set()

    def _beyond(self, received: Received) -> str:
        """What is beyond the bounds in a message; then the run stops, in the thread that runs it.

        It is the only message of its address, so no better one ever arrives.
        """
        if self._terms.bounds is None:
            return ""
        address = received.address
        sent = received.leaves[: self._terms.forms[address.phase].sent]
        arrays = [np.frombuffer(data, dtype) for data, dtype, _ in sent]
        found = self._terms.bounds.excess(address.phase, address.sender, arrays)
        if found:
            self._progress.failure = (
                f"{self.cards[address.sender].name!r} sent a number out of bounds in round "
                f"{address.round + 1}: {found}. Either it does not follow the manifest, or its "
                "machine is broken; the number was not used. Contact its owner, and agree on a "
                "new manifest"
            )
            self._greetings.answered.set()
        return found

    def hear_from_all(self) -> dict[int, int]:
        """Ask those that have not answered what they have from this member; answers by number."""
        self._greet([sender for sender in self.cards if sender not in self._greetings.answers])
        return {sender: hello.heard for sender, hello in list(self._greetings.answers.items())}

    def meet(self, sent: int) -> None:
        """Ask the neighbours what they have from this member, before anything is released.

        A coordinator releases nothing private, and does not wait for clients that it may never
        draw. One beside an agent does: what that agent asks it may have been put back with the
        agent, and the others alone know of more.

        Args:
            sent: position of the newest message that this member knows it made, -1 for none.

        Raises:
            RuntimeFailure: a neighbour has a newer message: the state was lost, or is an older
                copy.
            PeerTimeout: a neighbour does not answer, and cannot be left out.
        """
        waited = self._terms.waited()
        asking = not self._coordinator or self._terms.beside
        if self._coordinator and asking and sent >= 0:  # its clients learn that it waits itself
            self._progress.round = self._schedule.round(sent) - 1
        while True:
            self.keep_heard()
            silent = [i for i in self.cards if i not in self._greetings.answers]
            self._check_state(sent)
            if not asking or not set(silent) - set(self.mailbox.left_out()):
                break
            self._progress.stop_if_asked()
            self._progress.waiting_for = tuple(silent)
            if (seconds := waited()) > self._terms.patience:
                if self._terms.skipping:
                    break
                raise PeerTimeout(
                    f"{self._silence(silent, seconds)}, and nothing is sent before everybody has "
                    f"said what it has of this member. {self._terms.go_on(silent)}"
                )
            self._greet(silent)
            self._greetings.wait(self._terms.ask_every)
        self._progress.waiting_for = ()

    def ask(self, addresses: Sequence[Address]) -> None:
        """Ask for messages by name."""
        assert self.transport is not None
        for address in addresses:
            self.transport.request(address.sender, [address.key()])

    def wait(self, turn: Turn, senders: Sequence[int]) -> None:
        """Wait until the messages of a turn have arrived, except from members that are left out.

        Raises:
            PeerTimeout: a silent member cannot be left out, or nobody is left.
            BehindError: the neighbours continued without this member.
        """
        position, at, phase = turn
        so_far, told_after = self._terms.waited(), _TELL_AFTER
        self._greetings.begin()
        # a client cannot continue without its coordinator
        may_skip = self._terms.skipping and at.round >= 0 and phase.sender is not Role.SERVER
        # a message that came too early was not kept, and can be asked for
        early = self.mailbox.ahead
        there = [i for i in self.mailbox.missing(position, senders) if early.get(i, -1) >= position]
        self.ask([Address(self._terms.run, sender, *at) for sender in there])
        while not self.mailbox.wait(position, senders, self._terms.ask_every):
            self.keep_heard()
            self._progress.stop_if_asked()
            missing = self.mailbox.missing(position, senders)
            self._progress.waiting_for = tuple(missing)
            self.notice_that_they_went_on(turn)
            self.ask([Address(self._terms.run, sender, *at) for sender in missing])
            self._ask_for_announced(turn, missing)
            waited = so_far()
            if waited > told_after:
                told_after *= 2
                log.info(
                    "waiting for %(names)s for %(seconds).0f seconds, in round %(round)d of %(of)d",
                    {
                        "names": ", ".join(self.cards[sender].name for sender in missing),
                        "seconds": waited,
                        "round": at.round + 1,
                        "of": self._schedule.rounds,
                    },
                )
            patience = self._terms.patience
            if waited > (patience / 2 if may_skip else min(_GREET_AFTER, patience / 2)):
                self._greet(missing)
                self._check_state(position)
                if may_skip or self._terms.early:  # from one that has finished nothing else comes
                    run, rounds = self._terms.run, self._schedule.rounds
                    self.ask([Address.last(run, sender, rounds) for sender in missing])
            silent = [i for i in missing if waited > patience * self._times(i, turn)]
            if silent:
                awaited = set(self.unfinished()) - set(silent)
                if may_skip and self.mailbox.finished and not awaited:
                    # they have finished without this member, and keep no messages for it
                    raise BehindError(self._schedule.length)
                self._give_up(silent, turn, waited, may_skip=may_skip)
        if told_after > _TELL_AFTER:
            log.info("resumed after %(seconds).0f seconds", {"seconds": so_far()})
        self._progress.waiting_for = ()
        self._welcome(at.round)
        if self.cards and len(self.mailbox.left_out()) == len(self.cards):
            raise PeerTimeout(
                f"every neighbour is silent in round {at.round + 1} of {self._schedule.rounds}, "
                f"so the run cannot continue. {self._terms.go_on([*self.cards])}"
            )

    def _ask_for_announced(self, turn: Turn, missing: Sequence[int]) -> None:
        """Ask for the sum that a coordinator says it is at, if it went on without this member.

        It announced that sum while this member was away, and may wait for its answer.
        """
        if self._terms.early and self._terms.skipping and turn.phase.sender is Role.SERVER:
            for sender in missing:
                hello = self._greetings.answers.get(sender)
                if hello is not None and turn.at.round < hello.round < self._schedule.rounds:
                    there = turn.at._replace(round=hello.round)
                    self.ask([Address(self._terms.run, sender, *there)])

    def roll_call(self, turn: Turn, least: int) -> list[int]:
        """The members present for a sum: all except those that were left out and do not answer.

        A member that answers a greeting takes part again. Before the first sum all have to answer,
        or are left out after `patience` where the run continues without silent members.

        Args:
            turn: turn of the member that asks.
            least: smallest number of members.

        Raises:
            PeerTimeout: too few are present for longer than `patience`, or one cannot be left out.
        """
        waited = self._terms.waited()
        # a member that greets learns that this one is waiting itself, and is patient
        self._progress.round = turn.at.round - 1
        while True:
            self.keep_heard()
            self._progress.stop_if_asked()
            self.mailbox.await_again(
                [i for i in self.mailbox.left_out() if i in self._greetings.answers], turn.position
            )
            gone = self.mailbox.left_out()
            unheard = [i for i in self.cards if i not in gone and i not in self._greetings.answers]
            there = len(self.cards) - len(gone) - len(unheard)
            if gone or unheard:
                self._greet([*gone, *unheard])
            if not unheard and there >= least:
                break
            if (seconds := waited()) > self._terms.patience:
                if not self._terms.skipping or there < least:
                    raise PeerTimeout(
                        f"{self._silence([*gone, *unheard], seconds)}: {there} of "
                        f"{len(self.cards)} agents are there, and a sum must have {least}. "
                        f"{self._terms.go_on([*gone, *unheard])}"
                    )
                self._leave_out(unheard, turn.at.round)
                continue
            self._progress.waiting_for = (*gone, *unheard)
            self._greetings.wait(self._terms.ask_every)
        self._progress.waiting_for, self._progress.round = (), turn.at.round
        self._welcome(turn.at.round)
        return [i for i in self.cards if i not in gone]

    def passed(self) -> int:
        """The position before which all awaited members have everything."""
        reached = dict(self.mailbox.reached)
        if self._terms.skipping:
            if min(reached.values(), default=0) < self._schedule.start:
                return 0  # before round 0 nobody is left out
            for sender in self.mailbox.left_out():
                del reached[sender]
        return min(reached.values(), default=0)

    def unfinished(self, *, left_out: bool = False) -> list[int]:
        """Neighbours that have not yet said that they need nothing more.

        Args:
            left_out: whether to name those that are left out, too.
        """
        gone = {*self.mailbox.finished, *(() if left_out else self.mailbox.left_out())}
        return [sender for sender in self.cards if sender not in gone]

    def remember_absences(self, sent: int) -> None:
        """After a start, leave out those that were left out before, unless nobody would remain.

        Args:
            sent: position of this member's last message; -1 for none. If it ended when it had found
                the others further, and before it came in again, it may yet take part.
        """
        self._absences.not_yet_back(self._member, self._schedule.round(sent) if sent >= 0 else -1)
        away = {each.agent for each in self._absences.all() if each.back is None}
        self._progress.left_out = tuple(sorted(away & self.cards.keys()))
        if len(self._progress.left_out) < len(self.cards):
            self.mailbox.leave_out(self._progress.left_out)

    def notice_that_they_went_on(self, turn: Turn) -> None:
        """Stop waiting if all awaited neighbours continued without this member.

        One of them alone may claim anything; and a coordinator follows nobody.

        Raises:
            BehindError: they continued.
        """
        if turn.at.round < 0 or self._coordinator:
            return
        if self._terms.early and self.mailbox.finished.keys() >= self.cards.keys():
            raise BehindError(self._schedule.length)
        if not self._terms.skipping:
            return
        if self._terms.early and turn.phase.sender is Role.SERVER:
            # it announces a sum when it has done with those before, whose messages it may delete;
            # what was heard before a restart counts, too
            newest = max(map(self.mailbox.newest, self.cards))
            if newest > turn.position:
                raise BehindError(newest)
        gone, ends = self.mailbox.left_out(), self._schedule.length
        places = [
            ends if sender in self.mailbox.finished else self.mailbox.ahead.get(sender, 0)
            for sender in self.cards
            if sender not in gone
        ]
        if places and min(places) > turn.position + self._schedule.window:
            raise BehindError(min(places))

    def come_in_again(self, position: int) -> int:
        """The position to rejoin at: as far ahead as the others keep messages, where they wait."""
        schedule, here = self._schedule, self._progress.round
        first = schedule.next_round(schedule.next_round(position))
        self._absences.away(self._member, here, schedule.round(first))
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

    def _times(self, sender: int, turn: Turn) -> int:
        """How many times `patience` a neighbour may take.

        More than one if it said that it waits itself, from an earlier round, or, for a coordinator,
        from a later one: it has gone on without this member, and has nothing for it until it
        announces the next sum. A coordinator waits twice as long for a client that waits, and then
        once for enough of them to answer a greeting; its clients must wait longer than that.
        One that has finished waits for nobody, and can be left out.
        """
        above = turn.phase.sender is Role.SERVER
        there, here = self._greetings.earliest(sender, turn.at.round), turn.at.round
        if self._terms.skipping and sender in self.mailbox.finished:
            return 1
        if there == here or (there > here and not above):
            return 1
        return 4 if above else 2

    def _greet(self, senders: Sequence[int]) -> None:
        assert self.transport is not None
        self._greetings.ask(self.transport, senders)

    def _check_state(self, sent: int) -> None:
        """Refuse to resume from a state older than what a neighbour has from this member."""
        steady = not self._terms.skipping and not self._varying
        for sender, hello in list(self._greetings.answers.items()):
            newest = hello.heard
            due = self._schedule.due(server=self._coordinator, after=sent, before=hello.round)
            if steady and due is not None:
                # it could not be there without this member's messages of earlier rounds
                newest = max(newest, due)
            if newest > sent:
                raise RuntimeFailure(
                    f"{self.cards[sender].name!r} has a message of this member of round "
                    f"{self._schedule.round(newest) + 1}, and the state in its folder ends before "
                    "that: it was lost, or is an older copy. Another answer to the same question "
                    "would tell more than was promised, so nothing is sent. Put the newest state "
                    "back; if it is gone, agree on a new manifest, for a run of its own"
                )

    def _silence(self, silent: Sequence[int], waited: float) -> str:
        names = ", ".join(repr(self.cards[sender].name) for sender in silent)
        return f"nothing from {names} for {waited:.0f} seconds"

    def _give_up(self, silent: Sequence[int], turn: Turn, waited: float, *, may_skip: bool) -> None:
        told = (
            f"{self._silence(silent, waited)}, in round {turn.at.round + 1} of "
            f"{self._schedule.rounds}"
        )
        if not may_skip:
            raise PeerTimeout(f"{told}. {self._terms.go_on(silent)}")
        log.warning("%(told)s; going on without", {"told": told})
        self._leave_out(silent, turn.at.round)

    def _leave_out(self, silent: Sequence[int], round: int) -> None:
        for sender in silent:
            self._greetings.forget(sender)  # it has to answer again to rejoin
            if sender not in self._progress.left_out:
                self._absences.left(sender, round)
        self.mailbox.leave_out(silent)
        self._progress.left_out = tuple(sorted({*self._progress.left_out, *silent}))

    def _welcome(self, round: int) -> None:
        """Note which members are present again."""
        gone = set(self.mailbox.left_out())
        for sender in self._progress.left_out:
            if sender not in gone:
                log.warning("%(name)r is there again", {"name": self.cards[sender].name})
                self._absences.back(sender, round)
        self._progress.left_out = tuple(sorted(gone))
