"""Distance of D-ZOA from its optimum, as its papers state, and as can be proved.

Both bounds are expectations over the noise of the zeroth-order solver. They need `||b*||` or a
distance from it, which is private: they are for analysis, not for setting parameters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import ArrayLike, Int

from tacit.arguments import checked
from tacit.checks import whole
from tacit.errors import ConfigError, NetworkError
from tacit.method._consensus_admm import check_network
from tacit.method._schedule import positive
from tacit.method.d_zoa_claim import PaperClaim
from tacit.method.forms import Form, as_printed, not_negative
from tacit.network.base import AbstractNetwork
from tacit.network.spectrum import laplacian_extremes


@checked(ConfigError)
def inner_loop_bound(
    *,
    dimension: int,
    inner_steps: int,
    lipschitz: float,
    radius: float,
    initial_step: float = 0.54,
    smoothing: float = 1.0,
    constant: float = 0.5,
) -> float:
    r"""A bound on `E[F(mean of the inner iterates) - F(b*)]` after `T` inner steps.

    In the letters of the arguments it is:

    .. math::

        \frac{c R L \sqrt{P}}{\sqrt{T}} \left(\max\left(\alpha_0, \frac{1}{\alpha_0}\right)
            \sqrt{\log 2P} + \frac{u_1 \log 2T}{\sqrt{T}}\right)

    It holds for a convex `F` that is Lipschitz wherever it is queried, and for the *average* of the
    iterates. Algorithm 1 returns the last iterate, and the `F_k` that it minimises contains a
    quadratic, so that no `L` serves all of R^P.

    Source: Gratton et al. (2021), section V-A, eq (26); Gratton et al. (2020), section V, eq (30);
    Duchi et al. (2015), theorem 2. Eq (30) is the same for all agents' copies stacked; it has `P`
    where their dimension is `K P`.

    Args:
        dimension: dimension `P`.
        inner_steps: number of inner steps `T`.
        lipschitz: Lipschitz constant `L`.
        radius: radius `R`, at least the distance of the first iterate from the minimiser.
        initial_step: initial step size `alpha0`.
        smoothing: smoothing step `u1`.
        constant: constant `c`; 1/2 for Gaussian directions, as the papers say.

    Raises:
        ConfigError: a number that is not positive and finite.

    Example:
        >>> setting = dict(dimension=10, lipschitz=2.0, radius=1.0)
        >>> [round(inner_loop_bound(inner_steps=t, **setting), 2) for t in (100, 10_000)]
        [1.18, 0.1]
    """
    for name, value in (
        ("lipschitz", lipschitz),
        ("radius", radius),
        ("initial_step", initial_step),
        ("smoothing", smoothing),
        ("constant", constant),
    ):
        positive(name, value)
    p, t = (
        whole("dimension", dimension, 1, ConfigError),
        whole("inner_steps", inner_steps, 1, ConfigError),
    )
    descent = max(initial_step, 1.0 / initial_step) * math.sqrt(math.log(2 * p))
    smoothed = smoothing * math.log(2 * t) / math.sqrt(t)
    return constant * radius * lipschitz * math.sqrt(p / t) * (descent + smoothed)


@dataclass(frozen=True)
class OuterLoopBound:
    """A bound on `E[f(w) - f(w*)]` in two parts.

    Attributes:
        descent: part that falls with the number of rounds as `1/M`.
        noise: part that does not depend on the number of rounds.
    """

    descent: float
    noise: float

    @property
    def total(self) -> float:
        """Both parts together."""
        return self.descent + self.noise


@checked(ConfigError)
def outer_loop_bound(
    claim: PaperClaim,
    network: AbstractNetwork,
    *,
    rounds: int,
    penalty: float,
    counts: Sequence[int] | Int[ArrayLike, " agents"],
    dimension: int,
    optimum: float,
    gradient_bound: float = 1.0,
    agent: int | None = None,
    closed: bool = False,
    form: Form = "corrected",
) -> OuterLoopBound:
    r"""A bound on `E[f(w) - f(w*)]` for `w` the mean over `M` rounds of exact updates.

    `f` adds up the agents' costs, each at its own copy; every entry of agent `k`'s message differs
    from its exact update by noise with the standard deviation `s_k = c1 z / (rho |V_k| N_k)` that
    the claim needs, `z^2 = 2.1 log(1.25/delta) / epsilon^2`. As printed, with `E` links:

    .. math::

        \frac{2 \rho E \lVert b^\star\rVert^2}{M}
            + \frac{\rho}{2} P s_k^2 \frac{\lambda_{\max}(D + A)^2}{\lambda_{\min}(D - A)}

    The agent `k` is not specified, and a step of the proof takes the smallest *nonzero* eigenvalue
    of `D - A`, which bounds nothing for copies that agree. It counts one agent's noise, and is
    exceeded by ten agents on a complete graph; with `sum_k s_k^2` for `s_k^2` it holds. Corrected,
    for noise of mean 0 given the past:

    .. math:: \frac{2 \rho E \lVert b^\star\rVert^2}{M} + \rho P \sum_k \lvert V_k\rvert s_k^2

    Both are upper bounds. Copies need not agree, so `f(w)` may lie below `f(w*)`; and `w` consists
    of exact updates, which no agent sends. Proof: docs/proofs/d_zoa_outer_loop.md.

    Source: Gratton et al. (2021), section V-B, theorem 3, eq (29); Gratton et al. (2020), section
    V, theorem 3, eq (32). The second is for neighbourhoods with `closed`.

    Args:
        claim: claim per iteration.
        network: undirected network, the same in every round.
        rounds: number of rounds `M`.
        penalty: ADMM penalty `rho`.
        counts: records per agent `N_k`, shape `(agents,)`.
        dimension: dimension `P`.
        optimum: norm of the optimum `||b*||`.
        gradient_bound: largest gradient norm `c1`.
        agent: agent `k`, for the printed form only.
        closed: whether `k` counts among its neighbours, as in the version of 2020. The printed
            first term is unchanged, as the paper's matrices have a row for each link.
        form: form of the result, "printed" or "corrected".

    Raises:
        ConfigError: a number out of range, no agent for the printed form or one for the other.
        NetworkError: a coordinator, one-way links or links that change.

    Example:
        >>> from tacit.network import Graph
        >>> five = Graph.from_edges(5, [(0, 1), (0, 3), (1, 2), (2, 3), (3, 4)])
        >>> setting = dict(rounds=200, penalty=4.0, counts=[20] * 5, dimension=10, optimum=2.0)
        >>> printed = [
        ...     outer_loop_bound(PaperClaim(0.15, 1e-3), five, agent=k, form="printed", **setting)
        ...     for k in (4, 0, 3)  # with one, two and three neighbours
        ... ]
        >>> [round(bound.noise, 1) for bound in printed]
        [50.3, 12.6, 5.6]
        >>> bound = outer_loop_bound(PaperClaim(0.15, 1e-3), five, **setting)
        >>> round(bound.descent, 1), round(bound.noise, 1)
        (0.8, 11.8)
    """
    if network.coordinated:
        raise NetworkError("the bound on the outer loop is about peers, not about a coordinator")
    check_network("the bound on the outer loop", network)
    m = whole("rounds", rounds, 1, ConfigError)
    p = whole("dimension", dimension, 1, ConfigError)
    positive("penalty", penalty)
    positive("gradient_bound", gradient_bound)
    not_negative(optimum=optimum)
    records = np.asarray(counts)
    if records.shape != (network.agents,) or np.any(records < 1):
        raise ConfigError(
            f"counts has shape {records.shape}; give the number of records of each of the "
            f"{network.agents} agents, at least 1"
        )
    degrees = network.degrees + closed
    multiplier = math.sqrt(2.1 * math.log(1.25 / claim.delta)) / claim.epsilon
    deviation = multiplier * gradient_bound / (penalty * degrees * records)
    # twice the number of links
    ends = float(np.sum(network.degrees))
    if as_printed(form):
        if agent is None or not 0 <= agent < network.agents:
            raise ConfigError(
                f"agent={agent!r} must be one of the {network.agents} agents: the printed bound "
                "leaves it open whose noise is meant"
            )
        extremes = laplacian_extremes(network)
        ratio = extremes.signless_largest**2 / extremes.signed_smallest_nonzero
        noise = penalty / 2.0 * p * float(deviation[agent]) ** 2 * ratio
    else:
        if agent is not None:
            raise ConfigError(f"agent={agent!r} is for form='printed': the correction has a sum")
        noise = penalty * p * float(np.sum(degrees * deviation**2))
        ends = float(np.sum(degrees))
    return OuterLoopBound(penalty * ends * optimum**2 / m, noise)
