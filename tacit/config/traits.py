"""What a method takes and promises, found by asking it: nothing here is typed in per method.

Small problems and networks are offered to the method's own checks, its phases are counted, and its
guarantees are stated for every unit and neighbouring relation. A new method is described as soon as
`tacit.method` exports it.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tacit.method
from tacit.errors import PrivacyError, TacitError
from tacit.layout import check_arguments, owners_of
from tacit.method import claim, promise
from tacit.method.phase import AbstractMethod
from tacit.network import (
    AbstractNetwork,
    Coordinator,
    Graph,
    LinkFailure,
    RandomActivation,
    complete,
)
from tacit.privacy.budget import Privacy
from tacit.privacy.guarantee import Guarantee, Status
from tacit.problem import (
    L1,
    L2,
    Ball,
    Box,
    Hinge,
    Logistic,
    NoRegulariser,
    Problem,
    Simplex,
    costs,
    empirical_risk,
)
from tacit.problem.constraint import FREE
from tacit.runtime.keys import public_key
from tacit.types import Relation, Unit

_AGENTS, _ROUNDS = 3, 2

_RELATIONS = {
    Relation.REPLACE_ONE: "replace",
    Relation.ADD_REMOVE: "add/remove",
    Relation.METRIC: "metric",
}


@dataclass(frozen=True)
class Traits:
    """One row of the comparison of methods, in words.

    Attributes:
        oracle: what is asked of a private objective.
        topology: who talks to whom.
        constraints: which public sets the answer may be held in.
        nonsmooth: which parts of the objective may have kinks.
        varying: how the network may change between rounds.
        adjacency: what two neighbouring data sets differ by, for every unit that is protected.
        status: how sure the guarantee is.
        releases: answers of private objectives that leave an agent, per round.
        evaluations: what they cost of each record (or cost), per round.
    """

    oracle: str
    topology: str
    constraints: str
    nonsmooth: str
    varying: str
    adjacency: str
    status: str
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
    "releases": "Releases per round",
    "evaluations": "Evaluations per round",
}
"""What the columns are called, in order."""


@dataclass(frozen=True)
class Probe:
    """A problem to offer, and what is to be learned from it.

    Attributes:
        problem: small, with declared normalisers, as every relation needs.
        loss: "smooth" or "non-smooth".
        penalty: "none", "smooth" or "non-smooth".
        constraint: "none", "box", "ball" or "simplex".
    """

    problem: Problem
    loss: str
    penalty: str
    constraint: str


def _quadratic(x: Any, centre: Any) -> Any:
    return jnp.sum((x - centre) ** 2)


def _distance(x: Any, centre: Any) -> Any:
    return jnp.sum(jnp.abs(x - centre))


@cache
def probes() -> tuple[Probe, ...]:
    """Records and whole costs, with and without kinks, for every kind of penalty and set."""
    rng = np.random.default_rng(0)
    rows = [rng.uniform(-1.0, 1.0, (4, 2)) for _ in range(_AGENTS)]
    answers = [np.array([0.0, 1.0, 1.0, 0.0])] * _AGENTS
    centres, start = rng.uniform(-1.0, 1.0, (_AGENTS, 2)), np.full(2, 0.5)
    penalties = {"none": NoRegulariser(), "smooth": L2(0.1), "non-smooth": L1(0.1)}
    sets = {"none": FREE, "box": Box(0.0, 1.0), "ball": Ball(1.0), "simplex": Simplex(1.0)}
    found: list[Probe] = []
    for penalty, shape in product(penalties, sets):
        public: dict[str, Any] = {"regulariser": penalties[penalty], "constraint": sets[shape]}
        for kind, loss in (("smooth", Logistic()), ("non-smooth", Hinge())):
            task = empirical_risk(rows, answers, loss, normaliser=4.0, x0=start, **public)
            found.append(Probe(task, kind, penalty, shape))
        for kind, cost in (("smooth", _quadratic), ("non-smooth", _distance)):
            smooth = kind == "smooth"
            task = costs(cost, centres, start, smooth=smooth, convex=True, **public)
            found.append(Probe(task, kind, penalty, shape))
    return tuple(found)


@cache
def networks() -> Mapping[str, AbstractNetwork]:
    """One network of every kind, by the words that the table uses."""
    peers = complete(_AGENTS)
    around = [(agent, (agent + 1) % _AGENTS) for agent in range(_AGENTS)]
    return {
        "peers": peers,
        "directed peers": Graph.from_edges(_AGENTS, around, directed=True),
        "failing links": LinkFailure(peers, 0.3),
        "sleeping agents": RandomActivation(peers, 0.6),
        "coordinator": Coordinator(_AGENTS),
        "drawn clients": Coordinator(_AGENTS, probability=0.5),
    }


def accepts(method: AbstractMethod, problem: Problem, network: AbstractNetwork) -> bool:
    """Whether a run of the method begins, by its own checks."""
    try:
        check_arguments(problem, network, method, _ROUNDS)
    except TacitError:
        return False
    return True


def instances(
    build: type[AbstractMethod], relation: Relation = Relation.REPLACE_ONE
) -> Mapping[str, AbstractMethod]:
    """The method in every mode: with and without a budget as it allows, and its variants."""
    budget = inspect.signature(build).parameters.get("privacy")
    optional = budget is not None and budget.default is not inspect.Parameter.empty
    found = {"with [privacy]" if optional else "": _private(build, relation)}
    if optional:
        found["without"] = build(**build.example)
    for name, own in build.variants.items():
        found[name] = _private(build, relation, own)
    return found


def _private(
    build: type[AbstractMethod], relation: Relation, own: Mapping[str, Any] = MappingProxyType({})
) -> AbstractMethod:
    """An instance with a budget if it takes one: Gaussian noise, or Laplace where that is asked."""
    given = {**build.example, **own}
    if "privacy" not in inspect.signature(build).parameters:
        return build(**given)
    try:
        return build(**given, privacy=Privacy(clip=1.0, epsilon=1.0, relation=relation))
    except PrivacyError:
        pure = Privacy(clip=1.0, epsilon=1.0, delta=0.0, noise="laplace", relation=relation)
        return build(**given, privacy=pure)


@cache
def traits(build: type[AbstractMethod]) -> Traits:
    """The row of a method, asked for once.

    Args:
        build: with an `example` for every argument that has no default.
    """
    modes = instances(build)
    method = next(iter(modes.values()))
    here = [name for name, net in networks().items() if _some(method, probes(), net)]
    home = [networks()[name] for name in ("peers", "coordinator") if name in here]
    taken = [probe for probe in probes() if any(accepts(method, probe.problem, n) for n in home)]
    return Traits(
        oracle=_join(sorted({p.query.oracle.value for p in method.phases() if p.query})),
        topology=_join(name for name in here if not networks()[name].varying),
        constraints=_constraints(taken),
        nonsmooth=_join(
            name
            for name, kind in (("losses", "loss"), ("penalties", "penalty"))
            if any(getattr(probe, kind) == "non-smooth" for probe in taken)
        ),
        varying=_join(name for name in here if networks()[name].varying),
        adjacency=_adjacency(build, modes, taken, home),
        status=_status(modes, taken, home),
        releases=_releases(method),
        evaluations=_evaluations(method),
    )


def _some(method: AbstractMethod, offered: Iterable[Probe], network: AbstractNetwork) -> bool:
    return any(accepts(method, probe.problem, network) for probe in offered)


def _join(words: Iterable[str]) -> str:
    return ", ".join(words) or "no"


def _constraints(taken: Sequence[Probe]) -> str:
    """Sets, and whether each goes with each penalty or needs an exact proximal map of both."""
    sets = list(dict.fromkeys(probe.constraint for probe in taken))
    held = [name for name in sets if name != "none"]
    words = "any set" if len(held) == 3 else _join(held)
    if held and "none" not in sets:
        words += ", needed"
    penalised = any(probe.penalty != "none" for probe in taken)
    if held and penalised and all(probe.problem.public.exact for probe in taken):
        words += ", if its prox with the penalty is exact"
    return words


def stated(method: AbstractMethod, problem: Problem, network: AbstractNetwork) -> Guarantee | None:
    """The guarantee of a short run, or `None` where the method refuses to begin it."""
    try:
        check_arguments(problem, network, method, _ROUNDS)
        with jax.enable_x64(True):
            owners = owners_of(problem, network, method, _ROUNDS, public_key(0), 1)
            return promise.guarantees(claim.calibrate(method, owners), owners).worst
    except TacitError:
        return None


def _first(
    method: AbstractMethod, taken: Sequence[Probe], home: Sequence[AbstractNetwork]
) -> Guarantee | None:
    found = (stated(method, probe.problem, net) for probe in taken for net in home)
    return next((guarantee for guarantee in found if guarantee is not None), None)


def _status(
    modes: Mapping[str, AbstractMethod], taken: Sequence[Probe], home: Sequence[AbstractNetwork]
) -> str:
    """The status of every mode; of several with the same one, the first stands for all."""
    found: dict[str, str] = {}
    for mode, method in modes.items():
        guarantee = _first(method, taken, home)
        status = "refused" if guarantee is None else guarantee.status.value
        found.setdefault(status, f"{status} {mode}".strip())
    return "; ".join(found.values())


def _adjacency(
    build: type[AbstractMethod],
    modes: Mapping[str, AbstractMethod],
    taken: Sequence[Probe],
    home: Sequence[AbstractNetwork],
) -> str:
    """Every unit with the relations under which a finite epsilon is stated for it."""
    tried = list(modes.values())
    if "privacy" in inspect.signature(build).parameters:
        for relation in (Relation.ADD_REMOVE, Relation.METRIC):
            with contextlib.suppress(TacitError):  # a relation that it refuses
                tried += instances(build, relation).values()
    found: dict[Unit, list[str]] = {}
    for unit, method in product((Unit.RECORD, Unit.AGENT), tried):
        about = [probe for probe in taken if probe.problem.unit is unit]
        guarantee = _first(method, about, home)
        if guarantee is None or guarantee.status is Status.NONE or np.isinf(guarantee.epsilon):
            continue
        named = found.setdefault(guarantee.unit, [])
        if _RELATIONS[guarantee.relation] not in named:
            named.append(_RELATIONS[guarantee.relation])
    return "; ".join(f"{unit.value}: {_join(named)}" for unit, named in found.items()) or "none"


def _releases(method: AbstractMethod) -> str:
    private = [phase for phase in method.phases() if phase.release is not None]
    rounds = sum(phase.repeat for phase in private if not phase.once)
    return _with_start(str(rounds), str(sum(phase.repeat for phase in private if phase.once)))


def _evaluations(method: AbstractMethod) -> str:
    return _with_start(_formula(method, once=False), _formula(method, once=True))


def _with_start(rounds: str, before: str) -> str:
    return rounds if before == "0" else f"{rounds}, and {before} before"


def _formula(method: AbstractMethod, *, once: bool) -> str:
    """Evaluations as `a P + b` in the dimension `P`, read off three dimensions."""
    counts = [
        sum(
            phase.repeat * phase.query.evaluations(dimension)
            for phase in method.phases()
            if phase.query is not None and phase.once is once
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
    """Every method of `tacit.method` that can be described, named in study files or not."""
    return tuple(each for each in exported() if not missing(each))


def exported() -> tuple[type[AbstractMethod], ...]:
    """Every method that `tacit.method` exports."""
    found = (getattr(tacit.method, name) for name in sorted(tacit.method.__all__))
    classes = (each for each in found if isinstance(each, type) and not inspect.isabstract(each))
    return tuple(each for each in classes if issubclass(each, AbstractMethod))


def missing(build: type[AbstractMethod]) -> set[str]:
    """Arguments that have neither a default nor a value in the method's `example`."""
    parameters = inspect.signature(build).parameters.values()
    required = {each.name for each in parameters if each.default is inspect.Parameter.empty}
    return required - {"privacy", *build.example}
