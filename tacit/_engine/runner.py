"""`tacit.run`: one method on one problem over one network."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float

from tacit import checks
from tacit._engine import batched, inputs
from tacit._engine.checkpoint import check as check_checkpoint
from tacit._engine.checkpoint import stored_seed
from tacit._engine.compiled import lay_out
from tacit._engine.contract import Contract, contract
from tacit._engine.ends import ends, inwards
from tacit._engine.environment import edited, environment
from tacit._engine.identity import fingerprint, opaque
from tacit._engine.keys import rekeyed
from tacit._engine.ledger_entry import enter
from tacit._engine.loop import Progress
from tacit._engine.measures import DIVERGENCE, History, solutions
from tacit._engine.memory import check_trials, exhausted
from tacit._engine.metrics import Metric, check_size, named, value_of
from tacit._engine.mistakes import nothing_kept
from tacit._engine.plan import Plan
from tacit._engine.result import Result
from tacit._engine.shortened import shortened
from tacit._engine.simulate import simulate
from tacit._engine.traffic import bytes_sent
from tacit.arguments import checked
from tacit.errors import ConfigError, OracleError
from tacit.method._schedule import positive
from tacit.method.answer import Answer, Minimiser
from tacit.method.citation import papers_of
from tacit.method.phase import AbstractMethod
from tacit.method.stated import prepared
from tacit.network.base import AbstractNetwork
from tacit.privacy.ledger import Ledger
from tacit.problem.boxes import BlackBox, recount, tally
from tacit.problem.problem import Problem
from tacit.problem.repeated import checked_meanwhile
from tacit.problem.task import Task
from tacit.ranges import numeric

if TYPE_CHECKING:
    import networkx

    from tacit.problem.reference import Reference

_SEED_BITS = 63
"""Bits of a seed that is drawn. Keys of JAX's generator have 64: more would be no harder to find.

All 2^53 would take one core 4.5 years, at 64 million a second, and a GPU perhaps days.
"""

Told = TypeVar("Told")


@dataclass(frozen=True)
class Simulation:
    """Run all agents in this process, with seeded (simulated) noise.

    Attributes:
        trials: number of independent repetitions, batched; only the noise differs.
        exact: run agent by agent through bytes, as the bitwise reference, instead of batched.
        precision: floating-point type, "float64" (default) or "float32"; zeroth-order methods need
            float64.
        divergence: distance that a coordinate of an answer may move from its start, in units of the
            largest coordinate there (at least 1), before the run counts as diverged; positive.
            Raise it where parameters are really larger.

    Raises:
        ConfigError: an attribute out of range.
    """

    trials: int = 1
    exact: bool = False
    precision: Literal["float64", "float32"] = "float64"
    divergence: float = DIVERGENCE

    def __post_init__(self) -> None:
        object.__setattr__(self, "trials", checks.whole("trials", self.trials, 1, ConfigError))
        inputs.one_of("exact", self.exact, True, False)
        inputs.one_of("precision", self.precision, "float64", "float32")
        positive("divergence", self.divergence)


@checked(
    ConfigError,
    own="problem network method rounds seed runtime record reference require "
    "checkpoint ledger progress metrics keep",
)
def run(
    problem: Task,
    network: AbstractNetwork | networkx.Graph[Any],
    method: AbstractMethod,
    *,
    rounds: int,
    seed: int | None = None,
    runtime: Simulation | None = None,
    record: int | Sequence[int] | None = None,
    reference: Float[ArrayLike, " p"] | Reference | Literal["solve"] | None = None,
    require: Literal["proved"] | None = None,
    checkpoint: str | Path | None = None,
    ledger: Ledger | None = None,
    dataset: str = "",
    owner: str | None = None,
    progress: Progress | bool | None = None,
    metrics: Mapping[str, Metric] | None = None,
    keep: bool = False,
) -> Result:
    """Run a method on a problem over a network.

    The noise is calibrated to the method's budget before anything else happens, and a run that
    would exceed the budget does not start.

    Args:
        problem: problem that the agents solve together, or the records that they describe together.
        network: links and weights between the agents; or a NetworkX graph, whose nodes are the
            agents of the same names, or else the agents in sorted order.
        method: method to run.
        rounds: number of rounds, at least 1.
        seed: seed of the simulated randomness, at least 0. If `None`, that of the checkpoint, or
            drawn; the result has it.
        runtime: settings of the simulation; `Simulation()` by default.
        record: interval of rounds between measurements, or the rounds to measure after; about 50
            measurements by default.
        reference: centralised solution, to record distances to: a point, or what
            `problem.reference()` found for this problem; "solve" computes it.
        require: minimum status; "proved" refuses a method that cannot give a proved guarantee.
        checkpoint: file to save to every few seconds and to resume from if it exists.
        ledger: ledger charged with the whole run before it starts, or the run is refused. The noise
            depends on a secret of the ledger in addition to the seed, so that no two runs share
            any. A run with the same data, settings and seed repeats its bits and is charged once.
            Your own code (a loss, a method, a black box) cannot be compared, so with it every start
            draws fresh noise and is charged.
        dataset: name of the dataset whose budgets in the ledger are charged; required with a
            ledger.
        owner: owner whose account is charged for all agents together. By default each agent has its
            own account, which is right as long as no record ever moves to another agent. Where
            records are divided anew in every study, one record may be at any of them, and only an
            account of the whole dataset adds up its cost.
        progress: callback with (rounds done, rounds); `True` prints them to standard error.
        metrics: functions by name, each of all agents' answers in a trial, a NumPy array of shape
            `(agents, p)`, to a number: a column of the history. Simulation only, since tacit cannot
            see what else they read. They change nothing in the run.
        keep: whether the history keeps every agent's iterates at the recorded rounds, in
            `history.solutions`; with `record=k` every `k` rounds.

    Returns:
        The answers, the history and the guarantee. Divergence is a status there, not an exception.

    Raises:
        ConfigError: an argument out of range, or a metric that fails.
        NetworkError: a network that does not fit the problem or the method.
        ProblemError: a problem that the method's assumptions exclude, or a black box that answers
            differently twice and is not declared stochastic.
        PrivacyError: a budget that cannot be met, or a guarantee weaker than required.
        BudgetExceeded: the ledger has too little left for some owner to pay for the run.
        OracleError: a black box raised an exception or returned something that is not a finite
            number.
        RuntimeFailure: a checkpoint or ledger that cannot be written, a checkpoint of another run,
            or too little memory.

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
    problem, network, method = inputs.admitted(problem, network, method)
    rounds, seed = checks.whole("rounds", rounds, 1, ConfigError), inputs.seeded(seed)
    record, path = inputs.measured_after(record), inputs.stored_at(checkpoint)
    shower = inputs.shower(progress)
    runtime = Simulation() if runtime is None else runtime
    checks.instance("runtime", runtime, Simulation, "give tacit.Simulation(...)", ConfigError)
    inputs.one_of("require", require, None, "proved")
    inputs.one_of("keep", keep, True, False)
    functions = named(metrics)
    if ledger is not None:
        remedy = "open it: with Ledger.open(path) as ledger (tacit.privacy.ledger)"
        checks.instance("ledger", ledger, Ledger, remedy, ConfigError)
    elif dataset or owner is not None:
        name, value = ("dataset", dataset) if dataset else ("owner", owner)
        raise ConfigError(
            f"{name}={value!r} names an account in a ledger, and no ledger is given: nothing would "
            "be charged; give ledger=Ledger.open(path) (tacit.privacy.ledger), or leave it out"
        )
    inputs.check_arguments(
        problem, network, method, rounds, seed, runtime.trials, runtime.precision
    )
    if seed is None:
        seed = stored_seed(path)
    if seed is None:
        seed = secrets.randbits(_SEED_BITS)
    recorded = inputs.stops(rounds, record)
    began = time.monotonic()
    with (
        jax.enable_x64(runtime.precision == "float64"),
        exhausted(runtime.trials),
        checked_meanwhile(problem) as looked,
    ):
        point, stationary = _reference(problem, reference)
        method = prepared(method, problem, network)
        numbers = len(method.numbers(problem))
        check_trials(runtime.trials, problem.agents, numbers, runtime.precision)
        agreed = contract(problem, network, method, rounds=rounds, seed=seed, trials=runtime.trials)
        stated = agreed.guarantee
        if require is not None:
            stated.require(require)
        plan, roots = lay_out(
            agreed,
            problem,
            reference=point,
            divergence=runtime.divergence,
            keep=keep or bool(functions),
        )
        _try(plan, functions, len(recorded) + 1 if keep else 0, runtime.trials)
        identity = ""
        if checkpoint is not None or ledger is not None:
            identity = fingerprint(plan, roots, runtime.exact, recorded)
        # a checkpoint of a run with other noise belongs to another run
        own = identity if ledger is None else ledger.run_name(identity)
        own += f" {fingerprint(functions, keep)}" if functions or keep else ""
        if path is not None:
            check_checkpoint(path, own)
        looked(ledger is not None)
        charge = None
        if ledger is not None:
            # code that a user wrote or edited cannot be compared: every start is a run of its own
            start = secrets.token_hex(16) if opaque(plan) or edited() else ""
            entry = f"{identity} {start}"
            batched.trace(plan, roots)  # a mistake in the method is found before it costs anything
            charge = enter(ledger, dataset, owner, entry, agreed)
            roots = rekeyed(roots, ledger.noise_key(entry))
        recount(plan.objectives)
        found = simulate(
            plan,
            roots,
            rounds=rounds,
            record=recorded,
            exact=runtime.exact,
            identity=own,
            seed=seed,
            path=path,
            progress=shower,
            metrics=functions,
            keep=keep,
        )
        sent = bytes_sent(plan, rounds)[found.rounds]
        became = tally(plan.objectives)
    if len(became.silent) == problem.agents:
        raise OracleError(
            "every evaluation of every agent failed and was skipped, so that the answer would be "
            f"made of noise alone. The first: {next(iter(became.silent.values()))}"
        )
    answers = _answers(found.answers, agreed)
    found_one = found.diverged[0] < 0 and isinstance(answers[0], Minimiser)
    mean = found.answers[0].mean(axis=0)
    compared = ends(problem, mean) if found_one else None
    seen = tally(plan.objectives)  # with what was evaluated after the run
    history = History(
        rounds=found.rounds,
        measured=found.measured,
        evaluations=agreed.evaluations(found.rounds),
        bytes=sent,
        epsilon=agreed.spent(found.rounds),
        metrics=tuple(functions),
        solutions=found.kept,
        stationary=stationary,
    )
    return Result(
        solutions=found.answers,
        diverged=found.diverged,
        history=history,
        guarantee=stated,
        releases=agreed.table,
        reference=None if plan.reference is None else np.asarray(plan.reference),
        rounds=rounds,
        seed=seed,
        seconds=time.monotonic() - began,
        environment=environment(),
        parameter_names=agreed.numbers,
        charge=charge,
        answer=answers[0],
        answers=() if isinstance(answers[0], Minimiser) else answers,
        papers=papers_of(method),
        skipped=_named(problem, {i: n for i, n in enumerate(became.skipped.tolist()) if n}),
        failures=_named(problem, became.failure),
        lost=_named(problem, became.losses),
        constant=tuple(problem.names[agent] for agent in seen.constant),
        changed=_named(problem, seen.changed),
        ends=compared,
        inwards=inwards(problem, mean) if found_one else None,
        silent=_named(problem, became.silent),
        shortened=shortened(problem, agreed.method, found.answers[0]),
    )


def _answers(
    solutions: Float[np.ndarray, "trials agents p"], agreed: Contract
) -> tuple[Answer, ...]:
    """The answers of all trials, or that of the first if it is a minimiser."""
    first = agreed.method.answer(solutions[0].mean(axis=0), agreed)
    if isinstance(first, Minimiser):
        return (first,)
    return (first, *(agreed.method.answer(each.mean(axis=0), agreed) for each in solutions[1:]))


def _try(plan: Plan, metrics: Mapping[str, Metric], kept: int, trials: int) -> None:
    """Ask the metrics at the start, so that one that fails does so before anything is charged."""
    if not plan.keep:
        return
    with nothing_kept(plan.method):
        start = np.asarray(solutions(plan, plan.initial()))
    check_size(kept, trials, *start.shape)
    for name, metric in metrics.items():
        value_of(name, metric, start)


def _named(problem: Task, told: Mapping[int, Told]) -> dict[str, Told]:
    """What is told of agents, by their names."""
    return {problem.names[agent]: each for agent, each in told.items()}


def _reference(problem: Task, reference: Any) -> tuple[Any, bool]:
    """The reference, and whether it is only a stationary point."""
    if reference is None:
        return None, False
    if not isinstance(problem, Problem):
        raise ConfigError(
            f"reference={checks.shown(reference)}: {type(problem).__name__} have nothing to "
            "minimise, so there is no solution to compare with; leave it out"
        )
    from tacit.problem.reference import GapKind, Reference

    if isinstance(reference, str) and reference == "solve":
        reference = problem.reference()
    if isinstance(reference, str):
        raise ConfigError(f"reference={checks.shown(reference)} must be 'solve', or a point")
    given = reference if isinstance(reference, Reference) else None
    if given is not None:
        reference = given.solution
    if not numeric(reference):
        raise ConfigError(
            f"reference is {checks.shown(reference)}; give a point of {problem.dimension} numbers, "
            "what problem.reference() found, or 'solve'"
        )
    point = np.asarray(reference, dtype=float)
    if point.shape != (problem.dimension,):
        raise ConfigError(
            f"reference has shape {point.shape}; the problem has {problem.dimension} parameters"
        )
    if not np.isfinite(point).all():
        raise ConfigError("reference holds a number that is not finite")
    if given is None:
        return jnp.asarray(point), False
    if not isinstance(problem.objectives, BlackBox) and not given.of(problem):
        raise ConfigError(
            f"reference: the objective at its solution was {given.value:.6g}, and that of this "
            f"problem is {problem.value(point):.6g} there, so it is of another problem; write "
            "reference='solve', or give the point alone: reference.solution"
        )
    return jnp.asarray(point), given.gap_kind is GapKind.NONE
