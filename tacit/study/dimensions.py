"""The dimensions of a study from its declarations: no record is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from tacit.advise.setting import Setting
from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.method.glm import PrivateGLM
from tacit.method.phase import AbstractMethod
from tacit.network.base import AbstractNetwork
from tacit.privacy.budget import Privacy
from tacit.privacy.caution import DELTA
from tacit.problem.constraint import CONSTRAINTS
from tacit.problem.losses import LOSSES, AbstractLinearLoss, Softmax
from tacit.problem.records import Weighting
from tacit.problem.regularisers import REGULARISERS
from tacit.study._sections.common import plain
from tacit.study._sections.data import site_column
from tacit.study.build import build_method
from tacit.study.columns import columns
from tacit.study.networks import build_network
from tacit.study.read import Source
from tacit.types import Oracle

_PER_SITE = ("clip", "epsilon", "delta", "noise_multiplier")


@dataclass(frozen=True)
class Asked:
    """Values that a study leaves open, or replacements to be tried; `None` where nothing is given.

    Attributes:
        records: number of records per site, at least 1: one number for all, or one per site.
        parameters: number of parameters; taken from the declared columns by default.
        agents: number of sites, if the study does not list them.
        epsilon: epsilon for the whole run.
        delta: delta for the whole run.
        row_norm: largest l2 norm of a record's features.
        oracle: `Oracle.VALUE` if only values of the loss are available.
        prevalence: fraction of yes among yes/no answers.
        gain: fraction of the base rate's loss that a fit without privacy removes.
    """

    records: int | Sequence[int] | None = None
    parameters: int | None = None
    agents: int | None = None
    epsilon: float | None = None
    delta: float | None = None
    row_norm: float | None = None
    oracle: Oracle = Oracle.GRADIENT
    prevalence: float | None = None
    gain: float | None = None


@checked(ConfigError)
def setting(source: Source, asked: Asked = Asked()) -> Setting:
    """The declared dimensions of a study, for `tacit.advise.advise`. No record is read.

    At most the header line of the table is read, and only where a declaration applies to all
    columns that match a pattern.

    Args:
        source: study file, from `tacit.study.read_study`.
        asked: values missing from the file, or replacements to be tried.

    Raises:
        ConfigError: something that neither declares; the message names it.

    Example:
        >>> from tacit.study import demo
        >>> found = setting(demo.study(), Asked(records=2500))
        >>> found.agents, int(found.counts.sum())
        (8, 20000)
    """
    if source.statistics:
        name = dict(source.study.method)["name"]
        with source.section("method", "name"):
            raise ConfigError(
                f"{name} has no step, clip or number of rounds to advise on; `tacit account` "
                "states how much noise a budget means, and for a regression, a table 1, survival "
                "and Cox regression `tacit advise` forecasts the width of intervals"
            )
    if source.costs:
        with source.section("problem", "simulator"):
            raise ConfigError(
                "gives whole costs, and advice rests on numbers of records; `tacit advise` "
                "forecasts the noise in their answer, and `tacit run` without [privacy] says how "
                "good an answer its rounds find"
            )
    network = _network(source, asked)
    classes = _classes(source)
    scores = max(classes, 1)
    declared = source.study.problem.normaliser
    records = asked.records
    if records is None:
        if declared is None:
            raise ConfigError(
                f"advice reads no records, and {source.name} states no number of them: give "
                "records=, a public number for all sites, or one for each"
            )
        each = declared.values() if isinstance(declared, Mapping) else np.atleast_1d(declared)
        counts = [max(1, round(float(number))) for number in each]
        records = counts[0] if len(counts) == 1 else counts
    problem, data = source.study.problem, source.study.data
    made_of = columns(source, None if asked.parameters is None else asked.parameters // scores)
    width = sum(each.count for each in made_of) + int(data.intercept)
    with source.section("problem"):
        return Setting(
            records=records,
            parameters=width * scores,
            network=network,
            budget=_budget(source, asked, network.agents),
            loss=_loss(source, classes),
            regulariser=_part(source, "regulariser", REGULARISERS),
            constraint=_part(source, "constraint", CONSTRAINTS),
            columns=made_of,
            intercept=data.intercept,
            row_norm=data.row_norm if asked.row_norm is None else asked.row_norm,
            weighting=Weighting(problem.weighting),
            normaliser=_divisors(declared),
            target=_bounds(data.target),
            methods=tuple(p.build for p in source.foreign if p.family.word == "method"),
            oracle=asked.oracle,
            prevalence=asked.prevalence,
            gain=asked.gain,
        )


def regression_of(source: Source, asked: Asked = Asked()) -> tuple[PrivateGLM, list[int]]:
    """The regression of a study with the budget that is asked, and the records of each site.

    No record is read.

    Args:
        source: study of a regression.
        asked: values missing from the file, or replacements to be tried.

    Raises:
        ConfigError: something that neither declares.
    """
    method, counts = statistic_of(source, asked)
    assert isinstance(method, PrivateGLM)
    return method, counts


def statistic_of(source: Source, asked: Asked = Asked()) -> tuple[AbstractMethod, list[int]]:
    """The method of a study of statistics with the budget that is asked, and the sites' records.

    No record is read.

    Args:
        source: study whose method uses the records themselves.
        asked: values missing from the file, or replacements to be tried.

    Raises:
        ConfigError: something that neither declares.
    """
    names = _names(source, asked)
    if asked.records is None:
        raise ConfigError(
            f"{source.name} does not say how many records a site has, and a forecast reads none: "
            "give records=, a public number for all sites, or one for each"
        )
    given = np.atleast_1d(asked.records).tolist()
    counts = [int(each) for each in (given * len(names) if len(given) == 1 else given)]
    if len(counts) != len(names) or min(counts) < 1:
        raise ConfigError(
            f"records={given} must be one positive number, or one for each of the "
            f"{len(names)} sites"
        )
    budget = _budget(source, asked, len(names))
    return replace(build_method(source, names), privacy=budget), counts


def _divisors(declared: Any) -> float | list[float] | None:
    """The declared normaliser: one number, or one per site in the order of the sites."""
    if declared is None or isinstance(declared, int | float):
        return declared
    each = declared.values() if isinstance(declared, Mapping) else declared
    return [float(number) for number in each]


def _bounds(target: Any) -> tuple[float, float]:
    """Bounds of a predicted number, as the loss sees it."""
    if target.kind != "numeric":
        return (-1.0, 1.0)
    return target.to or (float(target.lower), float(target.upper))


def _smallest(value: Any) -> float:
    """The smallest of a number for all sites, a list, or a table by site."""
    return float(np.min(list(value.values()) if isinstance(value, Mapping) else value))


def _network(source: Source, asked: Asked) -> AbstractNetwork:
    return build_network(source, _names(source, asked))


def _names(source: Source, asked: Asked) -> tuple[str, ...]:
    chosen = source.study.partition
    names: tuple[str, ...] | None
    if site_column(chosen) is not None:
        names = chosen.sites
    else:
        names = tuple(f"site {k}" for k in range(chosen.sites))
    if names is None:
        if asked.agents is None:
            raise ConfigError(
                f"{source.name} does not list its sites, and advice reads no records: give "
                "agents=, or sites = [...] in [partition]"
            )
        names = tuple(f"site {k}" for k in range(asked.agents))
    elif asked.agents not in (None, len(names)):
        raise ConfigError(
            f"agents={asked.agents} contradicts the {len(names)} sites of {source.name}; "
            "leave it out"
        )
    if len(names) < 2:
        raise ConfigError(f"{len(names)} site has nobody to agree with; there must be at least 2")
    return tuple(map(str, names))


def _budget(source: Source, asked: Asked, agents: int) -> Privacy:
    """The study's budget, unless another one is given; the smallest of all sites.

    Attempts of masks are left out: they are declared for the study's rounds, not for those that
    advice tries.
    """
    chosen = source.study.privacy
    if chosen is None:
        if asked.epsilon is None:
            raise ConfigError(f"{source.name} has no [privacy]; give epsilon, or add one")
        return Privacy(clip=1.0, epsilon=asked.epsilon, delta=_delta(asked, DELTA))
    if asked.epsilon is None and chosen.epsilon is None:
        raise ConfigError(
            f"[privacy] of {source.name} has a noise_multiplier and no epsilon; give epsilon"
        )
    epsilon = asked.epsilon if asked.epsilon is not None else _smallest(chosen.epsilon)
    shared = {each.name for each in fields(Privacy)} - {*_PER_SITE, "masks"}
    rest = {name: value for name, value in chosen if name in shared}
    with source.section("privacy"):
        budget = Privacy(
            clip=1.0,
            epsilon=epsilon,
            delta=_delta(asked, _smallest(chosen.delta)),
            **rest,
            **chosen.hidden,
        ).in_any_rounds()
        budget.hides.check_agents(agents)
        return budget


def _delta(asked: Asked, otherwise: float) -> float:
    return otherwise if asked.delta is None else asked.delta


def _classes(source: Source) -> int:
    """Number of classes of the target, 0 for any other kind."""
    target = source.study.data.target
    return len(target.levels) if target.kind == "class" else 0


def _loss(source: Source, classes: int) -> AbstractLinearLoss:
    chosen = source.study.problem.loss
    if (chosen.kind == "softmax") != bool(classes):
        raise ConfigError(
            f"the loss {chosen.kind} does not fit a target with {classes or 'no'} classes; "
            "softmax goes with levels = [...] in [data.target], and with nothing else"
        )
    return Softmax(classes) if classes else _part(source, "loss", LOSSES)


def _part(source: Source, word: str, own: Mapping[str, Any]) -> Any:
    chosen = getattr(source.study.problem, word)
    return source.build(word, chosen.kind, own)(**plain(chosen))
