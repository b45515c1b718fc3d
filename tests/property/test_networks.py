"""Mixing matrices of any graph, in any round, are doubly stochastic."""

import equinox as eqx
import jax
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.network import Graph, LinkFailure, Periodic, RandomActivation

KEY = jax.random.key(0)
BARBELL = Graph.from_networkx(nx.barbell_graph(4, 2))


@st.composite
def connected_graphs(draw):
    agents = draw(st.integers(2, 9))
    graph = nx.Graph((draw(st.integers(0, i - 1)), i) for i in range(1, agents))
    ends = st.integers(0, agents - 1)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=12))
    graph.add_edges_from((one, other) for one, other in pairs if one != other)
    return graph


@st.composite
def strongly_connected_graphs(draw):
    agents = draw(st.integers(2, 7))
    graph = nx.cycle_graph(agents, create_using=nx.DiGraph)
    ends = st.integers(0, agents - 1)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=10))
    graph.add_edges_from((one, other) for one, other in pairs if one != other)
    return graph


def matrix_of(network, round, key=KEY):
    mixing = network.mixing(round, key)
    matrix = np.diag(np.asarray(mixing.self_weight))
    matrix[np.asarray(network.receivers), np.asarray(network.senders)] = mixing.weight
    return matrix


def assert_doubly_stochastic(matrix):
    assert (matrix >= 0).all()
    assert np.abs(matrix.sum(axis=0) - 1).max() < 1e-12
    assert np.abs(matrix.sum(axis=1) - 1).max() < 1e-12


@settings(max_examples=40, deadline=None)
@given(connected_graphs(), st.sampled_from(["metropolis", "max_degree", "balanced"]))
def test_every_rule(graph, rule):
    matrix = matrix_of(Graph.from_networkx(graph, rule), 0)
    assert_doubly_stochastic(matrix)
    off = ~np.eye(len(graph), dtype=bool)
    assert np.array_equal(matrix[off] > 0, nx.to_numpy_array(graph, range(len(graph)))[off] > 0)


@settings(max_examples=40, deadline=None)
@given(strongly_connected_graphs())
def test_directed_graphs_are_balanced(graph):
    assert_doubly_stochastic(matrix_of(Graph.from_networkx(graph), 0))


@eqx.filter_jit
def drawn(network, rounds, key):
    return jax.vmap(lambda round: network.mixing(round, key))(rounds)


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([RandomActivation, LinkFailure]),
    st.floats(0.05, 0.95),
    st.integers(0, 2**31 - 1),
)
def test_drawn_networks_in_every_round(kind, probability, seed):
    with jax.enable_x64(True):
        network = kind(BARBELL, probability)
        mixing = drawn(network, np.arange(4), jax.random.key(seed))
    for weight, self_weight in zip(mixing.weight, mixing.self_weight, strict=True):
        matrix = np.diag(np.asarray(self_weight))
        matrix[BARBELL.receivers, BARBELL.senders] = weight
        assert_doubly_stochastic(matrix)
        assert np.array_equal(matrix, matrix.T)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=10, max_size=10))
def test_parts_of_a_graph_in_turn_are_jointly_connected(turns):
    whole = nx.complete_graph(5)
    parts = []
    for turn in range(3):
        part = nx.empty_graph(5)
        part.add_edges_from(
            edge for edge, its in zip(whole.edges, turns, strict=True) if its == turn
        )
        parts.append(part)
    with jax.enable_x64(True):
        network = Periodic(parts, connected=3)
        for round in range(3):
            matrix = matrix_of(network, round)
            assert_doubly_stochastic(matrix)
            joined = nx.to_numpy_array(parts[round], range(5)) > 0
            assert np.array_equal((matrix > 0) & ~np.eye(5, dtype=bool), joined)
