"""How much a clip shortens: counted in private records without noise, for simulations only."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from tacit.method._functional_query import WeightedCoefficients
from tacit.method.phase import AbstractMethod
from tacit.privacy.sensitivity import ClippedDifferences, ClippedGradient
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.task import Task

TOLD = 0.1
"""Smallest share of shortened gradients, or of coefficients, that is told."""


def shortened(
    task: Task, method: AbstractMethod, answers: Float[np.ndarray, "agents p"]
) -> tuple[str, float] | None:
    """What the clip of a method shortens, and of which share of the records.

    Gradients are those at the given answers; the coefficients of functional perturbation depend on
    none. Differences are as long as gradients, along all axes exactly and along random directions
    on average, so gradients are counted in their place. `None` for other queries: clips of updates
    and in whitened coordinates are not counted, nor are black boxes, which would be evaluated.

    Args:
        task: task of the run.
        method: method of the run.
        answers: answers of all agents in one trial, shape `(agents, p)`.
    """
    objectives: Any = task.objectives
    for query in (phase.query for phase in method.phases()):
        per_record = isinstance(query, ClippedGradient | ClippedDifferences)
        # along one random direction a difference says little of how long a gradient is
        told = not isinstance(query, ClippedDifferences) or query.count != 1
        if per_record and told and isinstance(objectives, EmpiricalRisk):
            what = "gradients" if isinstance(query, ClippedGradient) else "differences"
            with jax.enable_x64(True):
                each = _gradients(objectives, answers, _each(query.clip, task), query.clip_norm)
            return what, _share(each, task)
        if isinstance(query, WeightedCoefficients):
            with jax.enable_x64(True):
                each = _coefficients(objectives, query, _each(query.clip, task))
            return "coefficients", _share(each, task)
    return None


def _share(counts: Int[Array, " agents"], task: Task) -> float:
    return float(np.sum(np.asarray(counts)) / np.sum(np.asarray(task.counts)))


def _each(clip: Any, task: Task) -> Float[np.ndarray, " agents"]:
    return np.broadcast_to(np.asarray(clip, dtype=float), (task.agents,))


@eqx.filter_jit
def _gradients(
    objectives: EmpiricalRisk, answers: Any, clips: Any, order: Any
) -> Int[Array, " agents"]:
    def longer(objective: EmpiricalRisk, x: Any, clip: Any) -> Any:
        clip = jnp.minimum(clip, objective.gradient_bound(order))
        return jnp.sum(objective.gradient_norms(x, order) > clip)

    return eqx.filter_vmap(longer)(objectives, jnp.asarray(answers), jnp.asarray(clips))


@eqx.filter_jit
def _coefficients(
    objectives: Any, query: WeightedCoefficients, clips: Any
) -> Int[Array, " agents"]:
    def longer(objective: Any, agent: Any, clip: Any) -> Any:
        return jnp.sum((query.lengths(objective, agent) > clip) & objective.present)

    agents = jnp.arange(len(clips))
    return eqx.filter_vmap(longer)(objectives, agents, jnp.asarray(clips))
