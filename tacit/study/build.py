"""From [problem], [model], [method] and [privacy] to the arguments of `tacit.run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tacit import checks
from tacit.data.cells import Column, columns_of
from tacit.data.cells import chosen as declared_column
from tacit.data.formula import parse_formula
from tacit.data.partition import Sites
from tacit.data.schema import Prepared
from tacit.errors import ConfigError, PrivacyError, TacitError
from tacit.method.phase import AbstractMethod
from tacit.privacy.budget import Privacy
from tacit.problem.bounds import RecordBounds
from tacit.problem.boxes import CostBox
from tacit.problem.constraint import CONSTRAINTS
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.evaluation import Evaluation
from tacit.problem.losses import LOSSES, AbstractLoss, Softmax
from tacit.problem.problem import Problem, agent_of
from tacit.problem.records import Weighting, declared_counts, empirical_risk, objective_of
from tacit.problem.regularisers import REGULARISERS
from tacit.problem.simulator import AbstractBlackBox, LossBox
from tacit.problem.task import Records, Rows, Task, record_tables, rows_of
from tacit.study._described.catalogue import METHODS, Entry, Protection
from tacit.study._grammar.section import Section
from tacit.study._sections.calls import RecordCalls
from tacit.study._sections.common import PrivacySection, ProblemSection, plain
from tacit.study._sections.data import site_column
from tacit.study._sections.nested import built
from tacit.study._sections.statistics import ColumnSection
from tacit.study.costs import OwnCost, declared_costs, own_cost
from tacit.study.model import RegressionStudy
from tacit.study.read import Source
from tacit.study.tables import schema

PER_SITE = ("clip", "epsilon", "delta", "noise_multiplier")
"""Keys of [privacy] that may have one value per site."""


def build_problem(source: Source, sites: Sites, classes: int) -> Task:
    """The problem that the sites solve together, or the records that they describe together.

    Args:
        source: study file.
        sites: records by site.
        classes: number of classes of the target, 0 for none.
    """
    if source.statistics:
        return _records(source, sites)
    chosen, intercept = source.study.problem, source.study.data.intercept
    loss = _loss(source, classes)
    regulariser = _part(source, "regulariser", REGULARISERS, chosen)
    if intercept and not isinstance(loss, AbstractBlackBox):
        # the schema appended it as the last feature, and it is not penalised
        dimension = loss.dimension(len(sites.feature_names))
        own = dimension // len(sites.feature_names)
        regulariser = regulariser.sparing(range(dimension - own, dimension))
    constraint = _part(source, "constraint", CONSTRAINTS, chosen)
    with source.section("problem", "normaliser"):
        normaliser = _by_site("normaliser", chosen.normaliser, sites.names)
    with source.section("problem", "parameter_names"):
        if chosen.parameter_names is not None and not isinstance(loss, AbstractBlackBox):
            raise ConfigError(
                "belongs to simulators; the parameters of this loss are named by the columns, so "
                "leave it out"
            )
    if chosen.simulator is not None and not isinstance(loss, AbstractBlackBox):
        with source.section("problem", "simulator"):
            raise ConfigError(
                f"belongs to losses that only give values, and {chosen.loss.kind} is written out; "
                "leave it out"
            )
    with source.section("problem"):
        return empirical_risk(
            sites.features,
            sites.targets,
            loss,
            regulariser,
            constraint,
            weighting=chosen.weighting,
            normaliser=normaliser,
            x0=None if chosen.x0 is None else list(chosen.x0),
            names=sites.names,
            feature_names=sites.feature_names,
            bounds=_bounds(source),
            parameter_names=chosen.parameter_names,
        )


def called(source: Source, problem: Task) -> Task:
    """The problem with its simulator, if it has one, called as the study says on this machine."""
    calls: RecordCalls | None = getattr(source.study.problem, "simulator", None)
    if calls is None or not isinstance(problem, Problem):
        return problem
    box: Any = problem.objectives
    with source.section("problem", "simulator"):
        how = Evaluation(
            workers=calls.workers,
            timeout=calls.timeout,
            on_failure=calls.on_failure,
            tries=calls.tries,
            cache=None if calls.cache is None else source.folder / calls.cache,
        )
        return replace(problem, objectives=replace(box, host=box.host.evaluated(how)))


def build_declared(
    source: Source,
    names: tuple[str, ...],
    features: tuple[str, ...],
    classes: int,
    counts: Sequence[int],
    assumptions: tuple[str, ...] = (),
) -> Task:
    """The problem as known to everyone: declared numbers, and one row of zeros at every site.

    Args:
        source: study file.
        names: names of the sites.
        features: names of the columns.
        classes: number of classes of the target, 0 for none.
        counts: declared numbers of records, one per site.
        assumptions: what must be public for a guarantee to hold, in sentences.
    """
    if source.costs:
        return replace(declared_costs(source, names, counts), assumptions=assumptions)
    rows, column = np.zeros((1, len(features))), np.zeros(1)
    nobody = [np.arange(1)] * len(names)
    sites = Sites(
        [rows] * len(names), [column] * len(names), names, features, nobody, assumptions=assumptions
    )
    problem = build_problem(source, sites, classes)
    if isinstance(problem, Records):
        numbers = tuple(int(count) for count in counts)
        return replace(problem, counts=np.array(numbers), size=numbers)
    assert isinstance(problem, Problem)
    return declared_counts(problem, counts, source.study.problem.weighting)


def _records(source: Source, sites: Sites) -> Records:
    """The sites' tables, with the study's declarations."""
    declared: Any = source.study.problem
    with source.section("problem", "size"):
        size = _by_site("size", declared.size, sites.names)
    with source.section("data"):
        return record_tables(sites.features, schema(source), names=sites.names, size=size)


def build_objective(
    source: Source, problem: Task, agent: int, prepared: Prepared | OwnCost, size: int
) -> EmpiricalRisk | LossBox | CostBox | Rows:
    """One site's private data: its objective, or its table.

    Args:
        source: study file.
        problem: problem made by `build_declared`.
        agent: number of the site.
        prepared: the site's records, or what it says of its cost.
        size: declared number of records, to which the site's records are padded.
    """
    if isinstance(prepared, OwnCost):
        return own_cost(source, agent, prepared)
    if not isinstance(problem, Problem):
        return agent_of(rows_of([prepared.features], size), 0, 1)
    chosen, divisor = source.study.problem, None
    if chosen.normaliser is None and chosen.weighting == Weighting.AGENT:
        divisor = float(len(prepared.targets))
    with source.section("problem"):
        return objective_of(
            problem,
            agent,
            prepared.features,
            prepared.targets,
            size,
            bounds=_bounds(source),
            divisor=divisor,
        )


def _bounds(source: Source) -> RecordBounds | None:
    row_norm = source.study.data.row_norm
    return None if row_norm is None else RecordBounds(row=row_norm)


def build_method(source: Source, names: Sequence[str]) -> AbstractMethod:
    """The method, with the budget of the study."""
    chosen = source.study.method
    values = dict(chosen)
    del values["name"]
    entry = method_of(source)
    privacy = build_privacy(source, names)
    if entry.protection is Protection.NONE and privacy is not None:
        with source.section("privacy"):
            if entry.build.as_published:
                raise ConfigError(
                    f"the method {entry.name} has the noise that its paper claims, by the keys of "
                    "[method]; leave [privacy] out"
                )
            raise ConfigError(
                f"the method {entry.name} adds no noise, so no budget can be kept; take a private "
                "method such as dpsg, or leave [privacy] out"
            )
    if entry.protection is Protection.REQUIRED and privacy is None:
        with source.section("method", "name"):
            raise ConfigError(
                f"{entry.name} needs a budget; add a section [privacy] with epsilon, delta and "
                "clip, or take a method without privacy such as dgd"
            )
    for key, value in values.items():
        with source.section("method", key):
            if _names_columns(value):
                values[key] = _columns(source, value)
                continue
            values[key] = built(value, partial(_inner, source, names, ("method", key)))
    if entry.protection is not Protection.NONE:
        values["privacy"] = privacy
    if isinstance(source.study, RegressionStudy):
        model = source.study.model
        with source.section("model"):
            columns = columns_of(schema(source))
            target, design = parse_formula(model.formula, columns)
            weights = None if model.weights is None else declared_column(columns, model.weights)
        values |= {"target": target, "design": design, "family": model.family, "weights": weights}
        return _built(source, entry, values, ("model",))
    return _method(source, entry, values, names, ("method",))


def shares_keys(source: Source, names: Sequence[str]) -> bool:
    """Whether pairs of agents need keys for masks, in sums or in noise that they share.

    False for a method that cannot be built, which is refused wherever its run is laid out.

    Args:
        source: study.
        names: names of the agents.
    """
    privacy = source.study.privacy
    if privacy is None or privacy.summed:
        return privacy is not None
    try:
        phases = build_method(source, names).phases()
    except TacitError:
        return False
    return any(phase.hides.shares for phase in phases)


def _names_columns(value: Any) -> bool:
    return isinstance(value, ColumnSection) or (
        isinstance(value, tuple) and any(isinstance(each, ColumnSection) for each in value)
    )


def _columns(
    source: Source, value: ColumnSection | Sequence[ColumnSection]
) -> Column | tuple[Column, ...]:
    """Declared columns of the study, cut at the edges that it gives."""
    with source.section("data"):
        declared = columns_of(schema(source))
    together = (value,) if isinstance(value, ColumnSection) else value
    found = [(declared_column(declared, each.column), each.edges) for each in together]
    cut = tuple(column.cut(*edges) if edges else column for column, edges in found)
    return cut[0] if isinstance(value, ColumnSection) else cut


def _inner(
    source: Source, names: Sequence[str], at: tuple[str, ...], part: Section
) -> AbstractMethod:
    """A method without a budget, to be run inside another one."""
    values = dict(part)
    return _method(source, _entry(source, values.pop("name")), values, names, at)


def method_of(source: Source) -> Entry:
    """The catalogue entry of the method that a study names."""
    return _entry(source, dict(source.study.method)["name"])


def _entry(source: Source, name: str) -> Entry:
    found = source.build("method", name, METHODS)
    return found if isinstance(found, Entry) else Entry(found)


def _method(
    source: Source,
    entry: Entry,
    values: dict[str, Any],
    names: Sequence[str],
    at: tuple[str, ...],
) -> AbstractMethod:
    for key in entry.per_site:
        if key in values:
            with source.section(*at, key):
                values[key] = _by_site(key, values[key], names)
    return _built(source, entry, values, at)


def _built(
    source: Source, entry: Entry, values: dict[str, Any], at: tuple[str, ...]
) -> AbstractMethod:
    """The method; what it refuses of a budget stands in [privacy]."""
    with source.section(*at):
        try:
            return entry.build(**values)
        except PrivacyError:
            with source.section("privacy" if values.get("privacy") else at[0]):
                raise


def build_privacy(source: Source, names: Sequence[str]) -> Privacy | None:
    """The budget of every site, or `None` without a section [privacy]."""
    chosen = source.study.privacy
    if chosen is None:
        return None
    with source.section("privacy"):
        return _privacy(
            chosen, {key: _by_site(key, getattr(chosen, key), names) for key in PER_SITE}
        )


def check_privacy(source: Source) -> None:
    """Refuse a wrong budget before any data are read."""
    chosen = source.study.privacy
    if chosen is None:
        return
    values = {key: getattr(chosen, key) for key in PER_SITE}
    listed = {
        key: np.array(list(value.values())) if isinstance(value, Mapping) else value
        for key, value in values.items()
    }
    with source.section("privacy"):
        _privacy(chosen, listed)
    dealt = site_column(source.study.partition) is None and not source.costs
    if chosen.ledger is not None and chosen.owner is None and dealt:
        with source.section("privacy", "ledger"):
            raise ConfigError(
                "this study divides the records over simulated sites, so in another study a "
                "record may belong to another site, and an account for each site would not add up "
                "its costs; add owner = '...', whose account is charged for all of them"
            )
    declared: Any = source.study.problem
    if source.costs:
        return
    if source.statistics:
        if chosen.relation == "add_remove" and declared.size is None:
            with source.section("privacy", "relation"):
                raise ConfigError(
                    "relation='add_remove' makes the number of records private; add size = ... to "
                    "[problem], a public number near that of a site's records"
                )
        return
    if chosen.relation == "add_remove" and declared.normaliser is None:
        with source.section("privacy", "relation"):
            raise ConfigError(
                "relation='add_remove' makes the number of records private, so sums must not be "
                "divided by it; add normaliser = ... to [problem], a public number near the "
                "number of a site's records (or a table with one per site)"
            )


def _privacy(chosen: PrivacySection, per_site: Mapping[str, Any]) -> Privacy:
    elsewhere = {*per_site, "masks", "require", "ledger", "dataset", "owner"}
    rest = {key: value for key, value in chosen if key not in elsewhere}
    return Privacy(**per_site, **rest, **chosen.hidden)


def _by_site(key: str, value: Any, names: Sequence[str]) -> Any:
    """A number, or an array in the order of the sites."""
    if isinstance(value, Mapping):
        for name in value:
            if name not in names:
                hint = checks.hint(name, names, f"they are {', '.join(names)}")
                raise PrivacyError(
                    f"{key}={dict(value)!r} names {name!r}, which is not a site; {hint}"
                )
        absent = [name for name in names if name not in value]
        if absent:
            raise PrivacyError(f"{key}={dict(value)!r} has no entry for site {absent[0]!r}; add it")
        return np.array([value[name] for name in names])
    if isinstance(value, tuple):
        if len(value) != len(names):
            raise PrivacyError(
                f"{key}={list(value)!r} has {len(value)} entries for {len(names)} sites; "
                "give one number for all, or one per site; several values are compared by "
                "`tacit sweep`, with --epsilon or --set"
            )
        return np.array(value)
    return value


def _loss(source: Source, classes: int) -> AbstractLoss:
    chosen = source.study.problem.loss
    with source.section("problem", "loss"):
        if chosen.kind == "softmax":
            if not classes:
                raise ConfigError(
                    "softmax needs a target with classes; declare levels = [...] in [data.target]"
                )
            return Softmax(classes)
        if classes:
            raise ConfigError(
                f"the target has {classes} classes, which the loss {chosen.kind} does not know; "
                "take loss = 'softmax', or declare positive = ... in [data.target]"
            )
        return source.build("loss", chosen.kind, LOSSES)(**plain(chosen))


def _part(source: Source, key: str, registry: Mapping[str, Any], chosen: ProblemSection) -> Any:
    part = getattr(chosen, key)
    with source.section("problem", key):
        return source.build(key, part.kind, registry)(**plain(part))
