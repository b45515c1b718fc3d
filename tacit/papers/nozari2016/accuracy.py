"""The accuracy of functional perturbation, as stated in its paper, and corrected.

`x~` minimises the sum of the agents' perturbed costs and `x*` the sum of the true ones. The paper's
bounds on `E |x~ - x*|` have three errors: the mean square of Laplace noise of scale `s` is `2 s^2`
and not `s^2`, the modulus of the appendix is applied to a norm and not to its square
(`functional_argmin`), and gradients of a sum of `n` costs are bounded by `n u`.
`functional_bounds` has sharper bounds of our own.

All of it is in sections V and VI of Nozari, Tallapragada, Cortes (2018).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import ArrayLike, Float

from tacit.arguments import checked
from tacit.checks import whole
from tacit.errors import ConfigError
from tacit.method._schedule import positive
from tacit.method.forms import Form, as_printed, not_negative
from tacit.method.functional_projection import CurvatureBounds
from tacit.papers.nozari2016.minimisers import Domain, argmin_modulus, hoelder_constant

PerAgent: TypeAlias = float | Sequence[float] | Float[ArrayLike, " agents"]
"""One number per agent, or one for all."""


@checked(ConfigError)
def noise_scale(epsilon: float, q: float, p: float | None = None) -> float:
    """`gamma` for an epsilon between costs at distance 1 in V_q: `sqrt(zeta(2(q-p))) / epsilon`.

    Source: Nozari, Tallapragada, Cortes (2018), section V-B, theorem V.2, eq (15).

    Args:
        epsilon: epsilon between costs at distance 1, positive.
        q: exponent of the norm, above 1.
        p: exponent of the noise, in (1/2, q - 1/2); `q / 2` if `None`.

    Raises:
        ConfigError: a number out of its range.

    Example:
        >>> round(noise_scale(1.0, 1.1), 2)
        3.25
    """
    from tacit.papers.nozari2016.bounds import printed_metric_epsilon

    positive("epsilon", epsilon)
    return printed_metric_epsilon(epsilon, q, q / 2.0 if p is None else p)


@checked(ConfigError)
def noise_l2_norm(scale: float, p: float, *, form: Form = "corrected") -> float:
    """`sqrt(E ||eta||^2)` of the noise `eta_k ~ Lap(gamma / k^p)`, `k = 1, 2, ...`.

    As printed `gamma sqrt(zeta(2p))`; corrected `gamma sqrt(2 zeta(2p))`, as a Laplace variable of
    scale `s` has the variance `2 s^2`. `functional_bounds.noise_norm` sums over the finitely many
    released coefficients.

    Source: Nozari, Tallapragada, Cortes (2018), section VI-B, eq (22).

    Args:
        scale: noise scale `gamma`, positive.
        p: exponent of the noise, above 1/2; else the norm is infinite.
        form: form of the result, "printed" or "corrected".

    Raises:
        ConfigError: a number out of its range.

    Example:
        >>> [round(noise_l2_norm(1.0, 0.55, form=form), 2) for form in ("printed", "corrected")]
        [3.25, 4.6]
    """
    from scipy.special import zeta

    positive("scale", scale)
    positive("p", p)
    if not p > 0.5:
        raise ConfigError(f"p={p!r} must be above 1/2; with less the noise has no finite norm")
    return scale * math.sqrt((1.0 if as_printed(form) else 2.0) * float(zeta(2.0 * p)))


@checked(ConfigError)
def square_summable_from(
    scales: Sequence[float] | Float[ArrayLike, " k"], p: float, s: float
) -> int | None:
    """First coefficient from which Laplace noise is small enough for its squares to be summable.

    Noise with `b_k <= 1 / (k^p log k^s)` for all `k >= K` lies in l2 with probability 1, for any
    `p > 1/2` and `s > 1`. Only the finitely many given scales can be checked.

    Source: Nozari, Tallapragada, Cortes (2018), section V-A, lemma V.1, eqs (11), (12). Scales
    `gamma / k^p` satisfy it for any `gamma`.

    Args:
        scales: noise scales `b_k`, `k = 1, 2, ...`, positive.
        p: exponent of `k`, above 1/2.
        s: exponent of `log k`, above 1.

    Returns:
        The smallest `K`, or `None` if the last scale is too large.

    Raises:
        ConfigError: a number out of its range.

    Example:
        >>> k = np.arange(1.0, 1001.0)
        >>> [square_summable_from(2.0 / k**decay, p=0.6, s=1.1) for decay in (1.0, 0.6)]
        [848, None]
    """
    positive("scales", scales)
    positive("p", p)
    positive("s", s)
    if not (p > 0.5 and s > 1.0):
        raise ConfigError(f"p={p!r} must be above 1/2 and s={s!r} above 1")
    found = np.asarray(scales, dtype=np.float64)
    k = np.arange(1.0, found.size + 1.0)
    # without a quotient: log 1 = 0 allows anything
    above = np.flatnonzero(found * k**p * s * np.log(k) > 1.0)
    first = int(above[-1]) + 2 if above.size else 1
    return first if first <= found.size else None


@checked(ConfigError)
def modulus_accuracy(
    scales: PerAgent,
    p: PerAgent,
    bounds: CurvatureBounds,
    domain: Domain,
    *,
    agents: int,
    smoothing: PerAgent = 0.0,
    form: Form = "corrected",
) -> float:
    r"""A bound on `E |x~ - x*|` by the modulus of the appendix.

    With `kappa`, the inverse of `argmin_modulus_inverse`, for `n alpha`, `n beta` and `u` (printed)
    or `n u` (corrected):

    .. math::

        \text{printed:} && & \sum_i \kappa\left(\gamma_i \sqrt{\zeta(2 p_i)}\right) + \kappa(e_i) \\
        \text{corrected:} && & \sum_i \kappa\left(2 \gamma_i^2 \zeta(2 p_i)\right) + \kappa(e_i^2)

    The correction rests on the same steps, as `kappa` of a square is still concave.

    Source: Nozari, Tallapragada, Cortes (2018), section VI-B, theorem VI.3, eqs (21), (22).

    Args:
        scales: noise scales `gamma_i`, positive.
        p: exponents of the noise `p_i`, above 1/2.
        bounds: bounds `alpha`, `beta` and `u` of each agent's cost.
        domain: domain `D`.
        agents: number of agents `n`.
        smoothing: L2 distance `e_i` by which smoothing, or dropping coefficients, moves a perturbed
            cost.
        form: form of the result, "printed" or "corrected".

    Raises:
        ConfigError: a number out of its range.

    Example:
        >>> square = Domain.box([-5.0, -5.0], [5.0, 5.0])
        >>> bounds = CurvatureBounds(1.0, 51.0, 148.5)
        >>> round(modulus_accuracy(3.25, 0.55, bounds, square, agents=10), 1)
        149.2
    """
    n = whole("agents", agents, 1, ConfigError)
    u = bounds.gradient_bound
    summed = CurvatureBounds(
        n * bounds.strong_convexity,
        n * bounds.smoothness,
        u if as_printed(form) else n * u,
    )
    norms = _norms(scales, p, smoothing, n, form)
    found = {norm: argmin_modulus(norm, summed, domain, form=form) for norm in set(norms)}
    return math.fsum(found[norm] for norm in norms)


@checked(ConfigError)
def modulus_accuracy_at(
    epsilon: PerAgent,
    q: PerAgent,
    bounds: CurvatureBounds,
    domain: Domain,
    *,
    agents: int,
    smoothing: PerAgent = 0.0,
    form: Form = "corrected",
) -> float:
    """`modulus_accuracy` at an epsilon, for `p = q / 2`: as printed `sum_i kappa(zeta(q) / eps_i)`.

    Source: Nozari, Tallapragada, Cortes (2018), section VI-B, corollary VI.4, eq (23).

    Args:
        epsilon: epsilon `epsilon_i` between costs at distance 1 in V_q.
        q: exponents of the norm `q_i`, above 1.
        bounds: bounds `alpha`, `beta` and `u` of each agent's cost.
        domain: domain `D`.
        agents: number of agents `n`.
        smoothing: L2 distances `e_i` due to smoothing.
        form: form of the result, "printed" or "corrected".

    Raises:
        ConfigError: a number out of its range.

    Example:
        >>> square = Domain.box([-5.0, -5.0], [5.0, 5.0])
        >>> printed = CurvatureBounds(1.0, 22734.57, 3115019.74)
        >>> round(modulus_accuracy_at(1.0, 1.1, printed, square, agents=10, form="printed"), 1)
        683.8
    """
    scales, p = _at_epsilon(epsilon, q, agents)
    return modulus_accuracy(
        scales, p, bounds, domain, agents=agents, smoothing=smoothing, form=form
    )


@checked(ConfigError)
def interior_accuracy(
    scales: PerAgent,
    p: PerAgent,
    strong_convexity: float,
    smoothness: float,
    dimension: int,
    *,
    agents: int,
    smoothing: PerAgent = 0.0,
    form: Form = "corrected",
) -> float:
    r"""A bound on `E |x~ - x*|` where minimisers lie well inside the domain.

    With the printed `L` of `hoelder_constant`:

    .. math::

        \text{printed:} && & \frac{L}{n^2} \sum_i \left(
            \left(\gamma_i \sqrt{\zeta(2 p_i)}\right)^{2/(d+4)} + e_i^{2/(d+4)}\right) \\
        \text{corrected:} && & \left(\frac{L}{n^2}\right)^{1/(d+4)} \sum_i \left(
            \left(\gamma_i \sqrt{2 \zeta(2 p_i)}\right)^{2/(d+4)} + e_i^{2/(d+4)}\right)

    `x*` and `x~` must be within the `interior_radius`. One agent's term shrinks as `n^(-2/(d+4))`,
    not as `n^-2`.

    Source: Nozari, Tallapragada, Cortes (2018), section VI-B, remark VI.5.

    Args:
        scales: noise scales `gamma_i`, positive.
        p: exponents of the noise `p_i`, above 1/2.
        strong_convexity: modulus `alpha` of each agent's cost, positive.
        smoothness: largest curvature `beta`, above `alpha`.
        dimension: dimension `d`.
        agents: number of agents `n`.
        smoothing: L2 distances `e_i` due to smoothing.
        form: form of the result, "printed" or "corrected".

    Raises:
        ConfigError: a number out of its range.

    Example:
        >>> [
        ...     round(interior_accuracy(3.25, 0.55, 1.0, 51.0, 2, agents=10, form=form), 1)
        ...     for form in ("printed", "corrected")
        ... ]
        [39.5, 27.2]
    """
    n = whole("agents", agents, 1, ConfigError)
    # of the sums of n costs: L / n^2
    constant = hoelder_constant(n * strong_convexity, n * smoothness, dimension, form=form)
    norms = _norms(scales, p, smoothing, n, form)
    return constant * math.fsum(norm ** (2.0 / (dimension + 4.0)) for norm in norms)


@checked(ConfigError)
def interior_accuracy_at(
    epsilon: PerAgent,
    q: PerAgent,
    strong_convexity: float,
    smoothness: float,
    dimension: int,
    *,
    agents: int,
    smoothing: PerAgent = 0.0,
    form: Form = "corrected",
) -> float:
    """`interior_accuracy` at an epsilon, for `p = q / 2`.

    Source: Nozari, Tallapragada, Cortes (2018), section VI-B, remark VI.5. It is the second line of
    the remark.

    Args:
        epsilon: epsilon `epsilon_i` between costs at distance 1 in V_q.
        q: exponents of the norm `q_i`, above 1.
        strong_convexity: modulus `alpha`.
        smoothness: largest curvature `beta`.
        dimension: dimension `d`.
        agents: number of agents `n`.
        smoothing: L2 distances `e_i` due to smoothing.
        form: form of the result, "printed" or "corrected".

    Raises:
        ConfigError: a number out of its range.
    """
    scales, p = _at_epsilon(epsilon, q, agents)
    return interior_accuracy(
        scales,
        p,
        strong_convexity,
        smoothness,
        dimension,
        agents=agents,
        smoothing=smoothing,
        form=form,
    )


def _norms(
    scales: PerAgent, p: PerAgent, smoothing: PerAgent, agents: int, form: Form
) -> list[float]:
    """L2 distances by which noise, and then smoothing, moves each cost."""
    pairs = zip(_each("scales", scales, agents), _each("p", p, agents), strict=True)
    noise = [noise_l2_norm(scale, exponent, form=form) for scale, exponent in pairs]
    return noise + _each("smoothing", smoothing, agents)


def _at_epsilon(epsilon: PerAgent, q: PerAgent, agents: int) -> tuple[list[float], list[float]]:
    """`gamma_i` and `p_i = q_i / 2`."""
    n = whole("agents", agents, 1, ConfigError)
    norms = _each("q", q, n)
    pairs = zip(_each("epsilon", epsilon, n), norms, strict=True)
    return [noise_scale(each, norm) for each, norm in pairs], [norm / 2.0 for norm in norms]


def _each(name: str, values: PerAgent, agents: int) -> list[float]:
    """One number for each agent."""
    not_negative(**{name: values})
    found = np.asarray(values, dtype=np.float64)
    if found.shape not in ((), (agents,)):
        raise ConfigError(
            f"{name} has shape {found.shape}; give one number, or one for each of {agents} agents"
        )
    return [float(value) for value in np.broadcast_to(found, (agents,))]
