"""Flooding, trees and polynomials: exact for everybody, with phases and messages counted."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import NetworkError
from tacit.network import Graph, RelayCost, complete, grid, path, random_regular, ring, star, tree
from tacit.network import relay as relay_module
from tacit.network import spread as spread_module
from tacit.network.relay import cost_of, flood, flood_cost, polynomial_sum, tree_sum
from tacit.network.spread import spread

GRAPHS = [
    path(2),
    ring(5),
    ring(10),
    path(7),
    grid(3, 4),
    star(6),
    complete(5),
    tree(11),
    random_regular(70, 3, seed=0),
]
by_kind = pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: f"{g.kind}-{g.agents}")


def adjacency(graph):
    matrix = np.zeros((graph.agents, graph.agents), dtype=bool)
    matrix[graph.receivers, graph.senders] = True
    return matrix


def flooded(values, graph):
    return flood(values, [adjacency(graph)] * graph.agents)


def networkx(graph):
    return nx.from_numpy_array(adjacency(graph))


def draw(graph, *shape):
    return np.random.default_rng(graph.agents).normal(size=(graph.agents, *shape))


def words(graph):
    rng = np.random.default_rng(graph.agents)
    return rng.integers(0, 2**64, (graph.agents, 3), dtype=np.uint64)


@st.composite
def random_trees(draw):
    agents = draw(st.integers(2, 12))
    return agents, [(draw(st.integers(0, i - 1)), i) for i in range(1, agents)]


@st.composite
def sequences(draw):
    agents, phases = draw(st.integers(2, 6)), draw(st.integers(1, 6))
    pairs = [(i, j) for i in range(agents) for j in range(i)]
    graphs = []
    for _ in range(phases):
        graph = nx.empty_graph(agents)
        graph.add_edges_from(draw(st.lists(st.sampled_from(pairs), max_size=4)))
        graphs.append(nx.to_numpy_array(graph, dtype=bool))
    return graphs


@by_kind
def test_flooding_brings_everything_to_everybody(graph):
    values = draw(graph, 2)
    found = flooded(values, graph)
    expected = values.sum(axis=0)
    for have, total in zip(found.arrived, found.totals, strict=True):
        assert sorted(have) == list(range(graph.agents))
        assert all(np.array_equal(have[origin], values[origin]) for origin in have)
        assert np.array_equal(total, found.totals[0])
        np.testing.assert_allclose(total, expected, rtol=0, atol=1e-13 * graph.agents)


@by_kind
def test_flooding_takes_as_many_phases_as_the_diameter(graph):
    found = flooded(draw(graph), graph)
    assert found.cost.phases == nx.diameter(networkx(graph))
    # a message crosses every link but those back to where it came from, until the last phase
    distance = dict(nx.all_pairs_shortest_path_length(networkx(graph)))
    links = list(zip(graph.senders.tolist(), graph.receivers.tolist(), strict=True))
    assert found.cost.messages == sum(
        distance[origin][u] <= distance[origin][v] and distance[origin][u] < found.cost.phases
        for origin in range(graph.agents)
        for u, v in links
    )


@by_kind
def test_bits_spread_as_messages_do(graph):
    assert flood_cost(graph.links) == flooded(draw(graph), graph).cost
    eccentricity = nx.eccentricity(networkx(graph))
    assert spread(graph.links).complete.tolist() == [eccentricity[i] for i in range(graph.agents)]


@pytest.mark.parametrize("phases", [None, 2, 20])
def test_blocks_of_messages_make_no_difference(phases, monkeypatch):
    graph = random_regular(150, 3, seed=1)
    links = len(graph.receivers)
    active = None if phases is None else np.ones((phases, links), dtype=bool)
    whole = spread(graph.links, active)
    monkeypatch.setattr(spread_module, "_WORDS", 1)
    parts = spread(graph.links, active)
    assert np.array_equal(whole.sent, parts.sent)
    assert np.array_equal(whole.complete, parts.complete)
    assert (whole.missing is None) == (parts.missing is None) == (phases != 2)


def test_a_message_that_is_missing_is_named_right_beyond_the_first_word():
    for first in range(0, 150, 29):
        order = [(first + i) % 150 for i in range(150)]
        line = Graph.from_edges(150, list(pairwise(order)))
        found = spread(line.links, np.ones((140, len(line.receivers)), dtype=bool))
        origin, agent = found.missing
        assert abs(order.index(origin) - order.index(agent)) > 140


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(sequences())
def test_what_spreads_over_changing_graphs(graphs):
    agents = len(graphs[0])
    found = flood(np.arange(agents), graphs)
    whole = Graph.from_edges(agents, [(i, j) for i in range(agents) for j in range(i)])
    active = np.stack([graph[whole.receivers, whole.senders] for graph in graphs])
    bits = spread(whole.links, active)
    assert cost_of(bits) == found.cost
    complete = [len(have) == agents for have in found.arrived]
    assert (bits.complete >= 0).tolist() == complete
    assert (bits.missing is None) == all(complete)
    if bits.missing is not None:
        origin, agent = bits.missing
        assert origin not in found.arrived[agent]


def test_what_a_neighbour_missed_follows_later():
    no = np.zeros((2, 2), dtype=bool)
    found = flood(np.array([1, 2]), [no, ~np.eye(2, dtype=bool)])
    assert [int(total) for total in found.totals] == [3, 3]
    assert found.cost == RelayCost(phases=2, messages=2, largest=1)
    assert flood(np.array([1, 2]), [no]).arrived == ({0: 1}, {1: 2})


@by_kind
def test_a_tree_brings_the_same_sum_to_everybody(graph):
    values = draw(graph, 2, 3)
    found = tree_sum(values, graph)
    assert np.array_equal(values, draw(graph, 2, 3))
    assert (found.totals == found.totals[0]).all()
    np.testing.assert_allclose(found.totals[0], values.sum(axis=0), atol=1e-13 * graph.agents)
    # the root is in the middle of the graph
    assert found.cost.phases == 2 * nx.radius(networkx(graph))
    assert found.cost.messages == 2 * (graph.agents - 1)


def test_the_most_that_one_agent_sends_in_a_tree():
    assert tree_sum(np.ones(6), star(6)).cost.largest == 5
    assert tree_sum(np.ones(7), path(7)).cost.largest == 2
    assert tree_sum(np.ones(7), tree(7)).cost.largest == 3


@by_kind
def test_whole_numbers_are_summed_modulo_2_to_the_64(graph):
    values = words(graph)
    with np.errstate(over="raise"):
        expected = [sum(map(int, column)) % 2**64 for column in values.T]
        for totals in (tree_sum(values, graph).totals, flooded(values, graph).totals):
            assert totals[0].dtype == np.uint64
            assert all(total.tolist() == expected for total in totals)
        single = tree_sum(values[:, 0], graph).totals
        assert single.tolist() == [expected[0]] * graph.agents
        assert [int(total) for total in flooded(values[:, 0], graph).totals] == single.tolist()


@by_kind
def test_a_polynomial_averages_in_finitely_many_steps(graph):
    values = draw(graph, 2)
    found = polynomial_sum(values, graph)
    np.testing.assert_allclose(
        found.totals, np.tile(values.sum(axis=0), (graph.agents, 1)), atol=1e-9
    )
    laplacian = nx.laplacian_matrix(networkx(graph)).toarray().astype(float)
    distinct = len(np.unique(np.linalg.eigvalsh(laplacian).round(6))) - 1
    degrees = np.asarray(graph.degrees)
    assert found.cost == RelayCost(
        distinct, distinct * int(degrees.sum()), distinct * int(degrees.max())
    )


def test_a_ring_of_ten_takes_five_steps():
    values = np.random.default_rng(0).normal(size=(10, 1000))
    found = polynomial_sum(values, ring(10))
    assert found.cost.phases == 5
    assert np.abs(found.totals / 10 - values.mean(axis=0)).max() < 4e-15


def test_the_order_of_the_eigenvalues_keeps_rounding_small(monkeypatch):
    values, graph = draw(ring(100)), ring(100)

    def error():
        return np.abs(polynomial_sum(values, graph).totals / 100 - values.mean()).max()

    assert error() < 1e-13
    monkeypatch.setattr(relay_module, "_leja", np.sort)
    assert error() > 1e6


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(random_trees(), st.integers(0, 2**32 - 1))
def test_random_trees(drawn, seed):
    graph = Graph.from_edges(*drawn)
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2**64, (graph.agents, 2), dtype=np.uint64)
    expected = values.sum(axis=0, dtype=np.uint64).tolist()
    assert all(total.tolist() == expected for total in flooded(values, graph).totals)
    assert all(total.tolist() == expected for total in tree_sum(values, graph).totals)
    assert flood_cost(graph.links) == flooded(values, graph).cost
    # every message crosses every edge of a tree once, or in both ways at once
    edges = graph.agents - 1
    assert edges * graph.agents <= flood_cost(graph.links).messages <= 2 * edges * graph.agents
    real = rng.uniform(-1.0, 1.0, graph.agents)
    np.testing.assert_allclose(polynomial_sum(real, graph).totals, real.sum(), atol=1e-7)


ARROWS = Graph.from_edges(3, [(0, 1), (1, 2), (2, 0)], directed=True)


@pytest.mark.parametrize(
    ("relay", "message"),
    [
        (lambda: polynomial_sum(np.arange(5, dtype=np.uint64), ring(5)), "and these are uint64"),
        (lambda: polynomial_sum(np.ones(3), ARROWS), "has no counterpart"),
        (lambda: polynomial_sum(np.ones(501), ring(501)), "at most 500 agents, and these are 501"),
        (lambda: tree_sum(np.ones(3), ARROWS), "has no counterpart"),
        (lambda: flood(np.ones(3), [adjacency(ARROWS)]), "phase 0 agent 0 hears agent 2 and not"),
    ],
)
def test_refused_sums(relay, message):
    with pytest.raises(NetworkError, match=message):
        relay()
