"""Keys of different purposes, phases, steps, rounds, agents and trials never coincide."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest

from tacit._engine.keys import (
    agent_secret,
    pair_secret,
    phase_keys,
    public_key,
    seeded_key,
    trial_key,
)
from tacit.errors import ConfigError
from tacit.method.phase import MOST_PHASES, MOST_REPEAT, Phase, phases_of
from tacit.types import Role
from tests.unit.testing.planted import Right

PAIRS = [(0, 1), (0, 2), (1, 2)]


def test_all_keys_differ() -> None:
    seen = {tuple(np.asarray(jax.random.key_data(public_key(0))))}
    count = 1
    cases = itertools.product(range(2), range(3), (-1, 0, 1), range(3), range(3))
    for trial, agent, round, phase, step in cases:
        secret = agent_secret(trial_key(0, trial), agent)
        for key in phase_keys(secret, round, phase, step):
            seen.add(tuple(np.asarray(jax.random.key_data(key))))
            count += 1
    for trial, (one, other), round in itertools.product(range(2), PAIRS, (-1, 0, 1)):
        for key in phase_keys(pair_secret(trial_key(0, trial), one, other), round, 0, 0):
            seen.add(tuple(np.asarray(jax.random.key_data(key))))
            count += 1
    assert len(seen) == count


def test_the_last_steps_of_the_last_phases_have_keys_of_their_own() -> None:
    steps = (0, 1, MOST_REPEAT - 1)
    places = list(itertools.product((0, 1, MOST_PHASES - 1), steps))
    keys = [key for place in places for key in phase_keys(seeded_key(0), 0, *place)]
    assert len({tuple(np.asarray(jax.random.key_data(key))) for key in keys}) == 4 * len(places)


def test_more_phases_or_steps_than_there_are_keys_for_are_refused() -> None:
    def phase(repeat: int) -> Phase:
        return Phase(
            "step", Role.PEER, lambda state, released, context: (state, None), repeat=repeat
        )

    assert phase(MOST_REPEAT).repeat == MOST_REPEAT
    with pytest.raises(ConfigError, match=r"'step': repeat=16777217 .* at most 16,777,216"):
        phase(MOST_REPEAT + 1)

    class Many(Right):
        def phases(self) -> tuple[Phase, ...]:
            return super().phases() * round(10 * self.step)

    assert len(phases_of(Many(6.4))) == MOST_PHASES
    with pytest.raises(ConfigError, match="it has 65 phases"):
        phases_of(Many(6.5))


@pytest.mark.parametrize(
    ("trial", "agent", "place", "expected"),
    [
        (0, 0, (-1, 0, 0), [1131414996, 2795004207, 3722961630, 2999771110]),
        (0, 0, (0, 0, 0), [4001350867, 1898169091, 402741093, 3000747457]),
        (1, 3, (7, 2, 5), [3170408742, 858709954, 1719812309, 458937548]),
    ],
)
def test_a_seed_means_the_same_for_ever(
    trial: int, agent: int, place: tuple[int, int, int], expected: list[int]
) -> None:
    keys = phase_keys(agent_secret(trial_key(2, trial), agent), *place)
    assert [int(jax.random.key_data(key)[0]) for key in keys] == expected


def test_public_and_pair_keys_mean_the_same_for_ever() -> None:
    pair = pair_secret(trial_key(2, 0), 1, 4)
    found = [int(jax.random.key_data(key)[0]) for key in (public_key(2), pair)]
    assert found == [829363300, 3556189024]


@pytest.mark.parametrize("seed", [0, 5, 2**32, 2**62 + 5, 2**63 - 1])
def test_all_bits_of_a_seed_count_in_both_precisions(seed: int) -> None:
    with jax.enable_x64(True):
        expected = jax.random.key_data(jax.random.key(seed))
        found = jax.random.key_data(seeded_key(seed))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(jax.random.key_data(seeded_key(seed)), expected)
