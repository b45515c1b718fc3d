"""Ends of intervals, as messages print them."""

from __future__ import annotations

from tacit.method._times import place_of


def test_an_end_is_meant_by_the_digits_that_messages_print() -> None:
    ends = [10.0 * k / 7 for k in range(1, 8)]
    assert [place_of(float(f"{end:g}"), ends) for end in ends] == list(range(7))
    assert place_of(1.43, ends) is None
