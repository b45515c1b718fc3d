"""The arguments of a class or function as keys of a study file.

Methods and topologies are described once, where they are defined: their signatures and docstrings
become the keys, types, defaults and descriptions of the study file and of `tacit describe`.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, TypeVar

import equinox as eqx
from pydantic import Field, create_model

from tacit.data.cells import Column
from tacit.ranges import Key, Numbers, Range
from tacit.study._grammar.section import Flag, Number, PerSite, Section, Whole

Extra = TypeVar("Extra")

REQUIRED: Any = ...
"""Default of an argument that has none."""

_STRICT: dict[Any, Any] = {
    float: Number,
    int: Whole,
    int | float: Number,
    bool: Flag,
    Numbers: Number,
    Any: Number,
}


@dataclass(frozen=True)
class Argument:
    """One key of a section.

    Attributes:
        name: name of the key.
        kind: type of the key.
        default: `REQUIRED`, or the value if the key is left out.
        text: meaning of the key.
    """

    name: str
    kind: Any
    default: Any
    text: str


def arguments(
    target: Callable[..., Any], leave_out: Collection[str] = (), per_site: Collection[str] = ()
) -> tuple[Argument, ...]:
    """The arguments of a class or function, in order.

    Args:
        target: class or function documented with an `Args:` section.
        leave_out: names that the study file gives elsewhere.
        per_site: names whose value may differ between sites.

    Example:
        >>> from tacit.network import grid
        >>> [argument.name for argument in arguments(grid, leave_out=("weights",))]
        ['rows', 'columns']
    """
    hints = dict(typing.get_type_hints(target, include_extras=True))
    if inspect.isclass(target):
        # inherited annotations use names of the module of the base class
        names: dict[str, Any] = {}
        for base in reversed(target.__mro__):
            names |= vars(sys.modules[base.__module__])
        given = typing.get_type_hints(target.__init__, localns=names, include_extras=True)
        # a field with a converter accepts anything: its annotation gives the intended type
        meant = {key for key, kind in given.items() if kind not in (Any, object)}
        hints |= {key: given[key] for key in given if key in meant or key not in hints}
    texts = described(target)
    found: list[Argument] = []
    for name, parameter in inspect.signature(target).parameters.items():
        if name in leave_out or name not in texts:
            continue
        kind = PerSite if name in per_site else _kind(hints[name], texts[name])
        empty = parameter.default is inspect.Parameter.empty
        found.append(Argument(name, kind, REQUIRED if empty else parameter.default, texts[name]))
    return tuple(found)


def _kind(hint: Any, text: str) -> Any:
    """The type of a key: strict numbers, lists where the text gives a shape, tables for parts."""
    members = typing.get_args(hint)
    if (key := _extra(hint, Key)) is not None:
        return _given(key.kind)
    if members and type(None) in members:  # `X | None`
        return reduce(or_, (_kind(each, text) for each in members))
    if typing.get_origin(hint) is tuple:
        return tuple[tuple(_kind(each, text) for each in members)]
    annotated = typing.get_origin(hint) is typing.Annotated
    if Numbers in members and not annotated:  # `Numbers | X`: X is for Python only
        return Number
    if members and all(isinstance(each, type) and issubclass(each, eqx.Module) for each in members):
        from tacit.study._sections.nested import choice

        return choice(members)  # `X | Y`, as tables
    given = _extra(hint, Range)
    if given is not None and given.axes == 2:
        return tuple[tuple[Number, ...], ...]
    if given is not None and given.axes > 2:
        return Number | tuple[Number, ...]
    if "shape `(" in text and hint is not type(None):
        return tuple[Number, ...]
    if annotated:
        hint = members[0]
    if hint == Sequence[int]:
        return tuple[Whole, ...]
    if hint in (Column, Sequence[Column]):
        from tacit.study._sections.statistics import Columns, OneColumn

        return OneColumn if hint is Column else Columns
    if hint == Sequence[str]:
        return tuple[str, ...]
    if inspect.isclass(hint) and issubclass(hint, eqx.Module):
        from tacit.study._sections.nested import tables

        return tables(hint)
    return _STRICT.get(hint, hint)


def _given(kind: Any) -> Any:
    """The type given by a `Key`, in strict types."""
    members = tuple(map(_given, typing.get_args(kind)))
    if typing.get_origin(kind) is tuple:
        return tuple[members]
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        return reduce(or_, members)
    return _STRICT.get(kind, kind)


def _extra(hint: Any, kind: type[Extra]) -> Extra | None:
    """The first object of this class attached to an annotation, if any."""
    extras = getattr(hint, "__metadata__", ())
    return next((each for each in extras if isinstance(each, kind)), None)


def summary(target: object) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(target) or "").partition("\n")[0]


def described(target: object) -> dict[str, str]:
    """The `Args:` section of a docstring, by name; a class inherits what it does not say."""
    if not inspect.isclass(target):
        return _args(inspect.getdoc(target) or "")
    texts: dict[str, str] = {}
    for base in reversed(target.__mro__):
        texts |= _args(inspect.cleandoc(vars(base).get("__doc__") or ""))
    return texts


def _args(text: str) -> dict[str, str]:
    lines = text.splitlines()
    texts: dict[str, str] = {}
    if "Args:" not in lines:
        return texts
    name = ""
    for line in lines[lines.index("Args:") + 1 :]:
        if line and not line.startswith(" "):
            break
        entry = re.match(r"    (\w+): (.*)", line)
        if entry:
            name, texts[entry[1]] = entry[1], entry[2]
        elif name and line.strip():
            texts[name] += " " + line.strip()
    return texts


def section(
    title: str,
    key: str,
    value: str,
    given: Collection[Argument],
    base: type[Section] = Section,
) -> type[Section]:
    """A section for one kind of thing: `key = value`, its arguments, and the keys of `base`.

    Without a `key` there is only one kind, and `value` only names the section.
    """
    fields: dict[str, Any] = {
        argument.name: (argument.kind, Field(argument.default, description=argument.text))
        for argument in given
    }
    if key:
        fields[key] = (typing.Literal[value], Field(description="name of the kind"))
    name = "".join(part.capitalize() for part in re.split(r"\W|_", value)) + "Section"
    return create_model(name, __base__=base, __doc__=title, **fields)
