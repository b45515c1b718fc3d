"""What may have kept a simulated run from a good answer, each with its remedy.

Counted in private records without noise: for simulations only. Between sites, an owner may look at
its own with `tacit check`.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tacit.data.schema import Altered
from tacit.method._functional_query import WeightedCoefficients
from tacit.privacy.guarantee import Status
from tacit.privacy.sensitivity import ClippedGradient
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.task import Task
from tacit.study.run import Outcome

CLIPPED = 0.1
"""Smallest share of shortened gradients, or of coefficients, that is told."""

LOST = 0.5
"""Largest share of the objective's best decrease that may be lost again by the end."""

FOLLOWED = (
    "Advice like this is computed from the private records. Another run on them costs its own "
    "budget and needs another seed, and what is changed by such advice is chosen on these data: "
    "the guarantee assumes that it is not."
)
"""Said after the others, where something is guaranteed."""


def hindrances(outcome: Outcome) -> list[str]:
    """Sentences about clip, bounds, missing values and step, and what it costs to follow them.

    Empty where nothing was found; without a guarantee there is nothing that it would cost.
    """
    found = [_clip(outcome), *_altered(outcome.assembled.altered), _step(outcome)]
    found = [sentence for sentence in found if sentence]
    guaranteed = outcome.result.guarantee.worst.status is not Status.NONE
    return [*found, FOLLOWED] if found and guaranteed else found


def clipped_share(outcome: Outcome) -> float | None:
    """Share of the records of which the clip shortens gradients or coefficients.

    Gradients are those at the sites' answers in the first trial; the coefficients of functional
    perturbation depend on no answer. `None` for other queries: clips of differences, of updates and
    in whitened coordinates are not counted.
    """
    queries = [phase.query for phase in outcome.assembled.method.phases()]
    for query in queries:
        if isinstance(query, ClippedGradient):
            return _of_gradients(outcome, query)
        if isinstance(query, WeightedCoefficients):
            return _of_coefficients(outcome.assembled.problem, query)
    return None


def _of_coefficients(task: Task, query: WeightedCoefficients) -> float:
    agents = np.arange(task.agents)
    clips = np.broadcast_to(np.asarray(query.clip, dtype=float), (task.agents,))

    def longer(objective: Any, agent: Any, clip: Any) -> Any:
        return jnp.sum((query.lengths(objective, agent) > clip) & objective.present)

    with jax.enable_x64(True):
        counts = eqx.filter_vmap(longer)(task.objectives, agents, clips)
        return float(np.sum(np.asarray(counts)) / np.sum(np.asarray(task.counts)))


def _of_gradients(outcome: Outcome, query: ClippedGradient) -> float | None:
    task = outcome.assembled.problem
    objectives: Any = task.objectives
    if not isinstance(objectives, EmpiricalRisk):
        return None
    order = query.clip_norm

    def longer(objective: EmpiricalRisk, x: Any, clip: Any) -> Any:
        clip = jnp.minimum(clip, objective.gradient_bound(order))
        return jnp.sum(objective.gradient_norms(x, order) > clip)

    clips = np.broadcast_to(np.asarray(query.clip, dtype=float), (task.agents,))
    with jax.enable_x64(True):
        counts = eqx.filter_vmap(longer)(objectives, outcome.result.solutions[0], clips)
        return float(np.sum(np.asarray(counts)) / np.sum(np.asarray(task.counts)))


def _clip(outcome: Outcome) -> str:
    share = clipped_share(outcome)
    if share is None or share < CLIPPED:
        return ""
    queries = [phase.query for phase in outcome.assembled.method.phases()]
    if any(isinstance(each, WeightedCoefficients) for each in queries):
        return (
            f"The clip shortens the coefficients of {share:.0%} of the records, so that another "
            "cost is minimised: raise clip, which takes more noise (method.record_ball gives the "
            "smallest one that shortens none), or scale the columns down."
        )
    return (
        f"At the answer, the clip shortens the gradients of {share:.0%} of the records: raise "
        "clip, which takes more noise, or scale the columns down."
    )


def _altered(altered: Altered | None) -> list[str]:
    """What preparation left out and moved."""
    if altered is None:
        return []
    found: list[str] = []
    if altered.dropped:
        found.append(
            f"{altered.dropped:,} of {altered.records + altered.dropped:,} records lack a value "
            "and were dropped: fill it in, or choose another rule (missing = ...)."
        )
    if altered.moved:
        each = ", ".join(f"{name} {count:,}" for name, count in altered.moved.items())
        found.append(
            f"Values beyond their declared bounds were moved to them ({each}, of "
            f"{altered.records:,} records in all): widen the bounds, by what is known without "
            "the records, or declare codes of missing values (missing_values = [...])."
        )
    return found


def _step(outcome: Outcome) -> str:
    """That the objective rose again, in the first trial; a run that diverged says so itself."""
    history = outcome.result.history
    objective = history.measured.get("objective")
    if objective is None or outcome.result.diverged[0] >= 0:
        return ""
    first, last = float(objective[0, 0]), float(objective[-1, 0])
    at = int(np.argmin(objective[:, 0]))
    best = float(objective[at, 0])
    if not last > best or first - last >= LOST * (first - best):
        return ""
    fell = f"was {best:.4g} after round {history.rounds[at]:,}" if at else "never fell"
    return (
        f"The objective, {first:.4g} at the start, {fell} and is {last:.4g} at the end: the step "
        "is too large for this noise; take a smaller step or fewer rounds."
    )
