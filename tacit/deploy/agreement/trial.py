"""A simulator asked once by its owner, who alone may know where it fails."""

from __future__ import annotations

from pathlib import Path

from tacit.deploy.agreement.manifest import Manifest
from tacit.deploy.agreement.own import own_records
from tacit.problem.problem import Problem
from tacit.problem.simulator import LossBox, tried, tried_cost
from tacit.study.build import build_declared, build_objective
from tacit.study.costs import own_cost, read_owner


def simulated(manifest: Manifest, agent: int, data: Path) -> str | None:
    """What an owner's simulator does with its records at the starting point of a run.

    Args:
        manifest: the agreed manifest.
        agent: number of the owner.
        data: file of the owner's records.

    Returns:
        How often it raises, and why first; empty if it never does, and `None` without a simulator.

    Raises:
        ConfigError: records that do not fit the study.
        ProblemError: a file that cannot be read.
    """
    source = manifest.source(data.parent)
    counts = [member.records for member in manifest.agents]
    problem = build_declared(source, manifest.names, manifest.features, manifest.classes, counts)
    if source.costs:
        return tried_cost(own_cost(source, agent, read_owner(data)), problem.start())
    if not (isinstance(problem, Problem) and isinstance(problem.objectives, LossBox)):
        return None
    prepared = own_records(manifest, agent, data)
    own = build_objective(source, problem, agent, prepared, max(counts))
    assert isinstance(own, LossBox)
    return tried(own, problem.start())
