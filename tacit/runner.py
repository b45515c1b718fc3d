"""`tacit.run`: one method on one problem over one network."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float

from tacit.errors import ConfigError, NetworkError
from tacit.method import claim, promise
from tacit.method.claim import Owners
from tacit.method.phase import AbstractMethod
from tacit.metrics import History, solutions
from tacit.network.base import AbstractNetwork
from tacit.problem.problem import Problem
from tacit.result import ReleaseRow, Result
from tacit.runtime import simulation
from tacit.runtime.checkpoint import fingerprint
from tacit.runtime.drive import Engine, Progress, drive
from tacit.runtime.environment import environment
from tacit.runtime.exact import ExactEngine
from tacit.runtime.keys import public_key, trial_key
from tacit.runtime.plan import Plan, as_arrays
from tacit.runtime.traffic import bytes_sent
from tacit.types import AbstractDifferentiable, Oracle, Role


@dataclass(frozen=True)
class Simulation:
    """Run all agents in this process, with seeded (simulated) noise.

    Attributes:
        trials: independent repetitions, batched; only the noise differs.
        exact: agent by agent through bytes, the bitwise reference, instead of batched.
        precision: "float64" (default) or "float32"; zeroth-order methods need float64.
    """

    trials: int = 1
    exact: bool = False
    precision: Literal["float64", "float32"] = "float64"


def run(
    problem: Problem,
    network: AbstractNetwork,
    method: AbstractMethod,
    *,
    rounds: int,
    seed: int | None = None,
    runtime: Simulation | None = None,
    record: int | Sequence[int] | None = None,
    reference: Float[ArrayLike, " p"] | Literal["solve"] | None = None,
    require: Literal["proved"] | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
) -> Result:
    """Run a method.

    The noise is calibrated to the method's budget before anything happens, and a run that would
    exceed it does not begin.

    Args:
        problem: what the agents minimise together.
        network: who talks to whom.
        method: how.
        rounds: how many, at least 1.
        seed: of the simulated randomness, at least 0; drawn and recorded if `None`.
        runtime: how to simulate; `Simulation()` by default.
        record: measure after every so many rounds, or after these; about 50 times by default.
        reference: the centralised solution, to record distances to; "solve" computes it.
        require: "proved" refuses a method that cannot give a proved guarantee.
        checkpoint: file to save to every few seconds and to resume from if it exists.
        progress: called with (rounds done, rounds).

    Returns:
        The answers, the history and the guarantee. Divergence is a status there, not an exception.

    Raises:
        ConfigError: an argument out of range.
        NetworkError: a network that does not fit the problem or the method.
        ProblemError: a problem that the method's assumptions exclude.
        PrivacyError: a budget that cannot be met, or a guarantee weaker than required.
        OracleError: a black box raised or returned something that is not a finite number.
        RuntimeFailure: a checkpoint that cannot be written or belongs to another run.

    Example:
        >>> import numpy as np, tacit
        >>> from tacit import network, problem
        >>> rng = np.random.default_rng(0)
        >>> features = [rng.normal(size=(50, 3)) for _ in range(4)]
        >>> targets = [x @ [1.0, -2.0, 0.5] for x in features]
        >>> task = problem.empirical_risk(features, targets, problem.Squared())
        >>> result = tacit.run(task, network.ring(4), tacit.DGD(step=0.1), rounds=200, seed=0)
        >>> result.solution.round(3)
        array([ 1. , -2. ,  0.5])
    """
    runtime = Simulation() if runtime is None else runtime
    _check_arguments(problem, network, method, rounds, seed, runtime)
    if method.privacy is None:
        # what a method chooses for itself may look at the data, so a private one chooses nothing
        method = method.prepare(problem, network)
    seed = secrets.randbits(31) if seed is None else seed
    stops = _stops(rounds, record)
    began = time.monotonic()
    with jax.enable_x64(runtime.precision == "float64"):
        plan, roots, owners = lay_out(
            problem, network, method, rounds, seed, runtime.trials, _reference(problem, reference)
        )
        method = plan.method
        stated = promise.guarantees(method, owners)
        if require is not None:
            stated.require(require)
        engine: Engine = ExactEngine(plan, roots) if runtime.exact else _Batched(plan, roots)
        engine = _Watched(engine, problem)
        path = None if checkpoint is None else Path(checkpoint)
        identity = "" if path is None else fingerprint(plan, roots, runtime.exact, stops)
        trace = drive(
            engine, rounds=rounds, record=stops, identity=identity, path=path, progress=progress
        )
        answers = np.asarray(_solutions(plan, trace.states))
        taken = [network.participations(int(stop), plan.shared) for stop in trace.rounds]
        history = History(
            rounds=trace.rounds,
            measured=dict(trace.measured),
            evaluations=_evaluations(method, owners, problem.dimension, taken),
            bytes=bytes_sent(plan, rounds)[trace.rounds],
            epsilon=promise.spent(method, owners, taken),
        )
    return Result(
        solutions=answers,
        diverged=trace.diverged,
        history=history,
        guarantee=stated,
        releases=_releases(method, owners),
        reference=None if plan.reference is None else np.asarray(plan.reference),
        rounds=rounds,
        seed=seed,
        seconds=time.monotonic() - began,
        environment=environment(),
        parameter_names=tuple(problem.parameter_names),
    )


def lay_out(
    problem: Problem,
    network: AbstractNetwork,
    method: AbstractMethod,
    rounds: int,
    seed: int,
    trials: int = 1,
    reference: Any = None,
) -> tuple[Plan, Any, Owners]:
    """Calibrate the noise and lay a run out as arrays, in the current precision.

    Returns:
        The plan, one key a trial, and the owners' declared constants.
    """
    roots = jax.vmap(lambda trial: trial_key(seed, trial))(jnp.arange(trials))
    shared = public_key(seed)
    taken = network.participations(rounds, shared)
    if claim.Releases(method).sites > 1:
        # a person's records may stand at the most active sites
        taken = np.full_like(taken, taken.max())
    owners = Owners.of(problem, network, rounds, taken, trials)
    calibrated = claim.calibrate(method, owners)
    plan = Plan(
        objectives=as_arrays(problem.objectives),
        public=as_arrays(problem.public),
        network=as_arrays(network),
        method=as_arrays(calibrated),
        scales=as_arrays(claim.scales(calibrated, owners)),
        x0=jnp.asarray(np.asarray(problem.x0, dtype=float)),
        degrees=jnp.asarray(network.degrees),
        rounds=jnp.asarray(rounds),
        reference=reference,
        shared=shared,
        watch=isinstance(problem.objectives, AbstractDifferentiable),
    )
    return plan, roots, owners


class _Batched:
    """The batched simulation as an engine."""

    def __init__(self, plan: Plan, roots: Any) -> None:
        self.plan, self.roots = plan, roots

    def start(self) -> Any:
        return simulation.start(self.plan, self.roots)

    def advance(self, states: Any, bounds: Any) -> Any:
        states, measured = simulation.advance(self.plan, self.roots, states, jnp.asarray(bounds))
        return states, {name: np.asarray(value) for name, value in measured.items()}


class _Watched:
    """An engine that reports a black box's exception as soon as a call returns."""

    def __init__(self, engine: Engine, problem: Problem) -> None:
        self.engine = engine
        self.raise_pending: Callable[[], None] = getattr(
            problem.objectives, "raise_pending", lambda: None
        )

    def start(self) -> Any:
        return self.engine.start()

    def advance(self, states: Any, bounds: Any) -> Any:
        after = self.engine.advance(states, bounds)
        jax.block_until_ready(after)
        self.raise_pending()
        return after


def _check_arguments(
    problem: Problem,
    network: AbstractNetwork,
    method: AbstractMethod,
    rounds: int,
    seed: int | None,
    runtime: Simulation,
) -> None:
    if rounds < 1:
        raise ConfigError(f"rounds={rounds!r} must be at least 1")
    if runtime.trials < 1:
        raise ConfigError(f"trials={runtime.trials!r} must be at least 1")
    if seed is not None and not 0 <= seed < 2**63:
        raise ConfigError(f"seed={seed!r} must be at least 0 and below 2**63")
    if runtime.precision == "float32" and method.oracle is Oracle.VALUE:
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
        needs = "peers: use a graph such as ring(n)" if Role.PEER in roles else "a Coordinator(n)"
        raise NetworkError(f"{type(method).__name__} runs between {needs}")
    method.check(problem, network)


def _stops(rounds: int, record: int | Sequence[int] | None) -> list[int]:
    if record is None:
        record = max(1, rounds // 50)
    if isinstance(record, int):
        if record < 1:
            raise ConfigError(f"record={record!r} must be at least 1")
        chosen = range(record, rounds, record)
    else:
        chosen = sorted({int(stop) for stop in record if stop != rounds})
        if chosen and not 0 < chosen[0] <= chosen[-1] < rounds:
            raise ConfigError(f"record={list(record)!r} must lie between 1 and rounds={rounds}")
    return [*chosen, rounds]


def _reference(problem: Problem, reference: Any) -> Any:
    if reference is None:
        return None
    if isinstance(reference, str):
        return jnp.asarray(problem.reference().solution)
    point = np.asarray(reference, dtype=float)
    if point.shape != (problem.dimension,):
        raise ConfigError(
            f"reference has shape {point.shape}; the problem has {problem.dimension} parameters"
        )
    return jnp.asarray(point)


@eqx.filter_jit
def _solutions(plan: Plan, states: Any) -> Any:
    return jax.vmap(lambda one: solutions(plan, one))(states)


def _evaluations(method: AbstractMethod, owners: Owners, dimension: int, taken: Any) -> Any:
    """Oracle calls of all agents: points asked times units, in every round taken part in."""
    counts = np.array([public.count for public in owners.contexts])
    each, before = 0, 0
    for phase in claim.Releases(method):
        assert phase.query is not None
        points = phase.repeat * phase.query.evaluations(dimension)
        each, before = (each, before + points) if phase.once else (each + points, before)
    return np.array(
        [int((np.asarray(t) * counts).sum()) * each + before * int(counts.sum()) for t in taken]
    )


def _releases(method: AbstractMethod, owners: Owners) -> tuple[ReleaseRow, ...]:
    rows: list[ReleaseRow] = []
    for phase, scales in zip(method.phases(), claim.scales(method, owners), strict=True):
        released = mechanism = ""
        sensitivity, times = 0.0, 0
        if phase.release is not None and phase.query is not None:
            released = phase.release.name
            mechanism = type(phase.release.mechanism).__name__
            relation = phase.release.relation
            query = phase.query
            sensitivity = max(query.sensitivity(c, relation) for c in owners.kinds(method)[0])
            most = max(c.participations for c in owners.contexts)
            times = phase.repeat * (1 if phase.once else most)
        rows.append(
            ReleaseRow(
                phase=phase.name,
                sender=phase.sender.value,
                receiver="" if phase.receiver is None else phase.receiver.value,
                released=released,
                mechanism=mechanism,
                sensitivity=sensitivity,
                noise_scale=float(np.max(scales)),
                times=times,
            )
        )
    return tuple(rows)
