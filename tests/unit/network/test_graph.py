"""Static graphs: numbering, links, errors that name components."""

import equinox as eqx
import jax
import networkx as nx
import numpy as np
import pytest

from tacit.errors import NetworkError
from tacit.network import Graph, Periodic

KEY = jax.random.key(0)


def test_links_are_sorted_by_receiver_then_sender():
    graph = Graph.from_edges(4, [(3, 2), (0, 3), (1, 0), (2, 1)])
    assert np.asarray(graph.receivers).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert np.asarray(graph.senders).tolist() == [1, 3, 0, 2, 1, 3, 0, 2]


def test_neighbours_are_filled_up_with_the_number_of_agents():
    graph = Graph.from_edges(4, [(0, 1), (0, 2), (0, 3)])
    expected = [[1, 2, 3], [0, 4, 4], [0, 4, 4], [0, 4, 4]]
    assert graph.neighbours().tolist() == expected
    assert eqx.filter_jit(lambda network: network.neighbours())(graph).tolist() == expected
    assert graph.degrees.tolist() == [3, 1, 1, 1]


def test_directed_links_go_from_sender_to_receiver():
    graph = Graph.from_edges(3, [(0, 1), (1, 2), (2, 0)], directed=True)
    assert graph.directed
    assert graph.neighbours().tolist() == [[2], [0], [1]]
    assert graph.connectivity == "strongly connected in every round"


def test_arrows_both_ways_are_an_undirected_graph():
    both = nx.DiGraph([(0, 1), (1, 0), (1, 2), (2, 1)])
    graph = Graph.from_networkx(both)
    assert not graph.directed
    assert np.allclose(graph.weight, 1 / 3)


def test_duplicate_edges_are_merged():
    once = Graph.from_edges(3, [(0, 1), (1, 2)])
    twice = Graph.from_edges(3, [(0, 1), (1, 0), (1, 2), (1, 2)])
    assert np.array_equal(once.weight, twice.weight)


def test_parallel_edges_of_networkx_are_refused():
    with pytest.raises(NetworkError, match=r"2 edges from 1 to 2.*networkx\.Graph\(graph\)"):
        Graph.from_networkx(nx.MultiGraph([(0, 1), (1, 2), (1, 2)]))
    with pytest.raises(NetworkError, match=r"networkx\.DiGraph\(graph\)"):
        Graph.from_networkx(nx.MultiDiGraph([(0, 1), (1, 0), (1, 0)]))
    single = nx.MultiGraph([(0, 1), (1, 2)])
    assert Graph.from_networkx(single).degrees.tolist() == [1, 2, 1]


def test_weights_of_edges_are_no_mixing_weights():
    graph = nx.Graph()
    graph.add_weighted_edges_from([(0, 1, 1), (1, 2, 0.25)])
    with pytest.raises(NetworkError, match=r"edge from 1 to 2 has weight=0\.25.*weights='metro"):
        Graph.from_networkx(graph)
    with pytest.raises(NetworkError, match=r"weight=0\.25"):
        Periodic([graph])
    named = Graph.from_networkx(graph, weights="metropolis")
    plain = Graph.from_edges(3, [(0, 1), (1, 2)])
    assert np.array_equal(named.weight, plain.weight)
    ones = nx.from_numpy_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    assert np.array_equal(Graph.from_networkx(ones).weight, plain.weight)


def test_nodes_are_numbered_in_sorted_order():
    graph = Graph.from_networkx(nx.Graph([("lyon", "oslo"), ("bern", "oslo")]))
    assert graph.names == ("bern", "lyon", "oslo")
    assert graph.degrees.tolist() == [1, 1, 2]


def test_nodes_that_cannot_be_sorted_keep_their_order():
    assert Graph.from_networkx(nx.Graph([("b", 1), (1, "a")])).names == ("b", 1, "a")


def test_named_agents_keep_the_given_order():
    graph = Graph.from_edges(["oslo", "bern", "lyon"], [("oslo", "lyon"), ("bern", "lyon")])
    assert graph.names == ("oslo", "bern", "lyon")
    assert graph.degrees.tolist() == [1, 1, 2]


def test_edges_may_be_an_array():
    graph = Graph.from_edges(3, np.array([[0, 1], [1, 2]]))
    assert graph.degrees.tolist() == [1, 2, 1]


def test_mixing_hands_out_the_stored_arrays():
    graph = Graph.from_edges(3, [(0, 1), (1, 2)])
    mixing = graph.mixing(np.asarray(7), KEY)
    assert mixing.weight is graph.weight
    assert mixing.self_weight is graph.self_weight
    assert np.asarray(mixing.active).all() and np.asarray(mixing.participates).all()
    assert graph.participations(9, KEY).tolist() == [9, 9, 9]
    assert not graph.varying and not graph.coordinated


def test_stored_numbers_have_full_precision_and_pass_through_jit(float64):
    graph = Graph.from_edges(3, [(0, 1), (1, 2)])
    assert np.asarray(graph.weight).dtype == np.float64
    through = eqx.filter_jit(lambda network: network.mixing(0, KEY).self_weight)(graph)
    assert np.array_equal(through, graph.self_weight)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.Graph([(0, 1), (2, 3)]), r"not connected: 2 components, \{0, 1\}, \{2, 3\}; add"),
        (nx.Graph([("a", "b"), ("c", "d")]), r"2 components, \{a, b\}, \{c, d\}"),
        (nx.DiGraph([(0, 1), (1, 0), (1, 2)]), r"not strongly connected: 2 .*\{0, 1\}, \{2\}"),
        (nx.Graph([(0, 0), (0, 1)]), "agent 0 has an edge to itself"),
        (nx.empty_graph(1), "at least 2 agents"),
        (nx.empty_graph(20), r"20 components, \{0\}.*\{4\} and 15 more"),
        (
            nx.disjoint_union(nx.path_graph(20), nx.path_graph(2)),
            r"7, \.\.\. 12 more\}, \{20, 21\}",
        ),
    ],
)
def test_refused_graphs(graph, message):
    with pytest.raises(NetworkError, match=message):
        Graph.from_networkx(graph)


@pytest.mark.parametrize(
    ("agents", "edges", "message"),
    [
        (3, [(0, 1), (1, 3)], "edge 1 joins agents 1 and 3, but agents are numbered 0 to 2"),
        (3, [], "3 components"),
        (3, [("a", "b")], "need whole numbers"),
        (["a", "a"], [("a", "a")], "'a' is listed twice"),
        (["a", "b"], [("a", "c")], "agent 'c', which is not in the list"),
        (["a", "b"], [("a", "b"), ("b", "b")], "agent 'b' has an edge to itself"),
    ],
)
def test_refused_edges(agents, edges, message):
    with pytest.raises(NetworkError, match=message):
        Graph.from_edges(agents, edges)


def test_nodes_are_numbered_in_the_order_of_given_names():
    line = nx.path_graph(["west", "north", "south"])
    graph = Graph.from_networkx(line, names=["west", "north", "south"])
    assert graph.names == ("west", "north", "south")
    assert graph.degrees.tolist() == [1, 2, 1]
    assert Graph.from_networkx(line).degrees.tolist() == [2, 1, 1]  # north, south, west
    tenth = nx.path_graph([10, 9, 11])
    assert Graph.from_networkx(tenth, names=["10", "9", "11"]).names == (10, 9, 11)


@pytest.mark.parametrize("names", [["west", "north", "east"], ["west", "north"], ["west"] * 3])
def test_names_of_no_nodes_are_refused(names):
    line = nx.path_graph(["west", "north", "south"])
    with pytest.raises(NetworkError, match="nodes of the graph are west, north, south"):
        Graph.from_networkx(line, names=names)
