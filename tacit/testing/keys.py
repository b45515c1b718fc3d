"""Whether a study can name a part: its signature and docstring define the keys."""

from __future__ import annotations

import inspect

from pydantic import ValidationError

from tacit.method.phase import AbstractMethod
from tacit.study._described.catalogue import Entry
from tacit.study._described.describe import document
from tacit.study._grammar.arguments import REQUIRED, described, section, summary
from tacit.study.parts import FAMILIES, declared
from tacit.testing.hold import hold


def keys_describe(part: type[AbstractMethod]) -> None:
    """Every argument of a method is described, and its example builds it."""
    known = described(part)
    for name in inspect.signature(part).parameters:
        hold(
            name in known or name == "privacy",
            f"{part.__name__}: the argument {name!r} is not in the Args: of the docstring, so no "
            'study can give it; describe it there, or set name = "" if no study names the class',
        )
    hold(summary(part), f"{part.__name__} has no docstring, whose first line says what it is")
    hold(part.when, f"{part.__name__} has a name and no `when`, which says when to choose it")
    entry, example = Entry(part), dict(part.example)
    needed = [each.name for each in entry.parameters if each.default is REQUIRED]
    missing = [name for name in needed if name not in example]
    hold(not missing, f"{part.__name__}: example has no value for {', '.join(missing)}")
    keys = section(summary(part), "name", part.name, entry.parameters)
    if all(isinstance(value, bool | int | float | str) for value in example.values()):
        try:
            keys.model_validate({"name": part.name, **example})
        except ValidationError as error:
            raise AssertionError(
                f"{part.__name__}: no study can give its example: {error}"
            ) from None
    document(entry)  # the output of `tacit describe`
    family = next(family for family in FAMILIES if family.word == "method")
    registered = declared(family).get(part.name)
    hold(
        registered is None or registered.build is part,
        f"{part.__name__} is named {part.name!r}, which is another class for studies; give it a "
        'name of its own, or name = "" if no study names it',
    )
