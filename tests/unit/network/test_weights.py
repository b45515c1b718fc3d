"""Doubly stochastic weights, by rule and by the user's matrix."""

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tacit.errors import NetworkError
from tacit.network import Graph, complete, path, ring, star
from tacit.network.links import links_from_networkx
from tacit.network.weights import balanced, metropolis


def matrix_of(graph):
    matrix = np.diag(np.asarray(graph.self_weight))
    matrix[np.asarray(graph.receivers), np.asarray(graph.senders)] = graph.weight
    return matrix


def doubly_stochastic(matrix):
    return np.allclose(matrix.sum(0), 1, atol=1e-12) and np.allclose(matrix.sum(1), 1, atol=1e-12)


def test_metropolis_on_a_path():
    expected = [[2 / 3, 1 / 3, 0], [1 / 3, 1 / 3, 1 / 3], [0, 1 / 3, 2 / 3]]
    assert np.allclose(matrix_of(path(3)), expected)


def test_metropolis_takes_the_larger_degree_of_a_link():
    # degrees 3, 2, 2, 1
    links = links_from_networkx(nx.Graph([(0, 1), (0, 2), (0, 3), (1, 2)]))
    weight, own = metropolis(links)
    expected = {(0, 1): 1 / 4, (0, 2): 1 / 4, (0, 3): 1 / 4, (1, 2): 1 / 3}
    for receiver, sender, value in zip(links.receivers, links.senders, weight, strict=True):
        assert value == pytest.approx(expected[min(receiver, sender), max(receiver, sender)])
    assert own == pytest.approx([1 / 4, 5 / 12, 5 / 12, 3 / 4])


def test_max_degree_on_a_star():
    matrix = matrix_of(star(4, weights="max_degree"))
    assert np.allclose(np.diag(matrix), [1 / 4, 3 / 4, 3 / 4, 3 / 4])
    assert doubly_stochastic(matrix)


def test_complete_graph_averages_in_one_step():
    assert np.allclose(matrix_of(complete(5)), 1 / 5)


def test_balanced_weights_of_a_directed_ring():
    graph = Graph.from_networkx(nx.cycle_graph(5, create_using=nx.DiGraph))
    assert np.allclose(graph.weight, 0.5)
    assert np.allclose(graph.self_weight, 0.5)


def test_balanced_weights_of_an_uneven_directed_graph():
    # A path of arrows with ways back to the start from every agent.
    arrows = [(i, i + 1) for i in range(5)] + [(i, 0) for i in range(1, 6)]
    graph = Graph.from_edges(6, arrows, directed=True)
    matrix = matrix_of(graph)
    assert doubly_stochastic(matrix)
    assert (matrix >= 0).all()
    assert np.asarray(graph.weight).min() > 0


def test_a_link_on_no_cycle_has_no_weights():
    arrows = nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "c")])
    with pytest.raises(NetworkError, match="link from 'b' to 'c' lies on no cycle"):
        balanced(links_from_networkx(arrows))


def test_weights_that_converge_too_slowly_are_refused(monkeypatch):
    monkeypatch.setattr("tacit.network.weights._SINKHORN_STEPS", 2)
    arrows = [(0, 1), (1, 2), (2, 0), (1, 0)]
    with pytest.raises(NetworkError, match=r"after 2 Sinkhorn steps .*give a weight matrix"):
        Graph.from_edges(3, arrows, directed=True)


LAZY = np.array([[0.5, 0.25, 0.25], [0.25, 0.75, 0], [0.25, 0, 0.75]])


@pytest.mark.parametrize("form", [np.asarray, csr_matrix, np.ndarray.tolist])
def test_a_users_matrix(form):
    graph = star(3, weights=form(LAZY))
    assert np.array_equal(matrix_of(graph), LAZY)


def test_a_users_matrix_of_a_directed_graph():
    shift = np.roll(np.eye(4), 1, axis=0)
    graph = Graph.from_edges(
        4, [(0, 1), (1, 2), (2, 3), (3, 0)], True, 0.25 * np.eye(4) + 0.75 * shift
    )
    assert np.allclose(graph.weight, 0.75)


def changed(row, column, value):
    matrix = LAZY.copy()
    matrix[row, column] = value
    return matrix


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.eye(2), r"shape \(2, 2\); 3 agents need \(3, 3\)"),
        (changed(0, 1, -0.25), "-0.25 at row 0, column 1"),
        (changed(0, 1, np.nan), "nan at row 0, column 1"),
        (changed(1, 2, 0.1), "positive at row 1, column 2 .* no such link"),
        (changed(0, 1, 0.0), "0 at row 0, column 1 .* where the graph has a link"),
        (changed(1, 1, 0.8), r"row 1 \(agent 1\) sums to 1\.05"),
        (np.array([[0.4, 0.3, 0.3], [0.2, 0.8, 0], [0.2, 0, 0.8]]), r"column 0 .* sums to 0\.8"),
        ("fastest", r"weights='fastest' .* choose one of \['balanced'"),
    ],
)
def test_refused_weights(weights, message):
    with pytest.raises(NetworkError, match=message):
        star(3, weights=weights)


@pytest.mark.parametrize("rule", ["metropolis", "max_degree"])
def test_symmetric_rules_are_refused_on_directed_graphs(rule):
    with pytest.raises(NetworkError, match=f"{rule}.*use weights='balanced'"):
        Graph.from_edges(3, [(0, 1), (1, 2), (2, 0)], directed=True, weights=rule)


def test_balanced_equals_uniform_on_an_undirected_ring():
    assert np.allclose(matrix_of(ring(6, weights="balanced")), matrix_of(ring(6)))
