"""Calls of functions that users write: what they are called with, and what they answer.

A function that JAX traces is checked while it is traced, so a compiled run does not pay for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tacit.checks import shown
from tacit.errors import ConfigError, TacitError
from tacit.ranges import numeric, traced

Fits: TypeAlias = Callable[[object], str]
"""What to give in place of an answer, in words; empty if it fits."""


def anything(value: object) -> str:
    """Any answer fits."""
    return ""


def answer(
    function: Callable[..., Any],
    *given: object,
    named: str,
    takes: str,
    fits: Fits = anything,
    error: type[TacitError] = ConfigError,
    public: bool = False,
) -> Any:
    """What a user's function answers.

    Args:
        function: function to call.
        given: arguments that it is called with.
        named: what the function is, as the user knows it, such as "Mixing.init".
        takes: names of the arguments, such as "state, context".
        fits: says what is wanted instead of an answer.
        error: class of the error to raise.
        public: whether an answer sees no data, so that the message may show it.

    Raises:
        error: a function of other arguments, or another answer.
    """
    try:
        found = function(*given)
    except TypeError as fault:
        own = misfit(function, given)
        if own is None:
            raise
        raise error(
            f"{named} takes ({own}), and is called with ({takes}); write it for these arguments"
        ) from fault
    hold(named, found, fits, error, public=public)
    return found


def hold(
    named: str,
    found: object,
    fits: Fits,
    error: type[TacitError] = ConfigError,
    *,
    gives: str = "gives",
    public: bool = False,
) -> None:
    """Refuse an answer that does not fit; arguments as for `answer`.

    Raises:
        error: the answer, and what is wanted.
    """
    wanted = fits(found)
    if wanted:
        raise error(f"{named} {gives} {(shown if public else _kind)(found)}; {wanted}")


def array_of(shape: Sequence[int | None], why: str = "") -> Fits:
    """An array of numbers of a shape, `None` for any length.

    Args:
        shape: length of every axis.
        why: what has that shape, as words to append.
    """
    sizes = ", ".join("n" if size is None else str(size) for size in shape)
    sizes += "," if len(shape) == 1 else ""

    def fits(value: Any) -> str:
        found = _shape(value)
        if found is not None and len(found) == len(shape):
            alike = [want in (None, have) for want, have in zip(shape, found, strict=True)]
            if all(alike):
                return ""
        return f"give {'numbers' if shape else 'a number'}, shape ({sizes}){why}"

    return fits


def numbers_only(what: str, remedy: str = "") -> Fits:
    """Arrays and numbers in any structure, and nothing else.

    Args:
        what: what consists of them, such as "a state".
        remedy: what to give in place of `None`; empty if `None` fits.
    """

    def fits(value: object) -> str:
        import jax  # here, so that the accountant needs none

        if value is None and remedy:
            return remedy
        bad = [leaf for leaf in jax.tree.leaves(value) if not _number(leaf)]
        held = "" if not bad or bad[0] is value else f"it holds {_kind(bad[0])}, and "
        return f"{held}{what} consists of arrays and numbers" if bad else ""

    return fits


def number(words: str, *, zero: bool = False, whole: bool = False) -> Fits:
    """One positive number that is known.

    Args:
        words: what to give.
        zero: whether 0 fits, too.
        whole: whether it must be whole.
    """

    def fits(value: Any) -> str:
        single = np.ndim(value) == 0 and not traced(value) and numeric(value)
        good = single and (value > 0 or (zero and value == 0)) and (not whole or value % 1 == 0)
        return "" if good else words

    return fits


def naming_progress(
    progress: Callable[..., Any], takes: str, error: type[TacitError], named: str = "progress"
) -> Callable[..., Any]:
    """A function of progress whose exceptions name the argument.

    Args:
        progress: function of progress.
        takes: names of its arguments, for the message.
        error: class of the error to raise.
        named: name of the argument.
    """

    def told(*given: Any) -> None:
        try:
            progress(*given)
        except Exception as fault:
            raise error(
                f"{named} raised {type(fault).__name__}: {fault}. It is called with ({takes}), "
                f"here {given}; correct the function"
            ) from fault

    return told


def misfit(function: Callable[..., Any], given: Sequence[Any]) -> str | None:
    """Names of what a function takes, if it cannot be called so; `None` if it can."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # not written in Python
        return None
    try:
        signature.bind(*given)
    except TypeError:
        return ", ".join(signature.parameters)
    return None


def _kind(value: Any) -> str:
    """What an answer is; numbers and text may be private."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return "a number" if plain else "text" if isinstance(value, str) else shown(value)


def _shape(value: Any) -> tuple[int, ...] | None:
    """The shape of an array or list of real numbers; `None` of anything else."""
    if isinstance(value, list | tuple):
        inner = {_shape(each) for each in value}
        [one] = inner if len(inner) == 1 else [None]
        return None if one is None else (len(value), *one)
    return np.shape(value) if _number(value) and not np.iscomplexobj(value) else None


def _number(value: Any) -> bool:
    """Whether it is a number or an array that JAX computes with."""
    import jax

    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "biufcV"
    return isinstance(value, jax.Array | bool | int | float | complex)
