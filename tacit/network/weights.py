"""Doubly stochastic mixing weights.

A weight matrix `W` holds in row `i` the weights that agent `i` gives to what it receives, and on
the diagonal the weight of its own value. Rows and columns sum to 1, so that repeated mixing keeps
the average of all agents and converges to it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float

from tacit import checks
from tacit.errors import NetworkError
from tacit.network.links import Links, component_labels
from tacit.ranges import numeric

LinkWeights: TypeAlias = tuple[Float[np.ndarray, " links"], Float[np.ndarray, " agents"]]
"""Weight of every link, and the weight that every agent gives its own value."""

TOLERANCE = 1e-9
"""Largest accepted deviation from 1 of a row or column sum of a user's matrix."""

_SINKHORN_TOLERANCE = 1e-13
_SINKHORN_STEPS = 20_000


def metropolis(links: Links) -> LinkWeights:
    """`w_ij = 1 / (1 + max(d_i, d_j))`: each end needs to know the other's degree only.

    Source: Xiao, Boyd, Lall (2005), A Scheme for Robust Distributed Sensor Fusion Based on Average
    Consensus, eq (9).
    """
    degrees = links.degrees()
    largest = np.maximum(degrees[links.receivers], degrees[links.senders])
    return _completed(links, 1.0 / (1.0 + largest))


def max_degree(links: Links) -> LinkWeights:
    """`w_ij = 1 / (1 + d_max)`: all agents must know the largest degree."""
    largest = links.degrees().max(initial=0)
    return _completed(links, np.full(len(links.receivers), 1.0 / (1.0 + largest)))


def balanced(links: Links) -> LinkWeights:
    """Scale rows and columns of adjacency plus identity until both sum to 1.

    With a positive diagonal this is possible if and only if every link lies on a cycle (then the
    pattern has total support), that is, if each component is strongly connected.

    Source: Sinkhorn, Knopp (1967), Concerning Nonnegative Matrices and Doubly Stochastic Matrices,
    section 2.

    Raises:
        NetworkError: a link on no cycle, or sums that do not converge to 1.
    """
    from scipy.sparse import csr_array

    _, labels = component_labels(links)
    crossing = np.flatnonzero(labels[links.receivers] != labels[links.senders])
    if crossing.size:
        sender, receiver = (int(ends[crossing[0]]) for ends in (links.senders, links.receivers))
        raise NetworkError(
            f"the directed graph has no doubly stochastic weights: the link from "
            f"{links.names[sender]!r} to {links.names[receiver]!r} lies on no cycle, so its weight "
            "would have to be 0; add a way back or remove the link"
        )
    agents = links.agents
    own = np.arange(agents)
    rows = np.concatenate([links.receivers, own])
    columns = np.concatenate([links.senders, own])
    pattern = csr_array((np.ones(len(rows)), (rows, columns)), shape=(agents, agents))
    transposed = pattern.T.tocsr()
    right = np.ones(agents)
    left = 1.0 / (pattern @ right)
    error = np.inf
    for _ in range(_SINKHORN_STEPS):
        right = 1.0 / (transposed @ left)
        sums = pattern @ right
        error = float(np.abs(left * sums - 1.0).max())
        left = 1.0 / sums
        if error <= _SINKHORN_TOLERANCE:
            return left[links.receivers] * right[links.senders], left * right
    raise NetworkError(
        f"the directed graph's weights are not doubly stochastic after {_SINKHORN_STEPS} Sinkhorn "
        f"steps (a sum is off by {error:.1e}); give a weight matrix, or add links that shorten its "
        "cycles"
    )


def from_matrix(links: Links, matrix: object, tolerance: float = TOLERANCE) -> LinkWeights:
    """Check a user's weight matrix and read the links' weights from it.

    Args:
        links: links of the graph.
        matrix: matrix of shape `(agents, agents)`, dense or SciPy sparse, rows and columns in the
            order of `links.names`; `matrix[i, j]` is the weight that `i` gives to `j`.
        tolerance: largest deviation of a row or column sum from 1.

    Raises:
        NetworkError: wrong shape; an entry that is negative or not finite; a positive entry without
            a link, or a link without one; a row or column that does not sum to 1.
    """
    from scipy.sparse import coo_array, csr_array, issparse

    if not issparse(matrix):
        matrix = np.asarray(matrix, dtype=np.float64)
    dense_or_sparse: Any = matrix
    if dense_or_sparse.shape != (links.agents, links.agents):
        raise NetworkError(
            f"the weight matrix has shape {dense_or_sparse.shape}; {links.agents} agents need "
            f"{(links.agents, links.agents)}"
        )
    entries = csr_array(dense_or_sparse, dtype=np.float64)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    listed = coo_array(entries)
    rows, columns, values = listed.coords[0], listed.coords[1], listed.data
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if bad.size:
        at = _entry(links, int(rows[bad[0]]), int(columns[bad[0]]))
        raise NetworkError(
            f"the weight matrix has {values[bad[0]]} at {at}; weights must be finite and at least 0"
        )
    off = rows != columns
    keys = rows[off].astype(np.int64) * links.agents + columns[off]
    wanted = links.receivers.astype(np.int64) * links.agents + links.senders
    for key in np.setdiff1d(keys, wanted)[:1]:
        at = _entry(links, *divmod(int(key), links.agents))
        raise NetworkError(
            f"the weight matrix is positive at {at}, but the graph has no such link; set the entry "
            "to 0 or add the link"
        )
    for key in np.setdiff1d(wanted, keys)[:1]:
        at = _entry(links, *divmod(int(key), links.agents))
        raise NetworkError(
            f"the weight matrix is 0 at {at}, where the graph has a link; give it a positive "
            "weight or remove the link"
        )
    for axis, line in ((1, "row"), (0, "column")):
        sums = np.asarray(entries.sum(axis=axis)).ravel()
        worst = int(np.abs(sums - 1.0).argmax())
        if abs(sums[worst] - 1.0) > tolerance:
            raise NetworkError(
                f"the weight matrix is not doubly stochastic: {line} {worst} (agent "
                f"{links.names[worst]!r}) sums to {sums[worst]:.12g}, which is not 1 to within "
                f"{tolerance:g}; rescale it, or use 'metropolis' weights"
            )
    weight = values[off][np.argsort(keys)]
    return weight, np.asarray(entries.diagonal())


def link_weights(links: Links, weights: object) -> LinkWeights:
    """Weights by the name of a rule, or from a matrix.

    Args:
        links: links of the graph.
        weights: "metropolis", "max_degree" or "balanced"; a matrix (see `from_matrix`); `None` for
            "metropolis" on an undirected and "balanced" on a directed graph.

    Raises:
        NetworkError: an unknown rule, or one that a directed graph does not allow.
    """
    if weights is None:
        weights = "balanced" if links.directed else "metropolis"
    if not isinstance(weights, str):
        if not numeric(weights):
            raise NetworkError(
                f"weights={checks.shown(weights)} must be the name of a rule or a matrix, shape "
                f"({links.agents}, {links.agents})"
            )
        return from_matrix(links, weights)
    rules = {"metropolis": metropolis, "max_degree": max_degree, "balanced": balanced}
    if weights not in rules:
        raise NetworkError(
            f"weights={weights!r} is not a known rule; choose one of {sorted(rules)} "
            "or give a matrix"
        )
    if links.directed and weights != "balanced":
        raise NetworkError(
            f"weights={weights!r} are doubly stochastic on undirected graphs only, and a link of "
            "this graph has no counterpart; use weights='balanced' or give a matrix"
        )
    return rules[weights](links)


def _completed(links: Links, weight: Float[np.ndarray, " links"]) -> LinkWeights:
    received = np.bincount(links.receivers, weights=weight, minlength=links.agents)
    return weight, 1.0 - received


def _entry(links: Links, row: int, column: int) -> str:
    return f"row {row}, column {column} (agents {links.names[row]!r} and {links.names[column]!r})"
