"""The parts of a report that a simulation and a run between sites have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit._engine.result import ReleaseRow
from tacit.method.answer import Answer, Minimiser, Printed, Refused
from tacit.method.coefficients import CoefficientTable
from tacit.method.cox_answer import HazardRatios
from tacit.method.phase import AbstractMethod
from tacit.method.survival_answer import SurvivalCurves
from tacit.network.base import AbstractNetwork
from tacit.network.exact_sum import ExactSum
from tacit.privacy.guarantee import Guarantee
from tacit.study._described.describe import TO_WHOM, WHO, asked

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


def guarantee_rows(
    names: Sequence[str], guarantees: Sequence[Guarantee], records: Sequence[int] | None
) -> list[dict[str, Any]]:
    """The table of guarantees: one row per owner.

    Args:
        names: names of the owners.
        guarantees: their guarantees.
        records: their numbers of records; `None` where these are private.
    """
    counts = [None] * len(names) if records is None else records
    return [
        {
            "owner": name,
            "epsilon": each.epsilon,
            "delta": each.delta,
            "unit": each.unit.value,
            "relation": each.relation.value.replace("_", " "),
            **({} if count is None else {"records": int(count)}),
            "releases": each.releases,
        }
        for name, each, count in zip(names, guarantees, counts, strict=True)
    ]


def answered(answer: Answer | None) -> dict[str, Any]:
    """The fields of a report about an answer that is not a minimiser; empty for one that is."""
    if answer is None or isinstance(answer, Minimiser):
        return {}
    if isinstance(answer, Refused):
        return {"answer_sentence": answer.sentence()}
    if not isinstance(answer, Printed):
        return {"answer": answer.frame().to_dict("records"), "answer_sentence": answer.sentence()}
    heads, *cells = answer.cells()
    places = _TABLE if isinstance(answer, CoefficientTable) else {h: i for i, h in enumerate(heads)}
    found = {
        # a page would drop the spaces that indent a level
        "answer": [
            {name: row[at].replace("  ", "\u2003") for name, at in places.items()} for row in cells
        ],
        "answer_sentence": answer.sentence(),
    }
    if isinstance(answer, HazardRatios):
        return found | {"effects": answer.effects(), "effect": "hazard ratio"}
    if isinstance(answer, SurvivalCurves):
        return found | {"curves": answer.frame().to_dict("records"), "time": answer.time}
    if not isinstance(answer, CoefficientTable):
        return found
    return found | {
        "effects": answer.effects(),
        "effect": answer.effect,
        "ratios": answer.ratios(),
    }


def phase_rows(
    method: AbstractMethod,
    network: AbstractNetwork,
    releases: Sequence[ReleaseRow],
    worst: Guarantee,
) -> list[dict[str, Any]]:
    """The table of releases: one row per phase.

    Args:
        method: method of the run.
        network: its network.
        releases: what each phase releases.
        worst: weakest guarantee of an owner.
    """
    rows: list[dict[str, Any]] = []
    masks = {name: getattr(worst, name) for name in ("coalition", "min_cohort", "attempts")}
    who, to_whom = WHO, TO_WHOM
    if isinstance(network, ExactSum):
        who, to_whom = WHO | _EVERYBODY, TO_WHOM | _RELAYED
    for phase, row in zip(method.phases(), releases, strict=True):
        private = phase.query is not None
        rows.append(
            {
                "phase": row.phase,
                "sender": who[row.sender],
                "query": asked(phase.query),
                "release": row.released or "nothing private",
                "receiver": to_whom.get(row.receiver, "nobody"),
                "mechanism": row.mechanism or None,
                "sensitivity": _size(row) if private else None,
                "noise_scale": _scale(row) if private else None,
                "charged": row.times if private else None,
                **(masks if phase.hides.summed else {}),
            }
        )
    return rows


def _size(row: ReleaseRow) -> float | str:
    return row.moved if row.sensitivity_range or row.sensitivity is None else row.sensitivity


def _scale(row: ReleaseRow) -> float | str:
    return row.scale if row.noise_range or row.noise_scale is None else row.noise_scale


def largest(budget: Any) -> float | None:
    """The largest finite budget of an owner; `None` without one."""
    if budget is None:
        return None
    values = budget.values() if isinstance(budget, dict) else np.atleast_1d(budget)
    found = float(max(values))
    return found if math.isfinite(found) else None
