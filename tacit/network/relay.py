"""Sums that peers compute exactly by relaying over a graph: flooding, a tree, a polynomial.

Each function passes real values from neighbour to neighbour and counts its own work: a phase is a
period in which every agent may send to its neighbours once, a message is one vector over one
directed link. All agents know the graph, so no agent announces an end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from tacit.errors import NetworkError
from tacit.network.graph import Graph
from tacit.network.links import Links
from tacit.network.spread import Spread, spread

MOST_FILTERED = 500
"""Largest number of agents for a polynomial, for which all eigenvalues are computed."""

_SAME = 1e-10
"""Eigenvalues closer than this fraction of the largest are treated as one."""


@dataclass(frozen=True)
class RelayCost:
    """The cost of a sum.

    Attributes:
        phases: number of phases, in sequence, in which agents may send.
        messages: number of vectors sent over directed links, over all agents.
        largest: largest number of messages sent by one agent.
    """

    phases: int
    messages: int
    largest: int


@dataclass(frozen=True)
class Flooded:
    """The result of flooding.

    Attributes:
        arrived: values that each agent has, by the agent they come from.
        cost: cost of the flooding.
    """

    arrived: tuple[dict[int, Any], ...]
    cost: RelayCost

    @property
    def totals(self) -> tuple[Any, ...]:
        """Every agent's sum of its values, in the order of the agents: all get the same bits."""
        return tuple(
            np.stack([have[origin] for origin in sorted(have)]).sum(axis=0, dtype=_kind(have))
            for have in self.arrived
        )


@dataclass(frozen=True)
class Relayed:
    """Every agent's result for the sum.

    Attributes:
        totals: totals, one per agent, shape `(agents, ...)`.
        cost: cost of the sum.
    """

    totals: Shaped[np.ndarray, "agents ..."]
    cost: RelayCost


def flood(
    values: Shaped[np.ndarray, "agents ..."],
    adjacency_of_phase: Sequence[Bool[np.ndarray, "agents agents"]],
) -> Flooded:
    """Store and forward: every agent passes on what is new, except to where it came from.

    To a neighbour that is present in a phase it sends everything that has not passed between the
    two yet, so that values missed during an absence follow later. It ends when every agent has
    everything, on a fixed graph after as many phases as its diameter; or with the last phase.

    Args:
        values: values of any type, one per agent.
        adjacency_of_phase: symmetric adjacency matrices, one per phase.

    Raises:
        NetworkError: a matrix that is not symmetric.

    Example:
        >>> line = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
        >>> flooded = flood(np.array([1, 2, 4]), [line] * 3)
        >>> [int(total) for total in flooded.totals], flooded.cost
        ([7, 7, 7], RelayCost(phases=2, messages=6, largest=4))
    """
    agents = len(values)
    held: list[dict[int, Any]] = [{agent: values[agent]} for agent in range(agents)]
    passed: dict[tuple[int, int], set[int]] = {}
    sent, phases = np.zeros(agents, dtype=np.int64), 0
    for adjacency in adjacency_of_phase:
        _check_mutual(adjacency, phases)
        if all(len(have) == agents for have in held):
            break
        phases += 1
        letters = [
            (sender, receiver, origin, value)
            for sender, receiver in np.argwhere(adjacency).tolist()
            for origin, value in held[sender].items()
            if origin not in passed.get(_edge(sender, receiver), ())
        ]
        for sender, receiver, origin, value in letters:
            held[receiver].setdefault(origin, value)
            passed.setdefault(_edge(sender, receiver), set()).add(origin)
            sent[sender] += 1
    return Flooded(tuple(held), RelayCost(phases, int(sent.sum()), int(sent.max())))


def flood_cost(links: Links) -> RelayCost:
    """The cost of `flood` on a fixed connected graph, without values.

    Example:
        >>> from tacit.network import path
        >>> flood_cost(path(3).links)
        RelayCost(phases=2, messages=6, largest=4)
    """
    return cost_of(spread(links))


def cost_of(found: Spread) -> RelayCost:
    """The cost of spread messages."""
    return RelayCost(len(found.sent), int(found.sent.sum()), int(found.sent.sum(axis=0).max()))


def tree_sum(values: Shaped[np.ndarray, "agents ..."], graph: Graph) -> Relayed:
    """Partial sums up a tree to its root, and the total down again.

    The tree is a breadth-first one from a centre of the graph: the agent with the smallest
    eccentricity, the first of several. It takes two phases per level and two messages per edge of
    the tree. All agents get the same bits; whole numbers wrap around, so for `uint64` it is the sum
    modulo 2^64.

    Args:
        values: numbers of any type, one per agent.
        graph: undirected graph.

    Raises:
        NetworkError: directed links.

    Example:
        >>> from tacit.network import ring
        >>> tree_sum(np.arange(5), ring(5))
        Relayed(totals=array([10, 10, 10, 10, 10]), cost=RelayCost(phases=4, messages=8, largest=2))
    """
    parents, levels = _tree(_undirected(graph))
    totals = np.array(values)
    # of at least one dimension each, because single numbers warn where arrays wrap around
    rows = totals.reshape(graph.agents, -1)
    sent, phases = np.zeros(graph.agents, dtype=np.int64), 0
    for level in reversed(levels[1:]):
        phases += 1
        for agent in level:
            rows[parents[agent]] += rows[agent]
            sent[agent] += 1
    for level in levels[1:]:
        phases += 1
        for agent in level:
            rows[agent] = rows[parents[agent]]
            sent[parents[agent]] += 1
    return Relayed(totals, RelayCost(phases, int(sent.sum()), int(sent.max())))


def sum_tree(graph: Graph) -> tuple[int, ...]:
    """The tree of `tree_sum`: each agent's parent, and -1 for the root.

    Args:
        graph: undirected graph.

    Raises:
        NetworkError: directed links.

    Example:
        >>> from tacit.network import path
        >>> sum_tree(path(5))
        (1, 2, -1, 2, 3)
    """
    parents, _ = _tree(_undirected(graph))
    return tuple(max(int(parent), -1) for parent in parents)  # SciPy has -9999 for the root


def polynomial_sum(values: Shaped[np.ndarray, "agents ..."], graph: Graph) -> Relayed:
    """Average exactly in finitely many steps, each with all neighbours once.

    In step `k` every agent takes `x_i <- x_i - sum_(j ~ i) (x_i - x_j) / l_k`, for the distinct
    nonzero eigenvalues `l_k` of the Laplacian `L`: `prod_k (I - L / l_k)` keeps the mean and
    removes everything else. The eigenvalues come in Leja's order, each the one whose product of
    distances to 0 and to those before is largest: in rising order rounding grows without bound.
    Agents agree up to rounding only.

    After Tran, Kibangou (2013), Consensus-based distributed estimation of Laplacian eigenvalues of
    undirected graphs; the order after Reichel (1990), Newton interpolation at Leja points.

    Args:
        values: real numbers, one per agent; whole numbers are refused.
        graph: undirected graph with at most `MOST_FILTERED` agents.

    Raises:
        NetworkError: directed links, too many agents, or values that are not real numbers: dividing
            by an eigenvalue has no meaning modulo 2^64.

    Example:
        >>> from tacit.network import ring
        >>> found = polynomial_sum(np.arange(10.0), ring(10))
        >>> found.totals.round(9).tolist() == [45.0] * 10, found.cost
        (True, RelayCost(phases=5, messages=100, largest=10))
    """
    if not np.issubdtype(values.dtype, np.floating):
        raise NetworkError(
            f"a polynomial divides by eigenvalues, so it sums real numbers, and these are "
            f"{values.dtype}; flood them, or sum them over a tree"
        )
    links = _undirected(graph)
    laplacian = _laplacian(links)
    x = values.reshape(graph.agents, -1).astype(np.float64)
    degrees, steps = links.degrees(), 0
    for eigenvalue in averaging_eigenvalues(graph):
        x = x - laplacian @ x / eigenvalue
        steps += 1
    cost = RelayCost(steps, steps * int(degrees.sum()), steps * int(degrees.max()))
    return Relayed((graph.agents * x).reshape(values.shape), cost)


def averaging_eigenvalues(graph: Graph) -> Float[np.ndarray, " distinct"]:
    """The distinct nonzero eigenvalues of the Laplacian, in the order in which `polynomial_sum`
    takes them: with one step for each, neighbours average exactly.

    Args:
        graph: undirected graph with at most `MOST_FILTERED` agents.

    Raises:
        NetworkError: directed links, or too many agents.

    Example:
        >>> from tacit.network import ring
        >>> averaging_eigenvalues(ring(4)).round(9).tolist()
        [4.0, 2.0]
    """
    return _leja(_eigenvalues(_laplacian(_undirected(graph))))


def _kind(have: dict[int, Any]) -> Any:
    """The type of the values: whole numbers keep theirs in a sum."""
    return np.asarray(next(iter(have.values()))).dtype


def _edge(one: int, other: int) -> tuple[int, int]:
    return min(one, other), max(one, other)


def _check_mutual(adjacency: Bool[np.ndarray, "agents agents"], phase: int) -> None:
    if not np.array_equal(adjacency, adjacency.T):
        receiver, sender = np.argwhere(adjacency & ~adjacency.T)[0].tolist()
        raise NetworkError(
            f"in phase {phase} agent {receiver} hears agent {sender} and not the reverse; flooding "
            "needs links both ways, so add the missing ones"
        )


def _undirected(graph: Graph) -> Links:
    if graph.directed:
        raise NetworkError(
            "sums go back over the links that they came by, and a link of this graph has no "
            "counterpart; add the missing ways back"
        )
    return graph.links


def _tree(links: Links) -> tuple[Int[np.ndarray, " agents"], list[list[int]]]:
    """Each agent's parent, and the agents level by level from the root."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    shape = (links.agents, links.agents)
    ones = np.ones(len(links.receivers))
    adjacency = csr_array((ones, (links.receivers, links.senders)), shape=shape)
    root = int(np.argmin(spread(links).complete))
    order, parents = breadth_first_order(adjacency, root, directed=False)
    depth = np.zeros(links.agents, dtype=np.int64)
    levels: list[list[int]] = [[root]]
    for agent in order[1:].tolist():
        depth[agent] = depth[parents[agent]] + 1
        if depth[agent] == len(levels):
            levels.append([])
        levels[depth[agent]].append(agent)
    return parents, levels


def _laplacian(links: Links) -> Float[np.ndarray, "agents agents"]:
    if links.agents > MOST_FILTERED:
        raise NetworkError(
            f"a polynomial needs all eigenvalues of the graph, which are computed for at most "
            f"{MOST_FILTERED} agents, and these are {links.agents}; flood, or sum over a tree"
        )
    matrix = np.diag(links.degrees().astype(np.float64))
    matrix[links.receivers, links.senders] = -1.0
    return matrix


def _eigenvalues(laplacian: Float[np.ndarray, "agents agents"]) -> Float[np.ndarray, " distinct"]:
    """The distinct eigenvalues above 0 of a connected graph."""
    found = np.linalg.eigvalsh(laplacian)[1:]
    apart = np.flatnonzero(np.diff(found) > _SAME * found[-1]) + 1
    return np.array([group.mean() for group in np.split(found, apart)])


def _leja(points: Float[np.ndarray, " distinct"]) -> Float[np.ndarray, " distinct"]:
    """The points in Leja's order, starting with the largest."""
    ordered = np.empty_like(points)
    left = points
    logarithm = np.log(points)
    for place in range(len(points)):
        best = int(np.argmax(logarithm))
        ordered[place] = left[best]
        left, logarithm = np.delete(left, best), np.delete(logarithm, best)
        logarithm = logarithm + np.log(np.abs(left - ordered[place]))
    return ordered
