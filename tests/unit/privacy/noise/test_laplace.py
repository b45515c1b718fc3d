"""The discrete Laplace sampler: its law bit by bit, its range, its refusals."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from tacit.errors import PrivacyError
from tacit.privacy.noise.laplace import (
    LARGEST_SCALE,
    _geometric,
    bit_thresholds,
    discrete_laplace,
)
from tacit.privacy.noise.stream import SeededStream
from tests.unit.privacy.noise.scripted import Scripted, tie_words


def geometric_law(scale: float) -> list[Decimal]:
    """Law of what the sampler draws with its thresholds of 144 bits, in the open context."""
    law = [Decimal(1)]
    for threshold in bit_thresholds(scale):
        one = Decimal(threshold) / 2**144
        law = [p * (1 - one) for p in law] + [p * one for p in law]
    return law


def laplace_law(scale: float) -> dict[int, Decimal]:
    """The same for the difference of two geometric numbers."""
    one_sided, law = geometric_law(scale), {}
    for i, p in enumerate(one_sided):
        for j, q in enumerate(one_sided):
            law[i - j] = law.get(i - j, Decimal(0)) + p * q
    return law


@pytest.mark.parametrize("scale", [0.125, 0.3, 1.0, 2.5])
def test_the_law_drawn_is_the_exact_law_but_for_its_bound(scale: float) -> None:
    with localcontext(prec=90):
        rate = 1 / Decimal(scale)
        one = (1 - (-rate).exp()) / (1 + (-rate).exp())
        drawn = laplace_law(scale)
        exact = {k: one * (-abs(k) * rate).exp() for k in drawn}
        outside = 1 - sum(exact.values())
        distance = (sum(abs(drawn[k] - exact[k]) for k in drawn) + outside) / 2
        assert Decimal(0) < distance < Decimal(2) ** -137


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 0.009])
def test_a_tiny_scale_gives_zeros(scale: float) -> None:
    assert bit_thresholds(scale) == ()
    assert not discrete_laplace(SeededStream(0), scale, 10_000).any()


@pytest.mark.parametrize("scale", [1.0, 3e3, 2.0**30, 2.0**44, LARGEST_SCALE])
def test_spread_at_every_scale(scale: float) -> None:
    draws = discrete_laplace(SeededStream(1), scale, 100_000).astype(float)
    exact = np.sqrt(0.5) / np.sinh(0.5 / scale)
    # a Laplace variance is estimated with standard deviation sqrt(5/n), half of it for the root
    assert draws.std() / exact == pytest.approx(1.0, abs=6 * np.sqrt(5 / 100_000) / 2)
    assert abs(draws.mean()) < 6 * exact / np.sqrt(100_000)


def test_the_largest_scale_stays_below_two_to_the_52() -> None:
    thresholds = bit_thresholds(LARGEST_SCALE)
    assert len(thresholds) == 52
    ties = [tie_words(0) for threshold in thresholds if threshold >> 128 == 0]
    highest = _geometric(Scripted(np.zeros(52, np.uint16), *ties), thresholds, 1)
    assert highest.tolist() == [2**52 - 1]


def test_every_value_of_the_range_can_be_drawn() -> None:
    thresholds = bit_thresholds(0.05)
    assert all(threshold >> 128 == 0 for threshold in thresholds)
    bits = len(thresholds)
    patterns = (np.arange(2**bits) >> np.arange(bits)[:, np.newaxis]) & 1
    words = np.where(patterns == 1, 0, 65535).astype(np.uint16)
    ties = [tie_words(0)] * patterns.sum()
    drawn = _geometric(Scripted(words.reshape(-1), *ties), thresholds, 2**bits)
    assert drawn.tolist() == list(range(2**bits))


def test_draws_do_not_depend_on_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.privacy.noise.laplace._BLOCK", 7)
    draws = discrete_laplace(SeededStream(2), 50.0, 1000)
    assert len(set(draws[:7])) > 1
    assert draws.std() == pytest.approx(50.0 * 2**0.5, rel=0.3)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_few_draws(count: int) -> None:
    assert discrete_laplace(SeededStream(3), 10.0, count).shape == (count,)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan"), 2.0**45 + 1])
def test_a_scale_out_of_range_is_refused(scale: float) -> None:
    with pytest.raises(PrivacyError, match="cannot be drawn"):
        discrete_laplace(SeededStream(0), scale, 1)
