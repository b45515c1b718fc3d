"""Whether a user's function can be called with the arguments that it will get, before it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tacit.arguments.answers import misfit
from tacit.errors import ProblemError


def check_takes(name: str, function: Callable[..., Any], **given: str) -> None:
    """Refuse a function that takes another number of arguments. It is not called.

    Args:
        name: what the function is, in words.
        function: function to be looked at.
        given: the arguments that it gets, in order: what each of them is, in words.

    Raises:
        ProblemError: more or fewer arguments, or some that are taken by name only.

    Example:
        >>> check_takes("f", lambda: 0.0, x="a point")
        Traceback (most recent call last):
            ...
        tacit.errors.ProblemError: f takes (), and is called with (x): x is a point
    """
    own = misfit(function, list(given))
    if own is not None:
        what = ", ".join(f"{argument} is {words}" for argument, words in given.items())
        raise ProblemError(f"{name} takes ({own}), and is called with ({', '.join(given)}): {what}")
