"""Which combinations of parts a matrix of tests runs; cells are dataclasses, parts are fields."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import jax

from tacit.study._described.catalogue import METHODS, Entry
from tacit.types import Oracle

CellT = TypeVar("CellT", bound=Any)
Values = Mapping[str, Sequence[str]]

FITTING: Mapping[str, Entry] = {
    name: entry for name, entry in METHODS.items() if entry.build.oracle is not Oracle.ROWS
}
"""The methods that fit a model: the others take none of what these matrices are made of."""


def choices(
    base: CellT, values: Values, refusal: Callable[[CellT], str | None]
) -> tuple[dict[str, list[str]], dict[tuple[str, str], str]]:
    """What is accepted of each part beside plain ones, and why the others are refused.

    Args:
        base: a plain cell that is accepted.
        values: of every part.
        refusal: why a cell is refused; `None` where it is accepted.
    """
    accepted: dict[str, list[str]] = {part: [] for part in values}
    refused: dict[tuple[str, str], str] = {}
    for part, names in values.items():
        for name in names:
            why = refusal(replace(base, **{part: name}))
            if why is None:
                accepted[part].append(name)
            else:
                refused[part, name] = why
    return accepted, refused


def cells(
    base: CellT, values: Values, refusal: Callable[[CellT], str | None], first: int = 0
) -> Iterator[CellT]:
    """Cells in which every value that is accepted occurs.

    The parts turn at different speeds, so that their values meet in changing pairs.

    Args:
        base: a plain cell that is accepted.
        values: of every part.
        refusal: why a cell is refused; `None` where it is accepted.
        first: where the rotation begins.
    """
    accepted, _ = choices(base, values, refusal)
    covered: set[tuple[str, str]] = set()
    for number in range(max(map(len, accepted.values()))):
        turned = {
            part: names[(first * place + number * (1 + place)) % len(names)]
            for place, (part, names) in enumerate(accepted.items())
        }
        cell = replace(base, **turned)
        if refusal(cell) is None:
            covered |= set(turned.items())
            yield cell
    for part, names in accepted.items():
        for name in names:
            if (part, name) not in covered:
                yield replace(base, **{part: name})


def one(base: CellT, values: Values, refusal: Callable[[CellT], str | None], first: int) -> CellT:
    """A cell in which each part is the first after `first` that is accepted with those before it.

    Args:
        base: a plain cell that is accepted.
        values: of every part.
        refusal: why a cell is refused; `None` where it is accepted.
        first: where to begin; another for each method, so that all values occur.
    """
    cell = base
    for place, (part, names) in enumerate(values.items()):
        start = (first * (1 + place)) % len(names)
        for name in (*names[start:], *names[:start]):
            turned = replace(cell, **{part: name})
            if refusal(turned) is None:
                cell = turned
                break
    return cell


Pair = tuple[tuple[str, str], tuple[str, str]]
"""Two parts, each with a value."""


def pairs(cell: Any, values: Values) -> set[Pair]:
    """All pairs of values that are in a cell."""
    chosen = [(part, getattr(cell, part)) for part in values]
    return set(itertools.combinations(chosen, 2))


def covering(
    bases: Sequence[CellT],
    values: Values,
    refusal: Callable[[CellT], str | None],
    first: Sequence[CellT],
) -> tuple[list[CellT], set[Pair]]:
    """Few more cells, so that each pair of values is in one that some base accepts.

    Args:
        bases: plain cells; those that were taken least are tried first.
        values: of every part.
        refusal: why a cell is refused; `None` where it is accepted.
        first: cells that there are already.

    Returns:
        The cells, and the pairs that every base refuses.
    """
    every = itertools.combinations(values, 2)
    wanted = [((a, x), (b, y)) for a, b in every for x in values[a] for y in values[b]]
    covered = set[Pair]().union(*(pairs(cell, values) for cell in first))
    taken = [0] * len(bases)
    found: list[CellT] = []
    refused: set[Pair] = set()
    for pair in wanted:
        if pair in covered:
            continue
        for number in sorted(range(len(bases)), key=taken.__getitem__):
            cell = replace(bases[number], **dict(pair))
            if refusal(cell) is None:
                break
        else:
            refused.add(pair)
            continue
        taken[number] += 1
        for part in values.keys() - dict(pair).keys():
            others = [replace(cell, **{part: value}) for value in values[part]]
            others.sort(key=lambda each: len(pairs(each, values) - covered), reverse=True)
            cell = next(each for each in others if each == cell or refusal(each) is None)
        found.append(cell)
        covered |= pairs(cell, values)
    return found, refused


def forget_programs() -> None:
    """Let go of what was compiled: a process maps its code, and may have only so many mappings."""
    jax.clear_caches()
    gc.collect()
