"""The options of `tacit advise` as the dimensions of a study."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tacit.advise.setting import Setting
from tacit.cli.choosing import check_agents, one_of
from tacit.errors import ConfigError
from tacit.network.star import Coordinator
from tacit.network.topologies import TOPOLOGIES
from tacit.privacy.budget import Privacy
from tacit.privacy.caution import DELTA
from tacit.problem.losses import LOSSES, Softmax
from tacit.study.dimensions import Asked, setting
from tacit.types import Oracle

if TYPE_CHECKING:
    from tacit.study.read import Source


@dataclass(frozen=True)
class Options:
    """The options of `tacit advise`; `None` for those that were not given."""

    records: str | int | None = None
    parameters: int | None = None
    agents: int | None = None
    epsilon: str | float | None = None
    delta: float | None = None
    graph: str | None = None
    loss: str | None = None
    classes: int | None = None
    row_norm: float | None = None
    oracle: str | None = None
    prevalence: float | None = None
    gain: float | None = None
    family: str | None = None
    spread: Sequence[str] | None = None

    @property
    def counts(self) -> int | list[int] | None:
        """Records of every site: one number, or one a site.

        Raises:
            ConfigError: no whole numbers.
        """
        if self.records is None or isinstance(self.records, int):
            return self.records
        try:
            each = [int(part) for part in self.records.replace("_", "").split(",")]
        except ValueError:
            raise ConfigError(
                f"--records {self.records!r} must be a whole number, or one per site separated by "
                "commas: --records 120,40,300"
            ) from None
        return each[0] if len(each) == 1 else each

    @property
    def each(self) -> list[Options]:
        """The options with each epsilon that is given, in ascending order.

        Raises:
            ConfigError: one that is not a positive number.
        """
        if self.epsilon is None:
            return [self]
        found: set[float] = set()
        for text in str(self.epsilon).split(","):
            try:
                value = float(text)
            except ValueError:
                raise ConfigError(
                    f"--epsilon {self.epsilon} must be a number, or several separated by commas: "
                    "--epsilon 0.5,1,2"
                ) from None
            if not 0.0 < value < math.inf:
                allowed = "finite" if value == math.inf else "positive"
                raise ConfigError(f"--epsilon {value} must be {allowed}")
            found.add(value)
        return [replace(self, epsilon=value) for value in sorted(found)]

    @property
    def guesses(self) -> dict[str, float]:
        """What is guessed of the spread of columns, by name.

        Raises:
            ConfigError: no number, or one column twice.
        """
        found: dict[str, float] = {}
        for text in self.spread or ():
            name, equals, value = text.rpartition("=")
            try:
                number = float(value)
            except ValueError:
                number = math.nan
            if not (name and equals and math.isfinite(number)):
                raise ConfigError(f"--spread {text!r} must be a column and a number: age=12")
            if name in found:
                raise ConfigError(f"--spread names {name!r} twice; give one number")
            found[name] = number
        return found

    @property
    def assumed(self) -> dict[str, Any]:
        """What the options say about the made-up records and the oracle."""
        known = (Oracle.VALUE.value, Oracle.GRADIENT.value)
        oracle = Oracle(one_of("--oracle", self.oracle or Oracle.GRADIENT.value, known))
        return {"prevalence": self.prevalence, "gain": self.gain, "oracle": oracle}

    @property
    def asked(self) -> Asked:
        """The options for what a study does not declare."""
        return Asked(
            records=self.counts,
            parameters=self.parameters,
            agents=self.agents,
            epsilon=None if self.epsilon is None else float(self.epsilon),
            delta=self.delta,
            row_norm=self.row_norm,
            **self.assumed,
        )


def from_study(source: Source, options: Options) -> Setting:
    """What a study declares, with the options for what it does not.

    Raises:
        ConfigError: something that neither declares, or an option that the study answers.
    """
    check_options(source, options)
    return setting(source, options.asked)


def check_options(source: Source, options: Options) -> None:
    """Refuse options that a study answers.

    Raises:
        ConfigError: such an option.
    """
    for name in ("graph", "loss", "classes", "family"):
        if getattr(options, name) is not None:
            raise ConfigError(f"--{name} is set by {source.name}; leave the option out")


def from_options(options: Options) -> Setting:
    """The setting that the options describe without a study.

    Raises:
        ConfigError: an option that is missing or wrong.
    """
    simple = [name for name, each in TOPOLOGIES.items() if set(each.required) == {"agents"}]
    graph = one_of("--graph", options.graph or "ring", ("coordinator", *sorted(simple)))
    classes = options.classes
    loss = one_of("--loss", options.loss or "squared", tuple(LOSSES))
    if (loss == "softmax") != (classes is not None):
        raise ConfigError("--classes and --loss softmax need each other: give both or neither")
    assumed = options.assumed
    counts, parameters, agents, epsilon = numbers_of(options)
    delta = DELTA if options.delta is None else options.delta
    return Setting(
        records=counts,
        parameters=parameters,
        network=Coordinator(agents) if graph == "coordinator" else TOPOLOGIES[graph].build(agents),
        budget=Privacy(clip=1.0, epsilon=epsilon, delta=delta),
        loss=Softmax(classes) if classes is not None else LOSSES[loss](**{}),
        row_norm=options.row_norm,
        intercept=parameters // (classes or 1) > 1,
        **assumed,
    )


def numbers_of(options: Options) -> tuple[int | list[int], int, int, float]:
    """Records, parameters, sites and epsilon of a setting without a study.

    Raises:
        ConfigError: an option that is missing or wrong.
    """
    counts = options.counts
    if counts is not None and min(counts if isinstance(counts, list) else [counts]) < 1:
        raise ConfigError(f"--records {options.records} must be at least 1")
    if options.agents is not None and options.agents < 2:
        raise ConfigError(f"--agents {options.agents} must be at least 2")
    for name in ("records", "parameters", "agents", "epsilon"):
        if getattr(options, name) is None:
            raise ConfigError(
                f"--{name} is missing: give a study file, or all of --records (per site), "
                "--parameters, --agents and --epsilon"
            )
    assert options.parameters is not None and options.agents is not None
    check_agents(options.agents)
    assert counts is not None and options.epsilon is not None
    return counts, options.parameters, options.agents, float(options.epsilon)
