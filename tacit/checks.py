"""Check values given to public functions: accept what is unambiguous and refuse the rest at once.

A message shows what was given and what to write instead. Arrays and objects are shown by kind only:
they may hold private values.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, TypeVar

from tacit.errors import TacitError
from tacit.ranges import LONG, numeric

T = TypeVar("T")


def shown(value: Any) -> str:
    """A description of the given value, for a message."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, int) and abs(value) >= LONG:
        return "a number of more than 300 digits"
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:37] + "...")
    if type(value).__name__ in ("DataFrame", "Series"):
        return f"a table of {len(value):,} rows"
    if hasattr(value, "shape"):
        return f"an array of shape {tuple(value.shape)}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def first_line(error: BaseException) -> str:
    """The first line of an error of another package, shortened."""
    return (str(error).splitlines() or [type(error).__name__])[0][:120]


def close(name: str, known: Iterable[str], cutoff: float = 0.6) -> list[str]:
    """The known name that is meant, if one is close; empty if none.

    The same letters in another writing come first: a class for its key, capitals, `_` for `-`.

    Args:
        name: name as it was given.
        known: names that exist.
        cutoff: similarity that is close enough, from 0 to 1.

    Example:
        >>> close("DPSG", ["dpsg", "dgd"]), close("ErdosRenyi", ["erdos_renyi"]), close("x", ["y"])
        (['dpsg'], ['erdos_renyi'], [])
    """
    names = {each.casefold(): each for each in known}
    same = [each for each in names.values() if _letters(each) == _letters(name) != ""]
    found = difflib.get_close_matches(name.casefold(), names, 1, cutoff)
    return same[:1] or [names[each] for each in found]


def hint(name: str, known: Iterable[str], otherwise: str, cutoff: float = 0.6) -> str:
    """What to say of an unknown name: the known one that is meant, or else other words.

    Args:
        name: name as it was given.
        known: names that exist.
        otherwise: what to say if none is close.
        cutoff: similarity that is close enough, from 0 to 1.

    Example:
        >>> hint("agee", ["age"], "it has age"), hint("x", ["age"], "it has age")
        ("did you mean 'age'?", 'it has age')
    """
    found = close(name, known, cutoff)
    return f"did you mean {found[0]!r}?" if found else otherwise


def absent(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """The error about a name that a module does not have, with the one that is meant, if any.

    Args:
        module: name of the module.
        name: name that was looked up.
        known: public names of the module.

    Example:
        >>> absent("tacit.method", "Dpsg", ["DPSG", "DGD"])
        AttributeError("module 'tacit.method' has no attribute 'Dpsg'; did you mean 'DPSG'?")
    """
    # tools look up names such as __path__, and mean no other
    found = [] if name.startswith("_") else close(name, known)
    meant = f"; did you mean {found[0]!r}?" if found else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{meant}")


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def instance(name: str, value: object, kind: type[T], remedy: str, error: type[TacitError]) -> T:
    """Return the value if it is an instance of a class.

    Args:
        name: name of the argument.
        value: value given for it.
        kind: class that the value must be an instance of.
        remedy: what to write instead.
        error: class of the error to raise.

    Raises:
        error: the value is something else, such as the class instead of an instance of it.
    """
    if isinstance(value, kind):
        return value
    raise error(mismatch(name, value, kind, remedy))


def mismatch(name: str, value: object, kind: type, remedy: str) -> str:
    """What to say of a value that is not an instance of a class; arguments as for `instance`."""
    if isinstance(value, type) and issubclass(value, kind):
        return (
            f"{name} is the class {value.__name__} and not one of its objects; write "
            f"{value.__name__}(...), with its arguments"
        )
    return f"{name} is {shown(value)}; {remedy}"


def whole(name: str, value: Any, least: int, error: type[TacitError]) -> int:
    """Return a whole number; 5.0 is one.

    Args:
        name: name of the argument.
        value: value given for it.
        least: smallest number allowed.
        error: class of the error to raise.

    Raises:
        error: not a number, not whole, or below `least`.
    """
    given = value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
    if (
        isinstance(given, bool)
        or not isinstance(given, int | float)
        or not abs(given) < LONG  # nan and infinity fail here, too
        or given != int(given)
    ):
        raise error(f"{name}={shown(value)} must be a whole number, such as {max(least, 10)}")
    if given < least:
        raise error(f"{name}={shown(value)} must be at least {least}")
    return int(given)


def real(name: str, value: object, error: type[TacitError]) -> None:
    """Refuse what is neither a number nor an array or list of numbers.

    Raises:
        error: text, a truth value, `None`, or an object that does not hold numbers.
    """
    if isinstance(value, list | tuple) and value:
        for each in value:
            real(name, each, error)
    elif not numeric(value):
        raise error(f"{name}={shown(value)} must be a number, such as {name}=1.0")
