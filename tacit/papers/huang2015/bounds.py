"""The accuracy of PDOP: the paper's bound, a corrected one, and an exact formula.

All take the step `gamma_t` and the noise of every round as arrays. Entry `t` of the noise is the
variance, per coordinate, of the noise on the value released *after* step `t`:
`2 M^2` for Laplace noise of scale `M`, `sigma^2` for Gaussian noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import ArrayLike, Float

from tacit.arguments import checked
from tacit.errors import ConfigError, NetworkError
from tacit.method.forms import Form, as_printed, not_negative
from tacit.method.pdop import check_network
from tacit.network.base import AbstractNetwork
from tacit.network.spectrum import smallest_positive_weight

PerRound: TypeAlias = Float[ArrayLike, " rounds"] | Sequence[float]
"""One number per round, in order."""


@checked(ConfigError)
def noise_variances(
    steps: PerRound, *, distance: float, noise_ratio: float, epsilon: float
) -> Float[np.ndarray, " rounds"]:
    """Variances of the corrected noise schedule that spends `epsilon` on these steps.

    Args:
        steps: step sizes `gamma_t`, positive.
        distance: largest l1 distance `G` between two gradients (two clips).
        noise_ratio: noise ratio `p`, by which the noise shrinks from round to round.
        epsilon: pure epsilon of all rounds together.

    Example:
        >>> variances = noise_variances([0.5, 0.25], distance=1.0, noise_ratio=0.5, epsilon=1.0)
        >>> [round(float(variance), 3) for variance in variances]
        [2.0, 0.5]
    """
    gamma = np.asarray(steps, dtype=np.float64)
    shape = noise_ratio ** np.arange(len(gamma))
    first = distance / epsilon * float(np.sum(gamma / shape))
    return 2.0 * np.square(first * shape)


@checked(ConfigError)
def exact_accuracy(
    steps: PerRound,
    variances: PerRound,
    *,
    curvature: float,
    start: float,
    dimension: int,
    agents: int,
    first_variance: float = 0.0,
) -> float:
    r"""`E ||z - x*||^2` of the average `z` of all answers, for quadratics with one Hessian.

    Every cost is `h ||x - m_i||^2 / 2` plus a constant and there is no constraint; then the average
    follows one gradient step on the mean cost, whatever the network:

    .. math::

        c_T^2 \lVert x_0 - x^\star\rVert^2
            + \frac{n}{N} \sum_t v_t \prod_{l > t} (1 - h \gamma_l)^2,
            \qquad c_T = \prod_t (1 - h \gamma_t).

    On a complete graph with equal weights this is the accuracy of every agent. It is exact only
    without a constraint: on a box it may be off by orders of magnitude.

    Source: Huang, Mitra, Vaidya (2015), section 3.3, definition 2. That is the quantity; the
    formula is ours.

    Args:
        steps: step sizes `gamma_t`.
        variances: variances `v_t` of the noise added after every step.
        curvature: curvature `h`.
        start: initial distance `||x0 - x*||`.
        dimension: dimension `n`.
        agents: number of agents `N`.
        first_variance: variance of noise on the public start, which the paper adds and we do not.

    Example:
        >>> exact_accuracy([0.5], [0.25], curvature=1.0, start=2.0, dimension=2, agents=10)
        1.05
    """
    gamma = np.asarray(steps, dtype=np.float64)
    kept = np.square(1.0 - curvature * gamma)
    # shares of the start, and of the noise after each step, that remain after later steps
    left = np.append(np.cumprod(kept[::-1])[::-1], 1.0)
    added = np.append(first_variance, np.asarray(variances, dtype=np.float64))
    return float(left[0] * start**2 + dimension / agents * np.sum(left * added))


@checked(ConfigError)
def corrected_accuracy(
    steps: PerRound,
    variances: PerRound,
    *,
    curvature: float,
    gradient_bound: float,
    start: float,
    dimension: int,
    agents: int,
    contraction: float,
) -> float:
    r"""A bound on `(1/N) sum_i E ||x_i - x*||^2` of the answers of `PDOP`, on any convex set.

    For costs with strong convexity `h` and gradients within `C2` on the set, and `h gamma_t <= 1`.
    With `d` that mean and `s` the root mean square distance of the agents from their average:

    .. math::

        d &\leftarrow (1 - h \gamma_t) d + \gamma_t^2 C_2^2 + 2 \gamma_t C_2 s + n v_t, \\
        s &\leftarrow b \, (s + \gamma_t C_2 + \sqrt{n v_t}),

    where `b` is the factor by which one round of mixing shrinks disagreement. The third term is
    missing in the paper's theorem 10 (`f_i(x*) - f_i(z_i)` may be positive). Derivation:
    docs/methods/pdop.md.

    Source: Huang, Mitra, Vaidya (2015), section 4.4, theorem 10, eq (15); appendix, eqs (22) to
    (27). This bound replaces them.

    Args:
        steps: step sizes `gamma_t`, at most one over `curvature`.
        variances: variances of the noise added after every step.
        curvature: curvature `h`, of every agent's cost.
        gradient_bound: largest gradient norm `C2`, the l2 clip.
        start: initial distance `||x0 - x*||`.
        dimension: dimension `n`.
        agents: number of agents `N`.
        contraction: contraction `b`, in [0, 1]: `rate_of` the network, or one minus the spectral
            gap of an undirected graph.

    Raises:
        ConfigError: a step above one over the curvature.
    """
    gamma = np.asarray(steps, dtype=np.float64)
    if np.any(curvature * gamma > 1.0):
        raise ConfigError(
            f"a step of {float(gamma.max()):g} exceeds one over the curvature {curvature:g}, "
            "beyond which the bound does not hold; take smaller steps"
        )
    squared, apart = start**2, 0.0
    for step, variance in zip(gamma, np.asarray(variances, dtype=np.float64), strict=True):
        noise = math.sqrt(dimension * variance)
        squared = (1.0 - curvature * step) * squared
        squared += (step * gradient_bound) ** 2 + 2.0 * step * gradient_bound * apart
        squared += dimension * variance
        # at the points v_i = P_X z_i, where the next gradients are taken
        apart = contraction * (apart + step * gradient_bound + noise)
    return float(squared)


@checked(ConfigError)
def printed_accuracy(
    step: float,
    ratio: float,
    noise_ratio: float,
    *,
    epsilon: float,
    diameter: float,
    gradient_bound: float,
    curvature: float,
    dimension: int,
) -> float:
    r"""The accuracy by theorem 10 of Huang, Mitra, Vaidya (2015), eq (15). It is not a bound.

    With the paper's letters:

    .. math::

        C_1 \exp\left(-\frac{C_3 c}{1 - q}\right) + \frac{C_2^2 c^2}{1 - q^2}
            + \frac{8 n C_2^2 c^2 p^2}{\varepsilon^2 (p - q)^2 (1 - p^2)}

    It has `C1` for `C1^2` and `n` for `n^2`, holds only for `c <= 1/C3`, and omits
    `f_i(x*) - f_i(z_i)`; `corrected_accuracy` is a bound.

    Source: Huang, Mitra, Vaidya (2015), section 4.4, theorem 10, eq (15).

    Args:
        step: first step size `c`.
        ratio: step ratio `q`.
        noise_ratio: noise ratio `p`.
        epsilon: claimed epsilon.
        diameter: diameter `C1`, of the set.
        gradient_bound: largest gradient norm `C2`.
        curvature: curvature `C3`.
        dimension: dimension `n`.
    """
    c, q, p = step, ratio, noise_ratio
    bias = diameter * math.exp(-curvature * c / (1.0 - q))
    moved = (gradient_bound * c) ** 2 / (1.0 - q**2)
    noise = 8.0 * dimension * (gradient_bound * c * p / (epsilon * (p - q))) ** 2 / (1.0 - p**2)
    return bias + moved + noise


@checked(ConfigError)
def mixing_rate(agents: int, smallest_weight: float, window: int = 1) -> float:
    """`beta = (1 - eta / (4 N^2))^(1/W)`: guaranteed contraction of disagreement per round.

    Args:
        agents: number of agents `N`.
        smallest_weight: lower bound `eta` on all positive weights, own ones included.
        window: number of rounds that are jointly strongly connected; 1 is the paper's assumption 2,
            more is an extension.

    Source: Nedic et al. (2009), On Distributed Averaging Algorithms and Quantization Effects, lemma
    9; Huang, Mitra, Vaidya (2015), section 4.3, lemma 6.

    Raises:
        ConfigError: a weight outside (0, 1] or fewer than one round.
    """
    if not 0.0 < smallest_weight <= 1.0 or window < 1:
        raise ConfigError(
            f"smallest_weight={smallest_weight!r} must be in (0, 1] and window={window!r} at least "
            "1"
        )
    return (1.0 - smallest_weight / (4.0 * agents**2)) ** (1.0 / window)


@checked(ConfigError)
def rate_of(network: AbstractNetwork, window: int = 1) -> float:
    """`mixing_rate` of a network that satisfies assumption 2 of the paper.

    Raises:
        NetworkError: agents that sleep, or whose own value has no weight.
    """
    check_network("the consensus bound", network)
    if network.coordinated:
        raise NetworkError("the consensus bound is about peers; a coordinator mixes at once")
    return mixing_rate(network.agents, smallest_positive_weight(network), window)


@checked(ConfigError)
def consensus_bound(
    steps: PerRound,
    noise: PerRound,
    *,
    agents: int,
    smallest_weight: float,
    gradient_bound: float,
    radius: float,
    window: int = 1,
    form: Form = "corrected",
) -> Float[np.ndarray, " rounds"]:
    r"""A bound on `||x_i(t) - x_j(t)||`, and on the distance from the mean, after every step.

    With rounds counted from 1:

    .. math::

        M_1 \beta^t + M_2 \sum_{s \le t} \beta^{t-s} \gamma_s
            + M_3 \sum_{s \le t} \beta^{t-s} \lVert w(s)\rVert

    `theta = beta^-2`, `beta = 1 - eta / (4 N^2)`, `M1 = 2 N theta sup ||x||`,
    `M2 = 2 N C2 theta`, `M3 = 2 N theta`. As printed, the last sum has `beta^(t-s+1)`; the proof
    assumes that a step from `z` has length at most `gamma C2`, which is true only for `z` in the
    set. It fails where a cost is steep outside. `PDOP` projects `z` before the step, and the
    projection moves the mixture by no more than the mixed noise, after the mixing.

    Source: Huang, Mitra, Vaidya (2015), section 4.3, lemmas 6, 7, eq (13).

    Args:
        steps: step sizes `gamma_s`, `s = 1 ... T`.
        noise: largest l2 norm of any agent's `w(s)`, or a bound on its mean for one on the mean.
        agents: number of agents `N`.
        smallest_weight: lower bound `eta` on all positive weights.
        gradient_bound: largest gradient norm `C2`, the l2 clip.
        radius: largest `||x||` on the set.
        window: number of jointly connected rounds, see `mixing_rate`.
        form: form of the result, "printed" or "corrected".

    Raises:
        ConfigError: a number out of its range.

    Example:
        >>> bound = consensus_bound(
        ...     np.zeros(500), np.zeros(500), agents=2, smallest_weight=0.5, gradient_bound=1.0,
        ...     radius=1.0,
        ... )
        >>> bool(bound[0] > 4.0 and bound[-1] < 1e-5)
        True
    """
    not_negative(steps=steps, noise=noise, gradient_bound=gradient_bound, radius=radius)
    beta = mixing_rate(agents, smallest_weight, window)
    theta = (1.0 - smallest_weight / (4.0 * agents**2)) ** -2.0
    mixed = np.asarray(noise, float) * (beta if as_printed(form) else 1.0)
    drive = 2.0 * agents * theta * (gradient_bound * np.asarray(steps, float) + mixed)
    bounds: list[float] = []
    gathered, start = 0.0, 2.0 * agents * theta * radius
    for t, new in enumerate(drive, start=1):
        gathered = beta * gathered + float(new)
        bounds.append(start * beta**t + gathered)
    return np.array(bounds)
