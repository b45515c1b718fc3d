"""What a report shows, as plain data, and what of it depends on releases only.

The page is a pure function of `ReportData`: it needs neither the problem nor the method, so that a
report can be written anew from stored results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tacit.errors import ConfigError

if TYPE_CHECKING:
    from tacit._engine.planning import MeanNoise

Row = Mapping[str, Any]
"""One row of a table: column name to text or number."""

Column: TypeAlias = Sequence[Any] | np.ndarray
"""The values of one column."""

STATUSES = ("proved", "model", "per_release", "refuted", "none")
"""How sure a guarantee is, the surest first."""

NOISES = ("simulated", "secure", "none")
"""Where the noise came from: a seeded generator, the operating system's entropy, or nowhere."""

PUBLIC_HISTORY = ("round", "consensus", "evaluations", "bytes", "epsilon")
"""Columns of the history that follow from releases and public constants.

Every other column (objective, gap, distance, held-out scores) is computed from private data without
noise, so it is for simulations only. The list names what may be shown, so a column that is new is
held back until somebody has thought about it.
"""

PUBLIC_COEFFICIENTS = ("feature", "agreed")
"""Columns of the coefficients that were released; the pooled fit is for simulations only."""


@dataclass(frozen=True)
class NetworkPicture:
    """The network, to be drawn.

    Attributes:
        names: of the agents, in order.
        edges: pairs of agents that may talk; may be empty where a coordinator stands between.
        kind: the family in words, such as "ring".
        positions: one `(x, y)` an agent; laid out by the report when `None`.
        coordinated: whether a coordinator stands between the agents.
        directed: whether messages go one way only, from the first of a pair to the second.
        facts: what else is worth knowing, name to value, such as "Spectral gap".
    """

    names: Sequence[str]
    edges: Sequence[tuple[int, int]]
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
                f"{len(self.names)} agents; give one an agent, or None to have them laid out"
            )


@dataclass(frozen=True)
class ReportData:
    """Everything a report shows.

    Attributes:
        title: of the page.
        summary: what was run, in sentences that hold nothing private.
        guarantee_sentence: the guarantee in one sentence.
        guarantee_status: one of `STATUSES`.
        noise: one of `NOISES`.
        status: how the run ended, such as "finished" or "diverged at round 17".
        seconds: how long it took, at least 0; `None` leaves it out.
        findings: sentences about held-out records or pooled fits (simulation only).
        assumptions: what the guarantee rests on.
        guarantee_table: one row an owner: owner, epsilon, delta, unit and others.
        epsilon_budget: the largest budget of an owner for the whole run, where one was set.
        network: the network, to be drawn.
        phases: the table of releases, one row a phase of a round.
        history: columns of equal length, `round` among them; see `PUBLIC_HISTORY`.
        accuracy: one row a fit with a `name` and one column a metric (simulation only).
        coefficients: rows of `feature`, `agreed` and perhaps `pooled` (simulation only).
        answer: rows of an answer that is no minimiser, such as counts; of releases only.
        answer_sentence: what it is, in a sentence or two.
        averaged: whether answers are means of the second half of the iterates.
        mean_noise: noise in the mean with and without masks, where a run could use them.
        adversary: against whom the guarantee holds, in sentences.
        files: names of the files that the guarantee covers.
        secret: names of the files that hold the seed of the noise; shown beside `files`.
        environment: machine and versions.
        public: leave out everything that is for simulations only.

    Raises:
        ConfigError: an unknown status or noise, or a history whose columns differ in length.

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
    seconds: float | int | None
    findings: Sequence[str] = ()
    assumptions: Sequence[str] = ()
    guarantee_table: Sequence[Row] = ()
    epsilon_budget: float | int | None = None
    network: NetworkPicture | None = None
    phases: Sequence[Row] = ()
    history: Mapping[str, Column] = field(default_factory=dict)
    accuracy: Sequence[Row] | None = None
    coefficients: Sequence[Row] = ()
    answer: Sequence[Row] = ()
    answer_sentence: str = ""
    averaged: bool = False
    mean_noise: MeanNoise | None = None
    adversary: str = ""
    files: Sequence[str] = ()
    secret: Sequence[str] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    public: bool = False

    def __post_init__(self) -> None:
        _one_of("guarantee_status", self.guarantee_status, STATUSES)
        _one_of("noise", self.noise, NOISES)
        lengths = {name: len(column) for name, column in self.history.items()}
        if len(set(lengths.values())) > 1:
            raise ConfigError(f"the columns of a report's history differ in length: {lengths}")
        if lengths and "round" not in lengths:
            raise ConfigError(
                f"a report's history needs the column 'round', not only {sorted(lengths)}"
            )


def released_only(data: ReportData) -> ReportData:
    """`data` without anything that was computed from private values and not released.

    A seed is left out as well: whoever knows it can subtract simulated noise. So is the time that
    the run took, which nobody released.

    Args:
        data: everything known about a run.

    Returns:
        What a public page may show, with `public` set.
    """
    return replace(
        data,
        public=True,
        seconds=None,
        findings=(),
        accuracy=None,
        history={name: data.history[name] for name in PUBLIC_HISTORY if name in data.history},
        coefficients=tuple(
            {name: row[name] for name in PUBLIC_COEFFICIENTS if name in row}
            for row in data.coefficients
        ),
        environment={
            name: value for name, value in data.environment.items() if "seed" not in name.lower()
        },
    )


def _one_of(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ConfigError(
            f"{name}={value!r} of a report must be one of {', '.join(map(repr, allowed))}"
        )
