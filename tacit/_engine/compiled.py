"""A contract as the arrays that compiled code receives."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit._engine.contract import Contract
from tacit._engine.keys import public_key, trial_key
from tacit._engine.measures import DIVERGENCE
from tacit._engine.plan import Plan, as_arrays
from tacit.errors import PrivacyError
from tacit.method.stated import start_of
from tacit.problem.task import Task
from tacit.types import AbstractDifferentiable, AbstractObjective


def lay_out(
    contract: Contract,
    problem: Task,
    *,
    reference: Any = None,
    divergence: float = DIVERGENCE,
    keep: bool = False,
) -> tuple[Plan, Any]:
    """Lay a run out as arrays, in the current precision.

    Args:
        contract: contract of the run.
        problem: problem of that run, or of a neighbouring one.
        reference: centralised solution, shape `(p,)`, if distances are to be recorded.
        divergence: maximum movement of answers, in units of the largest coordinate of the start.
        keep: whether every measurement holds the agents' answers.

    Returns:
        The plan, and one key per trial.

    Raises:
        PrivacyError: a noise scale that this precision rounds to 0.
    """
    method, network = contract.method, contract.network
    start = start_of(method, problem)
    # if nothing is minimised, an answer may be arbitrarily far from its start
    minimised = isinstance(problem.objectives, AbstractObjective)
    far = divergence * max(1.0, float(np.max(np.abs(start)))) if minimised else np.inf
    plan = Plan(
        objectives=as_arrays(problem.objectives),
        public=as_arrays(problem.public),
        network=as_arrays(network),
        method=as_arrays(method),
        scales=_scales(contract),
        x0=jnp.asarray(start),
        degrees=jnp.asarray(network.degrees),
        records=jnp.asarray(np.asarray(contract.records)),
        rounds=jnp.asarray(contract.rounds),
        reference=reference,
        divergence=jnp.asarray(far),
        shared=public_key(contract.seed),
        watch=isinstance(problem.objectives, AbstractDifferentiable),
        exponents=contract.exponents,
        least=method.hides.least(network),
        keep=keep,
        dimension=problem.dimension,
    )
    trials = jnp.arange(contract.trials)
    return plan, jax.vmap(lambda trial: trial_key(contract.seed, trial))(trials)


def _scales(contract: Contract) -> Any:
    """The noise scales, none of which is lost."""
    found = as_arrays(contract.scales)
    for phase, exact, held in zip(contract.phases, contract.scales, found, strict=True):
        least = float(np.finfo(held.dtype).tiny)
        lost = exact[(exact > 0.0) & (exact < least)]
        if lost.size:
            raise PrivacyError(
                f"the noise of phase {phase.name!r} has scale {lost[0]:.3g}, and {held.dtype} "
                f"takes numbers below {least:.3g} for 0, so that no noise would be added; scale "
                "the problem up, with its clip, or use precision='float64'"
            )
    return found
