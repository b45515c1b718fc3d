"""Numbers that no run that goes well has are neither sent nor taken."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from tacit import DPSG, Privacy, network, problem
from tacit._engine.agent_step import AgentStep
from tacit._engine.keys import agent_secret
from tacit.deploy.agreement.bounds import Bounds, bounds_of
from tacit.deploy.identity import keys
from tacit.deploy.member.divergence import check_diverged, check_model
from tacit.deploy.member.peers import Neighbours
from tacit.deploy.messages.carrier import Endpoint
from tacit.deploy.messages.outgoing import Outgoing
from tacit.deploy.messages.transport import Transport
from tacit.deploy.messages.wire import Address, decode, encode
from tacit.errors import RuntimeFailure
from tacit.method import GradientDescent
from tests.laid_out import lay_out
from tests.unit.deploy.ring import MEMBERS, RUN, Ring


class Loud(Transport):
    """One member says 1e308 in the third round, signed, and again when it is asked."""

    own: keys.Keys
    phase: int

    def __init__(self, endpoint: Endpoint) -> None:
        self._number = endpoint.number

        def served(key: str) -> bytes | None:
            data = endpoint.serve(key)
            return None if data is None else self.louder(key, data)

        super().__init__(replace(endpoint, serve=served))

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


@pytest.mark.long
@pytest.mark.parametrize(
    ("star", "number", "phase", "bound"),
    [
        (False, 2, 0, "divergence in \\[run\\] allows 1e\\+06"),
        pytest.param(
            *(True, MEMBERS, 0, "divergence in \\[run\\] allows 1e\\+06"), marks=pytest.mark.long
        ),
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
        told = f"'member-{number}' sent a number out of bounds in round 3: 1e\\+308"
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
        plan, _, agreed = lay_out(task, star, method, 3, seed=0)
        bounds = bounds_of(plan, agreed)
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
        desk = AgentStep(plan, 0, agent_secret(roots[0], 0))
        state = method.init(desk.role, plan.x0, 2)
        check_diverged(desk, state, 0)
        for far, message in ((2e6, "further from their start"), (np.nan, "no longer finite")):
            away = jax.tree.map(lambda leaf, to=far: leaf + to, state)
            with pytest.raises(RuntimeFailure, match=f"diverged before round 2: .*{message}"):
                check_diverged(desk, away, 1)


@pytest.mark.parametrize("again", [False, pytest.param(True, marks=pytest.mark.long)])
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


def test_a_model_that_is_far_from_everything_is_said_to_be(
    ring: Callable[..., Ring], caplog: pytest.LogCaptureFixture
) -> None:
    star = ring(rounds=1, network=network.Coordinator(MEMBERS))
    with jax.enable_x64(True):
        plan, roots, _ = lay_out(star.task, star.network, star.method, 1, 0)
        desk = AgentStep(plan, 0, roots[0])
        check_model(desk, np.ones(4))
        assert not caplog.text
        check_model(desk, np.array([0.0, 0.0, 0.0, 1e308]))
    assert "1e+308" in caplog.text
