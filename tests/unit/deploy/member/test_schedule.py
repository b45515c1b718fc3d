"""Positions of messages: only who runs a phase sends its messages."""

import jax
import numpy as np

from tacit import Privacy, network, problem
from tacit.deploy.member.schedule import Schedule
from tacit.deploy.messages.wire import Address
from tacit.method import FedAvg
from tacit.types import Role
from tests.laid_out import lay_out


def test_a_message_of_another_role_is_awaited_by_nobody() -> None:
    """A coordinator that signed one of a client's phases would be followed to it."""
    task = problem.empirical_risk([np.eye(2)] * 2, [np.ones(2)] * 2, problem.Logistic())
    method = FedAvg(step=0.1, privacy=Privacy(clip=1.0, noise_multiplier=1.0))
    with jax.enable_x64(True):
        plan, _, _ = lay_out(task, network.Coordinator(2), method, 3, 0)
    schedule, coordinator, client = Schedule(plan, 3), 2, 0
    for position, at, phase in schedule.turns():
        speaker, other = coordinator, client
        if phase.sender is Role.CLIENT:
            speaker, other = client, coordinator
        assert schedule.position(Address(bytes(32), speaker, *at)) == position
        assert schedule.position(Address(bytes(32), other, *at)) is None
