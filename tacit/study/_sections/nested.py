"""Arguments that are objects themselves, as tables within the section of a method.

[method]
name = "functional-perturbation"
inner = { name = "extra", step = 0.1 }
basis = { kind = "quadratic", lower = [-1, -1], upper = [1, 1] }
bounds = { strong_convexity = 0.0, smoothness = 0.5 }
"""

from __future__ import annotations

import copy
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import Field, create_model

from tacit.method import AbstractMethod, CurvatureBounds, LegendreBasis, QuadraticBasis
from tacit.method.functional_basis import AbstractBasis
from tacit.study._grammar.arguments import arguments, section, summary
from tacit.study._grammar.section import Section
from tacit.types import Oracle

INNER = object()
"""Marks the type of a key whose value is any method without a budget."""

BASES: Mapping[str, type[AbstractBasis]] = MappingProxyType(
    {"legendre": LegendreBasis, "quadratic": QuadraticBasis}
)
"""Tables by kind, as a study gives it."""


def tables(family: type) -> Any:
    """The type of a key whose value is one of a family, or the family itself if it is not a table.

    Args:
        family: declared type of the argument.
    """
    if family is CurvatureBounds:
        return section(summary(family), "", "curvature_bounds", arguments(family))
    if family is AbstractBasis:
        kinds = [
            section(summary(each), "kind", name, arguments(each)) for name, each in BASES.items()
        ]
        return Annotated[reduce(or_, kinds), Field(discriminator="kind")]
    if family is AbstractMethod:
        return Annotated[reduce(or_, _inner()), Field(discriminator="name"), INNER]
    return family


def nesting(model: type[Section], more: Sequence[type[Section]]) -> type[Section]:
    """The section of a method, with more methods to choose from where it takes one.

    Args:
        model: section of the method.
        more: sections of methods that run without a budget.
    """
    fields: dict[str, Any] = {
        key: (found, copy.copy(field))
        for key, field in model.model_fields.items()
        if more
        and (found := _nesting(field.annotation, field.metadata, more)) is not field.annotation
    }
    return create_model(model.__name__, __base__=model, **fields) if fields else model


def _nesting(kind: Any, metadata: Sequence[Any], more: Sequence[type[Section]]) -> Any:
    members = typing.get_args(kind)
    if INNER in metadata:
        return reduce(or_, more, kind)
    if typing.get_origin(kind) is Annotated:
        found = _nesting(members[0], kind.__metadata__, more)
        return kind if found is members[0] else Annotated[(found, *kind.__metadata__)]
    if not any(INNER in getattr(each, "__metadata__", ()) for each in members):
        return kind
    return reduce(or_, (_nesting(each, (), more) for each in members))


def choice(methods: Collection[type]) -> Any:
    """The type of a key whose value is one of these methods, without a budget.

    Args:
        methods: classes of the methods.
    """
    from tacit.study._described.catalogue import METHODS

    entries = [entry for entry in METHODS.values() if entry.build in methods]
    kinds = [section(entry.summary, "name", entry.name, entry.parameters) for entry in entries]
    return Annotated[reduce(or_, kinds), Field(discriminator="name")]


def built(value: object, inner: Callable[[Section], AbstractMethod]) -> Any:
    """The object that a value of the method's section represents.

    Args:
        value: value of a key.
        inner: function from a section to its method.
    """
    if not isinstance(value, Section):
        return value
    given = dict(value)
    if "name" in given:
        return inner(value)
    family = BASES.get(given.pop("kind", ""), CurvatureBounds)
    return family(**given)


def _inner() -> list[type[Section]]:
    """The sections of the methods that run without a budget."""
    from tacit.study._described.catalogue import METHODS, Protection

    return [
        section(entry.summary, "name", entry.name, entry.parameters)
        for entry in METHODS.values()
        if entry.protection is not Protection.REQUIRED and entry.build.oracle is not Oracle.ROWS
    ]
