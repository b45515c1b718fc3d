"""How much noise is in the mean that a receiver holds, whoever hides it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit import DPSG, Privacy, network
from tacit._engine.contract import contract
from tacit.errors import PrivacyError
from tacit.method import ADMM, MaskedGossip
from tacit.papers.gratton2021 import DVPPrinted
from tacit.privacy.laws import LAWS, NoiseKind
from tests.two_sums import AGENTS, RECORDS, task

RING = network.ring(AGENTS)


def spread(method: Any, net: Any = RING, **more: Any) -> Any:
    return contract(task(), net, method, rounds=6).spread(0, **more)


def test_a_peer_holds_the_weighted_noise_of_its_neighbours() -> None:
    budget = Privacy(clip=1.0, noise_multiplier=3.0)
    scales = 3.0 * 2.0 / np.array(RECORDS)
    weights = np.array([[1, 1, 0, 1], [1, 1, 1, 0], [0, 1, 1, 1], [1, 0, 1, 1]]) / 3
    expected = np.sqrt(np.square(weights) @ np.square(scales))
    np.testing.assert_allclose(spread(DPSG(step=0.1, privacy=budget)), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", list(NoiseKind))
def test_the_deviation_of_a_law_is_that_of_its_draws(kind: NoiseKind) -> None:
    draws = jax.vmap(lambda key: LAWS[kind].sample(key, jnp.zeros(5)))
    found = np.asarray(draws(jax.random.split(jax.random.key(0), 40_000)))
    assert found.std() == pytest.approx(LAWS[kind].deviation(5), rel=0.02)


def test_what_pairs_share_cancels_in_the_mean_of_all_and_not_in_a_peer_s() -> None:
    budget = Privacy(clip=1.0, noise_multiplier=3.0)
    method = MaskedGossip(step=0.1, privacy=budget)
    agreed = contract(task(), RING, method, rounds=6)
    scale = agreed.scales[0]
    assert np.ptp(scale) < 1e-9 * scale.max()
    everybody = agreed.spread(0, agents=AGENTS)
    assert everybody == pytest.approx(scale.max() / np.sqrt(AGENTS), rel=1e-9)
    assert np.all(agreed.spread(0) > 1.5 * everybody)
    with pytest.raises(PrivacyError, match="agents=2"):
        agreed.spread(0, agents=2)


def test_noise_that_is_not_in_the_answer_is_not_stated() -> None:
    method = DVPPrinted(penalty=0.1, **DVPPrinted.example)
    with pytest.raises(PrivacyError, match=r"ClaimedGaussian|ClaimedL2Laplace"):
        spread(method)


def test_answers_that_leave_as_they_are_have_none() -> None:
    assert spread(ADMM(penalty=0.1)) == 0.0
