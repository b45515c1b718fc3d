"""Exact tests of whether the noise that an audit sees is the noise that the accounting assumes.

An audit knows the private answers, so it knows the noise: the release minus the answer. Noise of
any known law is turned into numbers that are independent and standard normal if the code is
correct. Tables of them have one column for every draw of a run (agent, round) and one row for every
repetition. A check gives the probability of its finding if the code is correct, adjusted for all
comparisons that it makes; it fails below `ALARM / MOST`, so that all checks of an audit together
raise a false alarm with a probability of at most `ALARM`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

ALARM = 1e-6
"""Probability with which any check of an audit fails although the code is right."""

MOST = 64
"""More checks than an audit makes."""

_COLUMNS = 256
"""Draws that are compared with each other; of more, these many are taken, evenly."""

_VALUES = 20_000


@dataclass(frozen=True)
class Check:
    """The result of one test of the noise.

    Attributes:
        of: subject of the test, such as "simulated noise of gradient".
        what: property that was tested.
        found: measurement, in words.
        chance: probability of this finding, or a worse one, if the code is correct.
    """

    of: str
    what: str
    found: str
    chance: float

    @property
    def failed(self) -> bool:
        """Whether the finding rules out that the code is correct."""
        return not self.chance >= ALARM / MOST

    def sentence(self) -> str:
        """The finding in words."""
        return f"{self.of}, {self.what}: {self.found}"


def normal_checks(
    of: str,
    draws: Float[np.ndarray, "rows columns size"],
    names: Sequence[str],
    resolution: float = 0.0,
) -> list[Check]:
    """All tests of noise that should be independent and standard normal, or larger.

    Args:
        of: subject of the tests.
        draws: every repetition of every draw, `size` numbers each.
        names: names of the columns, as in "agent 0 in round 3".
        resolution: smallest distance between draws that are not equal.
    """
    fine = max(resolution, float(np.finfo(float).eps))
    rows, columns, size = draws.shape
    squares = np.sum(np.square(draws), axis=2)
    values = np.moveaxis(draws, 2, 1).reshape(rows * size, columns)
    found = [_size(of, squares, size), _least(of, squares, size, fine)]
    if columns > 1:
        found.append(_related(of, "draws are independent", values, names))
    if size > 1:
        apart = draws.reshape(rows * columns, size)
        entries = [f"entry {i}" for i in range(size)]
        found.append(_related(of, "entries are independent", apart, entries))
    return [*found, _repeated(of, draws, 8.0 * fine)]


def sample_checks(
    of: str, taken: Bool[np.ndarray, "rows columns"], rate: float, names: Sequence[str]
) -> list[Check]:
    """Tests of samples that should contain every unit independently with probability `rate`.

    Args:
        of: subject of the tests.
        taken: whether each unit was drawn; one column per sample, one row per unit.
        rate: sampling probability of each unit, in (0, 1).
        names: names of the columns.
    """
    from scipy.stats import binom

    count, most = int(taken.sum()), taken.size
    chance = 2.0 * float(min(binom.cdf(count, most, rate), binom.sf(count - 1, most, rate)))
    found = [
        Check(of, "rate", f"{count / most:.4g} of the units, {rate:g} is charged", min(chance, 1.0))
    ]
    kept = _some(taken.shape[1])
    if len(kept) < 2:
        return found
    # the rarer of the two cases tells more
    rare, chosen = min(rate, 1.0 - rate), taken[:, kept] == (rate <= 0.5)
    both = chosen.T.astype(float) @ chosen
    first, second = np.triu_indices(len(kept), 1)
    pairs = both[first, second]
    worst = int(np.argmax(pairs))
    chance = len(pairs) * float(binom.sf(pairs[worst] - 1, len(taken), rare**2))
    named = _named(names, kept[first[worst]], kept[second[worst]])
    expected = rare**2 * len(taken)
    said = f"{pairs[worst]:.0f} units alike in {named}, where {expected:.3g} are expected"
    return [*found, Check(of, "samples are independent", said, min(chance, 1.0))]


def standard(draws: Float[np.ndarray, "... size"], law: str) -> Float[np.ndarray, "... size"]:
    """Noise of scale 1 as standard normal numbers that keep its order and direction.

    Args:
        draws: noise, with the entries of one draw along the last axis.
        law: "gaussian", "laplace", or "l2_laplace" (density proportional to `exp(-||z||_2)`).
    """
    from scipy.special import chdtri, gammaincc, ndtri_exp

    if law == "gaussian":
        return draws
    if law == "laplace":  # the tail beyond |z| is exp(-|z|) / 2
        return -np.sign(draws) * ndtri_exp(-np.abs(draws) - math.log(2.0))
    size = draws.shape[-1]
    length = np.linalg.norm(draws, axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        normal = np.sqrt(chdtri(size, gammaincc(size, length))) / length
    return draws * np.where(length > 0.0, normal, 0.0)


def _size(of: str, squares: Float[np.ndarray, "rows columns"], size: int) -> Check:
    from scipy.stats import chi2

    count = squares.size * size
    total = float(squares.sum())
    share = math.sqrt(total / count)
    said = f"{share:.4g} times the noise accounted for, over {count:,} numbers"
    return Check(of, "size", said, float(chi2.cdf(total, count)))


def _least(
    of: str, squares: Float[np.ndarray, "rows columns"], size: int, resolution: float
) -> Check:
    from scipy.stats import chi2

    least = float(squares.min())
    each = float(chi2.cdf((math.sqrt(least) + resolution) ** 2, size))
    chance = -math.expm1(squares.size * math.log1p(-each)) if each < 1.0 else 1.0
    said = f"{math.sqrt(least / size):.2g} times it in the smallest of {squares.size:,} draws"
    return Check(of, "no draw without noise", said, chance)


def _related(
    of: str, what: str, values: Float[np.ndarray, "rows columns"], names: Sequence[str]
) -> Check:
    """Pearson's correlation about zero, whose law between normal columns is known exactly."""
    from scipy.stats import t

    kept = _some(values.shape[1])
    values = values[:, kept]
    lengths = np.linalg.norm(values, axis=0)
    with np.errstate(invalid="ignore"):
        cosines = (values.T @ values) / np.outer(lengths, lengths)
    first, second = np.triu_indices(len(kept), 1)
    pairs = np.nan_to_num(np.clip(cosines[first, second], -1.0, 1.0), nan=1.0)
    worst = int(np.argmax(np.abs(pairs)))
    r, freedom = abs(float(pairs[worst])), len(values) - 1
    tail = 0.0
    if r < 1.0 and freedom > 0:
        tail = 2.0 * float(t.sf(r * math.sqrt(freedom / (1.0 - r * r)), freedom))
    elif freedom == 0:
        tail = 1.0
    named = _named(names, kept[first[worst]], kept[second[worst]])
    said = f"largest correlation {pairs[worst]:.3g}, of {named}, of {len(pairs):,} pairs"
    return Check(of, what, said, min(len(pairs) * tail, 1.0))


def _repeated(of: str, draws: Float[np.ndarray, "rows columns size"], near: float) -> Check:
    """Numbers that are equal to the last digits: continuous noise has none."""
    from scipy.stats import poisson

    values = np.abs(draws.reshape(-1))
    values = np.sort(values[_some(len(values), _VALUES)])
    values = values[values > 0.0]
    equal = int(np.sum(np.diff(values) <= near))
    # both signs: sizes have at most the density sqrt(2 / pi), so two are near with this mean
    expected = len(values) ** 2 * near * math.sqrt(1.0 / math.pi)
    chance = float(poisson.sf(equal - 1, expected)) if equal else 1.0
    said = f"{equal:,} of {len(values):,} numbers are repeated"
    return Check(of, "no repeated numbers", said, chance)


def _some(count: int, most: int = _COLUMNS) -> np.ndarray:
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))


def _named(names: Sequence[str], one: Any, other: Any) -> str:
    return f"{names[one]} and {names[other]}"
