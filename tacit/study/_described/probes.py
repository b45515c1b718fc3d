"""Small problems and networks on which a method is tried, and the results."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit._engine.calibrate import calibrate
from tacit._engine.charging import Owners
from tacit._engine.inputs import check_arguments
from tacit._engine.run_guarantee import guarantees
from tacit.data import Boolean, Categorical, Numeric, Schema
from tacit.errors import NetworkError, PrivacyError, TacitError
from tacit.method.phase import AbstractMethod
from tacit.method.releases import Releases
from tacit.network import (
    AbstractNetwork,
    Coordinator,
    Graph,
    LinkFailure,
    Periodic,
    RandomActivation,
    complete,
    path,
)
from tacit.privacy.budget import Privacy
from tacit.privacy.guarantee import Guarantee
from tacit.problem import (
    L1,
    L2,
    Ball,
    Box,
    Hinge,
    Logistic,
    NoRegulariser,
    Simplex,
    Task,
    costs,
    empirical_risk,
    record_tables,
)
from tacit.problem.constraint import FREE
from tacit.types import Relation, Unit

_AGENTS, _ROUNDS = 3, 2

HOMES = ("peers", "coordinator")
"""The simplest network of each topology: every method runs on one of them."""


@dataclass(frozen=True, eq=False)
class Probe:
    """A problem to try a method on, and its properties.

    Attributes:
        problem: small problem with declared normalisers, as every relation needs.
        loss: "smooth" or "non-smooth"; "none" for records that are only described.
        penalty: "none", "smooth" or "non-smooth".
        constraint: "none", "box", "ball" or "simplex".
        exact: whether penalty and set together have an exact proximal map.
    """

    problem: Task
    loss: str
    penalty: str
    constraint: str
    exact: bool


def _quadratic(x: Any, centre: Any) -> Any:
    return jnp.sum((x - centre) ** 2)


def _distance(x: Any, centre: Any) -> Any:
    return jnp.sum(jnp.abs(x - centre))


@cache
def probes() -> tuple[Probe, ...]:
    """Smooth losses of records with every penalty and set, other costs with one of them.

    Finally records that are only described.
    """
    rng = np.random.default_rng(0)
    rows = [rng.uniform(-1.0, 1.0, (4, 2)) for _ in range(_AGENTS)]
    answers = [np.array([0.0, 1.0, 1.0, 0.0])] * _AGENTS
    centres, start = rng.uniform(-1.0, 1.0, (_AGENTS, 2)), np.full(2, 0.5)
    penalties = {"none": NoRegulariser(), "smooth": L2(0.1), "non-smooth": L1(0.1)}
    sets = {"none": FREE, "box": Box(0.0, 1.0), "ball": Ball(1.0), "simplex": Simplex(1.0)}
    found: list[Probe] = []
    for penalty, shape in product(penalties, sets):
        public: dict[str, Any] = {"regulariser": penalties[penalty], "constraint": sets[shape]}
        risk = partial(empirical_risk, rows, answers, normaliser=4.0, x0=start, **public)
        cost = partial(costs, parameters=centres, x0=start, convex=True, **public)
        tasks = [("smooth", risk(Logistic()))]
        if "none" in (penalty, shape):
            tasks.append(("non-smooth", risk(Hinge())))
            tasks.append(("smooth", cost(_quadratic, smooth=True)))
            tasks.append(("non-smooth", cost(_distance, smooth=False)))
        exact = tasks[0][1].public.exact
        found += [Probe(task, loss, penalty, shape, exact) for loss, task in tasks]
    columns = {"sex": Categorical(["f", "m"]), "age": Numeric(0, 120), "ill": Boolean()}
    schema = Schema(columns, target=None, intercept=False)
    records = np.column_stack([np.eye(2), [-0.5, 0.5], [0.0, 1.0]])
    tables = record_tables([records] * _AGENTS, schema, size=2)
    return (*found, Probe(tables, "none", "none", "none", exact=True))


@cache
def networks() -> Mapping[str, AbstractNetwork]:
    """One network of every kind, by the words of the table."""
    peers = complete(_AGENTS)
    around = [(agent, (agent + 1) % _AGENTS) for agent in range(_AGENTS)]
    return {
        "peers": peers,
        "directed peers": Graph.from_edges(_AGENTS, around, directed=True),
        "given sequences": Periodic([peers, path(_AGENTS)]),
        "failing links": LinkFailure(peers, 0.3),
        "sleeping agents": RandomActivation(peers, 0.6),
        "coordinator": Coordinator(_AGENTS),
        "client sampling": Coordinator(_AGENTS, probability=0.5),
    }


def instances(
    build: type[AbstractMethod], relation: Relation = Relation.REPLACE_ONE
) -> Mapping[str, AbstractMethod]:
    """The method in every mode: with and without a budget where allowed, and its variants."""
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
    """A private instance where possible: Gaussian noise, or Laplace noise where required.

    The noise is given rather than calibrated: neither the protected unit nor the status of the
    guarantee depends on its scale.
    """
    given = {**build.example, **own}
    if "privacy" not in inspect.signature(build).parameters:
        return build(**given)
    noise: dict[str, Any] = {"clip": 1.0, "noise_multiplier": 1.0, "relation": relation}
    try:
        return build(**given, privacy=Privacy(**noise))
    except PrivacyError:
        return build(**given, privacy=Privacy(**noise, noise="laplace", delta=0.0))


def masked(
    build: type[AbstractMethod], own: Mapping[str, Any] = MappingProxyType({})
) -> AbstractMethod | None:
    """An instance whose releases are hidden in sums by masks, or `None` if it refuses masks.

    Args:
        build: class of the method, with an `example` for every argument without a default.
        own: arguments of a variant.
    """
    if "privacy" not in inspect.signature(build).parameters:
        return None
    try:
        budget = Privacy(clip=1.0, noise_multiplier=1.0).in_sums()
        method = build(**{**build.example, **own}, privacy=budget)
        hidden = budget.hides.used(method.phases())
    except TacitError:
        return None
    return method if hidden else None


def accepted(
    method: AbstractMethod, offered: Iterable[Probe], network: AbstractNetwork
) -> Iterator[Probe]:
    """The probes with which a run on the network can begin, by the method's own checks."""
    for probe in offered:
        try:
            rounds = _ROUNDS if method.only_rounds is None else method.only_rounds
            check_arguments(probe.problem, network, method, rounds)
        except NetworkError:
            return  # all probes have the same number of agents: each is refused
        except TacitError:
            continue
        yield probe


def promised(
    method: AbstractMethod, offered: Iterable[Probe], homes: Iterable[str], unit: Unit
) -> Guarantee | None:
    """The guarantee of a short run, or `None` if the method refuses every one of them.

    Args:
        method: method in the mode of interest.
        offered: problems to try; those whose summands are not `unit` are skipped.
        homes: names of the networks.
        unit: protected unit, a record or a whole cost.
    """
    about = [probe for probe in offered if probe.problem.unit is unit]
    for name in homes:
        for probe in accepted(method, about, networks()[name]):
            try:
                with jax.enable_x64(True):
                    owners = _owners(probe, name, method.protects(probe.problem))
                    releases = Releases(method.on(networks()[name]))
                    calibrated = calibrate(releases, owners)
                    return guarantees(calibrated, owners, owners.kinds(calibrated)).worst
            except PrivacyError:
                return None  # it cannot protect this unit: no other problem changes that
            except TacitError:
                continue
    return None


@cache
def _owners(probe: Probe, home: str, unit: Unit) -> Owners:
    """The owners' constants where every agent takes part in every round."""
    everybody = np.full(_AGENTS, _ROUNDS)
    return Owners.of(probe.problem, networks()[home], _ROUNDS, everybody, unit=unit)
