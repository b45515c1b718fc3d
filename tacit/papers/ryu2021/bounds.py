"""Bounds for DP-IADMM's noise: global sensitivities, and the leak through a local one."""

from __future__ import annotations

import math
from typing import Annotated

from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.ranges import Count, Range
from tacit.types import Relation


@checked(ConfigError)
def global_l1_sensitivity(features: int, total: float, relation: Relation | str) -> float:
    """Largest l1 movement of a softmax gradient between neighbours, for features in [0, 1].

    One record's gradient is `x (h - y)'` with `||x||_1 <= J` and `||h - y||_1 <= 2`; adding or
    removing it moves the sum over `I` by `2 J / I`, replacing it by `4 J / I`.

    Args:
        features: number of features `J`, at least 1.
        total: declared divisor `I`, positive.
        relation: adjacency, "add_remove" or "replace_one".

    Raises:
        ConfigError: a number out of range, or the relation metric.

    Example:
        >>> round(60_000 * global_l1_sensitivity(784, 60_000.0, "add_remove"))
        1568
    """
    if features < 1 or not 0.0 < total < math.inf:
        raise ConfigError(f"features={features!r} must be at least 1 and total={total!r} positive")
    if relation not in tuple(Relation):
        words = ", ".join(map(repr, map(str, Relation)))
        raise ConfigError(f"relation={relation!r} must be one of {words}")
    relation = Relation(relation)
    if relation is Relation.METRIC:
        raise ConfigError("relation='metric' compares whole costs; a record is added or replaced")
    return (4.0 if relation is Relation.REPLACE_ONE else 2.0) * features / total


@checked(ConfigError)
def noise_scale_delta(epsilon: float, dimension: int, ratio: float) -> float:
    r"""Least delta of an iteration of the printed DP-IADMM at `epsilon`, from its noise scale
    alone.

    Let `y` be released with noise of scale `b = D / epsilon` while the record with the longest
    gradient, `D`, is there, and of scale `r b` once it is removed; `g` is the gradient with it. The
    event is `||y - g||_1 > c`. With the record, `||y - g||_1 / b` is Gamma(n, 1). Without it, it is
    at most `epsilon` larger than `r` times such a number, since the gradient moves by `D`. So:

    .. math::

        \delta \ge Q(n, c) - e^\varepsilon Q\left(n, \frac{c - \varepsilon}{r}\right), \qquad
            c = \frac{\varepsilon - n \log r}{1/r - 1}

    for the regularised upper incomplete gamma function `Q`.

    Args:
        epsilon: claimed epsilon, positive.
        dimension: dimension `n`, at least 1.
        ratio: ratio `r` of the longest remaining gradient to the longest, in (0, 1).

    Raises:
        ConfigError: a number out of range.

    Example:
        >>> f"{noise_scale_delta(0.05, 7840, 0.9888):.2f}"
        '0.37'
    """
    if not 0.0 < epsilon < math.inf or dimension < 1 or not 0.0 < ratio < 1.0:
        raise ConfigError(
            f"epsilon={epsilon!r} must be positive, dimension={dimension!r} at least 1 and "
            f"ratio={ratio!r} in (0, 1)"
        )
    from scipy.special import gammaincc

    threshold = noise_scale_event(epsilon, dimension, ratio)
    there = gammaincc(dimension, threshold)
    absent = gammaincc(dimension, max(threshold - epsilon, 0.0) / ratio)
    return max(0.0, float(there - math.exp(epsilon) * absent))


@checked(ConfigError)
def noise_scale_event(
    epsilon: Annotated[float, Range(above=0.0)],
    dimension: Count,
    ratio: Annotated[float, Range(above=0.0, below=1.0)],
) -> float:
    """The threshold `c` of `noise_scale_delta`: where the two laws of the noise differ by epsilon.

    Args:
        epsilon: claimed epsilon, positive.
        dimension: dimension `n`, at least 1.
        ratio: ratio `r` of the noise scales, in (0, 1).
    """
    return (epsilon - dimension * math.log(ratio)) / (1.0 / ratio - 1.0)
