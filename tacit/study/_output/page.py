"""The contents of the report of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tacit._engine.result import Result
from tacit.method.answer import Minimiser
from tacit.method.coefficients import CoefficientTable
from tacit.method.comparison import Comparison, compared
from tacit.method.glm import PrivateGLM
from tacit.privacy.guarantee import Status
from tacit.report.data import ReportData
from tacit.report.picture import picture
from tacit.study._output.blocks import answered, guarantee_rows, largest, phase_rows
from tacit.study._output.words import adversary, capital, counts_are_public, findings, summary
from tacit.study.accounting import mean_noise
from tacit.study.run import Outcome


def report_data(outcome: Outcome, files: Sequence[str], public: bool = False) -> ReportData:
    """The contents of the page of a run.

    Args:
        outcome: outcome of a run.
        files: names of the files that the guarantee covers.
        public: whether to leave out everything for simulations only, and all trials but the first,
            because each would be a further release.
    """
    result, problem = outcome.result, outcome.assembled.problem
    worst, method = result.guarantee.worst, outcome.assembled.method
    budget = None if outcome.study.privacy is None else outcome.study.privacy.epsilon
    return ReportData(
        title=outcome.study.title,
        summary=summary(outcome),
        findings=findings(outcome),
        guarantee_sentence=result.guarantee.sentence(assumptions=False),
        guarantee_status=worst.status.value,
        noise=worst.noise.value,
        status=first_trial(result) if public else result.status,
        seconds=result.seconds,
        assumptions=worst.assumptions,
        guarantee_table=guarantee_rows(
            problem.names,
            result.guarantee,
            np.asarray(problem.counts).tolist() if counts_are_public(outcome) else None,
        ),
        epsilon_budget=largest(budget),
        network=picture(outcome.assembled.network, problem.names),
        phases=phase_rows(method, outcome.assembled.network, result.releases, worst),
        history=_history(outcome),
        averaged=getattr(method, "average", None) is True,
        accuracy=[{"name": fit, **scores} for fit, scores in outcome.scores.items()] or None,
        coefficients=coefficients(outcome),
        numbers=outcome.assembled.source.held.numbers,
        **answered(result.answer),
        comparison=None if public else _compared(outcome),
        mean_noise=mean_noise(outcome.assembled, result.rounds),
        adversary="" if worst.status is Status.NONE else capital(adversary(worst)),
        files=tuple(files),
        environment={**result.environment, "seed": str(result.seed)},
        public=public,
    )


def first_trial(result: Result) -> str:
    """How the published trial ended."""
    return replace(result, solutions=result.solutions[:1], diverged=result.diverged[:1]).status


def coefficients(outcome: Outcome) -> list[dict[str, Any]]:
    """One row per parameter: its name, the agreed value, and (simulation only) the pooled one.

    None for an answer that is not a minimiser.
    """
    if not _minimised(outcome):
        return []
    rows = [
        {"feature": name, "agreed": float(value)}
        for name, value in zip(outcome.result.parameter_names, outcome.result.solution, strict=True)
    ]
    if outcome.reference is not None:
        for row, value in zip(rows, outcome.reference.solution, strict=True):
            row["pooled"] = float(value)
    return rows


def _minimised(outcome: Outcome) -> bool:
    return outcome.result.answer is None or isinstance(outcome.result.answer, Minimiser)


def _compared(outcome: Outcome) -> Comparison | None:
    """A regression beside the records of all sites (simulation only).

    None with weights, as a comparison counts every record once, and of several levels.
    """
    answer, method = outcome.result.answer, outcome.assembled.method
    if not isinstance(answer, CoefficientTable) or not isinstance(method, PrivateGLM):
        return None
    if method.weights is not None or answer.levels:
        return None
    rows: Any = outcome.assembled.problem.objectives
    records = np.asarray(rows.values)[np.asarray(rows.mask) > 0]
    return compared(answer, method.design, method.target, records)


def _history(outcome: Outcome) -> dict[str, list[Any]]:
    """The first trial's measurements."""
    history = outcome.result.history
    columns: dict[str, Any] = {"round": history.rounds}
    columns |= {name: values[:, 0] for name, values in history.measured.items()}
    if outcome.reference is not None and "objective" in columns:
        columns["objective_gap"] = columns["objective"] - outcome.reference.value
    columns["evaluations"], columns["bytes"] = history.evaluations, history.bytes
    columns["epsilon"] = history.epsilon.max(axis=1)
    return {name: np.asarray(values).tolist() for name, values in columns.items()}
