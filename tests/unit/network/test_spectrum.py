"""Eigenvalues against the known ones of rings, paths and complete graphs."""

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from tacit.errors import NetworkError
from tacit.network import (
    Coordinator,
    Graph,
    LinkFailure,
    Periodic,
    RandomActivation,
    complete,
    grid,
    laplacian_extremes,
    path,
    random_regular,
    ring,
    small_world,
    smallest_positive_weight,
    spectral_gap,
    star,
)
from tacit.network.spectrum import _factors_are_small


def dense(graph):
    matrix = np.diag(np.asarray(graph.self_weight))
    matrix[np.asarray(graph.receivers), np.asarray(graph.senders)] = graph.weight
    return matrix


@pytest.mark.parametrize("agents", [5, 6, 600, 2000])
def test_gap_of_a_ring(agents):
    exact = 2 / 3 * (1 - np.cos(2 * np.pi / agents))
    assert spectral_gap(ring(agents)) == pytest.approx(exact, rel=1e-6)


def test_gap_where_the_smallest_eigenvalue_decides():
    swap = np.array([[0.1, 0.9], [0.9, 0.1]])
    assert spectral_gap(path(2, weights=swap)) == pytest.approx(1 - 0.8)


def test_gap_of_large_graphs_agrees_with_all_eigenvalues():
    graph = random_regular(600, 4, seed=0)
    values = np.sort(np.abs(np.linalg.eigvalsh(dense(graph))))
    assert spectral_gap(graph) == pytest.approx(1 - values[-2], rel=1e-5)


def test_gap_of_a_directed_ring():
    # The weights are 1/2 each, the eigenvalues (1 + exp(i t)) / 2.
    arrows = nx.cycle_graph(7, create_using=nx.DiGraph)
    assert spectral_gap(Graph.from_networkx(arrows)) == pytest.approx(1 - np.cos(np.pi / 7))


@pytest.mark.not_quick
def test_gap_of_a_large_directed_graph_agrees_with_all_eigenvalues():
    generator = np.random.default_rng(0)
    own = np.arange(510)
    arrows = [np.stack([own, generator.permutation(510)], axis=1) for _ in range(4)]
    arrows = np.concatenate([np.stack([own, (own + 1) % 510], axis=1), *arrows])
    graph = Graph.from_edges(510, arrows[arrows[:, 0] != arrows[:, 1]], directed=True)
    values = np.sort(np.abs(np.linalg.eigvals(dense(graph))))
    assert spectral_gap(graph) == pytest.approx(1 - values[-2], rel=1e-6)


def test_a_large_directed_graph_that_mixes_too_slowly(monkeypatch):
    monkeypatch.setattr("tacit.network.spectrum._MANY", 3)
    arrows = nx.cycle_graph(501, create_using=nx.DiGraph)
    with pytest.raises(NetworkError, match="network of 501 agents did not converge"):
        spectral_gap(Graph.from_networkx(arrows))


def test_eigenvalues_that_are_reached_only_approximately(monkeypatch):
    monkeypatch.setattr("tacit.network.spectrum._factors_are_small", lambda matrix: False)
    graph = ring(600)
    exact = 2 / 3 * (1 - np.cos(2 * np.pi / 600))
    assert spectral_gap(graph) == pytest.approx(exact, abs=1e-5)
    monkeypatch.setattr("tacit.network.spectrum._MANY", 1)
    with pytest.raises(NetworkError, match="network of 600 agents did not converge"):
        spectral_gap(graph)


def test_factors_of_narrow_graphs_only(monkeypatch):
    monkeypatch.setattr("tacit.network.spectrum._FACTORED", 400)
    for graph, small in ((ring(600), True), (random_regular(600, 4, seed=0), False)):
        links = graph.links
        ones = np.ones(len(links.receivers))
        adjacency = csr_array((ones, (links.receivers, links.senders)), shape=(600, 600))
        assert _factors_are_small(adjacency) == small


@pytest.mark.parametrize("agents", [5, 6, 600, 601])
def test_laplacians_of_a_ring(agents):
    found = laplacian_extremes(ring(agents))
    angles = 2 * np.pi * np.arange(agents) / agents
    signed = np.sort(2 - 2 * np.cos(angles))
    signless = np.sort(2 + 2 * np.cos(angles))
    assert found.signed_largest == pytest.approx(signed[-1], rel=1e-5)
    assert found.signed_smallest_nonzero == pytest.approx(signed[1], rel=1e-6)
    assert found.signless_largest == pytest.approx(signless[-1], rel=1e-5)
    assert found.signless_smallest == pytest.approx(signless[0], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(
    "graph",
    [complete(8), path(6), star(7), grid(24, 25), small_world(520, 4, 0.3, seed=2)],
    ids=lambda graph: graph.kind,
)
def test_laplacians_agree_with_all_eigenvalues(graph):
    adjacency = np.zeros((graph.agents, graph.agents))
    adjacency[graph.receivers, graph.senders] = 1
    degrees = np.diag(graph.degrees)
    signed = np.linalg.eigvalsh(degrees - adjacency)
    signless = np.linalg.eigvalsh(degrees + adjacency)
    found = laplacian_extremes(graph)
    assert found.signed_largest == pytest.approx(signed[-1], rel=1e-5)
    assert found.signed_smallest_nonzero == pytest.approx(signed[1], rel=1e-6)
    assert found.signless_largest == pytest.approx(signless[-1], rel=1e-5)
    assert found.signless_smallest == pytest.approx(signless[0], rel=1e-6, abs=1e-9)


def test_smallest_positive_weight():
    assert smallest_positive_weight(star(5)) == pytest.approx(1 / 5)
    assert smallest_positive_weight(Coordinator(8)) == 1 / 8
    assert smallest_positive_weight(RandomActivation(star(5), 0.5)) == pytest.approx(1 / 5)
    assert smallest_positive_weight(LinkFailure(ring(5), 0.5)) == pytest.approx(1 / 3)
    pairs = [nx.Graph([(0, 1), (2, 3)]), nx.path_graph(4)]
    assert smallest_positive_weight(Periodic(pairs, 2)) == pytest.approx(1 / 3)


def test_questions_without_an_answer():
    arrows = Graph.from_edges(3, [(0, 1), (1, 2), (2, 0)], directed=True)
    with pytest.raises(NetworkError, match="defined for undirected graphs"):
        laplacian_extremes(arrows)
    with pytest.raises(NetworkError, match="no links between agents"):
        laplacian_extremes(Coordinator(3))
    with pytest.raises(NetworkError, match="LinkFailure network has no one mixing matrix"):
        spectral_gap(LinkFailure(ring(4), 0.5))
