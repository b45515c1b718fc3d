"""What a method takes and guarantees, found by calling it: no entry here is typed by hand.

Small problems and networks are given to the method's own checks, its phases are counted, and its
guarantees are stated for every unit and adjacency. A new method is described as soon as
`tacit.method` exports it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import numpy as np

import tacit.method
from tacit.errors import TacitError
from tacit.method.phase import AbstractMethod
from tacit.privacy.guarantee import Guarantee, Status
from tacit.study._described.probes import (
    HOMES,
    Probe,
    accepted,
    instances,
    masked,
    networks,
    probes,
    promised,
)
from tacit.types import Relation, Unit

_RELATIONS = {
    Relation.REPLACE_ONE: "replace",
    Relation.ADD_REMOVE: "add/remove",
    Relation.METRIC: "metric",
}

_UNITS = (Unit.RECORD, Unit.AGENT)


@dataclass(frozen=True)
class Traits:
    """One row of the comparison of methods, in words.

    Attributes:
        oracle: what is queried of a private objective.
        topology: who exchanges messages with whom.
        constraints: public sets to which the answer may be constrained.
        nonsmooth: parts of the objective that may have kinks.
        varying: ways in which the network may change between rounds.
        adjacency: what two neighbouring data sets differ by, for every protected unit.
        status: status of the guarantee.
        masks: whether masks can hide an agent's releases in a sum or mean over all agents.
        releases: number of answers of private objectives that leave an agent, per round.
        evaluations: evaluations per record (or cost) that they need, per round.
    """

    oracle: str
    topology: str
    constraints: str
    nonsmooth: str
    varying: str
    adjacency: str
    status: str
    masks: str
    releases: str
    evaluations: str


HEADINGS: Mapping[str, str] = {
    "oracle": "Oracle",
    "topology": "Topology",
    "constraints": "Constraints",
    "nonsmooth": "Non-smooth",
    "varying": "Time-varying",
    "adjacency": "Adjacency",
    "status": "Status",
    "masks": "Masks",
    "releases": "Releases per round",
    "evaluations": "Evaluations per round",
}
"""Headings of the columns, in order."""

TABLES: Mapping[str, tuple[str, ...]] = {
    "Requirements": ("oracle", "topology", "constraints", "nonsmooth", "varying"),
    "Guarantee and cost": (
        "adjacency",
        "status",
        "masks",
        "releases",
        "evaluations",
    ),
}
"""The columns split over two tables, because one with all of them is too wide to read."""


OWN_MASKS = "its own"
"""Entry for the masks of a method that always has them, whatever its budget."""


@cache
def traits(build: type[AbstractMethod]) -> Traits:
    """The row of a method, computed once.

    Args:
        build: class of the method, with an `example` for every argument without a default.
    """
    modes = instances(build)
    method = next(iter(modes.values()))
    at_home = {name: list(accepted(method, probes(), networks()[name])) for name in HOMES}
    home = [name for name in HOMES if at_home[name]]
    taken = [probe for name in home for probe in at_home[name]]
    here = [
        name
        for name, network in networks().items()
        if name in home or any(accepted(method, taken, network))
    ]
    stated = {
        (mode, unit): promised(one, taken, home, unit)
        for mode, one in modes.items()
        for unit in _UNITS
    }
    further = (promised(one, taken, home, unit) for one in _related(build) for unit in _UNITS)
    return Traits(
        oracle=_join(sorted({p.query.oracle.value for p in method.phases() if p.query})),
        topology=_join(name for name in here if not networks()[name].varying),
        constraints=_constraints(taken),
        nonsmooth=_join(
            name
            for name, kind in (("losses", "loss"), ("regularisers", "penalty"))
            if any(getattr(probe, kind) == "non-smooth" for probe in taken)
        ),
        varying=_join(name for name in here if networks()[name].varying),
        adjacency=_adjacency([*stated.values(), *further]),
        status=_status(stated),
        masks=_masks(build),
        releases=_releases(method),
        evaluations=_evaluations(method),
    )


def _related(build: type[AbstractMethod]) -> Iterator[AbstractMethod]:
    """The private modes under each relation but the default, where not refused."""
    for relation in (Relation.ADD_REMOVE, Relation.METRIC):
        with suppress(TacitError):
            found = instances(build, relation).values()
            yield from (method for method in found if method.privacy is not None)


def _join(words: Iterable[str]) -> str:
    return ", ".join(words) or "no"


def _constraints(taken: Sequence[Probe]) -> str:
    """Sets, and whether each works with each penalty or needs an exact proximal map of both."""
    sets = list(dict.fromkeys(probe.constraint for probe in taken))
    held = [name for name in sets if name != "none"]
    words = "any set" if len(held) == 3 else _join(held)
    if held and "none" not in sets:
        words += ", needed"
    penalised = any(probe.penalty != "none" for probe in taken)
    if held and penalised and all(probe.exact for probe in taken):
        words += ", if its prox with the regulariser is exact"
    return words


def _status(stated: Mapping[tuple[str, Unit], Guarantee | None]) -> str:
    """The status of every mode; several modes with the same one share an entry."""
    modes: dict[str, str] = {}
    for mode, unit in stated:
        guarantee = stated[mode, unit]
        if mode not in modes and guarantee is not None:
            modes[mode] = guarantee.status.value
    found: dict[str, str] = {}
    for mode, _ in stated:
        status = modes.get(mode, "refused")
        found.setdefault(status, f"{status} {mode}".strip())
    return "; ".join(found.values())


def _masks(build: type[AbstractMethod]) -> str:
    """Whether the method takes masks or has its own, or which of its variants take them."""
    if masked(build) is not None:
        return "yes"
    hidden = [phase.hides for one in instances(build).values() for phase in one.phases()]
    if any(hides.together and not hides.summed for hides in hidden):
        return OWN_MASKS
    return _join(name for name, own in build.variants.items() if masked(build, own) is not None)


def _adjacency(stated: Iterable[Guarantee | None]) -> str:
    """Every unit with the relations under which a finite epsilon is stated for it."""
    found: dict[Unit, list[str]] = {unit: [] for unit in _UNITS}
    for guarantee in stated:
        if guarantee is None or guarantee.status is Status.NONE or np.isinf(guarantee.epsilon):
            continue
        relation = _RELATIONS[guarantee.relation]
        if relation not in found[guarantee.unit]:
            found[guarantee.unit].append(relation)
    return "; ".join(f"{unit.value}: {_join(named)}" for unit, named in found.items() if named) or (
        "none"
    )


def _releases(method: AbstractMethod) -> str:
    private = [phase for phase in method.phases() if phase.release is not None]
    rounds = sum(phase.repeat for phase in private if not phase.rounds.single)
    once = sum(phase.repeat for phase in private if phase.rounds.single)
    return _with_start(str(rounds), str(once))


def _evaluations(method: AbstractMethod) -> str:
    return _with_start(_formula(method, once=False), _formula(method, once=True))


def _with_start(rounds: str, before: str) -> str:
    """Numbers per round, and those before the first round."""
    if before == "0":
        return rounds
    return f"{before} in all" if rounds == "0" else f"{rounds}, and {before} once"


def _formula(method: AbstractMethod, *, once: bool) -> str:
    """Evaluations as `a P + b` in the dimension `P`, read off three dimensions."""
    counts = [
        sum(
            phase.repeat * phase.query.evaluations(dimension)
            for phase in method.phases()
            if phase.query is not None and phase.rounds.single is once
        )
        for dimension in (10, 11, 12)
    ]
    slope = counts[1] - counts[0]
    if counts[2] - counts[1] != slope:
        return f"{counts[0]} for P = 10"
    constant = counts[0] - 10 * slope
    parts = ["P" if slope == 1 else f"{slope} P"] if slope else []
    return " + ".join([*parts, str(constant)] if constant or not parts else parts)


def methods() -> tuple[type[AbstractMethod], ...]:
    """Every method of tacit that can be described, including methods as published."""
    return tuple(each for each in exported() if not missing(each))


def exported() -> tuple[type[AbstractMethod], ...]:
    """Every method that `tacit.method` exports, and methods as published."""
    from tacit.study.parts import published

    found = [getattr(tacit.method, name) for name in tacit.method.__all__]
    found += [part.build for part in published().values()]
    classes = (each for each in found if isinstance(each, type) and not inspect.isabstract(each))
    methods = (each for each in classes if issubclass(each, AbstractMethod))
    return tuple(sorted(methods, key=lambda each: each.__name__))


def missing(build: type[AbstractMethod]) -> set[str]:
    """Arguments that have neither a default nor a value in the method's `example`."""
    parameters = inspect.signature(build).parameters.values()
    required = {each.name for each in parameters if each.default is inspect.Parameter.empty}
    return required - {"privacy", *build.example}
