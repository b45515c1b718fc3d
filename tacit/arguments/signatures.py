"""What a function or class asks for: its parameters and their annotations."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import sys
import typing
from collections.abc import Callable
from typing import Any


@functools.cache
def parameters(
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


@functools.cache
def places(target: Callable[..., Any]) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Arguments that need no name, `None` if any number; and those that only a name gives."""
    made: Any = target.__init__ if isinstance(target, type) else target
    try:
        found = list(inspect.signature(made).parameters.values())[isinstance(target, type) :]
    except (TypeError, ValueError):  # not written in Python
        return None, ()
    kinds = inspect.Parameter
    many = any(each.kind is kinds.VAR_POSITIONAL for each in found)
    placed = [
        e.name for e in found if e.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    ]
    named = tuple(each.name for each in found if each.kind is kinds.KEYWORD_ONLY)
    return None if many else tuple(placed), named


@functools.cache
def hints_of(target: Callable[..., Any]) -> dict[str, Any]:
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
        for each in reversed(target.__mro__) if isinstance(target, type) else [target]:
            space = vars(sys.modules[inspect.unwrap(each).__module__])
            for name, text in inspect.get_annotations(each).items():
                with contextlib.suppress(NameError):
                    known[name] = eval(text, space)
        return known
