"""Kinds of parts as sections of a study file: their signatures give the keys."""

from __future__ import annotations

import copy
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Annotated, Any

from pydantic import Field

from tacit.study._grammar.arguments import arguments, section, summary
from tacit.study._grammar.section import Section


def kinds(
    parts: Mapping[str, Callable[..., Any]],
    key: str = "kind",
    leave_out: Collection[str] = (),
    base: type[Section] = Section,
) -> Any:
    """The type of a table that is one of these parts.

    Args:
        parts: classes or functions, by name.
        key: key that names the part.
        leave_out: arguments that the study file gives elsewhere.
        base: section with keys common to all of them.
    """
    return chosen(
        [
            section(summary(part), key, name, arguments(part, leave_out), base)
            for name, part in parts.items()
        ],
        key,
    )


def chosen(sections: Sequence[type[Section]], key: str) -> Any:
    """The type of a table that is one of these sections, selected by a key."""
    return Annotated[reduce(or_, sections), Field(discriminator=key)]


def widened(model: type[Section], key: str, sections: Sequence[type[Section]]) -> tuple[Any, Any]:
    """A key of a model, with more sections to choose from: type and field, for `create_model`."""
    field = model.model_fields[key]
    return _widened(field.annotation, sections), copy.copy(field)


def _widened(kind: Any, sections: Sequence[type[Section]]) -> Any:
    members = typing.get_args(kind)
    if typing.get_origin(kind) is dict:
        return dict[members[0], _widened(members[1], sections)]
    if type(None) in members:  # it may be left out
        return reduce(or_, (m if m is type(None) else _widened(m, sections) for m in members))
    if typing.get_origin(kind) is Annotated:
        return Annotated[(_widened(members[0], sections), *kind.__metadata__)]
    return reduce(or_, sections, kind)
