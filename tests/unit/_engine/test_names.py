"""Agents of a network and of a problem are matched by their names, or refused."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import tacit
from tacit import network, problem
from tacit._engine.names import check_names, graph_of
from tacit.errors import NetworkError

NAMES = ("west", "north", "south")
LINE = nx.path_graph(NAMES)


def task(names: Any = NAMES) -> problem.Problem:
    rows = [np.eye(2) + k for k in range(3)]
    return problem.empirical_risk(rows, [np.ones(2)] * 3, problem.Squared(), names=names)


def solutions(graph: Any) -> np.ndarray:
    return tacit.run(task(), graph, tacit.DGD(step=0.1), rounds=3, seed=0).solutions


def test_a_graph_of_the_same_names_is_taken_by_name() -> None:
    assert np.array_equal(solutions(LINE), solutions(network.path(3)))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (network.Graph.from_networkx(LINE), r"in another order.*names=problem\.names"),
        (nx.path_graph(["x", "y", "z"]), "x, y, z, and the problem west, north, south"),
        (nx.path_graph(["west", "north", "east"]), "give both the same names"),
    ],
)
def test_another_order_and_other_names_are_refused(given: Any, told: str) -> None:
    with pytest.raises(NetworkError, match=told):
        solutions(given)
    with pytest.raises(NetworkError, match=told):
        tacit.account(task(), given, tacit.DGD(step=0.1), rounds=3)


def test_clients_in_another_order_are_refused() -> None:
    star = network.Coordinator(["north", "south", "west"])
    with pytest.raises(NetworkError, match="in another order"):
        tacit.run(task(), star, tacit.GradientDescent(step=0.1), rounds=2, seed=0)


@pytest.mark.parametrize(
    "graph",
    [
        nx.path_graph(3),
        nx.path_graph([3, 1, 2]),
        nx.path_graph([(0, 1), (0, 2), (0, 3)]),
        nx.path_graph(["agent 0", "agent 1", "agent 2"]),
    ],
)
def test_numbers_and_places_are_taken_in_order(graph: nx.Graph) -> None:
    made = graph_of(graph, NAMES)
    assert list(made.names) == sorted(graph.nodes)
    check_names(made, NAMES)


def test_a_problem_without_names_takes_any() -> None:
    check_names(graph_of(LINE, ()), task(names=None).names)


def test_numbers_that_are_the_names_are_matched() -> None:
    assert graph_of(nx.path_graph([10, 9, 11]), ("10", "9", "11")).names == (10, 9, 11)
