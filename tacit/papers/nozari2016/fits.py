"""Lines through runs on two logarithmic axes, as the figures of Nozari, Tallapragada, Cortes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float


def straight(
    epsilons: Sequence[float], runs: Sequence[Sequence[float]]
) -> tuple[float, Float[np.ndarray, " epsilons"]]:
    """The best line through all runs: its slope, and its distance at each epsilon.

    Args:
        epsilons: epsilons, positive.
        runs: positive distances, one row per epsilon.

    Example:
        >>> slope, line = straight([1.0, 10.0, 100.0], [[4.0], [2.0], [1.0]])
        >>> round(slope, 3), line.round(3)
        (-0.301, array([4., 2., 1.]))
    """
    x, y = _logarithms(epsilons, runs)
    slope, start = np.polyfit(x, y, 1)
    return float(slope), np.power(10.0, start + slope * np.log10(epsilons))


def bent(
    epsilons: Sequence[float], runs: Sequence[Sequence[float]]
) -> tuple[float, float, Float[np.ndarray, " epsilons"]]:
    """The best line of two pieces that meet at an epsilon: both slopes, and its distances.

    Args:
        epsilons: at least three epsilons, positive, increasing.
        runs: positive distances, one row per epsilon.

    Example:
        >>> falls, rests, line = bent([1.0, 10.0, 100.0, 1e3], [[100.0], [10.0], [1.0], [1.0]])
        >>> round(falls, 2), round(abs(rests), 2)
        (-1.0, 0.0)
    """
    x, y = _logarithms(epsilons, runs)
    places = np.log10(epsilons)
    tried = [_hinge(x, y, bend) for bend in places[1:-1]]
    _, bend, (start, slope, more) = min(tried, key=lambda found: found[0])
    line = start + slope * places + more * np.maximum(places - bend, 0.0)
    return float(slope), float(slope + more), np.power(10.0, line)


def _hinge(
    x: Float[np.ndarray, " runs"], y: Float[np.ndarray, " runs"], bend: float
) -> tuple[float, float, Float[np.ndarray, " 3"]]:
    design = np.stack([np.ones_like(x), x, np.maximum(x - bend, 0.0)], axis=1)
    found = np.linalg.lstsq(design, y, rcond=None)[0]
    return float(np.sum((design @ found - y) ** 2)), bend, found


def _logarithms(
    epsilons: Sequence[float], runs: Sequence[Sequence[float]]
) -> tuple[Float[np.ndarray, " runs"], Float[np.ndarray, " runs"]]:
    x = np.concatenate([np.full(len(row), e) for e, row in zip(epsilons, runs, strict=True)])
    return np.log10(x), np.log10(np.concatenate([np.asarray(row, dtype=float) for row in runs]))
