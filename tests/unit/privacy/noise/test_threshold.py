"""Thresholds against another implementation, and ties."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.privacy.noise.threshold import (
    LEADING_BITS,
    TIE_BITS,
    below,
    exponential_threshold,
    logistic_threshold,
    rest_is_below,
)
from tests.unit.privacy.noise.scripted import Scripted, tie_words

BITS = LEADING_BITS + TIE_BITS


@pytest.mark.parametrize("x", ["1/3", "1", "99.99", "1e-30", "123456789/987654321"])
def test_thresholds_to_the_last_bit(x: str) -> None:
    number = Fraction(x)
    with mpmath.workprec(600):
        exact = mpmath.exp(mpmath.mpf(number.numerator) / number.denominator)
        assert exponential_threshold(number, 181) == int(mpmath.floor(2**181 / exact))
        assert logistic_threshold(number, BITS) == int(mpmath.floor(2**BITS / (1 + exact)))


def test_an_exponential_too_small_for_its_bits() -> None:
    assert exponential_threshold(Fraction(10**9), 181) == 0


@pytest.mark.parametrize(("above", "expected"), [(-1, True), (0, False), (1, False)])
def test_ties_are_decided_by_the_bits_that_follow(above: int, expected: bool) -> None:
    threshold = logistic_threshold(Fraction(1, 7), BITS)
    leading = threshold >> TIE_BITS
    words = np.array([leading - 1, leading, leading + 1], np.uint16)
    stream = Scripted(words, tie_words(threshold % 2**TIE_BITS + above))
    assert below(stream, [threshold], 3).tolist() == [[True, expected, False]]
    assert stream.answers == []


def test_each_tie_draws_its_own_bits() -> None:
    thresholds = [5 << TIE_BITS | 7, 6 << TIE_BITS | 1 << 100]
    leading = np.array([5, 4, 6, 6], np.uint16)  # row by row
    stream = Scripted(leading, tie_words(6), tie_words(1 << 101), tie_words((1 << 100) - 1))
    assert below(stream, thresholds, 2).tolist() == [[True, True], [False, True]]
    assert stream.answers == []


def test_the_high_word_of_a_tie_comes_first() -> None:
    assert rest_is_below(Scripted(tie_words(2**64)), 2**64 + 1)
    assert not rest_is_below(Scripted(tie_words(2**64)), 2**64)


def test_no_thresholds_give_no_rows() -> None:
    assert below(Scripted(np.empty(0, np.uint16)), [], 3).shape == (0, 3)
