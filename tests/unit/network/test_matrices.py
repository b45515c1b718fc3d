"""Graphs as matrices: links and weights where they belong, and no more agents than fit."""

import networkx as nx
import numpy as np
import pytest

from tacit.errors import NetworkError
from tacit.network import Graph, adjacency_matrix, ring, star, weight_matrix


def test_weights_are_rows_of_receivers() -> None:
    graph = star(4)
    weights = weight_matrix(graph)
    np.testing.assert_allclose(weights.sum(1), 1)
    for sender, receiver, weight in zip(graph.senders, graph.receivers, graph.weight, strict=True):
        assert weights[receiver, sender] == weight


def test_neighbours_are_so_in_either_direction() -> None:
    one_way = Graph.from_networkx(nx.cycle_graph(3, create_using=nx.DiGraph))
    np.testing.assert_array_equal(adjacency_matrix(one_way), ~np.eye(3, dtype=bool))


@pytest.mark.parametrize("matrix", [weight_matrix, adjacency_matrix])
def test_a_matrix_that_fits_in_no_memory_is_refused(matrix) -> None:
    with pytest.raises(NetworkError, match="matrix of 100,000 agents"):
        matrix(ring(100_000))
