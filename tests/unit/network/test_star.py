"""The coordinator and its clients."""

import jax
import numpy as np
import pytest

from tacit.errors import NetworkError
from tacit.network import Coordinator

KEY = jax.random.key(1)


def test_all_clients_take_part_and_none_hears_another():
    network = Coordinator(4)
    mixing = network.mixing(0, KEY)
    assert np.asarray(mixing.participates).tolist() == [True] * 4
    assert np.asarray(mixing.self_weight).tolist() == [0.0] * 4
    assert np.asarray(network.receivers).size == np.asarray(mixing.weight).size == 0
    assert network.neighbours().shape == (4, 0)
    assert network.degrees.tolist() == [1, 1, 1, 1]
    assert network.client_weight.tolist() == [0.25] * 4
    assert network.coordinated and not network.varying and not network.directed
    assert network.participations(6, KEY).tolist() == [6] * 4


@pytest.mark.long
def test_sampled_clients_follow_from_the_public_key(float64):
    network = Coordinator(40, probability=0.25)
    drawn = np.asarray(
        jax.vmap(lambda round: network.mixing(round, KEY).participates)(np.arange(300))
    )
    assert abs(drawn.mean() - 0.25) < 6 * np.sqrt(0.1875 / drawn.size)
    assert network.participations(300, KEY).tolist() == drawn.sum(axis=0).tolist()
    assert network.varying
    assert "drawn" in network.connectivity


def test_who_is_missing_in_a_run_is_missing_for_the_accountant():
    # just above a coin of round 0, to which single precision rounds it
    network = Coordinator(4, dropout=(14_223_272 + 0.2) * 2.0**-24)
    single = np.asarray(network.mixing(0, KEY).participates)
    assert network.participations(1, KEY).tolist() == single.tolist() == [False] * 4
    joins = Coordinator(4, probability=(13_897_776 + 0.2) * 2.0**-24)
    single = np.asarray(joins.mixing(0, KEY).participates)
    assert joins.participations(1, KEY).tolist() == single.tolist() == [True] * 4


def test_clients_may_have_names():
    assert Coordinator(["oslo", "bern"]).names == ("oslo", "bern")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"agents": 0}, "agents=0 must be at least 1"),
        ({"agents": -1}, "agents=-1 must be at least 1"),
        ({"agents": []}, "at least 1 client"),
        ({"agents": ["a", "a"]}, "has one twice"),
        ({"agents": 3, "probability": 0.0}, r"probability=0\.0"),
        ({"agents": 3, "probability": [0.5, 0.5]}, "probability=a list must be a number$"),
        ({"agents": 3, "probability": np.ones(3)}, "must be a number$"),
        ({"agents": 3, "probability": 1.5}, r"probability=1\.5"),
    ],
)
def test_refused_coordinators(arguments, message):
    with pytest.raises(NetworkError, match=message):
        Coordinator(**arguments)
