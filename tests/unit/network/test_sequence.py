"""Periodic and recorded sequences, and what is declared of their connectivity."""

import jax
import networkx as nx
import numpy as np
import pytest

from tacit.errors import NetworkError
from tacit.network import Periodic, Recorded, path, ring

KEY = jax.random.key(0)
PAIRS = [nx.Graph([(0, 1), (2, 3)]), nx.Graph([(1, 2), (0, 3)])]


def matrix_of(network, round):
    mixing = jax.jit(lambda now: network.mixing(now, KEY))(round)
    matrix = np.diag(np.asarray(mixing.self_weight))
    matrix[np.asarray(network.receivers), np.asarray(network.senders)] = mixing.weight
    assert np.array_equal(np.asarray(mixing.weight) > 0, mixing.active)
    assert np.asarray(mixing.participates).all()
    return matrix


def test_a_periodic_sequence_starts_again(float64):
    network = Periodic(PAIRS, connected=2)
    first = [[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]]
    second = [[0.5, 0, 0, 0.5], [0, 0.5, 0.5, 0], [0, 0.5, 0.5, 0], [0.5, 0, 0, 0.5]]
    for round in range(5):
        assert np.array_equal(matrix_of(network, round), first if round % 2 == 0 else second)
    assert network.degrees.tolist() == [2, 2, 2, 2]
    assert network.varying and not network.directed
    assert network.participations(11, KEY).tolist() == [11] * 4


def test_graphs_with_their_own_weights(float64):
    network = Periodic([ring(4), path(4, weights="max_degree")])
    assert np.allclose(np.diag(matrix_of(network, 0)), 1 / 3)
    assert np.allclose(np.diag(matrix_of(network, 1)), [2 / 3, 1 / 3, 1 / 3, 2 / 3])
    assert network.connectivity == "connected in every round"


def test_an_agent_without_a_link_keeps_its_value(float64):
    alone = nx.Graph([(0, 1)])
    alone.add_node(2)
    network = Periodic([alone, nx.path_graph(3)], connected=2)
    assert matrix_of(network, 0)[2].tolist() == [0, 0, 1]


def test_what_the_declared_window_says():
    assert Periodic(PAIRS, 2).connectivity.endswith("any 2 rounds in a row, not in every round")
    assert Periodic([ring(4), path(4)], 2).connectivity.endswith("and also in every round")
    arrows = [nx.DiGraph([(0, 1), (1, 2), (2, 0)])]
    assert Periodic(arrows).connectivity == "strongly connected in every round"


def test_a_recorded_sequence_is_replayed_once(float64):
    network = Recorded(PAIRS, connected=2)
    assert matrix_of(network, 1)[0].tolist() == [0.5, 0, 0, 0.5]
    assert network.participations(2, KEY).tolist() == [2, 2, 2, 2]
    with pytest.raises(NetworkError, match="rounds=3, but the recorded network ends after 2"):
        network.participations(3, KEY)
    past = network.mixing(2, KEY)
    assert np.isnan(past.weight).all() and np.isnan(past.self_weight).all()


def test_windows_stay_inside_a_record():
    whole, half = nx.path_graph(3), nx.Graph([(0, 1)])
    half.add_node(2)
    # The last window wraps around to the first graph in a periodic sequence only.
    assert Recorded([half, whole, half], connected=2).connectivity.startswith("connected jointly")
    with pytest.raises(NetworkError, match="union of the graphs of rounds 2 to 3"):
        Periodic([half, whole, half], connected=2)


ALONE = nx.Graph([(0, 1)])
ALONE.add_nodes_from([2, 3])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Periodic([]), "sequence of graphs is empty"),
        (lambda: Periodic(PAIRS), r"round 0 is not connected: 2 components, \{0, 1\}, \{2, 3\}"),
        (lambda: Recorded([nx.path_graph(4), PAIRS[1]]), r"round 1 is not .*\{0, 3\}, \{1, 2\}"),
        (
            lambda: Periodic([*PAIRS, ALONE, ALONE], 2),
            r"rounds 1 to 2 is not .*\{0, 1, 2, 3\}|rounds 2 to 3 is not",
        ),
        (lambda: Periodic(PAIRS, 0), "connected=0 must be"),
        (lambda: Recorded(PAIRS, 3), "connected=3 rounds are more than the 2 recorded"),
        (lambda: Periodic([ring(4), ring(5)]), "rounds 0 and 1 differ in their agents .* lacks 4"),
        (lambda: Periodic([nx.Graph([("a", 1)]), nx.Graph([(1, "a")])]), "different orders"),
        (lambda: Periodic([nx.DiGraph([(0, 1)])]), "not strongly connected"),
        (lambda: Periodic([nx.DiGraph([(0, 1)]), nx.DiGraph([(1, 0)])], 2), "lies on no cycle"),
    ],
)
def test_refused_sequences(build, message):
    with pytest.raises(NetworkError, match=message):
        build()
