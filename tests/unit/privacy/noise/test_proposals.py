"""The sampler: its laws from its thresholds, ties, chances of keeping, its range."""

from decimal import Decimal, localcontext
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.privacy.noise.gaussian import GaussianLaw
from tacit.privacy.noise.laplace import LaplaceLaw
from tacit.privacy.noise.proposals import (
    LARGEST_SCALE,
    MARGIN,
    Law,
    Proposals,
    accepted,
    high_bits,
    keeping_threshold,
    proposals,
)
from tacit.privacy.noise.stream import SeededStream
from tests.unit.privacy.noise.laws import distance, kept, weights
from tests.unit.privacy.noise.scripted import Scripted, tie_words

LAWS = [
    *(LaplaceLaw(scale) for scale in (0.125, 0.3, 1.0, 2.5, 31.9, 70.0)),
    *(GaussianLaw(scale) for scale in (0.2, 0.7, 1.5, 33.3)),
]
SCALES = [1e-3, 0.4, 1.0, 7.7, 1e6, 2.0**44]


def one(size: int, low: int = 0, sign: int = 1) -> Proposals:
    return Proposals(np.array([size]), np.array([low]), np.array([sign]))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_law_drawn_is_the_exact_law_but_for_its_bound(law: LaplaceLaw | GaussianLaw) -> None:
    with localcontext(prec=90):
        drawn = kept(law)
        assert sorted(drawn) == list(range(len(drawn)))  # no size is missing up to the last
        far = 2 * (-Decimal(len(drawn)) / Decimal(law.spread)).exp()  # beyond, at most
        exact = weights(law, list(drawn))
        assert Decimal(0) < distance(law, exact) + far < Decimal(2) ** -136


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_proposals_are_kept_as_often_as_proved(law: LaplaceLaw | GaussianLaw) -> None:
    with localcontext(prec=90):
        assert sum(kept(law).values()) > (0.5 if isinstance(law, LaplaceLaw) else 0.19)


@pytest.mark.parametrize("spread", [1e-300, 0.009, 0.5, 31.9, 32.0, 63.0, 1e6, LARGEST_SCALE])
def test_twelve_bits_at_most_whatever_the_scale(spread: float) -> None:
    shift, thresholds = high_bits(spread)
    assert len(thresholds) <= 12
    assert shift == 0 or spread / 32 < 2**shift <= spread / 16
    assert 2 ** (shift + len(thresholds)) <= max(1, 200 * spread)


def test_the_largest_scale_stays_below_two_to_the_52() -> None:
    shift, thresholds = high_bits(LARGEST_SCALE)
    assert shift + len(thresholds) == 52
    ties = [tie_words(0) for threshold in thresholds if threshold >> 128 == 0]
    words = np.array([2**64 - 1], np.uint64)
    stream = Scripted(np.zeros(len(thresholds), np.uint16), *ties, words)
    highest = proposals(stream, LARGEST_SCALE, 1)
    assert (highest.sizes.tolist(), highest.signs.tolist()) == ([2**52 - 1], [-1])
    assert highest.low.tolist() == [2**shift - 1]


def test_every_size_of_the_range_can_be_proposed() -> None:
    shift, thresholds = high_bits(40.0)
    bits = len(thresholds)
    assert shift == 1
    patterns = (np.arange(2**bits) >> np.arange(bits)[:, np.newaxis]) & 1
    ones = np.array([max((threshold >> 128) - 1, 0) for threshold in thresholds])[:, np.newaxis]
    words = np.where(patterns == 1, ones, 65535).astype(np.uint16)
    ties = [tie_words(0)] * int(np.sum(patterns[[t >> 128 == 0 for t in thresholds]]))
    for low in (0, 1):
        signs = np.full(2**bits, low << 1, np.uint64)
        drawn = proposals(Scripted(words.reshape(-1), *ties, signs), 40.0, 2**bits)
        assert drawn.sizes.tolist() == list(range(low, 2 ** (bits + 1), 2))


def test_zero_with_a_minus_sign_is_rejected() -> None:
    for size, sign, expected in ((0, 1, True), (0, -1, False), (1, -1, True)):
        stream = Scripted(np.array([0], np.uint64))
        assert accepted(stream, one(size, sign=sign), GaussianLaw(7.7)).tolist() == [expected]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", [GaussianLaw, LaplaceLaw])
def test_chances_in_floating_point_are_within_an_eighth_of_their_margin(
    kind: type[GaussianLaw | LaplaceLaw], scale: float
) -> None:
    law, rng = kind(scale), np.random.default_rng(0)
    sizes = np.concatenate([[0, 1], np.int64(rng.uniform(0, 38, 2000) * scale)])
    low = sizes % 2 ** high_bits(law.spread)[0]
    computed = law.chance(sizes, low)
    with mpmath.workprec(400):
        pairs = [law.exponent(int(size), int(part)) for size, part in zip(sizes, low, strict=True)]
        exact = [mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) for x in pairs]
        normal = [i for i, p in enumerate(exact) if p > 1e-300]
        worst = max(abs(float(computed[i] / exact[i] - 1)) for i in normal)
    assert worst < MARGIN / 8


@pytest.mark.parametrize(
    ("law", "size", "low", "x"),
    [
        (LaplaceLaw(70.0), 9, 1, Fraction(1, 70)),
        (GaussianLaw(8.0), 4, 0, (Fraction(4, 8) - Fraction(8, 9)) ** 2 / 2),
        (GaussianLaw(63.0), 7, 3, (Fraction(7, 63) - Fraction(63, 64)) ** 2 / 2 + Fraction(3, 64)),
    ],
)
def test_exponents_are_exact(law: Law, size: int, low: int, x: Fraction) -> None:
    assert law.exponent(size, low) == x
    chance = law.chance(np.array([size]), np.array([low]))[0]
    assert chance == pytest.approx(keeping_threshold(law, size, low) / 2**181, rel=1e-12)


@pytest.mark.parametrize(
    ("leading", "rest", "expected"),
    [(-1, None, True), (1, None, False), (0, -1, True), (0, 0, False), (0, 1, False)],
)
def test_near_ties_are_decided_exactly(leading: int, rest: int | None, expected: bool) -> None:
    law = GaussianLaw(7.7)
    threshold = keeping_threshold(law, 4, 0)
    word = (threshold >> 128) + leading << 11  # the lowest 11 bits of a word are not used
    ties = [] if rest is None else [tie_words(threshold % 2**128 + rest)]
    stream = Scripted(np.array([word], np.uint64), *ties)
    assert accepted(stream, one(4), law).tolist() == [expected]
    assert stream.answers == []


def test_a_chance_below_all_leading_bits_is_decided_exactly() -> None:
    law = GaussianLaw(7.7)
    threshold = keeping_threshold(law, 90, 0)
    assert 0 < threshold < 2**128
    word = np.array([0], np.uint64)
    assert accepted(Scripted(word, tie_words(threshold - 1)), one(90), law).all()
    assert not accepted(Scripted(word, tie_words(threshold)), one(90), law).any()


def test_a_chance_that_underflows_is_never_kept() -> None:
    word = np.array([0], np.uint64)
    assert not accepted(Scripted(word), one(2**51), GaussianLaw(7.7)).any()


def test_proposals_are_independent_of_how_many_are_asked_for_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tacit.privacy.noise.laplace import discrete_laplace

    monkeypatch.setattr("tacit.privacy.noise.proposals._BLOCK", 7)
    draws = discrete_laplace(SeededStream(2), 50.0, 1000)
    assert len(set(draws[:7])) > 1
    assert draws.std() == pytest.approx(50.0 * 2**0.5, rel=0.3)
