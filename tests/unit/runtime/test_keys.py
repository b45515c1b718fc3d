"""Keys of different purposes, phases, steps, rounds, agents and trials never coincide."""

from __future__ import annotations

import itertools

import jax
import numpy as np

from tacit.runtime.keys import agent_secret, pair_secret, phase_keys, public_key, trial_key

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
