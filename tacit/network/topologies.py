"""Graphs by name, as a study file may request them."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from tacit import checks
from tacit.arguments import checked
from tacit.arguments.fields import Fields
from tacit.errors import NetworkError
from tacit.network.graph import Graph
from tacit.network.library import networkx_for
from tacit.network.links import component_labels, links_from_networkx

if TYPE_CHECKING:
    import networkx

ATTEMPTS = 100
"""Number of draws of a random graph that are tried until one is connected."""

_MOST = 10_000_000
"""Maximum number of agents of a graph."""

_MOST_LINKS = 20_000_000
"""Maximum number of pairs of agents that a graph joins."""


@checked(NetworkError)
def ring(agents: int, weights: object = None) -> Graph:
    """Agent `i` talks to `i - 1` and `i + 1`, around a circle.

    Args:
        agents: number of agents, at least 3.
        weights: weight rule or matrix; see `Graph.from_networkx`.

    Raises:
        NetworkError: too few agents.

    Example:
        >>> ring(5).neighbours()[0].tolist()
        [1, 4]
    """
    if (agents := _number_of_agents(agents, 1)) < 3:
        raise NetworkError(
            f"agents={agents}: a ring needs at least 3. Between two agents take path(2), which is "
            "complete(2) and star(2) as well; in a study, graph = 'path'"
        )
    own = np.arange(agents)
    return _from_pairs(agents, own, (own + 1) % agents, weights, "ring")


@checked(NetworkError)
def path(agents: int, weights: object = None) -> Graph:
    """Agents in a row: agent `i` talks to `i - 1` and `i + 1`, if they exist.

    Args:
        agents: number of agents, at least 2.
        weights: weight rule or matrix; see `Graph.from_networkx`.

    Raises:
        NetworkError: too few agents.
    """
    agents = _number_of_agents(agents)
    own = np.arange(agents - 1)
    return _from_pairs(agents, own, own + 1, weights, "path")


@checked(NetworkError)
def star(agents: int, weights: object = None) -> Graph:
    """Peers around agent 0; for a coordinator that owns no data, see `Coordinator`.

    Args:
        agents: number of agents, at least 2, the centre included.
        weights: weight rule or matrix; see `Graph.from_networkx`.

    Raises:
        NetworkError: too few agents.
    """
    agents = _number_of_agents(agents)
    others = np.arange(1, agents)
    return _from_pairs(agents, np.zeros_like(others), others, weights, "star")


@checked(NetworkError)
def complete(agents: int, weights: object = None) -> Graph:
    """Every agent talks to every other.

    Args:
        agents: number of agents, at least 2.
        weights: weight rule or matrix; see `Graph.from_networkx`.

    Raises:
        NetworkError: too few agents, or more than 20 million links (more than 6,325 agents).
    """
    agents = _number_of_agents(agents)
    _check_links(agents * (agents - 1) // 2, f"complete({agents})")
    return _from_pairs(agents, *np.triu_indices(agents, k=1), weights, "complete")


@checked(NetworkError)
def grid(rows: int, columns: int, weights: object = None) -> Graph:
    """A rectangle in which agent `row * columns + column` talks to those beside, above and below.

    Args:
        rows: number of rows, at least 1.
        columns: number of columns, at least 1; not both 1.
        weights: weight rule or matrix; see `Graph.from_networkx`.

    Raises:
        NetworkError: too few agents.
    """
    rows, columns = _at_least(1, rows=rows), _at_least(1, columns=columns)
    _number_of_agents(rows * columns)
    ids = np.arange(rows * columns).reshape(rows, columns)
    one_end = np.concatenate([ids[:, :-1].ravel(), ids[:-1].ravel()])
    other_end = np.concatenate([ids[:, 1:].ravel(), ids[1:].ravel()])
    return _from_pairs(rows * columns, one_end, other_end, weights, "grid")


@checked(NetworkError)
def tree(agents: int, branching: int = 2, weights: object = None) -> Graph:
    """A full tree with agent 0 at its root, filled level by level.

    Args:
        agents: number of agents, at least 2.
        branching: number of children per agent, at least 1.
        weights: weight rule or matrix; see `Graph.from_networkx`.

    Raises:
        NetworkError: too few agents or children.
    """
    agents = _number_of_agents(agents)
    branching = _at_least(1, branching=branching)
    children = np.arange(1, agents)
    return _from_pairs(agents, (children - 1) // branching, children, weights, "tree")


@checked(NetworkError)
def erdos_renyi(agents: int, probability: float, seed: int, weights: object = None) -> Graph:
    """Each pair of agents is joined with the same probability, independently.

    Args:
        agents: number of agents, at least 2.
        probability: link probability, above 0 and at most 1; below `log(agents) / agents` the graph
            is likely disconnected.
        seed: seed of the draw; up to 100 draws are tried until one is connected.
        weights: weight rule or matrix; see `Graph.from_networkx`.

    Raises:
        NetworkError: an argument out of range, more than 20 million links to be expected, no
            connected draw, or NetworkX is not installed.
    """
    nx = networkx_for("erdos_renyi")
    agents = _number_of_agents(agents)
    checks.real("probability", probability, NetworkError)
    if not 0.0 < probability <= 1.0:
        raise NetworkError(f"probability={probability} must be above 0 and at most 1")
    _check_links(probability * agents * (agents - 1) / 2, f"probability={probability}")
    return _first_connected(
        lambda draw: nx.fast_gnp_random_graph(agents, probability, seed=draw),
        seed,
        weights,
        "erdos_renyi",
        f"probability={probability} for {agents} agents; raise it, best above "
        f"log(agents) / agents = {np.log(agents) / agents:.3g}",
    )


@checked(NetworkError)
def random_regular(agents: int, degree: int, seed: int, weights: object = None) -> Graph:
    """A random graph in which every agent has the same number of neighbours.

    Args:
        agents: number of agents, at least 2.
        degree: neighbours per agent, at least 1, below `agents`; `agents * degree` must be even.
        seed: seed of the draw; up to 100 draws are tried until one is connected.
        weights: weight rule or matrix; see `Graph.from_networkx`.

    Raises:
        NetworkError: an argument out of range, more than 20 million links to be expected, no
            connected draw, or NetworkX is not installed.
    """
    nx = networkx_for("random_regular")
    agents = _number_of_agents(agents)
    degree = _at_least(1, degree=degree)
    if degree >= agents or agents * degree % 2:
        raise NetworkError(
            f"degree={degree} is impossible for {agents} agents: it must be below the number of "
            "agents, and one of the two must be even"
        )
    _check_links(agents * degree // 2, f"degree={degree}")
    return _first_connected(
        lambda draw: nx.random_regular_graph(degree, agents, seed=draw),
        seed,
        weights,
        "random_regular",
        f"degree={degree} for {agents} agents; take at least 3",
    )


@checked(NetworkError)
def geometric(agents: int, radius: float, seed: int, weights: object = None) -> Graph:
    """Agents at random positions in the unit square talk to those within a radius.

    Args:
        agents: number of agents, at least 2.
        radius: link radius, positive; below the square root of `log(agents) / (pi * agents)` the
            graph is likely disconnected.
        seed: seed of the draw; up to 100 draws are tried until one is connected.
        weights: weight rule or matrix; see `Graph.from_networkx`.

    Raises:
        NetworkError: an argument out of range, more than 20 million links to be expected, no
            connected draw, or NetworkX is not installed.
    """
    nx = networkx_for("geometric")
    agents = _number_of_agents(agents)
    checks.real("radius", radius, NetworkError)
    if not radius > 0.0:
        raise NetworkError(f"radius={radius} must be positive")
    # at least a quarter of a disc lies within the square, and all of it does within the diagonal
    within = min(1.0, math.pi / 4 * min(radius, 1.0) ** 2)
    _check_links(within * agents * (agents - 1) / 2, f"radius={radius}")
    return _first_connected(
        lambda draw: nx.random_geometric_graph(agents, radius, seed=draw),
        seed,
        weights,
        "geometric",
        f"radius={radius} for {agents} agents; raise it, best above sqrt(log(agents) / "
        f"(pi * agents)) = {np.sqrt(np.log(agents) / (np.pi * agents)):.3g}",
    )


@checked(NetworkError)
def small_world(
    agents: int, neighbours: int, rewiring: float, seed: int, weights: object = None
) -> Graph:
    """A ring with links to the nearest neighbours, some of them rewired at random.

    Source: Watts, Strogatz (1998), Collective Dynamics of 'Small-World' Networks, figure 1.

    Args:
        agents: number of agents, at least 3.
        neighbours: neighbours of each agent before rewiring: even, at least 2 and below `agents`.
        rewiring: probability that a link is rewired, from 0 to 1.
        seed: seed of the draw; up to 100 draws are tried until one is connected.
        weights: weight rule or matrix; see `Graph.from_networkx`.

    Raises:
        NetworkError: an argument out of range, more than 20 million links to be expected, no
            connected draw, or NetworkX is not installed.
    """
    nx = networkx_for("small_world")
    agents = _number_of_agents(agents, 3)
    neighbours = _at_least(2, neighbours=neighbours)
    if neighbours < 2 or neighbours % 2 or neighbours >= agents:
        raise NetworkError(
            f"neighbours={neighbours} must be even, at least 2 and below the {agents} agents"
        )
    if not 0.0 <= rewiring <= 1.0:
        raise NetworkError(f"rewiring={rewiring} must be from 0 to 1")
    _check_links(agents * neighbours // 2, f"neighbours={neighbours}")
    return _first_connected(
        lambda draw: nx.watts_strogatz_graph(agents, neighbours, rewiring, seed=draw),
        seed,
        weights,
        "small_world",
        f"neighbours={neighbours} and rewiring={rewiring} for {agents} agents; raise neighbours or "
        "lower rewiring",
    )


class AbstractTopology(metaclass=Fields):
    """A rule for drawing a graph, which another package can add to study files.

    The fields of the class are its arguments, and keys of [network] if the `Args:` of its
    docstring describe them; the number of agents follows from the study. tacit's own graphs are
    functions (`TOPOLOGIES`).

    Example:
        >>> import networkx as nx
        >>> class Lollipop(AbstractTopology):
        ...     tail: int = 2
        ...     def graph(self, agents):
        ...         return nx.lollipop_graph(agents - self.tail, self.tail)
        >>> Graph.from_networkx(Lollipop(tail=1).graph(5)).degrees.tolist()
        [3, 3, 3, 4, 1]
    """

    @abc.abstractmethod
    def graph(self, agents: int) -> networkx.Graph[Any]:
        """The graph, the same on every call.

        Its nodes are the agents: of the same names if they are names, else in sorted order.

        Args:
            agents: number of nodes, at least 2.
        """


@dataclass(frozen=True)
class Topology:
    """One entry of the registry.

    Attributes:
        build: function that builds the graph.
        required: required arguments, with their types.
        optional: arguments with a default, with their types.
    """

    build: Callable[..., Graph]
    required: Mapping[str, type]
    optional: Mapping[str, type] = field(default_factory=dict[str, type])

    @property
    def random(self) -> bool:
        """Whether the graph is drawn with a seed."""
        return "seed" in self.required


TOPOLOGIES: Mapping[str, Topology] = MappingProxyType(
    {
        "ring": Topology(ring, {"agents": int}),
        "path": Topology(path, {"agents": int}),
        "star": Topology(star, {"agents": int}),
        "complete": Topology(complete, {"agents": int}),
        "grid": Topology(grid, {"rows": int, "columns": int}),
        "tree": Topology(tree, {"agents": int}, {"branching": int}),
        "erdos_renyi": Topology(erdos_renyi, {"agents": int, "probability": float, "seed": int}),
        "random_regular": Topology(random_regular, {"agents": int, "degree": int, "seed": int}),
        "geometric": Topology(geometric, {"agents": int, "radius": float, "seed": int}),
        "small_world": Topology(
            small_world, {"agents": int, "neighbours": int, "rewiring": float, "seed": int}
        ),
    }
)
"""Names in study files, and the functions that build them; each also takes `weights`."""


def _at_least(least: int, **argument: Any) -> int:
    ((name, value),) = argument.items()
    return checks.whole(name, value, least, NetworkError)


def _number_of_agents(agents: int, least: int = 2) -> int:
    number = _at_least(least, agents=agents)
    if number > _MOST:
        raise NetworkError(f"agents={number:,} must be at most {_MOST:,}: more fit in no memory")
    return number


def _check_links(links: int | float, cause: str) -> None:
    """Refuse a graph with more links than memory has room for, before any of them is made."""
    if links > _MOST_LINKS:
        about = "about " if isinstance(links, float) else ""
        raise NetworkError(
            f"{cause} makes {about}{links:,.0f} links, and a graph may have {_MOST_LINKS:,}: "
            "more fit in no memory. Take fewer agents or a sparser graph; a coordinator needs none"
        )


def _from_pairs(
    agents: int,
    one_end: Int[np.ndarray, " edges"],
    other_end: Int[np.ndarray, " edges"],
    weights: object,
    kind: str,
) -> Graph:
    pairs = np.stack([one_end, other_end], axis=1)
    return Graph.from_edges(agents, pairs, weights=weights, kind=kind)


def _first_connected(
    draw: Callable[[int], networkx.Graph[Any]], seed: int, weights: object, kind: str, cause: str
) -> Graph:
    seed = _at_least(0, seed=seed)
    for attempt in np.random.SeedSequence(seed).generate_state(ATTEMPTS).tolist():
        links = links_from_networkx(draw(attempt))
        if component_labels(links)[0] == 1:
            return Graph(links, weights, kind)
    raise NetworkError(f"none of {ATTEMPTS} draws of the {kind} graph is connected: {cause}")
