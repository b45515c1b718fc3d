"""Members of a run in threads of this process, each with connections and files of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np

import tacit
from tacit import DPSG, Privacy, network, problem
from tacit._engine.agent_step import AgentStep, mixing_of
from tacit._engine.keys import agent_secret
from tacit.deploy.agreement.bounds import bounds_of
from tacit.deploy.identity.certificates import create_authority
from tacit.deploy.identity.keys import Card, Keys, create
from tacit.deploy.member.compare import Comparison
from tacit.deploy.member.run_spec import Progress, RunSpec
from tacit.deploy.member.schedule import Schedule, forms
from tacit.deploy.member.session import Session
from tacit.deploy.messages.absences import Absence
from tacit.deploy.messages.carrier import Endpoint
from tacit.deploy.messages.outgoing import Outgoing
from tacit.deploy.messages.transport import Transport
from tacit.errors import PeerTimeout, RuntimeFailure
from tacit.method import FedAvg
from tacit.method.phase import AbstractMethod
from tacit.network.base import AbstractNetwork, Mixing
from tests.laid_out import lay_out
from tests.sites import free_port

RUN = bytes(range(32))
MEMBERS = 3
"""Agents of a `Ring`; in a star the number of its coordinator."""


def created(folder: Path, count: int) -> list[Keys]:
    """Keys of members by one authority."""
    create_authority(folder / "authority", "test")
    return [
        create(folder / str(i), f"member-{i}", f"127.0.0.1:{free_port()}", folder / "authority")
        for i in range(count)
    ]


def until(holds: Callable[[], bool], seconds: float = 300.0) -> None:
    """Wait for it."""
    ends = time.monotonic() + seconds
    while True:
        try:
            if holds():
                return
        except KeyError:  # not started yet
            pass
        assert time.monotonic() < ends
        time.sleep(0.02)


@dataclass(kw_only=True)
class Members:
    """The agents of a run, and the coordinator of a star behind them.

    A subclass sets `task`, `records` (of each agent) and `method` before this class begins.
    """

    folder: Path
    keys: list[Keys]
    network: AbstractNetwork
    rounds: int
    skipping: bool = False
    patience: float = 300.0
    seconds_a_round: float = 0.0
    transport: Callable[[Endpoint], Transport] = Transport
    task: Any = field(init=False)
    records: list[int] = field(init=False)
    method: AbstractMethod = field(init=False)
    expected: np.ndarray = field(init=False)
    """What a simulation answers, shape `(agents, p)`."""
    cards: dict[int, Card] = field(init=False)
    answers: dict[int, Any] = field(init=False, default_factory=dict)
    parties: dict[int, Any] = field(init=False, default_factory=dict)
    absences: dict[int, list[Absence]] = field(init=False, default_factory=dict)
    early: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.cards = {i: each.card for i, each in enumerate(self.keys)}
        if not self.network.coordinated:
            del self.cards[self.network.agents]
        # compiles what all members run, so that none is silent because it compiles
        self.expected = tacit.run(
            self.task,
            self.network,
            self.method,
            rounds=self.rounds,
            seed=0,
            runtime=tacit.Simulation(exact=True),
        ).solutions[0]

    @property
    def turns(self) -> int:
        """Rounds of the schedule."""
        return self.rounds

    def kind(self, number: int, agreed: Any) -> Callable[..., Session]:
        """What makes a member's part."""
        return Session

    def mixing(self, round: int) -> Mixing:
        with jax.enable_x64(True):
            return mixing_of(self._laid_out()[0], round)

    def told_the_same(self, number: int) -> Comparison:
        """What an agent finds when every other was told what it was."""
        others = [self.cards[i].name for i in range(self.network.agents) if i != number]
        return Comparison(same=tuple(others), other=(), silent=())

    def start(
        self, number: int, stopping: threading.Event | None = None, *, restore: bool = False
    ) -> threading.Thread:
        thread = threading.Thread(target=self.take_part, args=(number, stopping, restore))
        thread.start()
        return thread

    def take_part(
        self, number: int, stopping: threading.Event | None = None, restore: bool = False
    ) -> None:
        try:
            with jax.enable_x64(True), self.member(number, stopping, restore) as (party, transport):
                answer = party.run(transport)
                party.farewell()
            self.answers[number] = answer
        except (KeyboardInterrupt, PeerTimeout, RuntimeFailure) as error:
            self.answers[number] = error

    @contextmanager
    def member(
        self, number: int, stopping: threading.Event | None = None, restore: bool = False
    ) -> Iterator[tuple[Session, Transport]]:
        plan, roots, agreed = self._laid_out()
        desk, agents = AgentStep(plan, number, agent_secret(roots[0], number)), self.network.agents
        schedule = Schedule(plan, self.turns)
        state = self.folder / f"state-{number}"
        state.mkdir(exist_ok=True)
        star = self.network.coordinated
        around = [agents] if star and number < agents else range(agents)
        cards = {i: self.cards[i] for i in around if i != number}
        clients = {i: card for i, card in self.cards.items() if i not in (number, agents)}

        def mixing(round: int) -> Mixing:
            time.sleep(self.seconds_a_round)
            return mixing_of(desk.plan, round)

        with ExitStack() as stack:
            outgoing = Outgoing(
                state / "journal.db", RUN.hex(), None, {}, number, schedule.position
            )
            stack.callback(outgoing.close)
            party = self.kind(number, agreed)(
                RunSpec(
                    RUN,
                    schedule,
                    forms(plan),
                    mixing,
                    self.patience,
                    self.skipping,
                    early=self.early,
                    bounds=bounds_of(plan, agreed),
                    ask_every=0.05,
                ),
                desk,
                None if number == agents else jax.tree.map(lambda x: x[number], plan.objectives),
                None,
                self.keys[number],
                cards,
                outgoing,
                Progress(rounds=self.turns, seconds=[], stopping=stopping),
                lambda *told: None,
                clients if star else None,
                restore=restore,
            )
            self.parties[number] = party
            transport = self.transport(
                Endpoint(
                    self.keys[number],
                    RUN.hex(),
                    number,
                    cards,
                    state,
                    listen=not star or number == agents,
                    serve=party.serve,
                    accept=party.accept,
                )
            )
            stack.callback(transport.close)
            stack.callback(lambda: self.absences.update({number: outgoing.absences.all()}))
            yield party, transport

    def _laid_out(self) -> Any:
        return lay_out(self.task, self.network, self.method, self.rounds, 0)


@dataclass(kw_only=True)
class Ring(Members):
    """Three agents between peers, or with a coordinator."""

    network: AbstractNetwork = field(default_factory=lambda: network.ring(MEMBERS))

    def __post_init__(self) -> None:
        rng = np.random.default_rng(0)
        self.task = problem.empirical_risk(
            [rng.normal(size=(6, 4)) for _ in range(MEMBERS)],
            [rng.choice([0.0, 1.0], 6) for _ in range(MEMBERS)],
            problem.Logistic(),
        )
        self.records = [6] * MEMBERS
        privacy = Privacy(clip=1.0, noise_multiplier=1.0)
        self.method = DPSG(step=0.1, privacy=privacy)
        if self.network.coordinated:
            self.method = FedAvg(step=0.1, privacy=privacy)
        super().__post_init__()
