"""A member's part in a run whose releases can be read in sums only.

A run has as many turns as sums may be tried. In each the coordinator says whom it sums and in which
round; everybody in the sum answers under masks that fit this sum and no other. If all answers come,
the coordinator takes a step, else the sum is given up, and in the next turn another is tried, with
fresh noise and masks, without those who are silent. Every answer is charged, whatever became of it.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int64

from tacit._engine.agent_step import At
from tacit.deploy.member.divergence import check_diverged
from tacit.deploy.member.schedule import Turn
from tacit.deploy.member.session import Party
from tacit.deploy.messages.outgoing import state_digest
from tacit.deploy.messages.wire import Leaf
from tacit.errors import RuntimeFailure
from tacit.privacy.ledger.chain import digest
from tacit.privacy.masking import mask, mask_label, opened, sealed
from tacit.privacy.noise import SecureNoise
from tacit.privacy.noise.sums import LARGEST, SumRelease
from tacit.types import Role, State

log = logging.getLogger("tacit.site")


@dataclass(frozen=True)
class Sums:
    """What a member knows of the sums of a run.

    Attributes:
        rounds: how many have to succeed.
        least: how many agents a sum must have.
        release: of this member; `None` for a coordinator.
        keys: that it shares with every other agent, by number; empty for a coordinator.
    """

    rounds: int
    least: int
    release: SumRelease | None
    keys: dict[int, bytes] = field(repr=False)


class Standing(NamedTuple):
    """A member's state, and how far the sums are.

    Attributes:
        state: of the method.
        round: sums that succeeded.
        cohort: who is in the present one, shape `(agents,)`.
    """

    state: State
    round: np.ndarray
    cohort: np.ndarray


class MaskedParty(Party):
    """A member of a star whose coordinator sees sums.

    Args:
        sums: what it knows of them.
        more: as for `Party`.
    """

    def __init__(self, sums: Sums, *more: Any, **named: Any) -> None:
        super().__init__(*more, **named)
        self._sums = sums
        self._asked = b""
        self._done = 0

    def initial(self) -> Standing:
        return Standing(
            super().initial(), np.zeros((), np.int64), np.zeros(self._desk.plan.agents, bool)
        )

    @property
    def rounds(self) -> int:
        word = self.mailbox.finished.get(self._desk.plan.agents)
        return self._done if word is None else int(np.frombuffer(word.leaves[1][0], np.int64)[0])

    def _answer(self, state: Standing) -> np.ndarray | None:
        """The solution, of as many rounds as may be: a client has heard how many there were."""
        found = super()._answer(state)
        least, most = int(state.round), self._sums.rounds
        if not self._desk.server and not least <= self.rounds <= most:
            raise RuntimeFailure(
                f"the coordinator says that the model is of {self.rounds} rounds, and from {least} "
                f"to {most} can be: it is broken, or does not keep to the manifest. Do not use it"
            )
        return found

    def _closing(self) -> list[Leaf]:
        return [*super()._closing(), ("<i8", ())]

    def _last_word(self, state: Standing) -> list[np.ndarray]:
        self._done = int(state.round)
        if self._done < self._sums.rounds:
            log.warning(
                "ends after %(done)d of %(of)d rounds: the other sums were given up, and no more "
                "may be tried (attempts, in the study's masks)",
                {"done": self._done, "of": self._sums.rounds},
            )
        return [*super()._last_word(state), state.round]

    def _solution(self, state: Standing) -> np.ndarray:
        return super()._solution(state.state)

    def _handed(self, after: Standing) -> Any:
        return after.state

    def _taken(self, state: Any, announced: Sequence[np.ndarray]) -> Standing:
        cohort, round = announced
        return Standing(state, round, cohort)

    def _over(self, state: Standing) -> bool:
        return self._desk.server and int(state.round) >= self._sums.rounds

    def _come_in_again(self, position: int) -> int:
        """At the sum that is tried now: whoever answers a greeting is awaited in the next."""
        schedule, here = self._schedule, self.progress.round
        if position < schedule.length:
            self._outgoing.absences.away(self._desk.agent, here, schedule.round(position))
            log.warning("comes in again; sums were tried without this member")
        return position

    def _take(self, turn: Turn, state: Standing, *, again: bool) -> Standing:
        self.mailbox.advance(turn.position)
        if again:  # it is on the disk, and so is the state after it
            self._sender.send_again(turn)
            return state
        if turn.phase.sender is Role.SERVER:
            return self._announce(turn, state) if self._desk.server else self._hear(turn, state)
        return self._gather(turn, state) if self._desk.server else self._reply(turn, state)

    def _announce(self, turn: Turn, standing: Standing) -> Standing:
        """The coordinator says where everybody is asked, and who is in the sum."""
        there = self._neighbours.roll_call(turn, self._sums.least)
        cohort = np.isin(np.arange(self._desk.plan.agents), there)
        check_diverged(self._desk, standing.state, int(standing.round))
        at = At(int(standing.round), turn.at.phase)
        state, (_, leaves), _ = self._desk.send(at, standing.state)
        after = Standing(state, standing.round, cohort)
        arrays = [np.frombuffer(data, dtype).reshape(shape) for data, dtype, shape in leaves]
        self._keep(turn, [*arrays, cohort, standing.round], after)
        return after

    def _hear(self, turn: Turn, standing: Standing) -> Standing:
        above = self._desk.plan.agents
        self._neighbours.wait(turn, [above])
        leaves = self._neighbours.take(turn.position, [above])[above].leaves
        sent = self._terms.forms[turn.at.phase].sent
        iterate, (cohort, round) = leaves[:sent], leaves[sent : sent + 2]
        # all that the coordinator said: another word to another agent, and no mask cancels
        self._asked = hashlib.sha256(b"".join(data for data, _, _ in leaves)).digest()
        now = int(np.frombuffer(round[0], np.int64)[0])
        if not 0 <= now < self._sums.rounds:
            raise RuntimeFailure(
                f"the coordinator asks for round {now + 1} of {self._sums.rounds}: it is broken, "
                "or does not keep to the manifest; nothing was sent"
            )
        phase, mixing = turn.phase, self._terms.mixing(turn.at.round)
        wire = {above: (self._terms.forms[turn.at.phase].structure, iterate)}
        state = self._desk.receive(At(now, turn.at.phase), phase, standing.state, wire, mixing)
        self._outgoing.settle(self._neighbours.passed())
        return Standing(state, np.asarray(now), np.frombuffer(cohort[0], bool))

    def _reply(self, turn: Turn, standing: Standing) -> Standing:
        """One answer to each sum, ever: with noise, and under masks for just this sum."""
        number, sums = self._desk.agent, self._sums
        cohort = np.flatnonzero(standing.cohort).tolist()
        if number not in cohort:
            return standing  # it was silent, and is asked again when it has answered a greeting
        if len(cohort) < sums.least:
            log.warning(
                "refused a sum of %(count)d agents, where the manifest says at least %(least)d",
                {"count": len(cohort), "least": sums.least},
            )
            return standing
        check_diverged(self._desk, standing.state, int(standing.round))
        at, slot = At(int(standing.round), turn.at.phase), turn.at.round
        label = mask_label(self._terms.run, at.round, at.phase, slot, cohort, self._asked)
        steps = self._steps(at, standing.state)
        hidden = sealed(steps, mask(sums.keys, number, cohort, label, steps.size))
        charge = None
        if self._releaser is not None:
            input_hash = digest(label + state_digest(turn.position, standing).encode())
            charge = self._releaser.charge(self._terms.run, turn, input_hash)
        self._keep(turn, [hidden.view(np.int64)], standing, charge)
        return standing

    def _steps(self, at: At, state: Any) -> Int64[np.ndarray, " n"]:
        """The noised answer on the grid; with noise from the desk's secret in tests."""
        release = self._sums.release
        assert release is not None
        if self._releaser is None:
            value = self._desk.send(at, state, self._objective)[2]
            return release.grid.rounded(np.asarray(value))
        answer = self._desk.ask(at, state, self._objective)
        return release.noised(np.asarray(answer), SecureNoise())

    def _gather(self, turn: Turn, standing: Standing) -> Standing:
        cohort = np.flatnonzero(standing.cohort).tolist()
        self._neighbours.wait(turn, cohort)
        received = self._neighbours.take(turn.position, cohort)
        self._outgoing.settle(self._neighbours.passed())
        if len(received) < len(cohort):
            log.warning(
                "a sum was given up in round %(round)d: %(there)d of %(of)d answered",
                {"round": int(standing.round) + 1, "there": len(received), "of": len(cohort)},
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
            {"cohort": " ".join(map(str, cohort)), "round": int(standing.round) + 1},
        )
        at = At(int(standing.round), turn.at.phase)
        state = self._desk.receive_sum(at, standing.state, total, len(cohort))
        return Standing(state, np.asarray(standing.round + 1), standing.cohort)
