"""Eigenvalues of a network: how fast it mixes, and how strongly its agents are coupled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tacit.errors import NetworkError
from tacit.network.base import AbstractNetwork
from tacit.network.graph import Graph
from tacit.network.peers import AbstractPeerNetwork
from tacit.network.randomised import LinkFailure, RandomActivation
from tacit.network.sequence import AbstractSequence
from tacit.network.star import Coordinator

DENSE = 500
"""Up to so many agents all eigenvalues are computed; beyond, only the extreme ones, iteratively."""

_NEARLY_SINGULAR = 1e-9
_RESTARTS = 200


@dataclass(frozen=True)
class LaplacianExtremes:
    """Extreme eigenvalues of the two Laplacians of an undirected graph.

    Attributes:
        signed_largest: largest eigenvalue of `D - A`.
        signed_smallest_nonzero: smallest eigenvalue of `D - A` above 0 (algebraic connectivity).
        signless_largest: largest eigenvalue of `D + A`.
        signless_smallest: smallest eigenvalue of `D + A`; 0 if and only if the graph is bipartite.
    """

    signed_largest: float
    signed_smallest_nonzero: float
    signless_largest: float
    signless_smallest: float


def spectral_gap(network: AbstractNetwork) -> float:
    """One minus the second largest absolute value among the eigenvalues of the mixing matrix.

    Args:
        network: a `Graph`.

    Raises:
        NetworkError: a network whose weights differ between rounds, or one with a coordinator.

    Example:
        >>> from tacit.network import complete
        >>> round(spectral_gap(complete(10)), 9)
        1.0
    """
    if not isinstance(network, Graph):
        raise NetworkError(
            f"a {type(network).__name__} network has no one mixing matrix, so no spectral gap; ask "
            "for that of its graph"
        )
    links = network.links
    matrix = _sparse(links.receivers, links.senders, network.weight, network.self_weight)
    if network.directed:
        return 1.0 - _second_largest_of_directed(matrix)
    top = _extreme(matrix, "largest", bound=1.0, trivial=1.0)
    bottom = _extreme(matrix, "smallest", bound=-1.0)
    return 1.0 - max(abs(top), abs(bottom))


def laplacian_extremes(network: AbstractNetwork) -> LaplacianExtremes:
    """Extreme eigenvalues of the signed and the signless Laplacian of the union graph.

    Args:
        network: undirected, without a coordinator; weights play no part.

    Raises:
        NetworkError: a directed network or one with a coordinator.

    Example:
        >>> from tacit.network import complete
        >>> round(laplacian_extremes(complete(10)).signed_largest, 9)
        10.0
    """
    if not isinstance(network, AbstractPeerNetwork):
        raise NetworkError("a network with a coordinator has no links between agents")
    if network.directed:
        raise NetworkError(
            "the Laplacians are defined for undirected graphs, and a link of this one has no "
            "counterpart"
        )
    links = network.links
    degrees = links.degrees().astype(np.float64)
    ones = np.ones(len(links.receivers))
    signed = _sparse(links.receivers, links.senders, -ones, degrees)
    signless = _sparse(links.receivers, links.senders, ones, degrees)
    bound = 2.0 * float(degrees.max())
    return LaplacianExtremes(
        signed_largest=_extreme(signed, "largest", bound),
        signed_smallest_nonzero=_extreme(signed, "smallest", 0.0, trivial=0.0),
        signless_largest=_extreme(signless, "largest", bound),
        signless_smallest=max(0.0, _extreme(signless, "smallest", 0.0)),
    )


def smallest_positive_weight(network: AbstractNetwork) -> float:
    """The smallest positive weight that occurs in any round, weights of own values included.

    Example:
        >>> from tacit.network import ring
        >>> round(smallest_positive_weight(ring(5)), 9)
        0.333333333
    """
    if isinstance(network, Graph | AbstractSequence):
        both = np.append(np.asarray(network.weight), np.asarray(network.self_weight))
        return float(both[both > 0].min())
    if isinstance(network, RandomActivation | LinkFailure):
        # The weights of a round are smallest where all links of a largest neighbourhood are active.
        return 1.0 / (1.0 + float(network.degrees.max()))
    if isinstance(network, Coordinator):
        return float(network.client_weight.min())
    raise NetworkError(f"the weights of a {type(network).__name__} network are not known")


def _sparse(rows: Any, columns: Any, values: Any, diagonal: Any) -> Any:
    from scipy.sparse import csr_array

    agents = len(diagonal)
    own = np.arange(agents)
    entries = np.concatenate([np.asarray(values), np.asarray(diagonal)])
    places = (np.concatenate([rows, own]), np.concatenate([columns, own]))
    return csr_array((entries, places), shape=(agents, agents))


def _extreme(
    matrix: Any,
    end: Literal["largest", "smallest"],
    bound: float,
    trivial: float | None = None,
) -> float:
    """An extreme eigenvalue of a symmetric matrix.

    Args:
        matrix: sparse and symmetric.
        end: which one.
        bound: no eigenvalue lies beyond it at this end.
        trivial: the eigenvalue of the constant vector, if that is to be left out.
    """
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    agents = matrix.shape[0]
    if agents <= DENSE:
        values = np.linalg.eigvalsh(matrix.toarray())
        inner = 0 if trivial is None else 1
        return float(values[-1 - inner] if end == "largest" else values[inner])
    start = np.random.default_rng(0).standard_normal(agents)
    sign = 1.0 if end == "largest" else -1.0
    spread = float(np.abs(matrix).sum(axis=1).max())

    def without_trivial(vector: Any) -> Any:
        # Moves the trivial eigenvalue beyond the other end of the spectrum.
        moved = 0.0 if trivial is None else 2.0 * sign * spread * vector.mean()
        return matrix @ vector - moved

    operator = LinearOperator((agents, agents), matvec=without_trivial, dtype=np.float64)
    which = "LA" if end == "largest" else "SA"
    try:
        found = eigsh(
            operator, 1, which=which, v0=start, maxiter=_RESTARTS, return_eigenvectors=False
        )
        return float(found[0])
    except ArpackNoConvergence:
        # The end of the spectrum is crowded, as on long rings and grids. Their factors are sparse,
        # so that inverting near the bound spreads it out.
        shift = bound + sign * _NEARLY_SINGULAR * spread
        shifted = eye_array(agents, format="csc") * -shift + matrix.tocsc()
        count = 1 if trivial is None else 2
        found = eigsh(
            matrix, count, sigma=shift, v0=start, OPinv=_inverse(shifted), return_eigenvectors=False
        )
        return float(found.min() if end == "largest" else found.max())


def _inverse(matrix: Any) -> Any:
    from scipy.sparse.linalg import LinearOperator, splu

    return LinearOperator(matrix.shape, matvec=splu(matrix).solve, dtype=np.float64)


def _second_largest_of_directed(matrix: Any) -> float:
    from scipy.sparse.linalg import LinearOperator, eigs

    agents = matrix.shape[0]
    if agents <= DENSE:
        deflated = matrix.toarray() - 1.0 / agents
        return float(np.abs(np.linalg.eigvals(deflated)).max())
    operator = LinearOperator(
        (agents, agents), matvec=lambda vector: matrix @ vector - vector.mean(), dtype=np.float64
    )
    start = np.random.default_rng(0).standard_normal(agents)
    found = eigs(operator, 1, which="LM", v0=start, return_eigenvectors=False)
    return float(np.abs(found).max())
