"""What a budget costs a method in noise, from the contract of an example run."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import numpy as np

from tacit._engine.contract import contract
from tacit._engine.result import ReleaseRow
from tacit.errors import TacitError
from tacit.problem import Problem
from tacit.study._described.catalogue import Entry, Protection
from tacit.study._described.probes import HOMES, accepted, networks, probes
from tacit.types import Oracle, Unit


def cost_example(
    entry: Entry, records: int = 2000, rounds: int = 100, unit: Unit = Unit.RECORD
) -> dict[str, Any] | None:
    """Noise of a run at epsilon = 1 with clip 1, as an indication of the cost of privacy.

    Args:
        entry: the method.
        records: number of records per site; unused where whole costs are protected.
        rounds: number of rounds.
        unit: what is protected, a record or a whole cost (`Unit.AGENT`).

    Returns:
        The setting, and sensitivity and noise of every release; `None` for a method without a
        budget or without rounds, and for one that protects no such unit.

    Example:
        >>> from tacit.study._described.catalogue import METHODS
        >>> cost_example(METHODS["functional-perturbation"])["releases"]
        ... # doctest: +NORMALIZE_WHITESPACE
        [{'phase': 'perturb', 'times': 1, 'mechanism': 'Laplace', 'sensitivity': 0.001,
          'sensitivity_range': None, 'noise_multiplier': 1.0, 'noise_scale': 0.001,
          'first': None, 'last': None}]
    """
    method = entry.default()
    if entry.protection is Protection.NONE or entry.build.oracle is Oracle.ROWS:
        return None
    for home in HOMES:
        for probe in accepted(method, probes(), networks()[home]):
            problem = probe.problem
            if not isinstance(problem, Problem) or problem.unit is not unit:
                continue
            sites = problem.agents
            if unit is Unit.RECORD:
                sizes = (np.full(sites, records), np.full(sites, float(records)))
                problem = eqx.tree_at(lambda p: (p.counts, p.objectives.normaliser), problem, sizes)
            count = rounds if method.only_rounds is None else method.only_rounds
            try:
                found = contract(problem, networks()[home], method, rounds=count)
                promise = found.guarantee.worst
            except TacitError:
                continue  # another problem may do
            return {
                "sites": sites,
                **({"records": records} if unit is Unit.RECORD else {}),
                "rounds": count,
                "clip": 1.0,
                "epsilon": promise.epsilon,
                "delta": promise.delta,
                "unit": promise.unit.value,
                "releases": [_release(row) for row in found.table if row.released],
            }
    return None


def takes_costs(entry: Entry) -> bool:
    """Whether the method runs on whole costs, without records."""
    method = entry.default()
    return any(
        probe.problem.unit is Unit.AGENT
        for home in HOMES
        for probe in accepted(method, probes(), networks()[home])
    )


def _release(row: ReleaseRow) -> dict[str, Any]:
    first, last = row.noise_range or (None, None)
    return {
        "phase": row.phase,
        "times": row.times,
        "mechanism": row.mechanism,
        "sensitivity": row.sensitivity,
        "sensitivity_range": row.sensitivity_range,
        "noise_multiplier": row.noise_multiplier,
        "noise_scale": row.noise_scale,
        "first": first,
        "last": last,
    }
