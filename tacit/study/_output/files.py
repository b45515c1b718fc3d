"""The files of a results directory, each in a format that carries its version."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import RuntimeFailure
from tacit.escape import cell
from tacit.method.answer import Answer, Minimiser, files_of
from tacit.method.fitted_model import FittedModel
from tacit.network.base import AbstractNetwork
from tacit.network.exact_sum import ExactSum
from tacit.privacy.guarantee import NoiseSource, Status
from tacit.report.data import PUBLIC_HISTORY
from tacit.study._output.directory import RESULT_FORMAT, Destination
from tacit.study._output.names import PUBLIC_REPORT, REPORT, SIMULATION_ONLY
from tacit.study._output.page import coefficients, first_trial, report_data
from tacit.study._output.stored import store
from tacit.study._output.words import counts_are_public, objective_gap
from tacit.study.fitted import MODEL, NAME, REGRESSIONS, fitted, fitted_model
from tacit.study.run import Outcome

MODEL_FORMAT = "tacit-model-1"
ENVIRONMENT_FORMAT = "tacit-environment-1"

RELEASED = ("coefficients.csv", "guarantee.json", "history.csv", "model.npz")
"""Files of one trial that are functions of releases and public constants only."""

_SEEDED = ("report.html", "result.json", "simulation_only/report.json")
"""Files that hold the seed of the noise; the study does if it declares one."""

_COVERING = (Status.PROVED, Status.MODEL)
"""A guarantee for single releases, a refuted one and none do not extend to whole files."""

_NOTE = (
    "simulation only: computed from private {held} without noise, known to nobody in a "
    "deployment; not covered by the guarantee"
)


def write(outcome: Outcome, destination: Destination, public: bool = False) -> dict[str, Any]:
    """Write all results, whole or not at all.

    Args:
        outcome: outcome of a run.
        destination: prepared results directory.
        public: whether to also write a report from releases only.

    Returns:
        Contents of `result.json`.

    Raises:
        RuntimeFailure: the files cannot be written; the checkpoint stays.
    """
    from tacit.report.html import write_report

    document = result_document(outcome)
    covered, secret = _covered(outcome, public), keep_secret(outcome)
    stage = destination.stage
    try:
        (stage / SIMULATION_ONLY).mkdir(exist_ok=True)
        _json(stage / "result.json", document)
        _model(stage / "model.npz", outcome)
        _table(stage, outcome)
        result = outcome.result
        regression = fitted(
            outcome.assembled.source, result.answer, str(result.guarantee), result.papers
        )
        if regression is not None:
            regression.save(stage / NAME)
        if (model := _fitted(outcome)) is not None:
            model.save(stage / MODEL)
        _histories(stage, outcome)
        np.savez(
            stage / SIMULATION_ONLY / "solutions.npz",
            format=np.array(MODEL_FORMAT),
            solutions=outcome.result.solutions,
        )
        (stage / "study.toml").write_text(outcome.assembled.source.text, encoding="utf-8")
        _json(
            stage / "environment.json",
            {"format": ENVIRONMENT_FORMAT, **outcome.result.environment},
        )
        data = replace(report_data(outcome, covered), secret=secret)
        write_report(stage / REPORT, data)
        store(stage, data, first_trial(outcome.result))
        if public:
            data = report_data(outcome, covered, public=True)
            write_report(stage / PUBLIC_REPORT, replace(data, secret=secret))
        _json(stage / "guarantee.json", _guarantee(outcome, stage, covered))
    except OSError as error:
        destination.discard()
        again = (
            " and the checkpoint was kept: make room and run again with --resume"
            if destination.resumable and destination.checkpoint.exists()
            else ": make room and run again"
        )
        raise RuntimeFailure(
            f"the results cannot be written to {destination.path} ({error.strerror}); nothing was "
            f"left there{again}"
        ) from error
    destination.commit()
    return document


def result_document(outcome: Outcome) -> dict[str, Any]:
    """The contents of `result.json`: strict JSON, infinite numbers as "inf"."""
    result, problem, study = outcome.result, outcome.assembled.problem, outcome.study
    network, names = outcome.assembled.network, problem.names
    return jsonable(
        {
            "format": RESULT_FORMAT,
            "title": study.title,
            "status": result.status,
            "rounds": result.rounds,
            "seed": result.seed,
            "trials": len(result.solutions),
            "method": study.method.model_dump(),
            "network": {
                "kind": network.kind,
                "agents": network.agents,
                "connectivity": network.connectivity,
                **_relayed(network),
            },
            "sites": _counts(outcome) if counts_are_public(outcome) else dict.fromkeys(names),
            "parameters": list(result.parameter_names),
            "solution": result.solution,
            **_answered(outcome),
            "solutions": dict(zip(names, result.solutions[0], strict=True)),
            "guarantee": result.guarantee.to_dict(),
            "ledger": None if result.charge is None else asdict(result.charge),
            "releases": [vars(row) for row in result.releases],
            "traffic": {
                "bytes": int(result.history.bytes[-1]),
                "evaluations": int(result.history.evaluations[-1]),
            },
            "seconds": result.seconds,
            "notes": list(outcome.assembled.notes),
            SIMULATION_ONLY: _simulated(outcome),
        }
    )


def _answered(outcome: Outcome) -> dict[str, Any]:
    """What the solution means, if it is not a minimiser."""
    answer = _answer(outcome)
    return {} if isinstance(answer, Minimiser) else {"answer": answer.to_dict()}


def _relayed(network: AbstractNetwork) -> dict[str, Any]:
    """How exact sums are computed, if any."""
    if not isinstance(network, ExactSum):
        return {}
    return {"graph": network.carrier.kind, "exact_sum": network.by, "cost": asdict(network.cost)}


def jsonable(value: object) -> Any:
    """A value as strict JSON: infinite numbers are "inf" or "-inf", NaN is null."""
    if isinstance(value, dict):
        return {str(key): jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(entry) for entry in value]
    if isinstance(value, np.ndarray | np.generic):
        return jsonable(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _simulated(outcome: Outcome) -> dict[str, Any]:
    last = {name: values[-1] for name, values in outcome.result.history.measured.items()}
    own, ends = outcome.result.history.metrics, outcome.result.ends
    found: dict[str, Any] = {
        "note": _NOTE.format(held=outcome.assembled.source.held.plural),
        "records": _counts(outcome),
        "scores": outcome.scores,
        "useful": outcome.verdict.useful,
        "held_out_records": (
            0 if outcome.assembled.held_out is None else len(outcome.assembled.held_out.targets)
        ),
        "objective": last.get("objective", None if ends is None else ends[1]),
        **({} if ends is None else {"objective_at_start": ends[0]}),
        "objective_gap": objective_gap(outcome),
        "distance": last.get("distance"),
        **({"metrics": {name: last[name] for name in own}} if own else {}),
    }
    if outcome.reference is not None:
        reference = outcome.reference
        found["pooled"] = {
            "solution": reference.solution,
            "objective": reference.value,
            "gap": reference.gap,
            "gap_kind": reference.gap_kind.value,
            "solver": reference.solver,
        }
    return found


def _counts(outcome: Outcome) -> dict[str, int]:
    problem = outcome.assembled.problem
    return dict(zip(problem.names, np.asarray(problem.counts).tolist(), strict=True))


def _covered(outcome: Outcome, public: bool) -> list[str]:
    """Names of the files that the guarantee of the run covers.

    There are none if the study declares the seed of the noise: who has the study has no noise, and
    a seed that somebody chose can be guessed.
    """
    if outcome.result.guarantee.worst.status not in _COVERING or seed_is_declared(outcome):
        return []
    answer = _answer(outcome)
    released = [*files_of(answer), *(name for name in RELEASED if name != "coefficients.csv")]
    released += [NAME] if isinstance(answer, REGRESSIONS) else []
    released += [] if _fitted(outcome) is None else [MODEL]
    return [*released, *([PUBLIC_REPORT] if public else [])]


def _fitted(outcome: Outcome) -> FittedModel | None:
    """The model, if a file can hold it."""
    result = outcome.result
    return fitted_model(
        outcome.assembled.source,
        result.parameter_names,
        result.solution,
        str(result.guarantee),
        seeded=seed_is_declared(outcome),
        taken=outcome.assembled.taken,
    )


def _answer(outcome: Outcome) -> Answer:
    answer = outcome.result.answer
    return Minimiser((), ()) if answer is None else answer


def keep_secret(outcome: Outcome) -> tuple[str, ...]:
    """Names of the files with which the noise can be removed from those under the guarantee.

    There are none with a ledger: the noise then depends on its secret, too.
    """
    noise = outcome.result.guarantee.worst.noise
    if noise is not NoiseSource.SIMULATED or outcome.result.charge is not None:
        return ()
    return (*_SEEDED, "study.toml") if seed_is_declared(outcome) else _SEEDED


def seed_is_declared(outcome: Outcome) -> bool:
    """Whether the noise follows from a seed in the study, and not from one that was drawn."""
    drawn = outcome.study.run.seed is None or outcome.result.charge is not None
    return not drawn and outcome.result.guarantee.worst.noise is NoiseSource.SIMULATED


def _guarantee(outcome: Outcome, stage: Path, covered: list[str]) -> dict[str, Any]:
    """The guarantees, and the files that they cover: functions of releases only."""
    written = {
        path.relative_to(stage).as_posix() for path in stage.rglob("*") if path.is_file()
    } | {"guarantee.json"}
    return {
        **outcome.result.guarantee.to_dict(),
        "covers": sorted(covered),
        "keep_secret": list(keep_secret(outcome)),
        "does_not_cover": sorted(written - set(covered)),
    }


def _model(path: Path, outcome: Outcome) -> None:
    """The first trial only: every further trial would be a further release."""
    np.savez(
        path,
        format=np.array(MODEL_FORMAT),
        parameters=np.array(outcome.result.parameter_names),
        solution=outcome.result.solution,
        sites=np.array(outcome.assembled.problem.names),
        solutions=outcome.result.solutions[0],
    )


def _table(stage: Path, outcome: Outcome) -> None:
    """The coefficients, or the files of an answer that is not a minimiser."""
    import pandas as pd

    answer = _answer(outcome)
    if not isinstance(answer, Minimiser):
        protection = str(outcome.result.guarantee)
        for name, text in files_of(answer, protection).items():
            (stage / name).write_text(text, encoding="utf-8")
        return
    frame = pd.DataFrame(coefficients(outcome))
    frame["feature"] = frame["feature"].map(cell)
    frame[["feature", "agreed"]].to_csv(stage / "coefficients.csv", index=False)
    if "pooled" in frame:
        frame.to_csv(stage / SIMULATION_ONLY / "coefficients.csv", index=False)


def _histories(stage: Path, outcome: Outcome) -> None:
    frame = outcome.result.history.frame()
    if outcome.reference is not None and "objective" in frame:
        frame["objective_gap"] = frame["objective"] - outcome.reference.value
    first = frame.loc[frame["trial"] == 0]
    first.filter(items=PUBLIC_HISTORY).to_csv(stage / "history.csv", index=False)
    frame.to_csv(stage / SIMULATION_ONLY / "history.csv", index=False)


def _json(path: Path, document: Any) -> None:
    text = json.dumps(jsonable(document), indent=2, allow_nan=False, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
