"""The dimensions of a study from options or from its declarations: no record is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from tacit.advise.setting import Setting
from tacit.cli.sizes import columns
from tacit.errors import ConfigError
from tacit.network.base import AbstractNetwork
from tacit.network.star import Coordinator
from tacit.network.topologies import TOPOLOGIES
from tacit.privacy.budget import Privacy
from tacit.problem.constraint import CONSTRAINTS
from tacit.problem.losses import LOSSES, AbstractLinearLoss, Softmax
from tacit.problem.records import Weighting
from tacit.problem.regularisers import REGULARISERS
from tacit.study._sections.common import plain
from tacit.study._sections.data import ByColumn, ClassTargetSection, NumericTargetSection
from tacit.study.build import build_network
from tacit.study.read import Source
from tacit.types import Oracle

_PER_SITE = ("clip", "epsilon", "delta", "noise_multiplier")


@dataclass(frozen=True)
class Asked:
    """The options of `tacit advise`; `None` for those that were not given."""

    records: str | int | None = None
    parameters: int | None = None
    agents: int | None = None
    epsilon: float | None = None
    delta: float | None = None
    graph: str | None = None
    loss: str | None = None
    classes: int | None = None
    row_norm: float | None = None
    oracle: str | None = None
    prevalence: float | None = None
    gain: float | None = None

    @property
    def law(self) -> dict[str, Any]:
        """What the options say about the made-up records and the oracle."""
        found: dict[str, Any] = {"prevalence": self.prevalence, "gain": self.gain}
        if self.oracle is not None:
            known = (Oracle.VALUE.value, Oracle.GRADIENT.value)
            found["oracle"] = Oracle(_one_of("--oracle", self.oracle, known))
        return found

    def counts(self, agents: int) -> int | list[int] | None:
        """Records of every site: one number, or one a site.

        Raises:
            ConfigError: no whole numbers, or not one a site.
        """
        if self.records is None or isinstance(self.records, int):
            found = self.records
        else:
            try:
                each = [int(part) for part in self.records.replace("_", "").split(",")]
            except ValueError:
                raise ConfigError(
                    f"--records {self.records!r} must be a whole number, or one a site with commas "
                    "between them: --records 120,40,300"
                ) from None
            found = each[0] if len(each) == 1 else each
        if isinstance(found, list) and len(found) != agents:
            raise ConfigError(
                f"--records has {len(found)} numbers for {agents} sites; give one for all, or one "
                "a site"
            )
        if found is not None and np.min(found) < 1:
            raise ConfigError(f"--records {self.records} must be at least 1")
        return found


def from_options(asked: Asked) -> Setting:
    """The setting that the options describe without a study.

    Raises:
        ConfigError: an option that is missing or wrong.
    """
    records, parameters, agents, epsilon = (
        _given(asked, name) for name in ("records", "parameters", "agents", "epsilon")
    )
    simple = [name for name, each in TOPOLOGIES.items() if set(each.required) == {"agents"}]
    graph = _one_of("--graph", asked.graph or "ring", ("coordinator", *sorted(simple)))
    if agents < 2:
        raise ConfigError(f"--agents {agents} must be at least 2, for somebody to agree with")
    loss = _one_of("--loss", asked.loss or "squared", tuple(LOSSES))
    if (loss == "softmax") != (asked.classes is not None):
        raise ConfigError("--classes goes with --loss softmax: give both or neither")
    return Setting(
        records=asked.counts(agents) or records,
        parameters=parameters,
        network=Coordinator(agents) if graph == "coordinator" else TOPOLOGIES[graph].build(agents),
        budget=Privacy(clip=1.0, epsilon=epsilon, delta=_delta(asked, 1e-6)),
        loss=Softmax(asked.classes) if asked.classes is not None else LOSSES[loss](**{}),
        row_norm=asked.row_norm,
        intercept=parameters // (asked.classes or 1) > 1,
        **asked.law,
    )


def from_study(source: Source, asked: Asked) -> Setting:
    """The setting that a study declares, with the options for what it does not.

    Raises:
        ConfigError: something that neither declares; the message names the option.
    """
    if source.statistics:
        name = dict(source.study.method)["name"]
        with source.section("method", "name"):
            raise ConfigError(
                f"{name} fits no model, so there are no settings to advise on; `tacit account` "
                "says how much noise a budget means"
            )
    for name in ("graph", "loss", "classes"):
        if getattr(asked, name) is not None:
            raise ConfigError(
                f"--{name} goes without a study file, for the study says it; leave it out"
            )
    network = _network(source, asked)
    classes = _classes(source)
    scores = max(classes, 1)
    declared = source.study.problem.normaliser
    records = asked.counts(network.agents)
    if records is None:
        if declared is None:
            raise ConfigError(
                f"{source.name} does not say how many records a site has, and advice reads none: "
                "give --records, a public number, or one a site with commas between them"
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
            **asked.law,
        )


def _divisors(declared: Any) -> float | list[float] | None:
    """The declared normaliser: one number, or one a site in the order in which they stand."""
    if declared is None or isinstance(declared, int | float):
        return declared
    each = declared.values() if isinstance(declared, Mapping) else declared
    return [float(number) for number in each]


def _bounds(target: Any) -> tuple[float, float]:
    """Bounds of a number that is predicted, as the loss sees it."""
    if not isinstance(target, NumericTargetSection):
        return (-1.0, 1.0)
    return target.to or (float(target.lower), float(target.upper))


def _given(asked: Asked, name: str) -> Any:
    value = getattr(asked, name)
    if value is None:
        raise ConfigError(
            f"--{name} is missing; give it, or a study file. All of --records (of one site), "
            "--parameters, --agents and --epsilon are needed without one"
        )
    return value


def _delta(asked: Asked, otherwise: float) -> float:
    return otherwise if asked.delta is None else asked.delta


def _one_of(option: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ConfigError(f"{option} {value!r} is unknown; choose one of {', '.join(known)}")
    return value


def _smallest(value: Any) -> float:
    """Of a number for all sites, a list, or a table by site."""
    return float(np.min(list(value.values()) if isinstance(value, Mapping) else value))


def _network(source: Source, asked: Asked) -> AbstractNetwork:
    chosen = source.study.partition
    names: tuple[str, ...] | None
    if isinstance(chosen, ByColumn):
        names = chosen.sites
    else:
        names = tuple(f"site {k}" for k in range(chosen.sites))
    if names is None:
        if asked.agents is None:
            raise ConfigError(
                f"{source.name} does not list its sites, and advice reads no records: give "
                "--agents, or sites = [...] in [partition]"
            )
        names = tuple(f"site {k}" for k in range(asked.agents))
    elif asked.agents not in (None, len(names)):
        raise ConfigError(
            f"--agents {asked.agents} contradicts the {len(names)} sites of {source.name}; "
            "leave it out"
        )
    if len(names) < 2:
        raise ConfigError(f"{len(names)} site has nobody to agree with; there must be at least 2")
    return build_network(source, names)


def _budget(source: Source, asked: Asked, agents: int) -> Privacy:
    """The study's budget, the options' epsilon and delta in front; the smallest of all sites.

    Of masks the attempts are left out: they are declared for the study's rounds, not for those that
    advice tries.
    """
    chosen = source.study.privacy
    if chosen is None:
        if asked.epsilon is None:
            raise ConfigError(f"{source.name} has no [privacy]; give --epsilon, or add one")
        return Privacy(clip=1.0, epsilon=asked.epsilon, delta=_delta(asked, 1e-6))
    if asked.epsilon is None and chosen.epsilon is None:
        raise ConfigError(
            f"[privacy] of {source.name} has a noise_multiplier and no epsilon; give --epsilon"
        )
    epsilon = asked.epsilon if asked.epsilon is not None else _smallest(chosen.epsilon)
    shared = {each.name for each in fields(Privacy)} - {*_PER_SITE, "masks"}
    rest = {name: value for name, value in chosen if name in shared}
    with source.section("privacy"):
        if chosen.masks is not None:
            rest["masks"] = replace(chosen.masks.masks(), attempts=None)
            rest["masks"].cohort(agents)
        return Privacy(
            clip=1.0, epsilon=epsilon, delta=_delta(asked, _smallest(chosen.delta)), **rest
        )


def _classes(source: Source) -> int:
    """Classes of the target, 0 for another kind."""
    target = source.study.data.target
    return len(target.levels) if isinstance(target, ClassTargetSection) else 0


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
