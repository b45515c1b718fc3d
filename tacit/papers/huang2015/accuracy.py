"""The accuracy of PDOP by the argument of its paper, as printed and as corrected.

`S(t)` is the mean over agents of `E ||x_i(t) - x*||^2`. The paper's recursion takes the noise of a
vector for that of one coordinate, and omits that `f_i(x*) - f_i(z_i)` may be positive where
agents disagree. The corrected form has both, for gradients at `P_X z` instead of `z`. All of it
needs `c C3 <= 1`. `pdop_bounds` has the same for `PDOP`, whose public start carries no noise.

Theorem 10 is in section 4.4 of Huang, Mitra, Vaidya (2015), its proof in the appendix.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from tacit.arguments import checked
from tacit.checks import whole
from tacit.errors import ConfigError
from tacit.method._schedule import positive
from tacit.method.forms import Form, as_printed, between, not_negative
from tacit.papers.huang2015.bounds import PerRound, printed_accuracy


@checked(ConfigError)
def accuracy_recursion(
    steps: PerRound,
    scales: PerRound,
    *,
    curvature: float,
    gradient_bound: float,
    start: float,
    dimension: int,
    contraction: float | None = None,
    apart: float = 0.0,
    form: Form = "corrected",
) -> Float[np.ndarray, " rounds"]:
    r"""Bounds on `S(1)`, `S(2)`, ... from `S(0)`, one round after the other.

    The noise sent before a step is applied first:

    .. math::

        \text{printed:} && S &\leftarrow (1 - C_3 \gamma_t) S + C_2^2 \gamma_t^2
            + 2 (1 - C_3 \gamma_t) M_t^2 \\
        \text{corrected:} && S &\leftarrow (1 - C_3 \gamma_t) (S + 2 n M_t^2) + C_2^2 \gamma_t^2
            + 2 \gamma_t C_2 s_t, \\
        && s_t &= b \, (s_{t-1} + \gamma_{t-1} C_2 + \sqrt{2 n} M_t)

    `s_t` bounds the root mean square distance of the agents' `P_X z_i` from their mean, for a
    mixing that shrinks it by `b`.

    Source: Huang, Mitra, Vaidya (2015), appendix, eqs (25), (26).

    Args:
        steps: step sizes `gamma_t`, at most one over the curvature.
        scales: scales `M_t` of the Laplace noise sent before step `t`.
        curvature: curvature `C3`.
        gradient_bound: largest gradient norm `C2`.
        start: initial error `sqrt(S(0))`, as `||x(0) - x*||`.
        dimension: dimension `n`.
        contraction: contraction `b` of the mixing, in [0, 1], for the corrected form.
        apart: root mean square distance of the starts from their mean.
        form: form of the result, "printed" or "corrected".

    Raises:
        ConfigError: a number out of its range, or no contraction for the corrected form.

    Example:
        >>> setting = dict(curvature=1.0, gradient_bound=2.0, start=1.0, dimension=2)
        >>> accuracy_recursion([0.5, 0.25], [0.1, 0.1], form="printed", **setting)
        array([1.51  , 1.3975])
        >>> accuracy_recursion([0.5, 0.25], [0.1, 0.1], contraction=0.5, **setting)
        array([1.72, 2.22])
    """
    printed = as_printed(form)
    _mixing(contraction, printed)
    n = whole("dimension", dimension, 1, ConfigError)
    positive("curvature", curvature)
    positive("steps", steps)
    not_negative(scales=scales, gradient_bound=gradient_bound, start=start, apart=apart)
    gamma, noise = (np.asarray(each, dtype=np.float64) for each in (steps, scales))
    if gamma.shape != noise.shape or gamma.ndim != 1:
        raise ConfigError(
            f"steps has shape {gamma.shape} and scales {noise.shape}; give both for the same rounds"
        )
    if np.any(curvature * gamma > 1.0):
        raise ConfigError(
            f"a step of {float(gamma.max()):g} exceeds one over the curvature {curvature:g}"
        )
    squared, disagreement, before = start**2, apart, 0.0
    found: list[float] = []
    for step, scale in zip(gamma, noise, strict=True):
        squared += 2.0 * (1.0 if printed else n) * scale**2
        squared = (1.0 - curvature * step) * squared + (gradient_bound * step) ** 2
        if contraction is not None and not printed:
            disagreement += before * gradient_bound + math.sqrt(2.0 * n) * scale
            disagreement *= contraction
            squared += 2.0 * step * gradient_bound * disagreement
            before = step
        found.append(float(squared))
    return np.array(found)


@checked(ConfigError)
def scheduled_accuracy(
    step: float,
    ratio: float,
    noise_ratio: float,
    *,
    rounds: int | None = None,
    epsilon: float,
    diameter: float,
    gradient_bound: float,
    curvature: float,
    dimension: int,
    contraction: float | None = None,
    apart: float = 0.0,
    form: Form = "corrected",
) -> float:
    r"""A bound on `S(t)` with the paper's geometric steps and noise, for `t` finite or infinite.

    With `Psi(t) = prod_(s <= t) (1 - C3 c q^(s-1))`, and `exp(-C3 c / (1-q))` for infinite `t`:

    .. math::

        \text{printed:} && & 2 C_1 \Psi(t) + \frac{C_2^2 c^2}{1 - q^2}
            + \frac{8 C_2^2 n c^2 p^2}{\varepsilon^2 (p - q)^2 (1 - p^2)} \\
        \text{corrected:} && & C_1^2 \Psi(t) + \frac{C_2^2 c^2}{1 - q^2}
            + \frac{8 C_2^2 n^2 c^2 p^2}{\varepsilon^2 (p - q)^2 (1 - p^2)} \\
        && & + \frac{2 C_2 c b}{1 - b q}
            \left(a + \frac{c C_2 q}{1 - q^2} + \frac{\sqrt{2n} M_1}{1 - p q}\right)

    The last line is the cost of disagreement: `b` is the contraction of the mixing, `a` the root
    mean square distance of the starts from their mean, `M_1` the first noise. For infinite `t` the
    printed bound is theorem 10, which has `C1` where eq (27) has `2 C1`.

    Source: Huang, Mitra, Vaidya (2015), section 4.4, theorem 10, eq (15); appendix, eq (27).

    Args:
        step: first step size `c`, positive; at most `1 / C3` for the corrected form and for a
            number of rounds.
        ratio: step ratio `q`, in (0, 1).
        noise_ratio: noise ratio `p`, in (q, 1).
        rounds: number of rounds `t`; `None` for the limit.
        epsilon: the paper's epsilon, which determines the noise of eq (8).
        diameter: diameter `C1`.
        gradient_bound: largest gradient norm `C2`.
        curvature: curvature `C3`.
        dimension: dimension `n`.
        contraction: contraction `b` of the mixing, in [0, 1], for the corrected form.
        apart: distance `a` of the starts; 0 for one public start.
        form: form of the result, "printed" or "corrected".

    Raises:
        ConfigError: a number out of its range, or no contraction for the corrected form.

    Example:
        >>> square = dict(diameter=8**0.5, gradient_bound=32**0.5, curvature=2.0, dimension=2)
        >>> schedule = dict(step=0.01, ratio=0.5, noise_ratio=0.8, epsilon=10.0, contraction=0.5)
        >>> for rounds in (1, None):
        ...     bounds = [
        ...         scheduled_accuracy(rounds=rounds, form=form, **schedule, **square)
        ...         for form in ("printed", "corrected")
        ...     ]
        ...     print(rounds, *(round(bound, 2) for bound in bounds))
        1 5.56 7.88
        None 2.73 7.72
    """
    printed = as_printed(form)
    _mixing(contraction, printed)
    n = whole("dimension", dimension, 1, ConfigError)
    for name, value in (
        ("step", step),
        ("epsilon", epsilon),
        ("diameter", diameter),
        ("gradient_bound", gradient_bound),
        ("curvature", curvature),
    ):
        positive(name, value)
    between(0.0, 1.0, ratio=ratio)
    between(ratio, 1.0, noise_ratio=noise_ratio)
    not_negative(apart=apart)
    c, q, p = step, ratio, noise_ratio
    if (rounds is not None or not printed) and curvature * c > 1.0:
        raise ConfigError(f"a step of {c:g} exceeds one over the curvature {curvature:g}")
    if printed and rounds is None:
        return printed_accuracy(
            c,
            q,
            p,
            epsilon=epsilon,
            diameter=diameter,
            gradient_bound=gradient_bound,
            curvature=curvature,
            dimension=n,
        )
    if rounds is None:
        kept = math.exp(-curvature * c / (1.0 - q))
    else:
        shrunk = c * q ** np.arange(whole("rounds", rounds, 1, ConfigError), dtype=np.float64)
        kept = float(np.prod(1.0 - curvature * shrunk))
    # `M_1` of eq (8), and the total noise of one coordinate
    first = 2.0 * gradient_bound * math.sqrt(n) * c * p / (epsilon * (p - q))
    noise = 2.0 * first**2 / (1.0 - p**2)
    moved = (gradient_bound * c) ** 2 / (1.0 - q**2)
    if printed:
        return 2.0 * diameter * kept + moved + noise
    assert contraction is not None
    driven = apart + c * gradient_bound * q / (1.0 - q**2)
    driven += math.sqrt(2.0 * n) * first / (1.0 - p * q)
    disagreement = 2.0 * gradient_bound * c * contraction / (1.0 - contraction * q) * driven
    return diameter**2 * kept + moved + n * noise + disagreement


def _mixing(contraction: float | None, printed: bool) -> None:
    """Refuse a contraction that is missing or outside [0, 1]."""
    if contraction is None:
        if not printed:
            raise ConfigError(
                "the corrected form needs contraction, by how much a round shrinks disagreement: "
                "pdop_bounds.rate_of(network), or one minus the spectral gap"
            )
    elif not 0.0 <= contraction <= 1.0:
        raise ConfigError(f"contraction={contraction!r} must be in [0, 1]")
