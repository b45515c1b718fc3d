"""How a check fails."""

from __future__ import annotations


def hold(condition: object, sentence: str) -> None:
    """Fail with a sentence unless a condition holds; `assert` would disappear under `python -O`.

    Raises:
        AssertionError: the condition does not hold.
    """
    if not bool(condition):
        raise AssertionError(sentence)
