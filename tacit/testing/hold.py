"""How a check fails."""

from __future__ import annotations


def hold(condition: object, sentence: str) -> None:
    """Fail with a sentence unless a condition holds; `assert` would vanish under `python -O`.

    Raises:
        AssertionError: it does not hold.
    """
    if not bool(condition):
        raise AssertionError(sentence)
