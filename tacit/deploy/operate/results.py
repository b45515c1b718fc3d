"""What a member keeps at the end of a run: the model, its cost, and the guarantee."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from tacit.deploy.files import write_bytes, write_json, write_text
from tacit.deploy.member.compare import Comparison
from tacit.escape import cell
from tacit.method.answer import Answer, Minimiser, files_of
from tacit.method.fitted import FittedRegression
from tacit.method.fitted_hazards import FittedHazards
from tacit.method.fitted_model import FittedModel
from tacit.privacy.guarantee import Guarantee
from tacit.study.fitted import MODEL, NAME


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a member holds at the end.

    Attributes:
        solution: answer of the member, shape `(p,)`; `None` for a member that had already finished.
        names: names of the numbers in the solution.
        run: id of the run.
        rounds: number of rounds that were run.
        epsilon: epsilon of the releases of this run that the ledger was charged for; `None` for a
            member that released nothing.
        simulated: whether the noise came from a seed and protects nobody.
        round_seconds: duration of each round of this process, in seconds.
        refused: number of refused messages.
        absences: absent members: name, first round without it, round of its return, from 0.
        compared: whether other clients were told the same; `None` without a coordinator.
        member: name of the member.
        answer: interpretation of the solution; `None` without one.
        regression: the fitted regression, if the study fits one.
        model: the fitted model, if a file can hold it.
        protection: the guarantee of all owners, in words.
        epsilon_of_account: epsilon of everything that the same budget was charged for, in this and
            all other runs; for the owner alone, and in no bundle.
    """

    solution: np.ndarray | None
    names: tuple[str, ...]
    run: str
    rounds: int
    epsilon: float | None
    simulated: bool
    round_seconds: list[float] = field(default_factory=list)
    refused: int = 0
    absences: Sequence[tuple[str, int, int | None]] = ()
    compared: Comparison | None = None
    member: str = ""
    answer: Answer | None = None
    regression: FittedRegression | FittedHazards | None = None
    model: FittedModel | None = None
    epsilon_of_account: float | None = None
    protection: str = ""

    def document(self) -> dict[str, Any]:
        """The result in the form of `result.json`."""
        times = np.array(self.round_seconds[1:] or self.round_seconds)
        return {
            "format": "tacit-site-result-1",
            "run": self.run,
            "member": self.member,
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "rounds": self.rounds,
            "noise": "simulated: protects nobody" if self.simulated else "secure",
            "epsilon_spent": self.epsilon,
            "epsilon_of_account": self.epsilon_of_account,
            "refused_messages": self.refused,
            "absences": [
                {
                    "member": name,
                    "first_round": first + 1,
                    "back_in_round": None if back is None else back + 1,
                }
                for name, first, back in self.absences
            ],
            "compared": None if self.compared is None else asdict(self.compared),
            "round_seconds": {
                "median": float(np.median(times)) if times.size else None,
                "p95": float(np.quantile(times, 0.95)) if times.size else None,
            },
        }


def write(folder: Path, outcome: Outcome, guarantee: Guarantee | None) -> None:
    """Write `result.json` last, after `model.npz`, `guarantee.json` and `coefficients.csv` if they
    exist, or the files of an answer that is not a minimiser, such as `counts.csv`.

    Args:
        folder: state folder of the member.
        outcome: what the member holds.
        guarantee: guarantee of this owner; `None` for a coordinator.
    """
    if outcome.solution is not None:
        file = io.BytesIO()
        np.savez(file, solution=outcome.solution, names=np.array(outcome.names))
        write_bytes(folder / "model.npz", file.getvalue())
    for name, text in answer_files(outcome).items():
        write_text(folder / name, text)
    if guarantee is not None:
        write_json(folder / "guarantee.json", guarantee_document(guarantee, outcome.run))
    write_json(folder / "result.json", outcome.document())


def has_compared(folder: Path) -> bool:
    """Whether `result.json` says what other clients were told, or is not there to be changed.

    Args:
        folder: state folder of a member that has finished.
    """
    path = folder / "result.json"
    return not path.exists() or json.loads(path.read_bytes())["compared"] is not None


def note_compared(folder: Path, found: Comparison) -> None:
    """Add to `result.json` what other clients were told.

    Args:
        folder: state folder of a member that has finished.
        found: what they were told.
    """
    document = json.loads((folder / "result.json").read_bytes())
    write_json(folder / "result.json", document | {"compared": asdict(found)})


def answer_files(outcome: Outcome) -> dict[str, str]:
    """What the solution says, as the texts of files by name: a table, and what predicts by it.

    Args:
        outcome: what the member holds.
    """
    files: dict[str, str] = {}
    if outcome.solution is not None:
        if outcome.answer is None or isinstance(outcome.answer, Minimiser):
            text = io.StringIO()
            writer = csv.writer(text)
            writer.writerow(["parameter", "value"])
            values = map(repr, outcome.solution.tolist())
            writer.writerows(zip(map(cell, outcome.names), values, strict=True))
            files["coefficients.csv"] = text.getvalue()
        else:
            files |= files_of(outcome.answer, outcome.protection)
    if outcome.regression is not None:
        files[NAME] = outcome.regression.to_json() + "\n"
    if outcome.model is not None:
        files[MODEL] = outcome.model.to_json() + "\n"
    return files


def guarantee_document(guarantee: Guarantee, run: str) -> dict[str, Any]:
    """A guarantee in the form of `guarantee.json`.

    Args:
        guarantee: guarantee of an owner.
        run: id of the run.
    """
    document: dict[str, Any] = {"format": "tacit-site-guarantee-1", "run": run}
    return document | {"sentence": guarantee.sentence()} | _plain(asdict(guarantee))


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value
        if isinstance(value, int | float | str | bool | None)
        else list(value)
        if isinstance(value, tuple)
        else str(value)
        for key, value in values.items()
    }
