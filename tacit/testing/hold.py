"""How a check fails."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from tacit.errors import ProblemError


def hold(condition: object, sentence: str) -> None:
    """Fail with a sentence unless a condition holds; `assert` would disappear under `python -O`.

    Raises:
        AssertionError: the condition does not hold.
    """
    if not bool(condition):
        raise AssertionError(sentence)


@contextmanager
def held() -> Generator[None, None, None]:
    """Fail with the sentence of what a problem would refuse.

    Raises:
        AssertionError: a part is refused inside.
    """
    try:
        yield
    except ProblemError as error:
        raise AssertionError(str(error)) from error
