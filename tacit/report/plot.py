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

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from tacit._engine.planning import MeanNoise
from tacit._engine.result import Result
from tacit.errors import ConfigError
from tacit.method.answer import Minimiser
from tacit.method.coefficients import CoefficientTable
from tacit.method.survival_answer import SurvivalCurves
from tacit.network.base import AbstractNetwork
from tacit.report import curves, drawing, figures, masking, sweep
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


def convergence(result: Result) -> go.Figure:
    """Objective, distance to the reference and disagreement over the rounds, on a log scale.

    Of several trials, each line is the median of those that have not diverged. A run between sites
    knows none of these but the disagreement: they are computed from private data.

    Args:
        result: result of `tacit.run`.

    Raises:
        ConfigError: nothing to draw on a log scale, or Plotly is not installed.
    """
    measured = result.history.measured
    found = {
        heading(name): np.median(measured[name][:, _kept(result)], axis=1)
        for name in sorted(measured, key=lambda name: name == "consensus")
    }
    lines = {name: values for name, values in found.items() if np.any(values > 0.0)}
    if not lines:
        raise ConfigError(
            f"the history of this result has nothing above 0 to draw on a log scale (it has "
            f"{', '.join(measured)}); plot a run of several rounds"
        )
    colours = (figures.BLUE, figures.ORANGE, figures.GREEN, figures.GREY)
    return figures.convergence(result.history.rounds, lines, colours)


def coefficients(result: Result) -> go.Figure:
    """The answer: a forest plot of a regression, or the coefficients beside those of the reference.

    Args:
        result: result of `tacit.run`; a regression's intervals are drawn with and without the
            noise.

    Raises:
        ConfigError: the answer has no coefficients, or Plotly is not installed.
    """
    answer = result.answer
    if isinstance(answer, CoefficientTable):
        return figures.forest(answer.effects(), answer.effect)
    if answer is not None and not isinstance(answer, Minimiser):
        raise ConfigError(
            f"the answer of this result has no coefficients: {answer.sentence()} Print "
            "result.frame() instead"
        )
    rows: list[dict[str, Any]] = [
        {"feature": name, "agreed": float(value)}
        for name, value in zip(result.parameter_names, result.solution, strict=True)
    ]
    if result.reference is not None:
        for row, value in zip(rows, result.reference, strict=True):
            row["pooled"] = float(value)
    return figures.coefficients(rows)


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


def trade_off(results: Sequence[Result], measure: str = "distance") -> go.Figure:
    """Accuracy over epsilon: one point per result, runs without privacy as a level line.

    Bars are two standard errors over the trials to either side.

    Args:
        results: results of one problem with different budgets, at least one.
        measure: column of the history that is drawn at the end of each run: "distance" to the
            reference, "objective" or "consensus".

    Raises:
        ConfigError: no result, a measure that one of them lacks, all trials of a result diverged,
            or Plotly is not installed.
    """
    if not results:
        raise ConfigError("results=[] is empty; give the results of several budgets")
    private: list[tuple[float, float, float]] = []
    series: list[sweep.Series] = []
    for result in results:
        mean, error = _end(result, measure)
        epsilon = float(result.guarantee.worst.epsilon)
        if np.isfinite(epsilon):
            private.append((epsilon, mean, error))
        else:
            series.append(sweep.Series("without privacy", [None], [mean], [error], level=True))
    if private:
        x, y, error = zip(*sorted(private), strict=True)
        series.insert(0, sweep.Series("private", x, y, error))
    else:
        raise ConfigError("none of the results is private; give results with finite epsilons")
    return sweep.draw(
        sweep.SweepData(
            title="",
            summary="",
            warnings=(),
            measure=heading(measure),
            axis="epsilon",
            logarithmic=True,
            series=series,
            cells=(),
            others={},
            study="",
            notes=(),
            environment={},
        )
    )


def mean_noise(found: MeanNoise) -> go.Figure:
    """Noise in the mean of all agents' answers: local, under masks, and central.

    Args:
        found: result of `tacit.mean_noise`.

    Raises:
        ConfigError: Plotly is not installed.
    """
    return masking.ways(found)


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


def _end(result: Result, measure: str) -> tuple[float, float]:
    """Mean over the finished trials at the end, and two standard errors."""
    if measure not in result.history.measured:
        raise ConfigError(
            f"measure={measure!r} is not in the history of a result, which has "
            f"{', '.join(result.history.measured)}; run with reference='solve' for distances"
        )
    if not np.any(result.finished):
        raise ConfigError(f"all trials of a result diverged: {result!r}; leave it out")
    values: Float[np.ndarray, " trials"] = result.history.measured[measure][-1][result.finished]
    many = len(values)
    error = 2.0 * float(np.std(values, ddof=1)) / many**0.5 if many > 1 else float("nan")
    return float(np.mean(values)), error
