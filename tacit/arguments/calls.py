"""Calls of functions and classes, checked before anything else happens."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import numpy as np

from tacit.arguments.annotations import inmost, wanted
from tacit.arguments.signatures import hints_of, parameters, places
from tacit.checks import hint, shown
from tacit.errors import OracleError, TacitError
from tacit.ranges import numeric

T = TypeVar("T", bound=Callable[..., Any])


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
            hints = hints_of(target)
            given = tuple(map(_plain, given, [*hints.values(), *given]))
            named = {name: _plain(value, hints.get(name)) for name, value in named.items()}
            _check_places(target, given, error)
            check(target, given, named, error, left)
            _check_names(target, given, named, error)
            try:
                return target(*given, **named)
            except (OracleError, KeyboardInterrupt) as fault:
                # of the caller's own function or program, or of its keys: what it passed through
                # says nothing
                raise fault.with_traceback(None) from fault.__cause__

        _mark(call)
        return typing.cast(T, call)

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
    hints = hints_of(target)
    values = {**dict(zip(hints, given, strict=False)), **named}
    for name, value in values.items():
        asked = None if name in own else wanted(value, hints.get(name, Any))
        if asked is None:
            continue
        name, value, asked = inmost(name, value, hints[name], asked)
        if asked.startswith("write "):
            raise error(f"{name} is {shown(value)}; write {name}={asked.removeprefix('write ')}")
        if asked.startswith("give "):
            raise error(f"{name} is {shown(value)}; {asked}")
        others = [each for each in hints if each not in values]
        raise error(f"{name}={shown(value)} must be {asked}{_elsewhere(value, hints, others)}")


def _check_places(
    target: Callable[..., Any], given: Sequence[Any], error: type[TacitError]
) -> None:
    """Refuse more arguments without a name than there are places."""
    placed, named = places(target)
    if placed is None or len(given) <= len(placed):
        return
    more, hints = given[len(placed)], hints_of(target)
    fitting = [name for name in named if wanted(more, hints.get(name, Any)) is None]
    others = fitting if len(fitting) == 1 else named
    how = f"give by name {', '.join(f'{name}=...' for name in others)}" if named else "leave it out"
    raise error(
        f"{target.__name__} takes ({', '.join(placed)}) without names, and argument "
        f"{len(placed) + 1} is {shown(more)}; {how}"
    )


def _check_names(
    target: Callable[..., Any],
    given: Sequence[Any],
    named: Mapping[str, Any],
    error: type[TacitError],
) -> None:
    """Refuse a call without an argument that it needs, or with one that nothing takes."""
    taken, needed, any_name = parameters(target)
    unknown = [] if any_name else [name for name in named if name not in taken]
    if unknown:
        meant = _within(unknown[0], hints_of(target)) or hint(
            unknown[0],
            [name for name in taken if name not in named],
            f"there are {', '.join(taken)}",
        )
        raise error(f"{target.__name__} has no argument {unknown[0]!r}; {meant}")
    missing = [name for place, name in needed if name not in named and not 0 <= place < len(given)]
    hints = hints_of(target)
    _check_complete(target, {name: hints.get(name, Any) for name in missing}, error)
    if missing:
        words = [_example(name, wanted(_NOTHING, hints.get(name, Any))) for name in missing]
        how = _documented_call(target) or f"give {', '.join(words)}"
        raise error(f"{target.__name__} needs {', '.join(missing)}; {how}")


def _within(unknown: str, hints: Mapping[str, Any]) -> str:
    """What argument here takes an object that this one is an argument of; empty if none."""
    for name, asked in hints.items():
        for kind in (asked, *typing.get_args(asked)):
            own = isinstance(kind, type) and kind.__module__.startswith("tacit.")
            made = own and not inspect.isabstract(kind)
            if made and unknown in getattr(kind, "__dataclass_fields__", ()):
                return f"give {name}={kind.__name__}({unknown}=...)"
    return ""


def _check_complete(
    target: Callable[..., Any], missing: Mapping[str, Any], error: type[TacitError]
) -> None:
    """Refuse an object of a class that does not define all that its base class asks for."""
    made: Any = target
    left = {name: hint for name, hint in missing.items() if "AbstractVar[" in str(hint)}
    methods = sorted(getattr(target, "__abstractmethods__", ()))  # none of a function
    if not left and not methods:
        return
    bare = [name for name in left if any(name in vars(each) for each in inspect.getmro(made))]
    if bare:
        written = [f"{name}: ClassVar[{_inside(left[name])}] = ..." for name in bare]
        raise error(
            f"{target.__name__} defines {', '.join(bare)} without an annotation; write "
            f"{', '.join(written)}"
        )
    attributes = [f"{name} ({_inside(hint)})" for name, hint in left.items()]
    told = [
        *([f"the attributes {', '.join(attributes)}"] if attributes else []),
        *([f"the methods {', '.join(methods)}"] if methods else []),
    ]
    raise error(
        f"{target.__name__} does not define {' and '.join(told)}; docs/extend.md has an "
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


def _elsewhere(value: Any, hints: Mapping[str, Any], others: Sequence[str]) -> str:
    """A remedy naming the one argument that a misplaced part of tacit fits; empty if none."""
    if not type(value).__module__.startswith("tacit."):
        return ""
    fitting = [each for each in others if wanted(value, hints[each]) is None]
    return f"; it fits {fitting[0]}=" if len(fitting) == 1 else ""


def _check_made(kind: type, error: type[TacitError], own: Collection[str]) -> None:
    """Check the arguments of a class and its subclasses before any converter sees them."""
    before: Any = kind.__new__
    calls = (vars(meta).get("__call__") for meta in inspect.getmro(type(kind)))
    makers = {call.__code__ for call in calls if isinstance(call, types.FunctionType)}

    def new(cls: Any, *given: Any, **named: Any) -> Any:
        _check_places(cls, given, error)
        check(cls, given, named, error, own)
        # without arguments, `__new__` is also what a copy or an unpickled object begins with
        if given or named or sys._getframe(1).f_code in makers:
            _check_names(cls, given, named, error)
        return before(cls) if before is object.__new__ else before(cls, *given, **named)

    # type checkers know no such attribute of functions, and do not allow assignment to a class's
    # methods
    open_kind: Any = kind
    open_new: Any = new
    open_new.__signature__ = inspect.signature(kind.__init__)
    open_kind.__new__ = new
    _mark(new)
    if makers and "__init_subclass__" not in vars(kind):
        open_kind.__init_subclass__ = classmethod(_completed(kind, error))
    if not makers and kind.__init__ is not object.__init__:
        made: Any = kind.__init__

        @functools.wraps(made)
        def init(self: Any, *given: Any, **named: Any) -> None:
            if not (given or named) and type(self).__init__ is init:  # else `new` has checked
                _check_names(type(self), given, named, error)
            made(self, *given, **named)

        open_kind.__init__ = init


def _completed(kind: type, error: type[TacitError]) -> Callable[..., None]:
    """What happens when a class is derived: an `__init__` of a user's is held to set all fields."""

    def init_subclass(cls: Any, **named: Any) -> None:
        made = vars(cls).get("__init__")
        if made is not None and cls.__module__.partition(".")[0] != "tacit":

            @functools.wraps(made)
            def init(self: Any, *given: Any, **values: Any) -> None:
                made(self, *given, **values)
                own = type(self).__init__ is init  # else that of a derived class goes on
                left = [each.name for each in dataclasses.fields(self) if own]
                left = [name for name in left if not hasattr(self, name)]
                if left:
                    raise error(
                        f"{type(self).__name__}.__init__ does not set {', '.join(left)}; write "
                        f"self.{left[0]} = ... in it, or leave __init__ out: the fields are its "
                        "arguments then"
                    )

            cls.__init__ = init
        super(kind, cls).__init_subclass__(**named)

    return init_subclass


def _mark(function: Any) -> None:
    """Note that arguments are checked; a test asks every public function for it."""
    function.__checked__ = True


def _plain(value: Any, hint: Any) -> Any:
    """5.0 as a whole number and a list as an array, where the annotation asks for one."""
    asked = typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint
    if asked is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if getattr(asked, "array_type", None) is np.ndarray and isinstance(value, list | tuple):
        plain = numeric(value) or all(isinstance(each, bool) for each in value)
        return np.asarray(value) if plain else value
    return value
