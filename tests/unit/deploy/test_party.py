"""A member's part in a run, over real connections: faults of the network, and silent members."""

from __future__ import annotations

import datetime as dt
import random
import re
import shutil
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import tacit
from tacit import DPSG, Privacy, network, problem
from tacit.deploy import certificates, keys, party
from tacit.deploy.absences import Absence
from tacit.deploy.bounds import Bounds, bounds_of
from tacit.deploy.compare import Comparison, Words, digest_of, word_of
from tacit.deploy.divergence import check_diverged, check_model
from tacit.deploy.evidence import check
from tacit.deploy.heard import HeardStore
from tacit.deploy.neighbours import Neighbours
from tacit.deploy.outgoing import Outgoing
from tacit.deploy.party import Party
from tacit.deploy.record import Record
from tacit.deploy.schedule import Schedule, forms
from tacit.deploy.terms import Progress, Terms
from tacit.deploy.transport import Transport
from tacit.deploy.wire import FINISHED, Address, decode, encode
from tacit.errors import PeerTimeout, RuntimeFailure
from tacit.layout import lay_out
from tacit.method import FedAvg, GradientDescent
from tacit.method.phase import AbstractMethod
from tacit.network.base import AbstractNetwork, Mixing
from tacit.runtime.desk import Desk, mixing_of
from tacit.runtime.keys import agent_secret
from tests.sites import free_port

RUN = bytes(range(32))
MEMBERS = 3


@dataclass
class Ring:
    """Members of a run in threads of this process, each with connections and files of its own."""

    folder: Path
    rounds: int
    keys: list[keys.Keys]
    network: AbstractNetwork = field(default_factory=lambda: network.ring(MEMBERS))
    skipping: bool = False
    patience: float = 300.0
    seconds_a_round: float = 0.0
    transport: Callable[..., Transport] = Transport
    answers: dict[int, Any] = field(default_factory=dict)
    parties: dict[int, Party] = field(default_factory=dict)
    absences: dict[int, list[Absence]] = field(default_factory=dict)
    cards: dict[int, keys.Card] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cards = {i: each.card for i, each in enumerate(self.keys)}
        if not self.network.coordinated:
            del self.cards[MEMBERS]
        rng = np.random.default_rng(0)
        self.task = problem.empirical_risk(
            [rng.normal(size=(6, 4)) for _ in range(MEMBERS)],
            [rng.choice([0.0, 1.0], 6) for _ in range(MEMBERS)],
            problem.Logistic(),
        )
        privacy = Privacy(clip=1.0, noise_multiplier=1.0)
        self.method: AbstractMethod = DPSG(step=0.1, privacy=privacy)
        if self.network.coordinated:
            self.method = FedAvg(step=0.1, privacy=privacy)
        # compiles what all members run, so that none is silent because it compiles
        self.expected = simulated(self)

    def take_part(
        self, number: int, stopping: threading.Event | None = None, restore: bool = False
    ) -> None:
        try:
            with jax.enable_x64(True):
                self.answers[number] = self._take_part(number, stopping, restore)
        except (KeyboardInterrupt, PeerTimeout, RuntimeFailure) as error:
            self.answers[number] = error

    def mixing(self, round: int) -> Mixing:
        with jax.enable_x64(True):
            plan, _, _ = lay_out(self.task, self.network, self.method, self.rounds, 0)
            return mixing_of(plan, round)

    def start(
        self, number: int, stopping: threading.Event | None = None, *, restore: bool = False
    ) -> threading.Thread:
        thread = threading.Thread(target=self.take_part, args=(number, stopping, restore))
        thread.start()
        return thread

    def _take_part(self, number: int, stopping: threading.Event | None, restore: bool) -> Any:
        plan, roots, owners = lay_out(self.task, self.network, self.method, self.rounds, 0)
        desk = Desk(plan, number, agent_secret(roots[0], number))
        schedule = Schedule(plan, self.rounds)
        state = self.folder / f"state-{number}"
        state.mkdir(exist_ok=True)
        outgoing = Outgoing(state / "journal.db", RUN.hex(), None, {}, number, schedule.position)
        cards = {i: card for i, card in self.cards.items() if i != number}
        if self.network.coordinated and number < MEMBERS:
            cards = {MEMBERS: self.cards[MEMBERS]}

        def mixing(round: int) -> Mixing:
            time.sleep(self.seconds_a_round)
            return mixing_of(desk.plan, round)

        party = Party(
            Terms(
                RUN,
                schedule,
                forms(plan),
                mixing,
                self.patience,
                self.skipping,
                bounds=bounds_of(plan, owners, [6] * MEMBERS),
            ),
            desk,
            None if number == MEMBERS else jax.tree.map(lambda x: x[number], plan.objectives),
            None,
            self.keys[number],
            cards,
            outgoing,
            Progress(rounds=self.rounds, seconds=[], stopping=stopping),
            lambda *told: None,
            {i: card for i, card in self.cards.items() if i not in (number, MEMBERS)}
            if self.network.coordinated
            else None,
            restore=restore,
        )
        self.parties[number] = party
        transport = self.transport(
            self.keys[number],
            RUN.hex(),
            number,
            cards,
            state,
            listen=not self.network.coordinated or number == MEMBERS,
            serve=party.serve,
            accept=party.accept,
        )
        try:
            solution = party.run(transport)
            party.farewell()
            return solution
        finally:
            self.absences[number] = outgoing.absences.all()
            transport.close()
            outgoing.close()


@pytest.fixture
def ring(tmp_path: Path) -> Callable[..., Ring]:
    certificates.create_authority(tmp_path / "authority", "test")
    made = [
        keys.create(
            tmp_path / str(i), f"member-{i}", f"127.0.0.1:{free_port()}", tmp_path / "authority"
        )
        for i in range(MEMBERS + 1)
    ]
    return partial(Ring, tmp_path, keys=made)


class Unruly(Transport):
    """A network that repeats, delays, reorders, cuts and changes what is pushed."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._chance, self._late = random.Random(0), list[tuple[str, bytes]]()

    def publish(self, key: str, data: bytes) -> None:
        what = self._chance.choice(["lost", "twice", "late", "cut", "changed", "whole"])
        if what in ("twice", "whole"):
            super().publish(key, data)
        if what == "twice":
            super().publish(key, data)
        elif what == "late":
            self._late.append((key, data))
        elif what == "cut":
            super().publish(key, data[: self._chance.randrange(len(data))])
        elif what == "changed":
            at = self._chance.randrange(len(data))
            super().publish(key, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        if len(self._late) > 2:
            self._chance.shuffle(self._late)
            while self._late:
                super().publish(*self._late.pop())


def simulated(ring: Ring) -> np.ndarray:
    return tacit.run(
        ring.task,
        ring.network,
        ring.method,
        rounds=ring.rounds,
        seed=0,
        runtime=tacit.Simulation(exact=True),
    ).solutions[0]


def test_a_network_that_mangles_messages_changes_no_bit(ring: Callable[..., Ring]) -> None:
    run = ring(rounds=12, transport=Unruly)
    for thread in [run.start(i) for i in range(MEMBERS)]:
        thread.join(400)
    expected = run.expected
    refused = sum(party.mailbox.counts["refused"] for party in run.parties.values())
    assert refused > 0  # what was cut or changed has arrived
    for number in range(MEMBERS):
        np.testing.assert_array_equal(run.answers[number], expected[number])


@pytest.mark.parametrize("changing", [network.LinkFailure, network.RandomActivation])
def test_graphs_that_change_are_followed_to_the_bit(
    ring: Callable[..., Ring], changing: Callable[..., AbstractNetwork]
) -> None:
    run = ring(rounds=40, network=changing(network.complete(MEMBERS), 0.5))
    for thread in [run.start(i) for i in range(MEMBERS)]:
        thread.join(400)
    for number, expected in enumerate(run.expected):
        np.testing.assert_array_equal(run.answers[number], expected)
        assert not run.parties[number].mailbox.counts["refused"]


def test_a_round_that_draws_no_client_changes_nothing(ring: Callable[..., Ring]) -> None:
    run = ring(rounds=12, network=network.Coordinator(MEMBERS, probability=0.3))
    drawn = [np.sum(mixing.participates) for mixing in map(run.mixing, range(12))]
    assert min(drawn) == 0 < max(drawn)
    clients = [run.start(i) for i in range(MEMBERS)]
    _until(lambda: len(run.parties) == MEMBERS)
    time.sleep(1.0)  # they have dialled before there is a coordinator
    for thread in [*clients, run.start(MEMBERS)]:
        thread.join(400)
    for number in range(MEMBERS + 1):  # the clients have it from the coordinator
        np.testing.assert_array_equal(run.answers[number], run.expected[0])


class TwoHalves(Transport):
    """What a coordinator that runs two halves does, seen by member 2: changes are signed by it."""

    coordinator: keys.Keys
    changes: dict[str, Callable[[list[np.ndarray]], list[np.ndarray]]]

    def __init__(self, *args: Any, accept: Callable[[int, str, bytes], None], **more: Any) -> None:
        _, _, number, *_ = args

        def swapped(sender: int, key: str, data: bytes) -> None:
            change = self.changes.get(key) if number == 2 else None
            if change is not None:
                data = self.other(key, data, change)
            accept(sender, key, data)

        super().__init__(*args, accept=swapped, **more)

    def other(self, key: str, data: bytes, change: Callable[..., Any]) -> bytes:
        ended = key.split("/")[2] == "255"
        at = Address(RUN, MEMBERS, *map(int, key.split("/")[1:]), int(ended))  # type: ignore[arg-type]
        at = replace(at, round=at.round - 1)
        form = [("<f8", (4,)), ("<i8", (4, 4))] if ended else [("<f8", (4,))] * 3
        leaves = decode(data, at, form, self.coordinator.card.public_key()).leaves
        arrays = [np.frombuffer(leaf, dtype).reshape(shape) for leaf, dtype, shape in leaves]
        return encode(at, change(arrays), self.coordinator.identity)


def moved(arrays: list[np.ndarray]) -> list[np.ndarray]:
    return [arrays[0] + 0.5, *arrays[1:]]


def split(star: Ring, *, owned: bool, model: bool) -> None:
    """Let member 2 be told another iterate in round 3.

    Args:
        star: the run.
        owned: whether the record that it is told at the end has it.
        model: whether it is another model that it is told at the end.
    """

    def last(arrays: list[np.ndarray]) -> list[np.ndarray]:
        record = np.array(arrays[1])
        if owned:
            heard = sorted(star.parties[2]._outgoing.heard.digests(MEMBERS).items())
            record[2] = np.frombuffer(heard[2][1], "<i8")
        return [arrays[0] + 0.5 * model, record]

    TwoHalves.coordinator = star.keys[MEMBERS]
    TwoHalves.changes = {f"{MEMBERS}/3/0/0": moved, f"{MEMBERS}/5/255/0": last}
    star.transport = TwoHalves


def test_clients_compare_what_they_were_told(
    ring: Callable[..., Ring], caplog: pytest.LogCaptureFixture
) -> None:
    star = ring(rounds=4, network=network.Coordinator(MEMBERS))
    for thread in [star.start(i) for i in range(MEMBERS + 1)]:
        thread.join(400)
    names = [each.card.name for each in star.keys]
    assert star.parties[MEMBERS].compared is None
    for number in range(MEMBERS):
        found = star.parties[number].compared
        others = tuple(name for i, name in enumerate(names[:MEMBERS]) if i != number)
        assert found == Comparison(same=others, other=(), silent=())
    assert "something else" not in caplog.text and "another message" not in caplog.text


@pytest.mark.parametrize(
    ("owned", "model", "told"),
    [
        (True, True, "another model and another message in round 3"),
        (True, False, "another message in round 3"),
        (False, False, "another message in round 3 than the coordinator says it sent"),
    ],
)
def test_a_coordinator_that_runs_two_halves_is_found(
    ring: Callable[..., Ring],
    owned: bool,
    model: bool,
    told: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It told member 2 another iterate once, and the same model in the end or another."""
    star = ring(rounds=4, network=network.Coordinator(MEMBERS), patience=30.0)
    split(star, owned=owned, model=model)
    for thread in [star.start(i) for i in range(MEMBERS + 1)]:
        thread.join(400)
    names = [each.card.name for each in star.keys]
    for number, same in ((0, names[1]), (1, names[0])):
        found = star.parties[number].compared
        assert found == Comparison((same,), (names[2],), (), (told,))
    found = star.parties[2].compared
    assert found is not None
    if owned:
        assert (found.other, found.where) == (tuple(names[:2]), (told, told))
        assert found.own == ""
    else:
        assert (found.same, found.own) == (tuple(names[:2]), "round 3")
        assert "in round 3 the coordinator sent this member another message" in caplog.text
    assert f"{names[2]} ({told})" in caplog.text


@pytest.mark.slow
def test_who_restarts_or_is_away_is_told_the_same(
    ring: Callable[..., Ring], caplog: pytest.LogCaptureFixture
) -> None:
    """The coordinator begins again in mid-run, and a client misses rounds: nobody is accused."""
    star = ring(
        rounds=60,
        network=network.Coordinator(MEMBERS, probability=0.7),
        skipping=True,
        patience=1.0,
        seconds_a_round=0.02,
    )
    stops = [threading.Event() for _ in range(MEMBERS + 1)]
    threads = [star.start(i, stops[i]) for i in range(MEMBERS + 1)]
    _until(lambda: star.parties[MEMBERS].progress.round > 5)
    stops[MEMBERS].set()
    threads[MEMBERS].join(100)
    assert isinstance(star.answers[MEMBERS], KeyboardInterrupt)
    threads[MEMBERS] = star.start(MEMBERS)
    _until(lambda: star.parties[MEMBERS].progress.round > 10)
    stops[2].set()
    threads[2].join(100)
    assert isinstance(star.answers[2], KeyboardInterrupt)
    _until(lambda: star.parties[MEMBERS].progress.left_out == (2,))
    threads[2] = star.start(2)
    for thread in threads:
        thread.join(100)
    names = [each.card.name for each in star.keys]
    for number in range(MEMBERS):
        others = tuple(name for i, name in enumerate(names[:MEMBERS]) if i != number)
        assert star.parties[number].compared == Comparison(same=others, other=(), silent=())
    assert star.absences[2]
    assert "another message" not in caplog.text


def test_a_word_that_is_not_the_clients_is_not_taken(ring: Callable[..., Ring]) -> None:
    made = ring(rounds=1).keys
    record = a_record()
    words = Words(RUN, 4, MEMBERS, {i: made[i].card for i in range(2)}, record)
    own, other = (word_of(record, [said, bytes(128)], {}) for said in (b"model", b"another"))
    assert own[0].tobytes() != digest_of([b"mod", b"el"]).tobytes()

    def word(client: int, signer: int, rounds: int = 4) -> bytes:
        address = Address(RUN, client, rounds, 255, 0, FINISHED)
        return encode(address, other, made[signer].identity)

    for client, data in ((0, word(0, MEMBERS)), (0, word(0, 1)), (0, word(0, 0, 3)), (7, b"")):
        assert words.take(f"{MEMBERS}/word/{client}", data)
    assert words.compared(own).silent == (made[0].card.name, made[1].card.name)
    assert not words.take("0/5/255/0", word(0, 0))
    assert words.take(f"{MEMBERS}/word/0", word(0, 0))
    assert words.find(f"{MEMBERS}/word/0") == word(0, 0)
    assert words.find(f"{MEMBERS}/word/x") is None
    assert words.compared(own).other == (made[0].card.name,)
    assert words.compared(other).same == (made[0].card.name,)


def a_record(rounds: int = 4) -> Record:
    """Of a star whose coordinator speaks once a round."""
    task = problem.empirical_risk([np.eye(2)] * 2, [np.ones(2)] * 2, problem.Logistic())
    method = FedAvg(step=0.1, privacy=Privacy(clip=1.0, noise_multiplier=1.0))
    with jax.enable_x64(True):
        plan, _, _ = lay_out(task, network.Coordinator(2), method, rounds, 0)
    return Record(Schedule(plan, rounds))


def test_a_long_record_is_cut_into_parts_and_says_in_which_it_differs() -> None:
    record = a_record(1000)
    positions = record._positions
    said = {position: bytes([1 + position % 251]) * 32 for position in positions}
    whole = record.of(said)
    assert whole.shape == record.form[1] == (1000, 4)
    assert record.contradicted(whole.tobytes(), said) == -1
    assert record.contradicted(whole.tobytes(), {}) == -1  # who heard nothing knows of nothing
    other = record.of(said | {positions[500]: bytes(32)})
    assert record.contradicted(other.tobytes(), said) == 500
    differ = (record.digests(other.tobytes()) != record.digests(whole.tobytes())).any(axis=1)
    assert [record.stretch(int(i)) for i in np.flatnonzero(differ)] == ["rounds 474 to 504"]
    assert record.place(500) == "round 501" and "no round" in record.place(1 << 40)


def test_a_model_that_is_far_from_everything_is_said_to_be(
    ring: Callable[..., Ring], caplog: pytest.LogCaptureFixture
) -> None:
    star = ring(rounds=1, network=network.Coordinator(MEMBERS))
    with jax.enable_x64(True):
        plan, roots, _ = lay_out(star.task, star.network, star.method, 1, 0)
        desk = Desk(plan, 0, roots[0])
        check_model(desk, np.ones(4))
        assert not caplog.text
        check_model(desk, np.array([0.0, 0.0, 0.0, 1e308]))
    assert "1e+308" in caplog.text


def test_one_neighbour_alone_takes_nobody_along(ring: Callable[..., Ring]) -> None:
    """It says that it has finished, again and again, and never takes part."""
    run = ring(rounds=30, skipping=True, patience=2.0)
    done = Address(RUN, 2, 30, 255, 0, FINISHED)
    word = encode(done, [], run.keys[2].identity)
    transport = Transport(
        run.keys[2],
        RUN.hex(),
        2,
        {i: run.cards[i] for i in (0, 1)},
        run.folder,
        listen=True,
        serve=lambda key: word,
        accept=lambda *told: None,
    )
    threads = [run.start(0), run.start(1)]
    while any(thread.is_alive() for thread in threads):
        transport.publish(done.key(), word)
        time.sleep(0.05)
    transport.close()
    for number in (0, 1):
        assert [each.agent for each in run.absences[number]] == [2]
        assert run.parties[number].progress.round == 29
        assert np.linalg.norm(run.answers[number]) > 0


@pytest.mark.slow
def test_a_run_goes_on_without_a_silent_member_who_comes_in_again(
    ring: Callable[..., Ring],
) -> None:
    run = ring(rounds=250, skipping=True, patience=1.0, seconds_a_round=0.02)
    stop = threading.Event()
    others, gone = [run.start(0), run.start(1)], run.start(2, stop)
    _until(lambda: run.parties[2].progress.round > 5)
    stop.set()
    gone.join(400)
    assert isinstance(run.answers[2], KeyboardInterrupt)
    _until(lambda: all(run.parties[i].progress.left_out == (2,) for i in (0, 1)))
    left = run.parties[0].progress.round
    _until(lambda: run.parties[0].progress.round > left + 20)
    for thread in [*others, run.start(2)]:
        thread.join(400)
    for number in range(MEMBERS):  # as it sees itself, and as the others see it
        away = run.absences[number]
        assert {each.agent for each in away} == {2}
        assert away[0].first < left + 20 and away[-1].back is not None
        assert left < away[-1].back < 250
    answers = [run.answers[number] for number in range(MEMBERS)]
    assert all(np.isfinite(answer).all() for answer in answers)
    # it has listened since then
    assert np.linalg.norm(answers[2] - answers[0]) < np.linalg.norm(answers[0])


def test_a_member_with_a_rotated_out_key_is_not_heard(ring: Callable[..., Ring]) -> None:
    run = ring(rounds=5, skipping=True, patience=2.0)
    old = run.keys[2]
    run.cards[2] = keys.renew(old.folder, run.folder / "authority", identity=True).card
    for thread in [run.start(i) for i in range(MEMBERS)]:
        thread.join(400)
    for number in (0, 1):
        assert np.isfinite(run.answers[number]).all()
        assert [each.agent for each in run.absences[number]] == [2]
        told = run.parties[number].mailbox.counts
        assert told["refused"] > 0
        assert run.parties[number].mailbox.reached[2] == 0


def test_clocks_an_hour_off_do_no_harm(
    ring: Callable[..., Ring], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Certificates made by a clock that is ahead, and one that is behind, are good all the same."""
    run = ring(rounds=3)
    for number, hours in ((1, 1), (2, -1)):

        class Clock(dt.datetime):
            @classmethod
            def now(cls, tz: dt.tzinfo | None = None, hours: int = hours) -> dt.datetime:
                return super().now(tz) + dt.timedelta(hours=hours)

        folder = run.keys[number].folder
        with monkeypatch.context() as patched:
            patched.setattr(keys.dt, "datetime", Clock)
            run.keys[number] = keys.renew(folder, run.folder / "authority", days=1)
    for thread in [run.start(i) for i in range(MEMBERS)]:
        thread.join(400)
    for number, expected in enumerate(run.expected):
        np.testing.assert_array_equal(run.answers[number], expected)


def test_a_run_that_does_not_go_on_stops_and_names_who_is_silent(ring: Callable[..., Ring]) -> None:
    run = ring(rounds=5, patience=1.0)
    for thread in [run.start(0), run.start(1)]:
        thread.join(400)
    for number in (0, 1):
        assert isinstance(run.answers[number], PeerTimeout)
        assert "nothing from 'member-2' for 1 seconds" in str(run.answers[number])


@pytest.mark.slow
def test_nobody_goes_on_alone(ring: Callable[..., Ring]) -> None:
    run = ring(rounds=200, skipping=True, patience=0.5, seconds_a_round=0.02)
    stops = [threading.Event() for _ in range(MEMBERS)]
    threads = [run.start(i, stops[i]) for i in range(MEMBERS)]
    _until(lambda: all(i in run.parties and run.parties[i].progress.round > 2 for i in range(3)))
    stops[1].set()
    stops[2].set()
    for thread in threads:
        thread.join(400)
    assert isinstance(run.answers[0], PeerTimeout)
    assert "every neighbour is silent" in str(run.answers[0])
    # and with the others there again the same command goes on
    run.seconds_a_round = 0.0
    for thread in [run.start(i) for i in range(MEMBERS)]:
        thread.join(400)
    assert all(np.isfinite(run.answers[i]).all() for i in range(MEMBERS))
    assert all(each.back is not None for each in run.absences[0])


@pytest.mark.parametrize("what", ["gone", "older"])
def test_a_state_that_was_lost_or_put_back_answers_nothing_twice(
    ring: Callable[..., Ring], what: str
) -> None:
    """Only what the others have tells: the member itself, and its ledger, know no better."""
    run = ring(rounds=60, seconds_a_round=0.02)
    stop = threading.Event()
    others, gone = [run.start(0), run.start(1)], run.start(2, stop)
    _until(lambda: run.parties[2].progress.round > 3)
    stop.set()
    gone.join(400)
    state = run.folder / "state-2"
    shutil.copytree(state, run.folder / "older")
    stop.clear()
    again = run.start(2, stop)
    _until(lambda: run.parties[2].progress.round > 8)
    stop.set()
    again.join(400)
    shutil.move(state, run.folder / "newest")
    if what == "older":
        shutil.move(run.folder / "older", state)
    stop.clear()
    run.start(2, stop).join(400)
    assert isinstance(run.answers[2], RuntimeFailure)
    assert "it was lost, or is an older copy" in str(run.answers[2])
    # with the newest state it goes on, to the bit
    shutil.rmtree(state)
    shutil.move(run.folder / "newest", state)
    run.seconds_a_round = 0.0
    for thread in [*others, run.start(2)]:
        thread.join(400)
    for number, expected in enumerate(run.expected):
        np.testing.assert_array_equal(run.answers[number], expected)


def test_what_a_neighbour_heard_survives_its_restart(
    ring: Callable[..., Ring], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest answer has come; whoever has it restarts; its sender has a copy without it."""
    run, stop, last = ring(rounds=30), threading.Event(), 6
    commit, publish = Outgoing.commit, Transport.publish

    def copied(self: Outgoing, made: Any, *more: Any) -> None:
        if made.key.startswith("2/") and made.position == last:
            shutil.copytree(run.folder / "state-2", run.folder / "older")
        commit(self, made, *more)

    def stopped(self: Transport, key: str, data: bytes) -> None:
        publish(self, key, data)
        if key == Address(RUN, 2, last, 0).key():
            _until(lambda: all(run.parties[i].mailbox.newest(2) == last for i in (0, 1)))
            stop.set()

    monkeypatch.setattr(Outgoing, "commit", copied)
    monkeypatch.setattr(Transport, "publish", stopped)
    for thread in [run.start(i, stop) for i in range(MEMBERS)]:
        thread.join(400)
    assert all(isinstance(run.answers[i], KeyboardInterrupt) for i in range(MEMBERS))
    monkeypatch.undo()
    shutil.rmtree(run.folder / "state-2")
    shutil.move(run.folder / "older", run.folder / "state-2")
    stop.clear()
    others, back = [run.start(i, stop) for i in (0, 1)], run.start(2, stop)
    back.join(400)
    stop.set()
    for thread in others:
        thread.join(400)
    assert isinstance(run.answers[2], RuntimeFailure)
    assert "is an older copy" in str(run.answers[2])


@pytest.mark.slow
def test_a_greeting_from_before_is_not_taken_for_an_answer(
    ring: Callable[..., Ring], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can stand in a neighbour's place shows what that once signed: it had heard nothing.

    So one authority of the run certifies another's name, and what it replays changes nothing.
    """
    run, stop = ring(rounds=400, seconds_a_round=0.02), threading.Event()
    kept: dict[int, bytes] = {}
    replaying, accept = threading.Event(), Party.accept

    def between(self: Party, sender: int, key: str, data: bytes) -> None:
        if self._desk.agent == 2 and key.split("/")[1] == "hello":
            kept.setdefault(sender, data)
            data = kept[sender] if replaying.is_set() else data
        accept(self, sender, key, data)

    monkeypatch.setattr(Party, "accept", between)
    others, gone = [run.start(0), run.start(1)], run.start(2, stop)
    _until(lambda: run.parties[2].progress.round > 5)
    stop.set()
    gone.join(400)
    assert set(kept) == {0, 1}
    shutil.rmtree(run.folder / "state-2")
    stop.clear()
    replaying.set()
    before = run.parties.pop(2)
    back = run.start(2)
    _until(lambda: run.parties[2].progress.waiting_for == (0, 1))
    time.sleep(2.0)
    assert run.parties[2] is not before
    assert run.parties[2].progress.waiting_for == (0, 1)  # it asks on, and sends nothing
    assert run.parties[2]._outgoing.find("2/1/0/0") is None
    replaying.clear()
    back.join(400)
    assert "older copy" in str(run.answers[2])
    for number in (0, 1):
        run.parties[number].progress.failure = "ended"
    for thread in others:
        thread.join(400)


class Twofold(Transport):
    """Says another thing after its sixth message: as a second process with its keys does."""

    def publish(self, key: str, data: bytes) -> None:
        super().publish(key, data)
        if key == "2/6/0/0":
            time.sleep(0.3)  # the others have used it by then, or wait for it
            at = Address(RUN, 2, 5, 0)
            values = np.frombuffer(data[-64 - 32 : -64]) + 1.0
            super().publish(key, encode(at, [values], self.own.identity))

    own: keys.Keys


def test_two_answers_to_one_question_stop_the_run_and_are_kept(
    ring: Callable[..., Ring],
) -> None:
    run = ring(rounds=200, seconds_a_round=0.02, transport=Twofold)
    Twofold.own = run.keys[2]
    threads = [run.start(i) for i in range(MEMBERS)]
    for thread in threads[:2]:
        thread.join(400)
    for number in (0, 1):
        told = str(run.answers[number])
        assert isinstance(run.answers[number], RuntimeFailure)
        assert "'member-2' sent two different messages 2/6/0/0" in told
        folder = run.folder / f"state-{number}"
        evidence = folder / "evidence"
        pair = [(evidence / name).read_bytes() for name in ("first.bin", "second.bin")]
        form = [("<f8", (4,))]
        key = run.keys[2].card.public_key()
        first, second = (decode(data, Address(RUN, 2, 5, 0), form, key) for data in pair)
        assert first.digest != second.digest
        with pytest.raises(RuntimeFailure, match=r"answered one question twice.*move .*evidence"):
            check(folder)
    run.parties[2].progress.failure = "ended"
    threads[2].join(400)


def _until(holds: Callable[[], bool], seconds: float = 300.0) -> None:
    ends = time.monotonic() + seconds
    while True:
        try:
            if holds():
                return
        except KeyError:  # not started yet
            pass
        assert time.monotonic() < ends
        time.sleep(0.02)


class Loud(Transport):
    """One member says 1e308 in the third round, signed, and again when it is asked."""

    own: keys.Keys
    phase: int

    def __init__(self, *args: Any, serve: Callable[[str], bytes | None], **more: Any) -> None:
        self._number = args[2]

        def served(key: str) -> bytes | None:
            data = serve(key)
            return None if data is None else self.louder(key, data)

        super().__init__(*args, serve=served, **more)

    def publish(self, key: str, data: bytes) -> None:
        super().publish(key, self.louder(key, data))

    def louder(self, key: str, data: bytes) -> bytes:
        if key != f"{self._number}/3/{self.phase}/0" or args_of(self.own) != self._number:
            return data
        at = Address(RUN, self._number, 2, self.phase)
        form = [("<f8", (4,))] * (3 if self._number == MEMBERS else 1)
        leaves = decode(data, at, form, self.own.card.public_key()).leaves
        arrays = [np.frombuffer(leaf) for leaf, _, _ in leaves]
        return encode(at, [np.array([0.0, 1e308, 0.0, 0.0]), *arrays[1:]], self.own.identity)


def args_of(own: keys.Keys) -> int:
    return int(own.card.name.removeprefix("member-"))


@pytest.mark.parametrize(
    ("star", "number", "phase", "bound"),
    [
        (False, 2, 0, "divergence in \\[run\\] allows 1e\\+06"),
        (True, MEMBERS, 0, "divergence in \\[run\\] allows 1e\\+06"),
        (True, 2, 1, "its clip and noise reach [0-9.]+ at most"),
    ],
)
def test_a_number_beyond_the_declared_bounds_is_refused_and_named(
    ring: Callable[..., Ring], star: bool, number: int, phase: int, bound: str
) -> None:
    run = ring(rounds=6, network=network.Coordinator(MEMBERS) if star else network.ring(MEMBERS))
    run.transport, Loud.own, Loud.phase = Loud, run.keys[number], phase
    if star:
        run.method = GradientDescent(step=0.1, privacy=Privacy(clip=1.0, noise_multiplier=1.0))
    members = range(MEMBERS + star)
    threads = {i: run.start(i) for i in members}
    hearing = [i for i in members if i != number and (phase == 0 or i == MEMBERS)]
    for i in hearing:
        threads[i].join(60)
        told = f"'member-{number}' sent a number that no member sends, in round 3: 1e\\+308"
        assert isinstance(run.answers[i], RuntimeFailure)
        assert re.search(f"{told}.*{bound}", str(run.answers[i]))
    for i in members:
        run.parties[i].progress.failure = "ended"
        threads[i].join(60)


def test_bounds_follow_from_declared_constants() -> None:
    features = [np.eye(6)] * MEMBERS
    task = problem.empirical_risk(features, [np.ones(6)] * MEMBERS, problem.Logistic())
    method = GradientDescent(step=0.1, privacy=Privacy(clip=1.0, noise_multiplier=1.0))
    star = network.Coordinator(MEMBERS)
    with jax.enable_x64(True):
        plan, _, owners = lay_out(task, star, method, 3, seed=0)
        bounds = bounds_of(plan, owners, [6] * MEMBERS)
    # six clipped gradients over six records, and noise of twice that; with slack
    np.testing.assert_allclose(bounds.reach[1], 2 * (2 * 6 + 100 * 2) / 6)
    assert bounds.points == {0} and set(bounds.reach) == {1}
    largest = bounds.reach[1][0]
    assert not bounds.excess(1, 0, [np.full(6, largest)])
    assert bounds.excess(1, 0, [np.full(6, np.nextafter(largest, np.inf))])
    assert bounds.excess(1, 0, [np.array([0.0, np.nan])])
    assert not bounds.excess(0, MEMBERS, [np.full(6, 1e6)])
    assert bounds.excess(0, MEMBERS, [np.full(6, -1.1e6)]).startswith("-1.1e+06")
    # masked residues are integers, and any of them may come
    assert not bounds.excess(1, 0, [np.full(6, 1 << 62)])
    far = bounds.cut(1, 0, np.array([-1e300, 0.5, 1e300]))
    np.testing.assert_array_equal(far, [-largest, 0.5, largest])


def test_what_ran_away_is_not_sent() -> None:
    features = [np.eye(2)] * MEMBERS
    task = problem.empirical_risk(features, [np.ones(2)] * MEMBERS, problem.Logistic())
    method = DPSG(step=0.1, privacy=Privacy(clip=1.0, epsilon=1.0))
    with jax.enable_x64(True):
        plan, roots, _ = lay_out(task, network.ring(MEMBERS), method, 3, seed=0)
        desk = Desk(plan, 0, agent_secret(roots[0], 0))
        state = method.init(desk.role, plan.x0, 2)
        check_diverged(desk, state, 0)
        for far, message in ((2e6, "further from their start"), (np.nan, "no finite numbers")):
            away = jax.tree.map(lambda leaf, to=far: leaf + to, state)
            with pytest.raises(RuntimeFailure, match=f"diverged before round 2: .*{message}"):
                check_diverged(desk, away, 1)


@pytest.mark.parametrize("again", [False, True])
def test_a_member_sends_nothing_beyond_the_bounds(
    ring: Callable[..., Ring], monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    """Neither when it makes the message nor when it is started again and has it on its disk."""
    run = ring(rounds=4, patience=3.0)
    commit, sent = Outgoing.commit, list[str]()
    monkeypatch.setattr(Transport, "publish", lambda self, key, data: sent.append(key))
    monkeypatch.setattr(Neighbours, "meet", lambda self, sent: None)

    def far(self: Bounds, phase: int, sender: int, arrays: Any) -> str:
        return "1e+09"

    def stopped(self: Outgoing, *more: Any) -> None:
        commit(self, *more)
        raise KeyboardInterrupt

    if again:
        with monkeypatch.context() as killed:
            killed.setattr(Outgoing, "commit", stopped)
            run.start(0).join(60)
        assert isinstance(run.answers[0], KeyboardInterrupt)
    monkeypatch.setattr(Bounds, "excess", far)
    run.start(0).join(60)
    assert "the iterates diverged before round 1: one is at 1e+09" in str(run.answers[0])
    assert not sent


def lost(star: Ring, round: int = 5) -> list[threading.Thread]:
    """Clients of a coordinator that stopped in a round, and whose folder is gone; they wait."""
    stop = threading.Event()
    clients = [star.start(i) for i in range(MEMBERS)]
    gone = star.start(MEMBERS, stop)
    _until(lambda: star.parties[MEMBERS].progress.round > round)
    stop.set()
    gone.join(60)
    assert isinstance(star.answers[MEMBERS], KeyboardInterrupt)
    shutil.rmtree(star.folder / f"state-{MEMBERS}")
    return clients


def all_the_same(star: Ring) -> None:
    names = [each.card.name for each in star.keys]
    for number in range(MEMBERS):
        np.testing.assert_array_equal(star.answers[number], star.expected[0])
        others = tuple(name for i, name in enumerate(names[:MEMBERS]) if i != number)
        assert star.parties[number].compared == Comparison(same=others, other=(), silent=())


@pytest.mark.parametrize("shown", ["all", pytest.param("older", marks=pytest.mark.slow), "forged"])
def test_a_coordinator_that_lost_its_state_goes_on_to_the_bit(
    ring: Callable[..., Ring], monkeypatch: pytest.MonkeyPatch, shown: str
) -> None:
    """Also where a client shows what it had long before, or makes something up."""
    star = ring(rounds=16, network=network.Coordinator(MEMBERS), seconds_a_round=0.02)
    write = party.write_copy
    kept: dict[Any, bytes] = {}

    def lying(stored: HeardStore, *more: Any) -> bytes:
        answer = write(stored, *more)
        liar = star.parties[0]._outgoing.heard is stored
        if liar and shown == "older":
            return kept[0]
        if liar and shown == "forged":
            position, length = struct.unpack_from("<qI", answer)
            rows = answer[12 + length :]
            ahead = struct.pack("<qI", position + 3, length) + answer[12 : 12 + length]
            # digests of one round as those of another
            return ahead + b"".join(
                rows[at : at + 8] + rows[at + 104 + 8 : at + 208]
                for at in range(0, len(rows) - 104, 104)
            )
        return answer

    monkeypatch.setattr(party, "write_copy", lying)
    if shown == "older":
        keep = Neighbours.keep_heard

        def noting(self: Neighbours) -> None:
            keep(self)
            if self._member == 0 and 0 not in kept and self._progress.round == 2:
                kept[0] = write(self._heard, self.mailbox, MEMBERS)

        monkeypatch.setattr(Neighbours, "keep_heard", noting)
    clients = lost(star)
    star.seconds_a_round = 0.0
    for thread in [*clients, star.start(MEMBERS, restore=True)]:
        thread.join(120)
    np.testing.assert_array_equal(star.answers[MEMBERS], star.expected[0])
    all_the_same(star)


@pytest.mark.slow
def test_nothing_is_restored_without_every_client(ring: Callable[..., Ring]) -> None:
    """One that is not there could have a newer message; when it is back the run goes on."""
    star = ring(rounds=16, network=network.Coordinator(MEMBERS), seconds_a_round=0.02)
    stop = threading.Event()
    first, others = star.start(0, stop), [star.start(i) for i in (1, 2)]
    coordinator = star.start(MEMBERS, stop)
    _until(lambda: star.parties[MEMBERS].progress.round > 5)
    stop.set()
    for thread in (first, coordinator):
        thread.join(60)
    shutil.rmtree(star.folder / f"state-{MEMBERS}")
    patience, star.patience = star.patience, 2.0
    star.start(MEMBERS, restore=True).join(60)
    told = str(star.answers[MEMBERS])
    assert "nothing is restored: 'member-0' did not say" in told, told
    star.patience, star.seconds_a_round = patience, 0.0
    for thread in [star.start(MEMBERS, restore=True), star.start(0), *others]:
        thread.join(120)
    all_the_same(star)


@pytest.mark.slow
def test_a_coordinator_that_is_lost_after_its_last_word_says_it_again(
    ring: Callable[..., Ring], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One client heard the model, and the others did not: they hear the same."""
    star = ring(rounds=4, network=network.Coordinator(MEMBERS))
    stop, hearing, publish = threading.Event(), threading.Event(), Transport.publish
    last = Address(RUN, MEMBERS, 4, 255, 0, FINISHED).key()
    accept = Party.accept

    def deaf(self: Party, sender: int, key: str, data: bytes) -> None:
        if key != last or self._desk.agent == 1 or hearing.is_set():
            accept(self, sender, key, data)

    def stopped(self: Transport, key: str, data: bytes) -> None:
        publish(self, key, data)
        if key == last:
            _until(lambda: MEMBERS in star.parties[1].mailbox.finished)
            stop.set()

    monkeypatch.setattr(Party, "accept", deaf)
    with monkeypatch.context() as first:
        first.setattr(Transport, "publish", stopped)
        clients = [star.start(i) for i in range(MEMBERS)]
        star.start(MEMBERS, stop).join(60)
    assert isinstance(star.answers[MEMBERS], KeyboardInterrupt)
    shutil.rmtree(star.folder / f"state-{MEMBERS}")
    hearing.set()
    for thread in [*clients, star.start(MEMBERS, restore=True)]:
        thread.join(60)
    assert star.answers[MEMBERS] is None
    all_the_same(star)
