"""The discrete Gaussian sampler: its law, its acceptance probabilities, ties, refusals."""

import math
from decimal import Decimal, localcontext

import mpmath
import numpy as np
import pytest

from tacit.errors import PrivacyError
from tacit.privacy.noise.gaussian import (
    MARGIN,
    acceptance,
    acceptance_threshold,
    accepted,
    discrete_gaussian,
)
from tacit.privacy.noise.stream import SeededStream
from tests.unit.privacy.noise.scripted import Scripted, tie_words
from tests.unit.privacy.noise.test_laplace import laplace_law

SCALES = [1e-3, 0.4, 1.0, 7.7, 1e6, 2.0**44]


@pytest.mark.parametrize("scale", [0.2, 0.7, 1.5])
def test_the_law_drawn_is_the_exact_law_but_for_its_bound(scale: float) -> None:
    with localcontext(prec=90):
        proposals = laplace_law(float(math.floor(scale) + 1))
        kept = {
            k: p * acceptance_threshold(abs(k), scale) / Decimal(2) ** 181
            for k, p in proposals.items()
        }
        exact = {k: (-(Decimal(k) ** 2) / (2 * Decimal(scale) ** 2)).exp() for k in proposals}
        distance = sum(
            abs(kept[k] / sum(kept.values()) - exact[k] / sum(exact.values())) for k in exact
        )
        assert Decimal(0) < distance / 2 < Decimal(2) ** -133


@pytest.mark.parametrize("scale", [0.01, 0.999, 1.0, 1.999, 2.0, 2.999, 10.5, 300.25])
def test_at_least_a_quarter_of_the_proposals_is_kept(scale: float) -> None:
    t = math.floor(scale) + 1
    sizes = np.arange(100 * t)
    law = np.tanh(0.5 / t) * np.exp(-sizes / t) * np.where(sizes == 0, 1, 2)
    assert np.sum(law * acceptance(sizes, scale)) > 0.25


@pytest.mark.parametrize("scale", SCALES)
def test_floating_point_acceptance_is_within_a_sixteenth_of_its_margin(scale: float) -> None:
    rng = np.random.default_rng(0)
    sizes = np.concatenate([[0, 1], np.int64(rng.uniform(0, 38, 2000) * scale)])
    computed = acceptance(sizes, scale)
    with mpmath.workprec(400):
        s, t = mpmath.mpf(scale), math.floor(scale) + 1
        exact = [mpmath.exp(-((int(y) - s**2 / t) ** 2) / (2 * s**2)) for y in sizes]
        normal = [i for i, p in enumerate(exact) if p > 1e-300]
        worst = max(abs(float(computed[i] / exact[i] - 1)) for i in normal)
    assert worst < MARGIN / 16


@pytest.mark.parametrize("size", [0, 5, 20])
def test_exact_acceptance_agrees_with_the_floating_point_one(size: int) -> None:
    exact = acceptance_threshold(size, 7.7) / 2**181
    assert acceptance(np.array([size]), 7.7)[0] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(
    ("leading", "rest", "expected"),
    [(-1, None, True), (1, None, False), (0, -1, True), (0, 0, False), (0, 1, False)],
)
def test_near_ties_are_decided_exactly(leading: int, rest: int | None, expected: bool) -> None:
    threshold = acceptance_threshold(4, 7.7)
    word = (threshold >> 128) + leading << 11  # the lowest 11 bits of a word are not used
    ties = [] if rest is None else [tie_words(threshold % 2**128 + rest)]
    stream = Scripted(np.array([word], np.uint64), *ties)
    assert accepted(stream, np.array([4]), 7.7).tolist() == [expected]
    assert stream.answers == []


def test_a_chance_below_all_leading_bits_is_decided_exactly() -> None:
    threshold = acceptance_threshold(90, 7.7)
    assert 0 < threshold < 2**128
    word = np.array([0], np.uint64)
    assert accepted(Scripted(word, tie_words(threshold - 1)), np.array([90]), 7.7).all()
    assert not accepted(Scripted(word, tie_words(threshold)), np.array([90]), 7.7).any()


def test_a_chance_that_underflows_is_never_kept() -> None:
    assert not accepted(Scripted(np.array([0], np.uint64)), np.array([2**51]), 7.7).any()


@pytest.mark.parametrize("scale", [1.0, 3e3, 2.0**30, 2.0**44])
def test_spread_at_every_scale(scale: float) -> None:
    draws = discrete_gaussian(SeededStream(1), scale, 100_000).astype(float)
    assert draws.std() / scale == pytest.approx(1.0, abs=6 / np.sqrt(2 * 100_000))
    assert abs(draws.mean()) < 6 * scale / np.sqrt(100_000)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 0.05])
def test_a_tiny_scale_gives_zeros(scale: float) -> None:
    assert not discrete_gaussian(SeededStream(0), scale, 1000).any()


@pytest.mark.parametrize("count", [0, 1, 3])
def test_few_draws(count: int) -> None:
    assert discrete_gaussian(SeededStream(3), 10.0, count).shape == (count,)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan"), 2.0**45])
def test_a_scale_out_of_range_is_refused(scale: float) -> None:
    with pytest.raises(PrivacyError, match="cannot be drawn"):
        discrete_gaussian(SeededStream(0), scale, 1)
