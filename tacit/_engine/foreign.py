"""Third-party code in a run: what a guarantee assumes about it, and what is refused.

A proof is about the clips, mechanisms and phases of this package. A loss, regulariser, constraint,
network or method that a user wrote may use any value that Python can reach, including everybody's
records. So the guarantee states what it rests on; and a loss that holds an array as long
as the records is refused, since its result for one record could depend on all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from tacit._engine.identity import opaque
from tacit._engine.plan import as_arrays
from tacit.errors import ProblemError
from tacit.method.releases import Releases
from tacit.network.base import AbstractNetwork
from tacit.privacy.statistics import BlockSum
from tacit.problem.cost import Cost
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.losses import AbstractLinearLoss, JaxLoss
from tacit.problem.task import Task
from tacit.types import AbstractDifferentiable, State, Unit

_FEW = 10
"""Arrays up to this length are not taken for records: a loss's constants may match by chance."""


def assumptions(problem: Task, network: AbstractNetwork, releases: Releases) -> tuple[str, ...]:
    """What a guarantee assumes about third-party code, in words.

    Args:
        problem: problem with objectives, regulariser and constraint; a black box states its own
            assumptions.
        network: network that the agents use.
        releases: releases of the method that they run.
    """
    found: list[str] = []
    objective = problem.objectives
    if opaque(type(objective)):
        whose = "agent" if problem.unit is Unit.AGENT else "record"
        found.append(
            f"the objective {type(objective).__name__} computes and clips the loss of each {whose} "
            f"from the data of that {whose} and public values only"
        )
    elif isinstance(objective, Cost) and opaque(objective.function):
        found.append(
            "the function of the costs computes each from the parameters of its own agent and "
            "public values only"
        )
    loss = getattr(objective, "loss", None)
    if isinstance(loss, JaxLoss) and opaque(loss.function):
        found.append(
            "the function of the JaxLoss computes the loss of each record from that record and "
            "public values only"
        )
    queries = [phase.query for phase in releases if phase.query is not None]
    solved = isinstance(loss, AbstractLinearLoss) and any(query.solves for query in queries)
    if solved and opaque(loss):
        found.append(
            f"the loss {type(loss).__name__} is convex, with the derivative that it gives and a "
            "second derivative of at most its curvature"
        )
    if any(isinstance(query, BlockSum) and opaque(query.blocks) for query in queries):
        found.append(
            "the functions of the blocks compute the rows of each record from that record and "
            "public values only"
        )
    projects = any(query.projects for query in queries)
    besides = {"network": ", and which counts every round that an agent takes part in"}
    if projects:
        besides["regulariser"] = ", and whose proximal map is exactly that of a convex penalty"
        besides["constraint"] = ", and whose projection is exactly that onto a convex set"
    public = {"regulariser": problem.regulariser, "constraint": problem.constraint}
    for label, part in (public | {"network": network}).items():
        if opaque(part):
            found.append(
                f"the {label} {type(part).__name__} computes with code that is not tacit's, which "
                f"leaves tacit's as it is and uses public values only{besides.get(label, '')}"
            )
    if opaque(releases.method):
        found.append(
            f"the method {type(releases.method).__name__} computes with code that is not tacit's, "
            "which leaves tacit's as it is, states the same phases whenever it is asked, and uses "
            "private values in queries only"
        )
    return tuple(found)


def check_closed_over(problem: Any) -> None:
    """Refuse a user's loss that holds an array as long as the records.

    Raises:
        ProblemError: the loss of one record is, or may be, computed from all of them.
    """
    objective = problem.objectives
    loss = getattr(objective, "loss", None)
    if not isinstance(objective, EmpiricalRisk) or not opaque(loss):
        return
    counts = np.asarray(problem.counts).tolist()
    lengths = {*counts, sum(counts), objective.units} - {problem.dimension, *range(_FEW + 1)}
    lengths -= set(np.shape(objective.features)[-1:])
    with jax.enable_x64(True):
        arrays, rest = eqx.partition(as_arrays(problem.agent(0)), eqx.is_array)

        def asked(arrays: Any, x: Any) -> Any:
            own = eqx.combine(arrays, rest)
            slope = own.gradient(x) if isinstance(own, AbstractDifferentiable) else ()
            return own.losses(x), slope

        traced = jax.make_jaxpr(asked)(arrays, jnp.asarray(problem.x0, dtype=float))
    for shape in _shapes(traced):
        if lengths & set(shape):
            raise ProblemError(
                f"the loss {type(loss).__name__} holds an array of shape {shape}, as long as the "
                "records: the loss of one record must not depend on the others, or clipping "
                "bounds nothing. Let it use its arguments and public constants only; what each "
                "record needs besides can stand in further columns of its row"
            )


def _shapes(jaxpr: Any) -> Iterator[tuple[int, ...]]:
    """Shapes of all constants of a traced function, and of the functions that it calls."""
    if hasattr(jaxpr, "consts"):
        yield from (np.shape(constant) for constant in jaxpr.consts)
        jaxpr = jaxpr.jaxpr
    for equation in jaxpr.eqns:
        yield from (np.shape(v.val) for v in equation.invars if isinstance(v, core.Literal))
        for part in jax.tree.leaves(equation.params, is_leaf=_is_traced):
            if _is_traced(part):
                yield from _shapes(part)


def _is_traced(value: State) -> bool:
    # with or without constants; JAX has moved the classes more than once
    return hasattr(value, "eqns")
