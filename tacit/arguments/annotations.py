"""Whether a value fits an annotation, and what the annotation asks for in words."""

from __future__ import annotations

import collections.abc
import inspect
import math
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np

from tacit.ranges import Numbers, Range, numeric, traced

C = TypeVar("C")


def remedy(words: str, **converted: str) -> Callable[[type[C]], type[C]]:
    """What to say where an object of the class is asked for and something else is given.

    Args:
        words: how to get one, such as "give the result of tacit.run(...)".
        converted: how to get one, or one of a class derived from it, from an object of another
            package, by the name of the package.
    """

    def decorate(kind: type[C]) -> type[C]:
        _WORDS[kind] = words
        _CONVERTED[kind] = converted
        return kind

    return decorate


def wanted(value: object, hint: object) -> str | None:
    """What the annotation asks for, in words, if the value does not fit; `None` if it does."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        rules = [rule for rule in inner[1:] if isinstance(rule, Range)]
        if any(rule.unset for rule in rules) and isinstance(value, float) and math.isnan(value):
            return None
        asked = [wanted(value, inner[0]), *(rule.wanted(value) for rule in rules)]
        return next((each for each in asked if each), None)
    if origin in (typing.Union, types.UnionType):
        several = [wanted(value, each) for each in inner]
        return None if None in several else _either(several)
    if origin is typing.Literal:
        good = any(type(value) is type(each) and value == each for each in inner)
        return None if good else " or ".join(map(repr, inner))
    if hint is None or hint is type(None):
        return None if value is None else "None"
    if origin is type and isinstance(inner[0], type):
        return None if _kind_of(value, inner[0]) else f"give a class, a kind of {inner[0].__name__}"
    if hint in _PLAIN:
        good, words = _PLAIN[hint]
        return None if good(value) else words
    if hasattr(hint, "array_type") and hasattr(hint, "index_variadic"):  # a jaxtyping annotation
        return _array(value, hint)
    kind = origin or hint
    if kind is collections.abc.Callable:
        return None if callable(value) and not isinstance(value, type) else "give a function"
    told = getattr(kind, "_is_runtime_protocol", not getattr(kind, "_is_protocol", False))
    if not isinstance(kind, type) or kind is object or not told:
        return None
    return _object(value, kind, inner)


def _either(several: Iterable[str | None]) -> str:
    """Words for one of several; a whole number is a number."""
    words = dict.fromkeys(word for each in several for word in str(each).split(" or "))
    words.pop("None", None)
    if "a number" in words:
        words.pop("a whole number", None)
    if len(words) == 1:
        return next(iter(words))
    return " or ".join(word.removeprefix("write ").removeprefix("give ") for word in words)


def inmost(name: str, value: Any, hint: object, asked: str) -> tuple[str, Any, str]:
    """The first element that does not fit, of a list or dict that otherwise would."""
    for place, each, inner in _elements(value, hint):
        word = wanted(each, inner)
        if word is not None:
            return inmost(f"{name}[{place!r}]", each, inner, word)
    return name, value, asked


def _elements(value: Any, hint: object) -> list[tuple[Any, Any, object]]:
    """Key or number, value and annotation of every element of a list or dict."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        found = [elements for each in inner if (elements := _elements(value, each))]
        return found[0] if len(found) == 1 else []
    listed = isinstance(value, list | tuple)
    if origin is Annotated:
        several = listed and any(isinstance(rule, Range) and rule.axes for rule in inner[1:])
        return [(place, each, hint) for place, each in enumerate(value)] if several else []
    if not isinstance(origin, type) or not isinstance(value, origin):
        return []
    if isinstance(value, Mapping) and len(inner) == 2:
        return [(key, each, inner[1]) for key, each in value.items()]
    if listed and issubclass(origin, tuple) and inner[-1] is not Ellipsis:
        same = len(value) == len(inner)
        return list(zip(range(len(inner)), value, inner, strict=True)) if same else []
    return [(place, each, inner[0]) for place, each in enumerate(value)] if listed else []


def _object(value: Any, kind: type, inner: tuple[Any, ...]) -> str | None:
    """An instance of a class, or a collection with its elements."""
    if isinstance(value, type):  # a class's attributes say nothing about its instances
        return None if isinstance(value, kind) else _asked(kind, value)
    row = getattr(value, "ndim", 0) == 1 and kind in (Sequence, Iterable)
    text = isinstance(value, str | bytes) and not issubclass(kind, str | bytes)
    table = isinstance(value, Mapping) or getattr(value, "ndim", 1) != 1
    wrong = (text and issubclass(kind, Iterable)) or (table and kind in (Sequence, Iterable))
    if wrong or not (row or isinstance(value, kind)):
        return _asked(kind, value)
    members: Any = value
    if issubclass(kind, Mapping) and len(inner) == 2:
        members, inner = tuple(members.values()), (inner[1],)
    elif issubclass(kind, tuple) and inner and inner[-1] is not Ellipsis:
        if len(members) != len(inner):
            return f"{len(inner)} values"
        words = (wanted(each, hint) for each, hint in zip(members, inner, strict=True))
        return next((f"values of which each is {word}" for word in words if word), None)
    elif not inner or not (row or isinstance(members, list | tuple | set | frozenset)):
        return None
    words = (wanted(each, inner[0]) for each in _doubtful(members, inner[0]))
    return next((f"a list of which each is {word}" for word in words if word), None)


def _kind_of(value: object, kind: type) -> bool:
    return isinstance(value, type) and issubclass(value, kind)


def _doubtful(members: Any, asked: Any) -> Any:
    """The elements to check one by one; of an array of numbers, only the first nan, if any."""
    kind = getattr(getattr(members, "dtype", None), "kind", "")
    plain = asked is float and kind in ("i", "u", "f") and not traced(members)
    return members[np.isnan(members)][:1] if plain else members


def _asked(kind: type, value: Any) -> str:
    """What to write to get an object of a class where another one is given."""
    package = type(value).__module__.partition(".")[0]
    for each in kind.__mro__:
        if package in _CONVERTED.get(each, ()):
            return f"give {_CONVERTED[each][package]}"
    if kind in _WORDS:
        return _WORDS[kind]
    if getattr(kind, "_is_protocol", False):
        return f"give a {kind.__name__}"
    if issubclass(kind, Enum):
        return f"one of {', '.join(str(each) for each in kind)}"
    if inspect.isabstract(kind):
        known = [each.__name__ for each in _concrete(kind)]
        more = ", ..." if known[6:] else ""
        return f"give one of {', '.join(known[:6])}{more}" if known else f"give an {kind.__name__}"
    return f"write {kind.__name__}(...)"


def _concrete(kind: type) -> Iterator[type]:
    """The public classes that implement an abstract one."""
    for each in kind.__subclasses__():
        if inspect.isabstract(each):
            yield from _concrete(each)
        elif each.__module__.startswith("tacit.") and each.__name__[0] != "_":
            yield each


def _array(value: Any, hint: Any) -> str | None:
    """Numbers with as many axes as the array annotation has."""
    value = None if isinstance(value, type) else value
    known = hint.dtypes if isinstance(hint.dtypes, tuple) else ("bool", "float64")
    floats, truths = "float64" in known, "bool" in known
    kinds = "b" * truths + "iu" * (floats or not truths) + "fV" * floats
    what = "numbers" if floats else "truth values" if truths else "whole numbers"
    variadic = hint.index_variadic is not None
    axes, least = np.ndim(value), len(hint.dims) - variadic
    listed = isinstance(value, list | tuple) or hasattr(value, "dtype") or numeric(value)
    if listed and (axes == least or (variadic and axes > least)):
        if traced(value):
            return None
        if np.asarray(value).dtype.kind in kinds:
            return None
    return f"an array of {what}, shape ({', '.join(hint.dim_str.split())})"


def _whole(value: Any) -> bool:
    if getattr(value, "ndim", None) == 0 and hasattr(value, "dtype"):
        return value.dtype.kind in "iu"
    return isinstance(value, int) and numeric(value)


def _number(value: Any) -> bool:
    plain = np.ndim(value) == 0 and numeric(value)
    return plain and (traced(value) or not math.isnan(float(value)))


_PLAIN: dict[Any, tuple[Callable[[Any], bool], str]] = {
    bool: (lambda value: isinstance(value, bool | np.bool_), "True or False"),
    int: (_whole, "a whole number"),
    float: (_number, "a number"),
    str: (lambda value: isinstance(value, str), "text"),
    Any: (lambda value: True, ""),
    Numbers: (lambda value: True, ""),  # its Range says which ones
}


_CONVERTED: dict[type, Mapping[str, str]] = {}
"""How to get an object of a class from one of another package."""

_WORDS: dict[type, str] = {
    Sequence: "a list",
    Iterable: "a list",
    tuple: "a tuple",
    list: "a list",
    frozenset: "a frozenset",
    Mapping: "a dict",
    Path: "a pathlib.Path",
    np.ndarray: "an array",
}
