"""Laying out a run before it starts: checks, and the contract as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit._engine import charging
from tacit._engine.contract import Contract
from tacit._engine.foreign import check_closed_over
from tacit._engine.keys import public_key, trial_key
from tacit._engine.measures import DIVERGENCE
from tacit._engine.plan import Plan, as_arrays
from tacit.errors import ConfigError, NetworkError, ProblemError
from tacit.method.phase import AbstractMethod
from tacit.network.base import AbstractNetwork
from tacit.network.exact_sum import ExactSum
from tacit.problem.task import Task
from tacit.types import (
    AbstractDifferentiable,
    AbstractObjective,
    AbstractPrivate,
    Oracle,
    Role,
)

MOST_ROUNDS = 2**31 - 1
"""Beyond 2^32 rounds the keys of the first rounds, and so their noise, would recur."""

_MOST_VARYING = 1_000_000
"""Most rounds with varying noise, since each is an event of its own."""

_MOST_STOPS = 1_000_000
"""More measurements would not fit in memory."""


def check_arguments(
    problem: Task,
    network: AbstractNetwork,
    method: AbstractMethod,
    rounds: int,
    seed: int | None = None,
    trials: int = 1,
    precision: str = "float64",
) -> None:
    """Refuse what cannot run, before anything is traced.

    Raises:
        ConfigError: an argument out of range.
        NetworkError: a network that does not fit the problem or the method.
        ProblemError: a problem that the method's assumptions exclude.
    """
    if not 1 <= rounds <= MOST_ROUNDS:
        raise ConfigError(f"rounds={rounds!r} must be at least 1 and at most {MOST_ROUNDS:,}")
    if rounds > _MOST_VARYING and charging.Releases(method).varies:
        raise ConfigError(
            f"rounds={rounds!r}: the noise of {type(method).__name__} changes from round to round "
            f"and is accounted for round by round, which takes at most {_MOST_VARYING:,} of them"
        )
    if method.only_rounds is not None and rounds != method.only_rounds:
        raise ConfigError(
            f"rounds={rounds!r}: {type(method).__name__} takes {method.only_rounds}, and what is "
            f"released in more would be paid for and not used; write rounds={method.only_rounds}"
        )
    if trials < 1:
        raise ConfigError(f"trials={trials!r} must be at least 1")
    if seed is not None and not 0 <= seed < 2**63:
        raise ConfigError(f"seed={seed!r} must be at least 0 and below 2**63")
    if precision == "float32" and method.oracle is Oracle.VALUE:
        raise ConfigError(
            f"{type(method).__name__} takes differences of function values, of which float32 "
            "leaves no digits; use precision='float64'"
        )
    if network.agents != problem.agents:
        raise NetworkError(
            f"the network has {network.agents} agents and the problem {problem.agents}; "
            "they must be as many"
        )
    roles = {phase.sender for phase in method.phases()}
    if (Role.PEER in roles) == network.coordinated:
        needs = (
            "peers: use a graph such as ring(n)"
            if Role.PEER in roles
            else "clients: use a Coordinator(n), or between peers ExactSum(graph) in its place"
        )
        raise NetworkError(f"{type(method).__name__} runs between {needs}")
    _check_oracle(problem, method)
    if isinstance(network, ExactSum):
        _check_relayed(network, method)
    method.check(problem, network)
    releases = [phase.release for phase in method.phases() if phase.release is not None]
    if not all(release.mechanism.bare for release in releases):
        check_closed_over(problem)
    short = next((p for p in method.on(network).phases() if rounds < p.rounds.least), None)
    if short is not None:
        raise ConfigError(
            f"rounds={rounds!r}: phase {short.name!r} of {type(method).__name__} is run in "
            f"{short.rounds.words}, for which there must be at least {short.rounds.least} here"
        )
    for hides in dict.fromkeys((*(phase.hides for phase in method.phases()), method.hides)):
        hides.check_run(method, network)


def _check_oracle(problem: Task, method: AbstractMethod) -> None:
    asked = {phase.query.oracle for phase in method.phases() if phase.query is not None}
    if Oracle.ROWS in asked and type(problem.objectives).rows is AbstractPrivate.rows:
        raise ProblemError(
            f"{type(method).__name__} asks of each record, and {type(problem.objectives).__name__} "
            "holds no table of records; give tables to problem.record_tables"
        )
    if asked - {Oracle.ROWS} and not isinstance(problem.objectives, AbstractObjective):
        raise ProblemError(
            f"{type(method).__name__} minimises, and {type(problem).__name__} have no loss; give a "
            "problem with one (problem.empirical_risk), or take a method that asks for statistics, "
            "such as PrivateCounts"
        )
    asked -= {Oracle.ROWS}
    if asked <= {Oracle.VALUE} or isinstance(problem.objectives, AbstractDifferentiable):
        return
    raise ProblemError(
        f"{type(method).__name__} asks for gradients, and {type(problem.objectives).__name__} "
        "gives values only. Use DZOA between peers, DZOAStar or ORZO with a coordinator, or write "
        "the cost in JAX and give it to tacit.problem.costs"
    )


def _check_relayed(network: ExactSum, method: AbstractMethod) -> None:
    """Refuse what peers cannot sum as the network requires."""
    name, phases = type(method).__name__, method.phases()
    to_server = [phase for phase in phases if phase.receiver is Role.SERVER]
    rare = any(not phase.rounds.every for phase in to_server)
    if network.window is not None and (rare or sum(phase.repeat for phase in to_server) != 1):
        raise NetworkError(
            f"{name} does not take one sum in each round, and window={network.window} phases on "
            "graphs that change make one; use a graph that stays the same"
        )


def stops(rounds: int, record: int | Sequence[int] | None) -> list[int]:
    """The rounds to measure after: every so often, these, or about 50; always the last one.

    Raises:
        ConfigError: an interval below 1, a round outside the run, or too many of them.
    """
    if record is None:
        record = max(1, rounds // 50)
    often = rounds // max(record, 1) if isinstance(record, int) else len(record)
    if often > _MOST_STOPS:
        raise ConfigError(
            f"record={record if isinstance(record, int) else often} measures {often:,} times in "
            f"{rounds:,} rounds; measure at most {_MOST_STOPS:,} times"
        )
    if isinstance(record, int):
        if record < 1:
            raise ConfigError(f"record={record!r} must be at least 1")
        chosen = range(record, rounds, record)
    else:
        chosen = sorted({int(stop) for stop in record if stop != rounds})
        if chosen and not 0 < chosen[0] <= chosen[-1] < rounds:
            raise ConfigError(f"record={list(record)!r} must lie between 1 and rounds={rounds}")
    return [*chosen, rounds]


def prepared(problem: Task, network: AbstractNetwork, method: AbstractMethod) -> AbstractMethod:
    """The method with what it chooses for itself, before a contract is made from it.

    That may look at the data, so a private method chooses nothing.
    """
    return method.prepare(problem, network) if method.privacy is None else method


def lay_out(
    contract: Contract,
    problem: Task,
    *,
    reference: Any = None,
    divergence: float = DIVERGENCE,
) -> tuple[Plan, Any]:
    """Lay a run out as arrays, in the current precision.

    Args:
        contract: contract of the run.
        problem: problem of that run, or of a neighbouring one.
        reference: centralised solution, shape `(p,)`, if distances are to be recorded.
        divergence: maximum movement of answers, in units of the largest coordinate of the start.

    Returns:
        The plan, and one key per trial.
    """
    method, network = contract.method, contract.network
    start = np.asarray(method.start(problem), dtype=float)
    # if nothing is minimised, an answer may be arbitrarily far from its start
    minimised = isinstance(problem.objectives, AbstractObjective)
    far = divergence * max(1.0, float(np.max(np.abs(start)))) if minimised else np.inf
    plan = Plan(
        objectives=as_arrays(problem.objectives),
        public=as_arrays(problem.public),
        network=as_arrays(network),
        method=as_arrays(method),
        scales=as_arrays(contract.scales),
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
    )
    trials = jnp.arange(contract.trials)
    return plan, jax.vmap(lambda trial: trial_key(contract.seed, trial))(trials)
