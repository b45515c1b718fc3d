"""Named graphs, compared with NetworkX's."""

import inspect
import sys
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest

from tacit.errors import NetworkError
from tacit.network import (
    TOPOLOGIES,
    complete,
    erdos_renyi,
    geometric,
    grid,
    layout,
    path,
    random_regular,
    ring,
    small_world,
    star,
    tree,
)


def edges_of(graph):
    pairs = zip(
        np.asarray(graph.senders).tolist(), np.asarray(graph.receivers).tolist(), strict=True
    )
    return {(low, high) for low, high in pairs if low < high}


@pytest.mark.parametrize(
    ("graph", "reference"),
    [
        (ring(7), nx.cycle_graph(7)),
        (path(6), nx.path_graph(6)),
        (star(5), nx.star_graph(4)),
        (complete(6), nx.complete_graph(6)),
        (grid(3, 4), nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 4))),
        (tree(11, branching=3), nx.full_rary_tree(3, 11)),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_same_edges_as_networkx(graph, reference):
    assert edges_of(graph) == {tuple(sorted(edge)) for edge in reference.edges}
    assert graph.names == range(len(reference))


def test_random_graphs_have_the_asked_properties():
    assert random_regular(20, 3, seed=1).degrees.tolist() == [3] * 20
    assert small_world(20, 4, 0.2, seed=1).degrees.sum() == 80
    assert erdos_renyi(30, 1.0, seed=0).degrees.tolist() == [29] * 30
    assert geometric(10, 1.5, seed=0).degrees.tolist() == [9] * 10


@pytest.mark.parametrize(
    "build",
    [
        lambda seed: erdos_renyi(15, 0.3, seed),
        lambda seed: random_regular(16, 3, seed),
        lambda seed: geometric(15, 0.4, seed),
        lambda seed: small_world(16, 4, 0.5, seed),
    ],
)
def test_a_seed_fixes_the_graph(build):
    assert edges_of(build(3)) == edges_of(build(3))
    assert edges_of(build(3)) != edges_of(build(4))


def test_disconnected_draws_are_repeated():
    # Two-regular graphs on 12 agents are unions of circles; about a third of them is one circle.
    assert random_regular(12, 2, seed=0).agents == 12


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: ring(2),
            r"agents=2: a ring needs at least 3. .* take path\(2\), .* graph = 'path'",
        ),
        (lambda: path(1), "agents=1 must be at least 2"),
        (lambda: star(1), "agents=1"),
        (lambda: complete(1), "agents=1"),
        (lambda: grid(0, 5), "rows=0"),
        (lambda: grid(1, 1), "agents=1"),
        (lambda: tree(3, branching=0), "branching=0"),
        (lambda: erdos_renyi(5, 0.0, 0), r"probability=0\.0"),
        (lambda: erdos_renyi(60, 0.01, 0), "none of 100 draws .* raise it, best above .* 0.0682"),
        (lambda: random_regular(5, 3, 0), "degree=3 is impossible for 5 agents"),
        (lambda: random_regular(4, 4, 0), "degree=4 is impossible"),
        (lambda: random_regular(6, 1, 0), "none of 100 draws .* take at least 3"),
        (lambda: geometric(5, 0.0, 0), r"radius=0\.0 must be positive"),
        (lambda: geometric(50, 0.01, 0), "none of 100 draws .* radius=0.01"),
        (lambda: small_world(10, 3, 0.1, 0), "neighbours=3 must be even"),
        (lambda: small_world(10, 10, 0.1, 0), "neighbours=10"),
        (lambda: small_world(10, 2, 1.5, 0), r"rewiring=1\.5"),
        (lambda: erdos_renyi(5, 0.5, -1), "seed=-1 must be at least 0"),
        (lambda: complete(10**6), r"complete\(1000000\) makes 499,999,500,000 links"),
        (lambda: erdos_renyi(10**5, 0.5, 0), "probability=0.5 makes about 2,499,975,000 links"),
        (lambda: random_regular(10**5, 1000, 0), "degree=1000 makes 50,000,000 links"),
        (lambda: geometric(10**5, 0.5, 0), "radius=0.5 makes about 981,737,887 links"),
        (lambda: small_world(10**5, 1000, 0.1, 0), "neighbours=1000 makes 50,000,000 links"),
    ],
)
def test_impossible_arguments(build, message):
    with pytest.raises(NetworkError, match=message):
        build()


def test_a_small_world_that_falls_apart(monkeypatch):
    monkeypatch.setattr("tacit.network.topologies.ATTEMPTS", 1)
    with pytest.raises(NetworkError, match=r"none of 1 draws .* lower rewiring"):
        small_world(300, 2, 1.0, seed=0)


def test_the_registry_knows_every_argument():
    for name, topology in TOPOLOGIES.items():
        assert topology.build.__name__ == name
        arguments = inspect.signature(topology.build).parameters
        needed = {key for key, given in arguments.items() if given.default is given.empty}
        assert set(topology.required) == needed
        assert set(topology.optional) | {"weights"} == set(arguments) - needed
        assert topology.random == ("seed" in arguments)


def test_a_hundred_thousand_agents():
    assert ring(100_000, weights="max_degree").agents == 100_000


@pytest.mark.parametrize(
    "call",
    [
        lambda: erdos_renyi(5, 0.9, seed=0),
        lambda: random_regular(6, 3, seed=0),
        lambda: geometric(5, 0.9, seed=0),
        lambda: small_world(6, 2, 0.1, seed=0),
        lambda: layout(grid(2, 3)),
    ],
)
def test_without_networkx_the_extra_is_named(
    call: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(NetworkError, match=r"needs networkx; .*'tacit\[graphs\]'"):
        call()
