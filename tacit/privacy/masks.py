"""What a coalition learns about values hidden by masks that cancel in the sum.

Agent `i` releases `Y_i = x_i + sum_j +-n_ij + z_i`. The masks `n_ij ~ N(0, r^2 s^2)` are shared by
two agents each, with opposite signs, so they cancel in the sum; the noise `z_i ~ N(0, s^2)` is the
agent's own. Everybody may read all `Y`. A coalition subtracts the masks and noises that it knows;
what is left are the honest agents `H` and the Laplacian `L_H` of the mask graph among them, and of
agent `i` it learns as much as from one Gaussian release with (proof: docs/proofs/masks.md)

    mu_i^2 = D^2 [(s^2 (I + r^2 L_H))^-1]_ii,    D the sensitivity of x_i.

Masks that are uniform modulo a number are the limit of large `r`: `mu_i = D / (s sqrt(m))` with `m`
honest agents that the masks connect to `i`, itself included. One noise for all would have
`mu = D / s_central`, so the sum costs `K mu^2 s^2 / D^2` times its variance, with `K` agents: about
`K / m`, where noise without masks costs `K`.

Gaussian masks are those of GOPA (Sabater, Bellet, Ramon 2022) and DECOR (Allouah, Koloskova,
El Firdoussi, Jaggi, Guerraoui 2024); uniform ones are those of secure aggregation (Bonawitz et al.
2017).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from tacit.arguments import checked
from tacit.errors import PrivacyError
from tacit.privacy import gaussian_dp
from tacit.ranges import Count, Range, Whole

UNIFORM = math.inf
"""Ratio that stands for masks that are uniform modulo a number."""

MOST_COALITIONS = 100_000
"""Maximum number of coalitions tried one by one, where the mask graph is not complete."""

MOST_WORK = 4e9
"""Maximum number of coalitions times the cube of the agents: some seconds on one core.

Coalitions of one agent can be tried for 251 agents, and of two for 95.
"""


@checked(PrivacyError)
def masked_mu(
    masks: Bool[np.ndarray, "agents agents"], coalition: Sequence[int] = (), ratio: float = UNIFORM
) -> Float[np.ndarray, " agents"]:
    """What a coalition learns about every agent, relative to noise alone.

    Args:
        masks: adjacency matrix of the pairs that share a mask; symmetric, without loops.
        coalition: numbers of the agents that pool what they know; outsiders if empty.
        ratio: `r`, standard deviation of a mask over that of an agent's noise, at least 0.

    Returns:
        Gaussian-DP parameter for each agent with noise equal to the sensitivity, shape
            `(agents,)`: divide by the noise multiplier. Within [0, 1], where 1 is noise alone; 0
            for the coalition, whose values are its own.

    Raises:
        PrivacyError: not a mask graph, a ratio below 0, or numbers that are not those of agents.

    Example:
        >>> complete = ~np.eye(10, dtype=bool)
        >>> masked_mu(complete, [0])[1].round(6)  # nine honest agents hide each other
        np.float64(0.333333)
    """
    masks = _checked(masks, ratio)
    agents = len(masks)
    wrong = [member for member in coalition if not 0 <= member < agents]
    if wrong:
        raise PrivacyError(f"coalition={wrong[0]} is not an agent: there are {agents}, from 0")
    honest = np.setdiff1d(np.arange(agents), np.asarray(coalition, dtype=int))
    found = np.zeros(agents)
    found[honest] = _honest_mu(masks[np.ix_(honest, honest)], ratio)
    return found


@checked(PrivacyError)
def worst_masked_mu(
    masks: Bool[np.ndarray, "agents agents"], size: Whole, ratio: float = UNIFORM, absent: Whole = 0
) -> float:
    """The most that any coalition of a size learns about anybody, as `masked_mu` measures it.

    Args:
        masks: adjacency matrix of the pairs that share a mask.
        size: size of the coalition, from 0 to all but one.
        ratio: ratio of the masks to the noise, as for `masked_mu`.
        absent: number of other agents that may be missing: they hide nobody.

    Raises:
        PrivacyError: nobody would be left, or too many coalitions to try them all.

    Example:
        >>> ring = np.abs(np.subtract.outer(np.arange(10), np.arange(10))) % 8 == 1
        >>> worst_masked_mu(ring, 2)  # an agent between two of them has its own noise only
        1.0
    """
    masks = _checked(masks, ratio)
    return max(_honest_mu(each, ratio).max() for each in _left(masks, size, absent)).item()


@checked(PrivacyError)
def mask_ratio(
    masks: Bool[np.ndarray, "agents agents"], size: Whole, excess: float, absent: Whole = 0
) -> float:
    """How large masks must be to cost at most a given share more than uniform ones.

    Args:
        masks: adjacency matrix of the pairs that share a mask.
        size: size of the coalition.
        excess: relative excess of `mu^2`, positive: .1 for a tenth more variance.
        absent: number of other agents that may be missing.

    Returns:
        `r` with `r^2 = m (L_H^+)_ii / excess`, the largest over coalitions and agents; 0 where the
        masks hide nobody anyway.

    Example:
        >>> round(mask_ratio(~np.eye(10, dtype=bool), 0, 0.1), 6)
        3.0
    """
    if not excess > 0.0:
        raise PrivacyError(f"excess={excess!r} must be positive")
    needed = 0.0
    for graph in _left(_checked(masks, UNIFORM), size, absent):
        among, values, squares = _spectrum(graph)
        needed = max(needed, float((among * (squares @ (1.0 / values))).max()))
    return math.sqrt(needed / excess)


@checked(PrivacyError)
def masked_multiplier(
    epsilon: Annotated[float, Range(above=0.0)],
    delta: Annotated[float, Range(above=0.0, below=1.0)],
    releases: Count,
    learned: Annotated[float, Range(above=0.0)],
) -> float:
    """Noise multiplier of every agent, for a budget against a coalition.

    Args:
        epsilon: epsilon of all releases together, positive.
        delta: delta of all releases together, in [1e-12, 1).
        releases: number of releases, including repeated attempts at a round, at least 1.
        learned: result of `worst_masked_mu`.

    Example:
        >>> one = masked_multiplier(1.0, 1e-6, 300, 1.0)  # noise alone
        >>> round(masked_multiplier(1.0, 1e-6, 300, 1 / 3) / one, 6)
        0.333333
    """
    if releases < 1:
        raise PrivacyError(f"releases={releases!r} must be at least 1")
    return learned * math.sqrt(releases) / gaussian_dp.mu_from_epsilon(epsilon, delta)


def _checked(masks: Bool[np.ndarray, "agents agents"], ratio: float) -> Bool[np.ndarray, "n n"]:
    masks = np.asarray(masks)
    square = masks.ndim == 2 and masks.shape[0] == masks.shape[1] and masks.dtype == bool
    if not square or len(masks) == 0 or (masks != masks.T).any() or masks.diagonal().any():
        raise PrivacyError(
            "masks must be a symmetric boolean matrix without a diagonal, row i the agents with "
            "which agent i shares a mask"
        )
    if not ratio >= 0.0:
        raise PrivacyError(f"ratio={ratio!r} must be at least 0, or infinite for uniform masks")
    return masks


class _Spectrum(NamedTuple):
    """Spectrum of the Laplacian of a graph.

    Attributes:
        among: number of agents that each is connected to, including itself, shape `(n,)`.
        values: positive eigenvalues, shape `(k,)`.
        squares: squared entries of their eigenvectors, shape `(n, k)`.
    """

    among: Float[np.ndarray, " n"]
    values: Float[np.ndarray, " k"]
    squares: Float[np.ndarray, "n k"]


def _spectrum(graph: Bool[np.ndarray, "n n"]) -> _Spectrum:
    from scipy.sparse.csgraph import connected_components

    parts, label = connected_components(graph, directed=False)
    laplacian = np.diag(graph.sum(axis=1).astype(float)) - graph
    values, vectors = np.linalg.eigh(laplacian)
    # as many eigenvalues are 0 as there are components, whatever rounding made of them
    among = np.bincount(label)[label].astype(float)
    return _Spectrum(among, values[parts:], vectors[:, parts:] ** 2)


def _honest_mu(
    graph: Bool[np.ndarray, "honest honest"], ratio: float
) -> Float[np.ndarray, " honest"]:
    among, values, squares = _spectrum(graph)
    seen = np.zeros_like(values) if math.isinf(ratio) else 1.0 / (1.0 + ratio**2 * values)
    return np.sqrt(1.0 / among + squares @ seen)


def _left(
    masks: Bool[np.ndarray, "agents agents"], size: int, absent: int
) -> Iterator[Bool[np.ndarray, "left left"]]:
    """The mask graphs among the honest agents present, over all choices of who is not."""
    agents, gone = len(masks), size + absent
    if size < 0 or absent < 0 or gone >= agents:
        raise PrivacyError(
            f"coalition={size} and absent={absent} leave none of {agents} agents whom the others "
            f"could hide: together they must be below {agents}, and neither below 0"
        )
    if masks.sum() == agents * (agents - 1):
        yield masks[gone:, gone:]  # complete graph: all choices are alike
        return
    tried = math.comb(agents, gone)
    if tried > MOST_COALITIONS or tried * agents**3 > MOST_WORK:
        most = next(n for n in range(agents, 0, -1) if math.comb(n, gone) * n**3 <= MOST_WORK)
        raise PrivacyError(
            f"masks: {tried:,} sets of {gone} of {agents} agents are too many to try each, which "
            f"works for about {most} agents; share masks among all pairs (masks='all', up to 200 "
            "agents), where one set stands for all, or take a smaller coalition or fewer agents"
        )
    for some in combinations(range(agents), gone):
        kept = np.setdiff1d(np.arange(agents), some)
        yield masks[np.ix_(kept, kept)]
