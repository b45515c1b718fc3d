"""Networks drawn in every round from the public key."""

import equinox as eqx
import jax
import numpy as np
import pytest

from tacit.errors import NetworkError
from tacit.network import Graph, LinkFailure, RandomActivation, complete, path, ring

KEY = jax.random.key(5)


@eqx.filter_jit
def over_rounds(network, rounds):
    return jax.vmap(lambda round: network.mixing(round, KEY))(rounds)


def test_activation_wakes_agents_with_the_probability(float64):
    awake = over_rounds(RandomActivation(ring(50), 0.3), np.arange(400)).participates
    # 20,000 coins: six standard deviations.
    assert abs(np.asarray(awake).mean() - 0.3) < 6 * np.sqrt(0.21 / 20_000)


def test_links_join_awake_agents_only(float64):
    network = RandomActivation(ring(8), 0.5)
    mixing = over_rounds(network, np.arange(30))
    awake = np.asarray(mixing.participates)
    expected = awake[:, network.receivers] & awake[:, network.senders]
    assert np.array_equal(mixing.active, expected)
    assert (np.asarray(mixing.self_weight)[~awake] == 1).all()


def test_weights_are_those_of_the_awake_agents(float64):
    network = RandomActivation(path(3), 0.5)
    mixing = over_rounds(network, np.arange(60))
    one_sleeps = (np.asarray(mixing.participates) == [True, True, False]).all(axis=1)
    assert one_sleeps.any()
    # Agents 0 and 1 are a pair, so each gives the other one half.
    assert np.allclose(np.asarray(mixing.weight)[one_sleeps], [0.5, 0.5, 0, 0])
    assert np.allclose(np.asarray(mixing.self_weight)[one_sleeps], [0.5, 0.5, 1])


@pytest.mark.long
def test_participations_count_the_same_draws_in_every_precision():
    network = RandomActivation(ring(6), 0.4)
    counted = network.participations(25, KEY)
    single = np.asarray(over_rounds(network, np.arange(25)).participates).sum(axis=0)
    with jax.enable_x64(True):
        double = np.asarray(over_rounds(network, np.arange(25)).participates).sum(axis=0)
    assert counted.tolist() == single.tolist() == double.tolist()
    assert network.participations(0, KEY).tolist() == [0] * 6


def test_draws_do_not_depend_on_how_a_precision_rounds_the_probability():
    # just above the largest coin of round 0, to which single precision rounds it
    network = RandomActivation(ring(6), (15_605_427 + 0.2) * 2.0**-24)
    assert network.participations(1, KEY).tolist() == [1] * 6
    assert np.asarray(network.mixing(0, KEY).participates).all()
    links = LinkFailure(ring(6), 1.0 - (15_605_427 + 0.2) * 2.0**-24)
    assert np.asarray(links.mixing(0, KEY).active).all()


def test_links_fail_with_the_probability_at_both_ends(float64):
    network = LinkFailure(complete(12), 0.2)
    mixing = over_rounds(network, np.arange(200))
    active = np.zeros((200, 12, 12), dtype=bool)
    active[:, network.receivers, network.senders] = mixing.active
    assert np.array_equal(active, active.transpose(0, 2, 1))
    assert abs(np.asarray(mixing.active).mean() - 0.8) < 6 * np.sqrt(0.16 / (200 * 66))
    assert np.asarray(mixing.participates).all()
    assert network.participations(7, KEY).tolist() == [7] * 12


@pytest.mark.long
def test_rounds_and_keys_draw_differently(float64):
    network = LinkFailure(complete(10), 0.5)
    here = np.asarray(network.mixing(0, KEY).active)
    assert not np.array_equal(here, network.mixing(1, KEY).active)
    assert not np.array_equal(here, network.mixing(0, jax.random.key(6)).active)
    assert np.array_equal(here, network.mixing(0, KEY).active)


@pytest.mark.long
def test_no_randomness_gives_metropolis_weights(float64):
    graph = path(5)
    for network in (RandomActivation(graph, 1.0), LinkFailure(graph, 0.0)):
        mixing = network.mixing(3, KEY)
        assert np.allclose(mixing.weight, graph.weight, rtol=1e-15)
        assert np.allclose(mixing.self_weight, graph.self_weight, rtol=1e-15)
        assert network.connectivity == "connected in every round"


def test_what_the_result_says_about_connectivity():
    network = LinkFailure(ring(4), 0.1)
    assert network.varying
    assert "in expectation" in network.connectivity
    assert "single rounds may fall apart" in network.connectivity


@pytest.mark.parametrize("probability", [0.0, -0.1, 1.1, float("nan")])
def test_impossible_activation(probability):
    with pytest.raises(NetworkError, match="probability="):
        RandomActivation(ring(4), probability)


@pytest.mark.parametrize("probability", [1.0, -0.1, float("nan")])
def test_impossible_failure(probability):
    with pytest.raises(NetworkError, match="at least 0 and below 1"):
        LinkFailure(ring(4), probability)


@pytest.mark.parametrize("kind", [RandomActivation, LinkFailure])
def test_directed_graphs_are_refused(kind):
    arrows = Graph.from_edges(3, [(0, 1), (1, 2), (2, 0)], directed=True)
    with pytest.raises(NetworkError, match=f"{kind.__name__} needs an undirected graph"):
        kind(arrows, 0.5)
