"""A member's part in a run whose releases are seen in sums only.

A run has one turn for each sum that may be tried. In each turn the coordinator announces the cohort
and the number of sums that have succeeded, which determines the round and the phase of this one;
everybody in the cohort answers with pairwise masks that fit only this sum. If all answers arrive,
the coordinator takes a step. Otherwise the sum is abandoned, and in the next turn it is tried again
without the silent members, with fresh noise and masks. Every answer is charged, whether or not it
was used. Sums may differ in cost, so every member counts its answers, and gives no answer that its
noise was not calibrated for.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int64

from tacit._engine.agent_step import At
from tacit._engine.contract import Contract
from tacit.deploy.member.divergence import check_diverged
from tacit.deploy.member.schedule import Turn
from tacit.deploy.member.session import Session
from tacit.deploy.messages.outgoing import state_digest
from tacit.deploy.messages.wire import Leaf
from tacit.errors import PrivacyError, RuntimeFailure
from tacit.privacy.ledger.chain import digest
from tacit.privacy.masked import as_dear
from tacit.privacy.masking import mask, mask_label, opened, sealed
from tacit.privacy.noise import SecureNoise
from tacit.privacy.noise.sums import LARGEST, SumRelease
from tacit.types import Role, State

log = logging.getLogger("tacit.site")


@dataclass(frozen=True)
class Sums:
    """What a member knows about the sums of a run.

    Attributes:
        planned: round and phase of each sum that has to succeed, in order.
        least: smallest number of agents in a sum.
        limits: sets of phases, each with the number of answers to all its phases that are paid for.
        releases: releases of this member, by phase; empty for a coordinator.
        keys: keys that it shares with every other agent, by number; empty for a coordinator.
    """

    planned: tuple[tuple[int, int], ...]
    least: int
    limits: tuple[tuple[frozenset[int], int], ...]
    releases: Mapping[int, SumRelease]
    keys: dict[int, bytes] = field(repr=False)

    @classmethod
    def of(cls, agreed: Contract, agent: int | None, keys: dict[int, bytes] | None = None) -> Sums:
        """The sums of a run, as a member knows them.

        Args:
            agreed: contract of the run, on a grid.
            agent: number of the member; `None` for a coordinator.
            keys: keys that it shares with the others, by number.

        Raises:
            PrivacyError: no grid fits, or the table of phases cannot be run like this.
        """
        _check_table(agreed)
        public = agreed.owners.contexts[agent or 0]
        releasing = [
            index for index, phase in enumerate(agreed.phases) if phase.release is not None
        ]
        times = dict(zip(releasing, agreed.releases.times(public), strict=True))
        costs = as_dear([agreed.releases.event(agreed.phases[i], public) for i in releasing])
        dearer = [frozenset(releasing[place] for place in more) for more in costs]
        return cls(
            tuple(
                (round, index)
                for round in range(agreed.rounds)
                for index in releasing
                if agreed.phases[index].rounds.includes(round, agreed.rounds)
            ),
            agreed.method.hides.cohort(public.agents),
            tuple((phases, sum(times[index] for index in phases)) for phases in dearer),
            {} if agent is None else {i: agreed.sums[i][agent] for i in releasing},
            keys or {},
        )

    def rounds(self, done: int) -> int:
        """The number of rounds that are complete when `done` sums have succeeded."""
        if done < len(self.planned):
            return self.planned[done][0]
        return self.planned[-1][0] + 1

    def pays(self, answered: np.ndarray, phase: int) -> bool:
        """Whether one more answer is paid for.

        Each counts as an answer of its own phase or of one that costs at least the same, and the
        planned answers are counted likewise: so whatever is asked, all answers together cost no
        more than planned.

        Args:
            answered: number of answers so far, by phase.
            phase: number of the phase that is asked now.
        """
        return all(
            1 + sum(int(answered[index]) for index in phases) <= most
            for phases, most in self.limits
            if phase in phases
        )


def _check_table(agreed: Contract) -> None:
    """Refuse a table of phases in which one announcement does not determine what is asked."""
    phases, name = agreed.phases, type(agreed.method).__name__
    reason = ""
    if [phase.sender is Role.SERVER for phase in phases] != [True, *[False] * (len(phases) - 1)]:
        reason = "its first phase, and no other, must be the coordinator's"
    elif not phases[0].rounds.every or phases[0].repeat > 1:
        reason = f"phase {phases[0].name!r} must be run once in every round"
    elif not all(phase.hides.summed for phase in phases[1:]):
        reason = "all that clients send must be read in sums"
    else:
        asked = set[int]().union(*(phase.rounds.of(agreed.rounds) for phase in phases[1:]))
        if len(asked) < agreed.rounds:
            idle = min(set(range(agreed.rounds)) - asked)
            reason = f"in round {idle + 1} nothing is asked"
    if reason:
        raise PrivacyError(
            f"between sites the coordinator announces every sum, and the phases of {name} do not "
            f"go with that: {reason}. Simulate it, or write it with such phases"
        )


class Standing(NamedTuple):
    """A member's state, and the progress of the sums.

    Attributes:
        state: state of the method.
        done: number of sums that succeeded.
        cohort: agents in the current sum, shape `(agents,)`.
        answered: number of answers that it gave, or asked for, by phase.
    """

    state: State
    done: np.ndarray
    cohort: np.ndarray
    answered: np.ndarray


class SumSession(Session):
    """A member of a star whose coordinator sees sums.

    Args:
        sums: what the member knows about the sums.
        more: arguments of `Session`.
    """

    def __init__(self, sums: Sums, *more: Any, **named: Any) -> None:
        super().__init__(*more, **named)
        self._sums = sums
        self._asked = b""
        self._asks = -1  # the phase of the sum that the coordinator tries in this turn
        self._said: tuple[int, list[np.ndarray]] | None = None
        self._done = 0

    def initial(self) -> Standing:
        plan = self._desk.plan
        none = np.zeros(len(plan.exponents), np.int64)
        return Standing(
            super().initial(), np.zeros((), np.int64), np.zeros(plan.agents, bool), none
        )

    @property
    def rounds(self) -> int:
        return self._sums.rounds(self._summed)

    @property
    def _summed(self) -> int:
        """The number of sums that the model was made from."""
        word = self.mailbox.finished.get(self._desk.plan.agents)
        return self._done if word is None else int(np.frombuffer(word.leaves[1][0], np.int64)[0])

    def _answer(self, state: Standing) -> np.ndarray | None:
        """The solution, if the number of sums is possible: a client knows how many there were."""
        found = super()._answer(state)
        least, most = int(state.done), len(self._sums.planned)
        if not self._desk.server and not least <= self._summed <= most:
            raise RuntimeFailure(
                f"the coordinator says that the model is of {self._summed} sums, and from {least} "
                f"to {most} can be: it is broken, or does not keep to the manifest. Do not use it"
            )
        return found

    def _closing(self) -> list[Leaf]:
        return [*super()._closing(), ("<i8", ())]

    def _last_word(self, state: Standing) -> list[np.ndarray]:
        self._done, most = int(state.done), len(self._sums.planned)
        if self._done < most:
            log.warning(
                "ending after %(done)d of %(of)d sums: the others were abandoned, and no further "
                "attempts are allowed (spare or attempts, in the study's masks)",
                {"done": self._done, "of": most},
            )
        return [*super()._last_word(state), state.done]

    def _solution(self, state: Standing) -> np.ndarray:
        return super()._solution(state.state)

    def _handed(self, after: Standing) -> Any:
        return after.state

    def _taken(self, state: Any, announced: Sequence[np.ndarray]) -> Standing:
        cohort, done = announced
        answered = self.initial().answered.copy()
        for _, phase in self._sums.planned[: int(done) + 1]:
            answered[phase] += 1  # its clients know which sums were tried again
        return Standing(state, done, cohort, answered)

    def _turns(self, state: Standing, first: int, sent: int) -> Standing:
        if self._desk.server and 0 <= sent == first:
            self._asks = self._sums.planned[int(state.done)][1]
        return super()._turns(state, first, sent)

    def _over(self, state: Standing) -> bool:
        """Whether the coordinator has all sums, or no client would answer again."""
        if not self._desk.server or self._asks >= 0:
            return False
        done = int(state.done)
        if done >= len(self._sums.planned):
            return True
        return not self._sums.pays(state.answered, self._sums.planned[done][1])

    def _come_in_again(self, position: int) -> int:
        """Rejoin at the current sum: a member that answers a greeting is awaited in the next."""
        schedule, here = self._schedule, self.progress.round
        if position < schedule.length:
            self._outgoing.absences.away(self._desk.agent, here, schedule.round(position))
            log.warning("comes in again; sums were tried without this member")
        return position

    def _take(self, turn: Turn, state: Standing, *, again: bool) -> Standing:
        self.mailbox.advance(turn.position)
        if again:  # it is on the disk, and so is the state after it
            arrays = self._sender.send_again(turn)
            if self._desk.server:
                round = self._sums.planned[int(state.done)][0]
                self._said = round, arrays[: self._terms.forms[turn.at.phase].sent]
            return state
        if turn.phase.sender is Role.SERVER:
            return self._announce(turn, state) if self._desk.server else self._hear(turn, state)
        return self._gather(turn, state) if self._desk.server else self._reply(turn, state)

    def _announce(self, turn: Turn, standing: Standing) -> Standing:
        """The coordinator announces the point of the query and the cohort."""
        there = self._neighbours.roll_call(turn, self._sums.least)
        cohort = np.isin(np.arange(self._desk.plan.agents), there)
        round, self._asks = self._sums.planned[int(standing.done)]
        check_diverged(self._desk, standing.state, round)
        state = standing.state
        if self._said is None or self._said[0] != round:
            # all sums of a round use one point, however often they are tried
            state, (_, leaves), _ = self._desk.send(At(round, turn.at.phase), state)
            arrays = [np.frombuffer(data, dtype).reshape(shape) for data, dtype, shape in leaves]
            self._said = round, arrays
        answered = _once_more(standing.answered, self._asks)
        after = Standing(state, standing.done, cohort, answered)
        self._keep(turn, [*self._said[1], cohort, standing.done], after)
        return after

    def _hear(self, turn: Turn, standing: Standing) -> Standing:
        above = self._desk.plan.agents
        self._neighbours.wait(turn, [above])
        leaves = self._neighbours.take(turn.position, [above])[above].leaves
        sent = self._terms.forms[turn.at.phase].sent
        iterate, (cohort, count) = leaves[:sent], leaves[sent : sent + 2]
        # everything that the coordinator said: if it told another agent otherwise, no mask cancels
        self._asked = hashlib.sha256(b"".join(data for data, _, _ in leaves)).digest()
        done, planned = int(np.frombuffer(count[0], np.int64)[0]), self._sums.planned
        if not 0 <= done < len(planned):
            raise RuntimeFailure(
                f"the coordinator asks for sum {done + 1} of {len(planned)}: it is broken, or does "
                "not keep to the manifest; nothing was sent"
            )
        phase, mixing = turn.phase, self._terms.mixing(turn.at.round)
        wire = {above: (self._terms.forms[turn.at.phase].structure, iterate)}
        at = At(planned[done][0], turn.at.phase)
        state = self._desk.receive(at, phase, standing.state, wire, mixing)
        self._outgoing.settle(self._neighbours.passed())
        there = np.frombuffer(cohort[0], bool)
        return Standing(state, np.asarray(done), there, standing.answered)

    def _reply(self, turn: Turn, standing: Standing) -> Standing:
        """Give exactly one answer to each sum: with noise, and with masks for this sum only."""
        number, sums = self._desk.agent, self._sums
        round, asked = sums.planned[int(standing.done)]
        if turn.at.phase != asked:
            return standing
        cohort = np.flatnonzero(standing.cohort).tolist()
        if number not in cohort:
            return standing  # it was left out, and is asked again when it has answered a greeting
        if len(cohort) < sums.least:
            log.warning(
                "refused a sum of %(count)d agents, where the manifest says at least %(least)d",
                {"count": len(cohort), "least": sums.least},
            )
            return standing
        if not sums.pays(standing.answered, asked):
            log.warning(
                "refused a sum of %(phase)s: its budget for answers is spent",
                {"phase": repr(turn.phase.name)},
            )
            return standing
        check_diverged(self._desk, standing.state, round)
        at, slot = At(round, asked), turn.at.round
        label = mask_label(self._terms.run, at.round, at.phase, slot, cohort, self._asked)
        steps = self._steps(at, standing.state)
        hidden = sealed(steps, mask(sums.keys, number, cohort, label, steps.size))
        charge = None
        if self._releaser is not None:
            input_hash = digest(label + state_digest(turn.position, standing).encode())
            charge = self._releaser.charge(self._terms.run, turn, input_hash)
        after = standing._replace(answered=_once_more(standing.answered, asked))
        self._keep(turn, [hidden.view(np.int64)], after, charge)
        return after

    def _steps(self, at: At, state: Any) -> Int64[np.ndarray, " n"]:
        """The noisy answer on the grid; with noise from the desk's secret in tests."""
        release = self._sums.releases[at.phase]
        if self._releaser is None:
            value = self._desk.send(at, state, self._objective)[2]
            return release.grid.rounded(np.asarray(value))
        answer = self._desk.ask(at, state, self._objective)
        return release.noised(np.asarray(answer), SecureNoise())

    def _gather(self, turn: Turn, standing: Standing) -> Standing:
        if turn.at.phase != self._asks:
            return standing
        self._asks, round = -1, self._sums.planned[int(standing.done)][0]
        cohort = np.flatnonzero(standing.cohort).tolist()
        self._neighbours.wait(turn, cohort)
        received = self._neighbours.take(turn.position, cohort)
        self._outgoing.settle(self._neighbours.passed())
        if len(received) < len(cohort):
            log.warning(
                "abandoned a sum in round %(round)d: %(there)d of %(of)d answered",
                {"round": round + 1, "there": len(received), "of": len(cohort)},
            )
            return standing
        total = opened([np.frombuffer(each.leaves[0][0], np.uint64) for each in received.values()])
        if np.abs(total.astype(np.float64)).max() > len(cohort) * LARGEST:
            raise RuntimeFailure(
                "masks did not cancel in the sum: some members have another copy of the manifest, "
                "with other keys for masks. Agree on a new manifest, for a run of its own, and let "
                "everybody take the same signed copy"
            )
        log.debug(
            "summed %(cohort)s in round %(round)d",
            {"cohort": " ".join(map(str, cohort)), "round": round + 1},
        )
        at = At(round, turn.at.phase)
        state = self._desk.receive_sum(at, standing.state, total, len(cohort))
        return standing._replace(state=state, done=np.asarray(standing.done + 1))


def _once_more(counts: np.ndarray, place: int) -> np.ndarray:
    found = counts.copy()
    found[place] += 1
    return found
