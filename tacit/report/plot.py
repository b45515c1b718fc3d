"""Figures of results, as Plotly figures: `tacit.plot.convergence(result)`.

They are those of the report. A notebook draws a figure that is the last value of a cell;
`figure.write_html("figure.html")` and `figure.write_image("figure.svg")` save it, the second with
the package kaleido. Needs `tacit[report]`.

Example:
    >>> import numpy as np
    >>> import tacit
    >>> from tacit import network, problem
    >>> rng = np.random.default_rng(0)
    >>> features = [rng.normal(size=(100, 2)) for _ in range(4)]
    >>> targets = [x @ [1.0, -1.0] for x in features]
    >>> task = problem.empirical_risk(features, targets, problem.Squared())
    >>> result = tacit.run(task, network.ring(4), tacit.DGD(step=0.1), rounds=20)
    >>> [line.name for line in tacit.plot.convergence(result).data]
    ['Objective', 'Disagreement']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from tacit import checks
from tacit._engine.planning import MeanNoise
from tacit._engine.result import Result
from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.method.answer import Minimiser
from tacit.method.coefficients import CoefficientTable
from tacit.method.survival_answer import SurvivalCurves
from tacit.network.base import AbstractNetwork
from tacit.report import curves, drawing, figures, masking, reproduction, side_by_side, sweep
from tacit.report.picture import picture
from tacit.report.tables import heading

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = [
    "coefficients",
    "convergence",
    "mean_noise",
    "network",
    "spending",
    "survival",
    "trade_off",
]


@checked(ConfigError, own="result")
def convergence(
    result: Result | Mapping[str, Result | Sequence[Result]], measure: str | None = None
) -> go.Figure:
    """Objective, distance to the reference and disagreement over the rounds, on a log scale.

    Of several trials, each line is the median of those that have not diverged. A run between sites
    knows none of these but the disagreement: they are computed from private data.

    To compare methods, give each a name: there is a line for each, of one measure. Where a method
    has several trials, or several results that differ in their seed, its line is the mean, with a
    band of two standard errors to either side; where it reaches 0, it ends at the lowest value.

    Args:
        result: result of `tacit.run`, or a mapping from a name for each line to a result, or to a
            list of results.
        measure: column of the history that is drawn: "distance" to the reference, "objective" or
            "consensus"; if `None`, all of them of one result, and of several the first that all
            have.

    Raises:
        ConfigError: nothing to draw on a log scale, several methods, budgets or records of rounds
            under one name, a measure that one of them lacks, all trials of a name diverged, or
            Plotly is not installed.

    Example:
        >>> import numpy as np
        >>> import tacit
        >>> from tacit import network, problem
        >>> from tacit.method import EXTRA
        >>> rng = np.random.default_rng(0)
        >>> features = [rng.normal(size=(100, 2)) for _ in range(4)]
        >>> targets = [x @ [1.0, -1.0] for x in features]
        >>> task = problem.empirical_risk(features, targets, problem.Squared())
        >>> methods = {"DGD": tacit.DGD(step=0.1), "EXTRA": EXTRA(step=0.1)}
        >>> runs = {
        ...     name: tacit.run(task, network.ring(4), method, rounds=20, reference="solve")
        ...     for name, method in methods.items()
        ... }
        >>> [line.name for line in tacit.plot.convergence(runs).data]
        ['DGD', 'EXTRA']
    """
    if isinstance(result, Mapping):
        lines = side_by_side.members(result, "result")
        return reproduction.draw(side_by_side.over_rounds(lines, measure))
    if not isinstance(result, Result):
        raise ConfigError(
            f"result is {checks.shown(result)}; give the result of tacit.run(...), or several by "
            "name, such as {'DPSG': one, 'PDOP': other}"
        )
    if measure is not None:
        side_by_side.check_measured(result, measure)
    measured = result.history.measured
    found = {
        heading(name): np.median(measured[name][:, _kept(result)], axis=1)
        for name in sorted(measured, key=lambda name: name == "consensus")
        if measure in (None, name)
    }
    lines = {name: values for name, values in found.items() if np.any(values > 0.0)}
    if not lines:
        raise ConfigError(
            f"the history of this result has nothing above 0 to draw on a log scale (it has "
            f"{', '.join(measured)}); plot a run of several rounds, of black boxes one with a cost "
            "of your own, such as metrics={'cost': lambda x: task.value(x.mean(0))}, or with "
            "reference=[...]"
        )
    colours = (figures.BLUE, figures.ORANGE, figures.GREEN, figures.GREY)
    return figures.convergence(result.history.rounds, lines, colours)


@runtime_checkable
class Fitted(Protocol):
    """A fitted regression, as `tacit.glm` and `load_regression` give it."""

    @property
    def table(self) -> CoefficientTable:
        """Coefficients with their intervals."""
        ...


@checked(ConfigError, own="result")
def coefficients(result: Result | Fitted) -> go.Figure:
    """The answer: a forest plot of a regression, or the coefficients beside those of the reference.

    Args:
        result: result of `tacit.run`, or a regression of `tacit.glm` or `load_regression`, whose
            intervals are drawn with and without the noise.

    Raises:
        ConfigError: the answer has no coefficients, the run diverged, or Plotly is not installed.
    """
    if not isinstance(result, Result | Fitted):
        raise ConfigError(
            f"result is {checks.shown(result)}; give the result of tacit.run or of tacit.glm"
        )
    answer = result.answer if isinstance(result, Result) else result.table
    if isinstance(answer, CoefficientTable):
        return figures.forest(answer.effects(), answer.effect)
    if answer is not None and not isinstance(answer, Minimiser):
        raise ConfigError(
            f"the answer of this result has no coefficients: {answer.sentence()} Print "
            "result.frame() instead"
        )
    assert isinstance(result, Result)
    if result.diverged[0] >= 0:
        raise ConfigError(f"the run {result.status}, so there is no answer; take a smaller step")
    rows: list[dict[str, Any]] = [
        {"feature": name, "agreed": float(value)}
        for name, value in zip(result.parameter_names, result.solution, strict=True)
    ]
    if result.reference is not None:
        for row, value in zip(rows, result.reference, strict=True):
            row["pooled"] = float(value)
    return figures.coefficients(rows)


@checked(ConfigError)
def spending(result: Result) -> go.Figure:
    """Epsilon spent up to each round, of the owner that spends most.

    Args:
        result: result of `tacit.run`.

    Raises:
        ConfigError: the run has no finite epsilon, or Plotly is not installed.
    """
    epsilon = result.history.epsilon.max(axis=1)
    if not np.any(np.isfinite(epsilon[1:])):
        raise ConfigError(
            "the values of this run are not protected, so no epsilon was spent; plot a run of a "
            "private method"
        )
    return figures.spending(result.history.rounds, epsilon)


@checked(ConfigError)
def survival(result: Result) -> go.Figure:
    """Survival curves with their bands, and the numbers at risk.

    Args:
        result: result of `tacit.run` with `PrivateSurvival`.

    Raises:
        ConfigError: the answer has no curves, or Plotly is not installed.
    """
    answer = result.answer
    if not isinstance(answer, SurvivalCurves):
        said = "" if answer is None else f": {answer.sentence()}"
        raise ConfigError(f"the answer of this result has no survival curves{said}")
    rows: list[dict[str, Any]] = answer.frame().to_dict("records")
    return curves.survival(rows, answer.time)


@checked(ConfigError, own="results")
def trade_off(
    results: Result | Sequence[Result] | Mapping[str, Sequence[Result]], measure: str = "distance"
) -> go.Figure:
    """Accuracy over epsilon: one point per result, runs without privacy as level lines.

    Bars are two standard errors over the trials to either side.

    Args:
        results: results of one problem and method with different budgets; to compare methods, a
            mapping from a name for each line to its results.
        measure: column of the history that is drawn at the end of each run: "distance" to the
            reference, "objective" or "consensus".

    Raises:
        ConfigError: no result, results of several methods without names, two of one epsilon in a
            line, a measure that one of them lacks, all trials of a result diverged, or Plotly is
            not installed.
    """
    given = results if isinstance(results, Mapping) else {"": results}
    lines = side_by_side.members(given, "results")
    return sweep.draw(side_by_side.over_epsilon(lines, measure))


@checked(ConfigError)
def mean_noise(found: MeanNoise | None) -> go.Figure:
    """Noise in the mean of all agents' answers: local, under masks, and central.

    Args:
        found: result of `tacit.mean_noise`.

    Raises:
        ConfigError: a run that cannot use masks (`None`), or Plotly is not installed.
    """
    if found is None:
        raise ConfigError(
            "found=None: this run cannot use masks, so there is no saving to draw; they need a "
            "private method that sums the agents' answers, such as GradientDescent over "
            "network.Coordinator(...)"
        )
    return masking.ways(found)


@checked(ConfigError)
def network(network: AbstractNetwork, names: Sequence[str] | None = None) -> go.Figure:
    """The agents and the links between them.

    Args:
        network: network of a run; of more than 200 agents the nearest to the first are drawn.
        names: one name per agent; their numbers by default.

    Raises:
        ConfigError: another number of names, or Plotly is not installed.
    """
    if names is not None and len(names) != network.agents:
        raise ConfigError(
            f"names has {len(names)} entries and the network {network.agents} agents; give one "
            "name per agent"
        )
    return drawing.draw(picture(network, names or [str(i) for i in range(network.agents)]))


def _kept(result: Result) -> Any:
    """Trials that did not diverge; all, if none is left."""
    return result.finished if np.any(result.finished) else np.ones_like(result.finished)
