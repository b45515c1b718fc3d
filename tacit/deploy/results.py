"""What a member keeps at the end of a run: the model, what it cost, and what was promised."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tacit.deploy.files import write_json, write_text
from tacit.privacy.guarantee import Guarantee


def write(
    folder: Path,
    run: str,
    rounds: int,
    names: tuple[str, ...],
    solution: np.ndarray | None,
    guarantee: Guarantee | None,
    epsilon: float | None,
    seconds: list[float],
    *,
    simulated: bool,
) -> None:
    """Write `result.json`, and where they are had `model.npz`, `coefficients.csv`,
    `guarantee.json`.

    Args:
        folder: state of the member.
        run: id of the run.
        rounds: of it.
        names: of the parameters.
        solution: the answer, shape `(p,)`.
        guarantee: what this owner was promised; `None` for a coordinator.
        epsilon: that the ledger has counted in all.
        seconds: times of the rounds.
        simulated: whether the noise came from a seed and protects nobody.
    """
    if solution is not None:
        beside = folder / ".model.npz"
        np.savez(beside, solution=solution, names=np.array(names))
        beside.replace(folder / "model.npz")
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(["parameter", "value"])
        writer.writerows(zip(names, map(repr, solution.tolist()), strict=True))
        write_text(folder / "coefficients.csv", text.getvalue())
    if guarantee is not None:
        document: dict[str, Any] = {"format": "tacit-site-guarantee-1", "run": run}
        document |= {"sentence": guarantee.sentence()} | _plain(asdict(guarantee))
        write_json(folder / "guarantee.json", document)
    times = np.array(seconds[1:] or seconds)
    write_json(
        folder / "result.json",
        {
            "format": "tacit-site-result-1",
            "run": run,
            "rounds": rounds,
            "noise": "simulated: protects nobody" if simulated else "secure",
            "epsilon_spent": epsilon,
            "round_seconds": {
                "median": float(np.median(times)) if times.size else None,
                "p95": float(np.quantile(times, 0.95)) if times.size else None,
            },
        },
    )


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value
        if isinstance(value, int | float | str | bool | None)
        else list(value)
        if isinstance(value, tuple)
        else str(value)
        for key, value in values.items()
    }
