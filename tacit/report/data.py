"""The contents of a report, as plain data, and which of them depend on releases only.

The page is a pure function of `ReportData`: it needs neither the problem nor the method, so that a
report can be written again from stored results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np

from tacit.arguments import checked, remedy
from tacit.errors import ConfigError
from tacit.ranges import Range

if TYPE_CHECKING:
    from tacit._engine.planning import MeanNoise
    from tacit.method.comparison import Comparison

Row = Mapping[str, Any]
"""One row of a table: column name to text or number."""

Column: TypeAlias = Sequence[Any] | np.ndarray
"""The values of one column."""

STATUSES = ("proved", "model", "per_release", "refuted", "none")
"""Statuses of a guarantee, the strongest first."""

NOISES = ("simulated", "secure", "none")
"""Where the noise came from: a seeded generator, the operating system's entropy, or nowhere."""

NUMBERS = ("coefficients", "parameters")
"""What the numbers of an answer are called: the first where they belong to columns of records."""

COMPARED = ("objective", "objective_gap", "distance")
"""Columns that look at private objectives; others that are not public are metrics of a study."""

PUBLIC_HISTORY = ("round", "consensus", "evaluations", "bytes", "epsilon")
"""Columns of the history that follow from releases and public constants.

Every other column (objective, gap, distance, held-out scores) is computed from private data without
noise, so it is for simulations only. The list names what may be shown, so a new column is held back
until somebody has considered it.
"""

PUBLIC_COEFFICIENTS = ("feature", "agreed")
"""Columns of the coefficients that were released; the pooled fit is for simulations only."""


@remedy("give NetworkPicture(names, edges, kind)")
@checked(ConfigError)
@dataclass(frozen=True)
class NetworkPicture:
    """The network to be drawn.

    Attributes:
        names: names of the agents, in order.
        edges: pairs of agents that may exchange messages; may be empty with a coordinator.
        kind: the family in words, such as "ring".
        positions: one `(x, y)` per agent; laid out by the report when `None`.
        coordinated: whether a coordinator stands between the agents.
        directed: whether messages go one way only, from the first of a pair to the second.
        facts: other noteworthy facts, name to value, such as "Spectral gap".

    Raises:
        ConfigError: an attribute of another kind, an edge of no agent, or another number of
            positions than of names.
    """

    names: Sequence[str]
    edges: Sequence[Sequence[int]]
    kind: str
    positions: Sequence[Sequence[float | int]] | np.ndarray | None = None
    coordinated: bool = False
    directed: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for edge in self.edges:
            if not all(0 <= agent < len(self.names) for agent in edge):
                raise ConfigError(
                    f"edge {tuple(edge)} of the network picture names an agent outside "
                    f"0..{len(self.names) - 1}; give one name for every agent"
                )
        if self.positions is not None and len(self.positions) != len(self.names):
            raise ConfigError(
                f"the network picture has {len(self.positions)} positions for "
                f"{len(self.names)} agents; give one per agent, or None to have them laid out"
            )


@checked(ConfigError)
@dataclass(frozen=True)
class ReportData:
    """Everything a report shows.

    Attributes:
        title: title of the page.
        summary: what was run, in sentences without anything private.
        guarantee_sentence: the guarantee in one sentence, without the assumptions.
        guarantee_status: one of `STATUSES`.
        noise: one of `NOISES`.
        status: how the run ended, such as "finished" or "diverged at round 17".
        seconds: duration of the run in seconds, at least 0; left out if `None`.
        findings: sentences about held-out records or pooled fits (simulation only).
        assumptions: assumptions on which the guarantee rests.
        guarantee_table: one row per owner: owner, epsilon, delta, unit and others.
        epsilon_budget: the largest budget of an owner for the whole run, where one was set.
        network: the network, to be drawn.
        phases: table of releases, one row per phase of a round.
        history: columns of equal length, `round` among them; see `PUBLIC_HISTORY`.
        accuracy: one row per fit with a `name` and one column per metric (simulation only).
        coefficients: rows of `feature`, `agreed` and optionally `pooled` (simulation only).
        numbers: what the numbers of the answer are, one of `NUMBERS`.
        answer: rows of an answer that is not a minimiser, such as counts; from releases only.
        effects: rows of a forest plot, as `CoefficientTable.effects` gives them.
        ratios: odds or rate ratios with their intervals, one row per coefficient.
        effect: name of what it shows, such as "odds ratio".
        curves: rows of survival curves, as `SurvivalCurves.frame` gives them.
        time: name of their time axis.
        answer_sentence: meaning of the answer, in a sentence or two.
        comparison: a regression beside the records that it was fitted to (simulation only).
        averaged: whether answers are means of the second half of the iterates.
        mean_noise: noise in the mean with and without masks, where a run could use them.
        adversary: adversary of the guarantee, in sentences.
        members: one row per member of a run between sites: member, signed, present and others.
        agreement: facts of such a run, name to value, such as its id.
        files: names of the files that the guarantee covers.
        secret: names of the files that hold the seed of the noise; shown beside `files`.
        environment: machine and versions.
        public: whether to leave out everything that is for simulations only.

    Raises:
        ConfigError: an attribute of another kind or out of range, an unknown status or noise, or a
            history whose columns differ in length.

    Example:
        >>> from tacit.report import ReportData
        >>> data = ReportData(
        ...     title="A study", summary=("Two sites fitted a line.",),
        ...     guarantee_sentence="Nothing is guaranteed.", guarantee_status="none",
        ...     noise="none", status="finished", seconds=0.5,
        ... )
        >>> data.public
        False
    """

    title: str
    summary: Sequence[str]
    guarantee_sentence: str
    guarantee_status: str
    noise: str
    status: str
    seconds: Annotated[float | int | None, Range(least=0.0, optional=True, axes=0)]
    findings: Sequence[str] = ()
    assumptions: Sequence[str] = ()
    guarantee_table: Sequence[Row] = ()
    epsilon_budget: float | int | None = None
    network: NetworkPicture | None = None
    phases: Sequence[Row] = ()
    history: Mapping[str, Column] = field(default_factory=dict)
    accuracy: Sequence[Row] | None = None
    coefficients: Sequence[Row] = ()
    numbers: str = "coefficients"
    answer: Sequence[Row] = ()
    effects: Sequence[Row] = ()
    effect: str = ""
    ratios: Sequence[Row] = ()
    curves: Sequence[Row] = ()
    time: str = ""
    answer_sentence: str = ""
    comparison: Comparison | None = None
    averaged: bool = False
    mean_noise: MeanNoise | None = None
    adversary: str = ""
    members: Sequence[Row] = ()
    agreement: Mapping[str, Any] = field(default_factory=dict)
    files: Sequence[str] = ()
    secret: Sequence[str] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    public: bool = False

    def __post_init__(self) -> None:
        _one_of("guarantee_status", self.guarantee_status, STATUSES)
        _one_of("noise", self.noise, NOISES)
        _one_of("numbers", self.numbers, NUMBERS)
        lengths = {name: len(column) for name, column in self.history.items()}
        if len(set(lengths.values())) > 1:
            raise ConfigError(f"the columns of a report's history differ in length: {lengths}")
        if lengths and "round" not in lengths:
            raise ConfigError(
                f"a report's history needs the column 'round', not only {sorted(lengths)}"
            )


@checked(ConfigError)
def released_only(data: ReportData) -> ReportData:
    """`data` without anything that was computed from private values and not released.

    A seed is left out as well: anyone who knows it can subtract simulated noise. So is the duration
    of the run, which nobody released.

    Args:
        data: all facts about a run.

    Returns:
        Contents of a public page, with `public` set.
    """
    return replace(
        data,
        public=True,
        seconds=None,
        findings=(),
        accuracy=None,
        comparison=None,
        history={name: data.history[name] for name in PUBLIC_HISTORY if name in data.history},
        coefficients=tuple(
            {name: row[name] for name in PUBLIC_COEFFICIENTS if name in row}
            for row in data.coefficients
        ),
        environment={
            name: value for name, value in data.environment.items() if "seed" not in name.lower()
        },
    )


def shows_private(data: ReportData) -> bool:
    """Whether a page shows anything computed from private values and not released."""
    return bool(
        data.findings
        or data.accuracy
        or data.comparison
        or set(data.history) - set(PUBLIC_HISTORY)
        or any(set(row) - set(PUBLIC_COEFFICIENTS) for row in data.coefficients)
    )


def _one_of(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ConfigError(
            f"{name}={value!r} of a report must be one of {', '.join(map(repr, allowed))}"
        )
