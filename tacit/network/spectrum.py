"""Eigenvalues of a network: how fast it mixes, and how strongly its agents are coupled."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tacit.arguments import checked
from tacit.errors import NetworkError
from tacit.network.base import AbstractNetwork
from tacit.network.graph import Graph
from tacit.network.peers import AbstractPeerNetwork
from tacit.network.randomised import LinkFailure, RandomActivation
from tacit.network.sequence import AbstractSequence

DENSE = 500
"""Up to this many agents all eigenvalues are computed; above, only the extreme ones."""

TOLERANCE = 1e-5
"""Accepted relative error of an eigenvalue for which full precision takes too long."""

_NEARLY_SINGULAR = 1e-9
_FEW = 15
_MANY = 300
_FACTORED = 20_000


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


@checked(NetworkError)
def spectral_gap(network: AbstractNetwork) -> float:
    """One minus the second largest absolute value among the eigenvalues of the mixing matrix.

    Args:
        network: `Graph` with mixing weights.

    Raises:
        NetworkError: a network whose weights differ between rounds, one with a coordinator, or no
            convergence.

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
    top = _extreme(matrix, "largest", bound=1.0, trivial=True)
    # By Gershgorin's theorem no eigenvalue lies below this.
    lowest = 2.0 * float(np.min(np.asarray(network.self_weight))) - 1.0
    if top >= -lowest:
        return 1.0 - top
    return 1.0 - max(abs(top), abs(_extreme(matrix, "smallest", lowest)))


@checked(NetworkError)
def laplacian_extremes(network: AbstractNetwork) -> LaplacianExtremes:
    """Extreme eigenvalues of the signed and the signless Laplacian of the union graph.

    Args:
        network: undirected network without a coordinator; weights are ignored.

    Raises:
        NetworkError: a directed network or one with a coordinator, or no convergence.

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
    bound = float((degrees[links.receivers] + degrees[links.senders]).max())
    largest = _extreme(signed, "largest", bound)
    smallest = _extreme(signed, "smallest", bound=0.0, trivial=True)
    if _bipartite(network):
        # Changing the sign of one side turns one Laplacian into the other.
        return LaplacianExtremes(largest, smallest, largest, 0.0)
    return LaplacianExtremes(
        signed_largest=largest,
        signed_smallest_nonzero=smallest,
        signless_largest=_extreme(signless, "largest", bound),
        signless_smallest=_extreme(signless, "smallest", bound=0.0),
    )


@checked(NetworkError)
def smallest_positive_weight(network: AbstractNetwork) -> float:
    """The smallest positive weight in any round, weights of own values included.

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
    if network.coordinated:
        return float(network.client_weight.min())
    raise NetworkError(f"the weights of a {type(network).__name__} network are not known")


def _bipartite(network: AbstractPeerNetwork) -> bool:
    """Whether the agents split into two sides with links between the sides only."""
    from scipy.sparse.csgraph import breadth_first_order

    links = network.links
    ones = np.ones(len(links.receivers))
    adjacency = _sparse(links.receivers, links.senders, ones, np.zeros(network.agents))
    order, before = breadth_first_order(adjacency, 0, directed=False)
    side = np.zeros(network.agents, dtype=bool)
    for agent in order[1:]:
        side[agent] = not side[before[agent]]
    return bool((side[links.receivers] != side[links.senders]).all())


def _sparse(rows: Any, columns: Any, values: Any, diagonal: Any) -> Any:
    from scipy.sparse import csr_array

    agents = len(diagonal)
    own = np.arange(agents)
    entries = np.concatenate([np.asarray(values), np.asarray(diagonal)])
    places = (np.concatenate([rows, own]), np.concatenate([columns, own]))
    return csr_array((entries, places), shape=(agents, agents))


def _extreme(
    matrix: Any, end: Literal["largest", "smallest"], bound: float, trivial: bool = False
) -> float:
    """An extreme eigenvalue of a symmetric matrix.

    Args:
        matrix: sparse symmetric matrix.
        end: which end of the spectrum.
        bound: bound on the eigenvalues at this end; the tighter, the faster.
        trivial: whether the eigenvalue of the constant vector is at this end, to be left out.

    Raises:
        NetworkError: no convergence.
    """
    from scipy.sparse import eye_array, linalg

    arpack: Any = linalg
    agents = matrix.shape[0]
    if agents <= DENSE:
        values = np.linalg.eigvalsh(matrix.toarray())
        return float(values[-1 - trivial] if end == "largest" else values[int(trivial)])
    sign = 1.0 if end == "largest" else -1.0
    spread = float(np.abs(matrix).sum(axis=1).max())

    def without_trivial(vector: Any) -> Any:
        # Moves the trivial eigenvalue beyond the other end of the spectrum.
        return matrix @ vector - 2.0 * sign * spread * vector.mean()

    operator = matrix
    if trivial:
        operator = arpack.LinearOperator(matrix.shape, matvec=without_trivial, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(agents)
    settings: dict[str, Any] = {"v0": start, "return_eigenvectors": False}
    which = "LA" if end == "largest" else "SA"
    with suppress(arpack.ArpackNoConvergence):
        return float(arpack.eigsh(operator, 1, which=which, maxiter=_FEW, **settings)[0])
    if _factors_are_small(matrix):
        # The end of the spectrum is crowded, as on long rings and grids. Inverting near the bound
        # spreads it out.
        shift = bound + sign * _NEARLY_SINGULAR * spread
        factors = arpack.splu(matrix.tocsc() - shift * eye_array(agents, format="csc"))
        inverse = arpack.LinearOperator(matrix.shape, matvec=factors.solve, dtype=np.float64)
        settings["OPinv"] = inverse
        with suppress(arpack.ArpackNoConvergence):
            found = arpack.eigsh(matrix, 1 + trivial, sigma=shift, maxiter=_FEW, **settings)
            return float(found.min() if end == "largest" else found.max())
        del settings["OPinv"]
    try:
        settings |= {"tol": TOLERANCE, "maxiter": _MANY}
        return float(arpack.eigsh(operator, 1, which=which, **settings)[0])
    except arpack.ArpackNoConvergence as crowded:
        raise _no_convergence(agents) from crowded


def _factors_are_small(matrix: Any) -> bool:
    """Whether a triangular factorisation fits into memory: narrow bands, or few agents."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    agents = matrix.shape[0]
    if agents <= _FACTORED:
        return True
    place = np.empty(agents, dtype=np.int64)
    place[reverse_cuthill_mckee(matrix, symmetric_mode=True)] = np.arange(agents)
    entries = matrix.tocoo()
    width = int(np.abs(place[entries.coords[0]] - place[entries.coords[1]]).max())
    return width * agents <= _FACTORED**2 // 4


def _no_convergence(agents: int) -> NetworkError:
    return NetworkError(
        f"the extreme eigenvalues of a network of {agents} agents did not converge: they lie too "
        "close together; ask for them on a smaller or better connected graph"
    )


def _second_largest_of_directed(matrix: Any) -> float:
    from scipy.sparse import linalg

    arpack: Any = linalg
    agents = matrix.shape[0]
    if agents <= DENSE:
        deflated = matrix.toarray() - 1.0 / agents
        return float(np.abs(np.linalg.eigvals(deflated)).max())

    def without_trivial(vector: Any) -> Any:
        return matrix @ vector - vector.mean()

    operator = arpack.LinearOperator(matrix.shape, matvec=without_trivial, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(agents)
    try:
        found = arpack.eigs(
            operator, 1, which="LM", v0=start, maxiter=_MANY, return_eigenvectors=False
        )
    except arpack.ArpackNoConvergence as crowded:
        raise _no_convergence(agents) from crowded
    return float(np.abs(found).max())
