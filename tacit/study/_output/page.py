"""The contents of the report of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tacit._engine.result import Result
from tacit.method.answer import Minimiser
from tacit.method.coefficients import CoefficientTable
from tacit.method.comparison import Comparison, compared
from tacit.method.glm import PrivateGLM
from tacit.network.base import AbstractNetwork
from tacit.network.exact_sum import ExactSum
from tacit.network.graph import Graph
from tacit.privacy.guarantee import Status
from tacit.report.data import NetworkPicture, ReportData
from tacit.study._described.describe import TO_WHOM, WHO, asked
from tacit.study._output.words import adversary, capital, counts_are_public, findings, summary
from tacit.study.accounting import mean_noise
from tacit.study.run import Outcome

_DENSE = 500
"""Up to this many agents the spectral gap is computed."""

_TABLE = {
    "parameter": 0,
    "coef": 1,
    "2.5 %": 7,
    "97.5 %": 8,
    "std err": 2,
    "sampling": 3,
    "privacy": 4,
    "P>|z|": 6,
}
"""Cells of a regression's table that a page has room for, by their headings."""

_EVERYBODY = {"server": "each site, alike"}
_RELAYED = {"server": "every site, over its neighbours", "client": "nobody: every site has it"}
"""The server where peers compute exact sums."""


def report_data(outcome: Outcome, files: Sequence[str], public: bool = False) -> ReportData:
    """The contents of the page of a run.

    Args:
        outcome: outcome of a run.
        files: names of the files that the guarantee covers.
        public: whether to leave out everything for simulations only, and all trials but the first,
            because each would be a further release.
    """
    result, problem = outcome.result, outcome.assembled.problem
    worst, counted = result.guarantee.worst, counts_are_public(outcome)
    budget = None if outcome.study.privacy is None else outcome.study.privacy.epsilon
    return ReportData(
        title=outcome.study.title,
        summary=summary(outcome),
        findings=findings(outcome),
        guarantee_sentence=result.guarantee.sentence(),
        guarantee_status=worst.status.value,
        noise=worst.noise.value,
        status=first_trial(result) if public else result.status,
        seconds=result.seconds,
        assumptions=worst.assumptions,
        guarantee_table=[
            {
                "owner": name,
                "epsilon": each.epsilon,
                "delta": each.delta,
                "unit": each.unit.value,
                "relation": each.relation.value.replace("_", " "),
                **({"records": int(count)} if counted else {}),
                "releases": each.releases,
            }
            for name, each, count in zip(
                problem.names, result.guarantee, np.asarray(problem.counts), strict=True
            )
        ],
        epsilon_budget=_largest(budget),
        network=picture(outcome.assembled.network, problem.names),
        phases=_phases(outcome),
        history=_history(outcome),
        averaged=getattr(outcome.assembled.method, "average", None) is True,
        accuracy=[{"name": fit, **scores} for fit, scores in outcome.scores.items()] or None,
        coefficients=coefficients(outcome),
        answer=_answered(outcome),
        **_effects(outcome),
        answer_sentence=_sentence(outcome),
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


def _answered(outcome: Outcome) -> list[dict[str, Any]]:
    """The rows of an answer that is not a minimiser."""
    answer = outcome.result.answer
    if isinstance(answer, CoefficientTable):
        return [{name: row[at] for name, at in _TABLE.items()} for row in answer.cells()[1:]]
    return [] if answer is None or _minimised(outcome) else answer.frame().to_dict("records")


def _effects(outcome: Outcome) -> dict[str, Any]:
    """A forest plot of a regression."""
    answer = outcome.result.answer
    if not isinstance(answer, CoefficientTable):
        return {}
    return {"effects": answer.effects(), "effect": answer.effect, "ratios": answer.ratios()}


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


def _sentence(outcome: Outcome) -> str:
    """The meaning of such an answer."""
    answer = outcome.result.answer
    return "" if answer is None or _minimised(outcome) else answer.sentence()


def picture(network: AbstractNetwork, names: Sequence[str]) -> NetworkPicture:
    """The union graph of a network; for exact sums, the graph that they are computed over."""
    facts: dict[str, Any] = {"Connectivity": network.connectivity}
    if isinstance(network, ExactSum):
        cost = network.cost
        facts["Phases per round"], facts["Messages per round"] = cost.phases, cost.messages
    network = network.carrier
    pairs = np.stack([np.asarray(network.senders), np.asarray(network.receivers)], axis=1)
    if not network.directed:
        pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    if isinstance(network, Graph) and network.agents <= _DENSE:
        from tacit.network.spectrum import spectral_gap

        facts["Spectral gap"] = spectral_gap(network)
    return NetworkPicture(
        names=[str(name) for name in names],
        edges=sorted((int(sender), int(receiver)) for sender, receiver in pairs),
        kind=network.kind,
        coordinated=network.coordinated,
        directed=network.directed,
        facts=facts,
    )


def _phases(outcome: Outcome) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    worst = outcome.result.guarantee.worst
    masks = {name: getattr(worst, name) for name in ("coalition", "min_cohort", "attempts")}
    who, to_whom = WHO, TO_WHOM
    if isinstance(outcome.assembled.network, ExactSum):
        who, to_whom = WHO | _EVERYBODY, TO_WHOM | _RELAYED
    for phase, row in zip(outcome.assembled.method.phases(), outcome.result.releases, strict=True):
        private = phase.query is not None
        rows.append(
            {
                "phase": row.phase,
                "sender": who[row.sender],
                "query": asked(phase.query),
                "release": row.released or "nothing private",
                "receiver": to_whom.get(row.receiver, "nobody"),
                "mechanism": row.mechanism or None,
                "sensitivity": _size(row.sensitivity) if private else None,
                "noise_scale": _size(row.noise_scale) if private else None,
                "charged": row.times if private else None,
                **(masks if phase.hides.summed else {}),
            }
        )
    return rows


def _size(value: float | None) -> float | str:
    return "follows the records" if value is None else value


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


def _largest(budget: Any) -> float | None:
    if budget is None:
        return None
    values = budget.values() if isinstance(budget, dict) else np.atleast_1d(budget)
    largest = float(max(values))
    return largest if math.isfinite(largest) else None
