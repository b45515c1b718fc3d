"""Planting a mistake, and at which seed it is found.

A mistake is a change to the source of functions, so that it fails when one of them changes.
"""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from tests.simulated_sites import cast, watchers
from tests.simulated_sites.run import simulate
from tests.simulated_sites.seams import replaced
from tests.simulated_sites.seeds import of_seed, shape_of


@dataclass(frozen=True)
class Change:
    """A change to a function.

    Attributes:
        owner: its class or module.
        name: its name.
        old: text in its source, once.
        new: text in the place of it.
        also: other modules that have it by its name.
    """

    owner: Any
    name: str
    old: str
    new: str
    also: Sequence[Any] = ()


@dataclass(frozen=True)
class Mutant:
    """A planted mistake.

    Attributes:
        name: what is wrong.
        why: why it must be found.
        changes: what is changed.
        watchers: who may find it, by name.
        shape: name of the kind of run in which it can be seen; any if empty.
    """

    name: str
    why: str
    changes: tuple[Change, ...]
    watchers: tuple[str, ...]
    shape: str = ""


def changed(change: Change) -> Any:
    """The function with the change.

    Raises:
        AssertionError: its source does not have the text that is changed, or not once.
    """
    function = inspect.unwrap(inspect.getattr_static(change.owner, change.name))
    # one that was changed before, by another mistake, has its source with it
    source = getattr(function, "source", None) or textwrap.dedent(inspect.getsource(function))
    assert source.count(change.old) == 1, f"{change.name} has changed: {change.old!r}"
    plain = source.replace(change.old, change.new)
    inside = textwrap.indent(plain, "    ")
    text = f"def _outer(__class__):\n{inside}\n    return {function.__name__}\n"
    names: dict[str, Any] = {}
    exec(compile(text, f"<{change.name}>", "exec"), function.__globals__, names)
    owner = change.owner if inspect.isclass(change.owner) else None
    made = names["_outer"](owner)
    made.source = plain
    return made


@contextmanager
def planted(*mutants: Mutant) -> Generator[None, None, None]:
    """The code with mistakes; enter it before anything is replaced for a simulation."""
    with ExitStack() as stack:
        for mutant in mutants:
            for change in mutant.changes:
                made = changed(change)
                for owner in (change.owner, *change.also):
                    stack.enter_context(patch.object(owner, change.name, made))
        yield


@functools.cache
def prepare() -> None:
    """Learn from code without mistakes what models are right."""
    with replaced():
        for shape in cast.SHAPES:
            watchers.releasing(shape)
            watchers.models(shape)
            simulate(0, shape)


def caught(mutants: Sequence[Mutant], first: int, after: int) -> tuple[int | None, list[str]]:
    """The first seed that finds mistakes planted together, and which watchers do.

    Args:
        mutants: the mistakes.
        first: the first seed.
        after: the first one that is not run.
    """
    prepare()
    shapes = {each.shape for each in mutants} - {""}
    with planted(*mutants), replaced():
        for seed in range(first, after):
            if shapes and shape_of(seed).name not in shapes:
                continue
            found = watchers.broken(of_seed(seed))
            if found:
                return seed, sorted(found)
    return None, []
