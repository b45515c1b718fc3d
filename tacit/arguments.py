"""Check arguments against their annotations and refuse what does not fit at once.

`checked` inspects the arguments of a function or class before anything else happens. Kinds
follow from the annotation, ranges from a `Range` in it:

    @checked(ConfigError)
    def bound(epsilon: Positive, rounds: Count) -> float: ...

An annotation without a checkable meaning (a type variable, a protocol, `Any`) accepts any value.
"""

from __future__ import annotations

import ast
import collections.abc
import contextlib
import dataclasses
import doctest
import functools
import inspect
import math
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np

from tacit.checks import close, numeric, shown
from tacit.errors import OracleError, TacitError
from tacit.ranges import Numbers, Range, traced

T = TypeVar("T", bound=Callable[..., Any])
C = TypeVar("C")

_NOTHING = object()
"""Fits nothing that is asked for."""


def checked(error: type[TacitError], own: str = "") -> Callable[[T], T]:
    """Check the arguments of every call; for a class, also the calls of its subclasses.

    Where a function asks for a whole number, 5.0 is accepted; where it asks for an array, so is a
    list.

    Args:
        error: class of the error to raise; its message names the argument, the value and a remedy.
        own: names of arguments that the target checks itself, with its own messages.
    """
    left = own.split()

    def decorate(target: T) -> T:
        made: Any = target
        if isinstance(made, type):
            _check_made(made, error, left)
            return target

        @functools.wraps(target)
        def call(*given: Any, **named: Any) -> Any:
            hints = _hints(target)
            given = tuple(map(_plain, given, [*hints.values(), *given]))
            named = {name: _plain(value, hints.get(name)) for name, value in named.items()}
            check(target, given, named, error, left)
            _check_names(target, given, named, error)
            try:
                return target(*given, **named)
            except OracleError as fault:
                # of the caller's own function or program: what it passed through says nothing
                raise fault.with_traceback(None) from fault.__cause__

        _mark(call)
        return typing.cast(T, call)

    return decorate


def remedy(words: str) -> Callable[[type[C]], type[C]]:
    """What to say where an object of the class is asked for and something else is given.

    Args:
        words: how to get one, such as "give the result of tacit.run(...)".
    """

    def decorate(kind: type[C]) -> type[C]:
        _WORDS[kind] = words
        return kind

    return decorate


def is_checked(target: Callable[..., Any]) -> bool:
    """Whether the arguments of a function or class are checked."""
    made: Any = target
    return hasattr(made.__new__ if isinstance(made, type) else made, "__checked__")


def check(
    target: Callable[..., Any],
    given: Sequence[Any],
    named: Mapping[str, Any],
    error: type[TacitError],
    own: Collection[str] = (),
) -> None:
    """Refuse arguments that do not fit the annotations of a function or class.

    Raises:
        error: the first argument that does not fit.
    """
    hints = _hints(target)
    values = {**dict(zip(hints, given, strict=False)), **named}
    for name, value in values.items():
        asked = None if name in own else wanted(value, hints.get(name, Any))
        if asked is None:
            continue
        name, value, asked = _inmost(name, value, hints[name], asked)
        if asked.startswith("write "):
            raise error(f"{name} is {shown(value)}; write {name}={asked.removeprefix('write ')}")
        if asked.startswith("give "):
            raise error(f"{name} is {shown(value)}; {asked}")
        others = [each for each in hints if each not in values]
        raise error(f"{name}={shown(value)} must be {asked}{_elsewhere(value, hints, others)}")


def _check_names(
    target: Callable[..., Any],
    given: Sequence[Any],
    named: Mapping[str, Any],
    error: type[TacitError],
) -> None:
    """Refuse a call without an argument that it needs, or with one that nothing takes."""
    taken, needed, any_name = _parameters(target)
    unknown = [] if any_name else [name for name in named if name not in taken]
    if unknown:
        meant = close(unknown[0], [name for name in taken if name not in named])
        hint = f"did you mean {meant[0]!r}?" if meant else f"there are {', '.join(taken)}"
        raise error(f"{target.__name__} has no argument {unknown[0]!r}; {hint}")
    missing = [name for place, name in needed if name not in named and not 0 <= place < len(given)]
    hints = _hints(target)
    _check_complete(target, {name: hints.get(name, Any) for name in missing}, error)
    if missing:
        words = [_example(name, wanted(_NOTHING, hints.get(name, Any))) for name in missing]
        how = _documented_call(target) or f"give {', '.join(words)}"
        raise error(f"{target.__name__} needs {', '.join(missing)}; {how}")


def _check_complete(
    target: Callable[..., Any], missing: Mapping[str, Any], error: type[TacitError]
) -> None:
    """Refuse an object of a class that does not define all that its base class asks for."""
    left = {name: hint for name, hint in missing.items() if "AbstractVar[" in str(hint)}
    methods = sorted(getattr(target, "__abstractmethods__", ()))  # none of a function
    if not left and not methods:
        return
    attributes = [f"{name} ({_inside(hint)})" for name, hint in left.items()]
    told = [
        *([f"the attributes {', '.join(attributes)}"] if attributes else []),
        *([f"the methods {', '.join(methods)}"] if methods else []),
    ]
    raise error(
        f"{target.__name__} does not define {' and '.join(told)}; docs/add_a_method.md has an "
        "example in full"
    )


def _inside(hint: Any) -> str:
    """The type inside an annotation, as it is written."""
    [inner] = typing.get_args(hint)
    return inner.__name__ if isinstance(inner, type) else str(inner)


def _documented_call(target: Callable[..., Any]) -> str | None:
    """The first short call among the examples of a function or class, as words; `None` if none."""
    try:
        lines = doctest.DocTestParser().get_examples(target.__doc__ or "")
        calls = [node for line in lines for node in ast.walk(ast.parse(line.source))]
    except (SyntaxError, ValueError):  # of another package
        return None
    for node in calls:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == target.__name__:
            written = ast.unparse(node)
            variables = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            if len(written) <= 80 and variables == {target.__name__}:
                return f"write for example {written}"
    return None


def _example(name: str, asked: str | None) -> str:
    """How an argument is written."""
    if asked is None:
        return f"{name}=..."
    if asked.startswith("write ") and " or " not in asked:
        return f"{name}={asked.removeprefix('write ')}"
    return f"{name}=... ({asked.removeprefix('give ')})"


@functools.cache
def _parameters(
    target: Callable[..., Any],
) -> tuple[tuple[str, ...], tuple[tuple[int, str], ...], bool]:
    """Names that a call may have; places (-1: by name only) and names of those that it needs.

    The last says whether it takes names of any kind.
    """
    made: Any = target.__init__ if isinstance(target, type) else target
    try:
        found = list(inspect.signature(made).parameters.values())[isinstance(target, type) :]
    except (TypeError, ValueError):  # not written in Python
        return (), (), True
    kinds = inspect.Parameter
    several = (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
    needed = tuple(
        (-1 if each.kind is kinds.KEYWORD_ONLY else place, each.name)
        for place, each in enumerate(found)
        if each.default is kinds.empty and each.kind not in several
    )
    by_name = (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)
    any_name = any(each.kind is kinds.VAR_KEYWORD for each in found)
    names = [each.name for each in found if each.kind in by_name]
    own = names[:1] in (["self"], ["cls"])  # of a method, whose object is no argument of a call
    return tuple(names[own:]), needed, any_name


def _elsewhere(value: Any, hints: Mapping[str, Any], others: Sequence[str]) -> str:
    """A remedy naming the one argument that a misplaced part of tacit fits; empty if none."""
    if not type(value).__module__.startswith("tacit."):
        return ""
    fitting = [each for each in others if wanted(value, hints[each]) is None]
    return f"; it fits {fitting[0]}=" if len(fitting) == 1 else ""


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


def _inmost(name: str, value: Any, hint: object, asked: str) -> tuple[str, Any, str]:
    """The first element that does not fit, of a list or dict that otherwise would."""
    for place, each, inner in _elements(value, hint):
        word = wanted(each, inner)
        if word is not None:
            return _inmost(f"{name}[{place!r}]", each, inner, word)
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
        return None if isinstance(value, kind) else _asked(kind)
    row = getattr(value, "ndim", 0) == 1 and kind in (Sequence, Iterable)
    text = isinstance(value, str | bytes) and not issubclass(kind, str | bytes)
    table = isinstance(value, Mapping) or getattr(value, "ndim", 1) != 1
    wrong = (text and issubclass(kind, Iterable)) or (table and kind in (Sequence, Iterable))
    if wrong or not (row or isinstance(value, kind)):
        return _asked(kind)
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


def _doubtful(members: Any, asked: Any) -> Any:
    """The elements to check one by one; of an array of numbers, only the first nan, if any."""
    kind = getattr(getattr(members, "dtype", None), "kind", "")
    plain = asked is float and kind in ("i", "u", "f") and not traced(members)
    return members[np.isnan(members)][:1] if plain else members


def _asked(kind: type) -> str:
    """What to write to get an object of a class."""
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
    return f"an array of {what}, shape ({hint.dim_str})"


def _check_made(kind: type, error: type[TacitError], own: Collection[str]) -> None:
    """Check the arguments of a class and its subclasses before any converter sees them."""
    before: Any = kind.__new__
    calls = (vars(meta).get("__call__") for meta in inspect.getmro(type(kind)))
    makers = {call.__code__ for call in calls if isinstance(call, types.FunctionType)}

    def new(cls: Any, *given: Any, **named: Any) -> Any:
        check(cls, given, named, error, own)
        # without arguments, `__new__` is also what a copy or an unpickled object begins with
        if given or named or sys._getframe(1).f_code in makers:
            _check_names(cls, given, named, error)
        return before(cls) if before is object.__new__ else before(cls, *given, **named)

    # set by name: type checkers know no such attribute of functions, and do not allow assignment
    # to a class's `__new__`
    setattr(new, "__signature__", inspect.signature(kind.__init__))  # noqa: B010 - see above
    setattr(kind, "__new__", new)  # noqa: B010 - see above
    _mark(new)
    if not makers and kind.__init__ is not object.__init__:
        made: Any = kind.__init__

        @functools.wraps(made)
        def init(self: Any, *given: Any, **named: Any) -> None:
            if not (given or named) and type(self).__init__ is init:  # else `new` has checked
                _check_names(type(self), given, named, error)
            made(self, *given, **named)

        setattr(kind, "__init__", init)  # noqa: B010 - by name, as `__new__` above


def _mark(function: Callable[..., Any]) -> None:
    # set by name, as above; a test asks every public function for it
    setattr(function, "__checked__", True)  # noqa: B010 - see above


def _plain(value: Any, hint: Any) -> Any:
    """5.0 as a whole number and a list as an array, where the annotation asks for one."""
    asked = typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint
    if asked is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if getattr(asked, "array_type", None) is np.ndarray and isinstance(value, list | tuple):
        plain = numeric(value) or all(isinstance(each, bool) for each in value)
        return np.asarray(value) if plain else value
    return value


@functools.cache
def _hints(target: Callable[..., Any]) -> dict[str, Any]:
    """The annotation of every argument, in order; `Any` for those that cannot be read."""
    try:
        parameters = list(inspect.signature(target).parameters.values())
        hints = _of_class(target) if isinstance(target, type) else _read(target)
    except (AttributeError, NameError, TypeError, ValueError):  # a third-party class
        return {}
    many = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {
        each.name: Any if each.kind in many else hints.get(each.name, Any) for each in parameters
    }


def _of_class(kind: type) -> dict[str, Any]:
    """What `__init__` asks for; for a dataclass, what its fields ask for."""
    made = getattr(inspect.unwrap(kind.__init__), "__code__", None)
    own = made is None or made.co_filename != "<string>"
    fields = _read(kind) if dataclasses.is_dataclass(kind) else {}
    hints = _read(kind.__init__) if own else dict(fields)
    for field in dataclasses.fields(kind) if fields else ():
        converter = field.metadata.get("converter")
        if converter is None:
            continue
        known = [] if isinstance(converter, type) else list(_read(converter).values())
        ranged = "Range(" in str(fields[field.name])
        hints[field.name] = fields[field.name] if ranged else known[0] if known else Any
    return hints


def _read(target: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(target, include_extras=True)
    except NameError:  # a name that only type checkers see
        known: dict[str, Any] = {}
        for name, text in getattr(target, "__annotations__", {}).items():
            with contextlib.suppress(NameError):
                known[name] = eval(text, inspect.unwrap(target).__globals__)
        return known


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

_WORDS: dict[type, str] = {
    Sequence: "a list",
    Iterable: "a list",
    tuple: "a tuple",
    list: "a list",
    frozenset: "a frozenset",
    Mapping: "a dict",
    Path: "a pathlib.Path",
}
