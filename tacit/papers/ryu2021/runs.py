"""The runs of Ryu, Kim (2021): test error, noise and consensus violation along many rounds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from tacit import network, problem
from tacit._engine import batched
from tacit._engine.batched import OBSERVED, Observation, Simulator
from tacit._engine.checkpoint import load, save
from tacit._engine.compiled import lay_out
from tacit._engine.contract import contract
from tacit._engine.plan import Plan
from tacit._engine.step import ask
from tacit.errors import ConfigError
from tacit.method import DPIADMMProx, DPIADMMTrust, GrowingPenalty
from tacit.method._dp_iadmm_step import Penalty
from tacit.papers.ryu2021 import images
from tacit.papers.ryu2021.dp_iadmm import DPIADMMPrinted
from tacit.papers.ryu2021.images import Chosen, Images, Source
from tacit.papers.ryu2021.outp_as_coded import OutPAsCoded
from tacit.problem.problem import Problem
from tacit.problem.scores import scores
from tacit.types import Role

BETA = 1e-6
"""Strength of the penalty on squares."""

STEP_DELTA = 1e-6
"""Delta of the baseline's claim per iteration."""

MEASURED = ("error", "violation", "noise")

_CALL = 250
"""Rounds of one call, after which a run can be saved."""

_SAVE_SECONDS = 60.0

SCHEDULES = {"mnist": (2.0, 5.0, 10_000), "femnist": (0.005, 0.05, 2_000)}
"""`c1`, `c2` and `Tc` of the penalty; the digits are too few for a schedule of their own."""


def path(
    source: Source,
    digest: str,
    records: int,
    block: int,
    method: str,
    epsilon: float | None,
    rho: float | str,
    proximity: float,
    rounds: int,
    stops: Sequence[int],
    trials: int,
    seed: int,
    checkpoint: str | None = None,
) -> dict[str, Any]:
    """One method along its rounds.

    Args:
        source: source of the images.
        digest: digest of their files.
        records: number of training records; 0 for all.
        block: edge in pixels of the squares over which images are averaged; 1 for none.
        method: name of the method: "ObjT", "ObjT printed", "ObjP", "OutP" or "OutP noiseless".
        epsilon: epsilon claimed per iteration; `None` for a run without privacy.
        rho: penalty, a number or a multiple of the growing one: "1 hat", "0.01 hat".
        proximity: proximity `a`.
        rounds: number of rounds.
        stops: rounds after which to measure, ascending, the last one `rounds`.
        trials: number of repetitions.
        seed: seed of the noise.
        checkpoint: file to resume from and to save to about once per minute.

    Returns:
        At every stop a list over trials: `error` in percent, of the answer as printed (`w`);
        `violation`, the sum over agents of the l1 norms of
        `w - z_p`; `noise`, the mean magnitude of a coordinate of the noise drawn in that iteration.
        Also `reach`, the largest coordinate of a copy at the end.
    """
    read = images.read(Chosen(source, digest))
    read = (read.first(records) if records else read).coarse(block)
    # without privacy the penalty has no c2/epsilon, and the noise is taken out below
    built = build(method, epsilon or 1.0, penalty(rho, epsilon or math.inf, source), proximity)
    found = {name: np.zeros((len(stops), trials)) for name in MEASURED}
    # float32: the error is counted over test records, of which rounding decides none or one
    with jax.enable_x64(False):
        posed = task(read, own=isinstance(built, OutPAsCoded))
        hub = network.Coordinator(len(read.classes))
        agreed = contract(posed, hub, built, rounds=rounds, seed=seed, trials=trials)
        plan, roots = lay_out(agreed, posed)
        # the objective's value is not shown, and would cost as much as a round
        plan = replace(plan, watch=False)
        if epsilon is None or method == "OutP noiseless":
            # the steps of OutP depend on epsilon: only this gives them without its noise
            plan = replace(plan, scales=tuple(jnp.zeros_like(scale) for scale in plan.scales))
        states, done = batched.start(plan, roots), 0
        kept = None if checkpoint is None else Path(checkpoint)
        if kept is not None and (before := load(kept, kept.stem, (states, found))):
            done, (states, found) = before
        saved = time.monotonic()
        # the same bits however the rounds are divided
        for ahead in sorted({*range(_CALL, rounds, _CALL), *stops, *(stop - 1 for stop in stops)}):
            if ahead <= done:
                continue
            if ahead in stops:
                drawn = drawn_noise(plan, roots, states, jnp.asarray(done))
                found["noise"][list(stops).index(ahead)] = drawn
            states, _ = batched.advance(plan, roots, states, jnp.asarray([[done, ahead]]))
            done = ahead
            if done in stops:
                row = list(stops).index(done)
                for name, values in measured(read, plan.method.solution, states).items():
                    found[name][row] = values
            if kept is not None and time.monotonic() - saved > _SAVE_SECONDS:
                save(kept, kept.stem, done, (states, found))
                saved = time.monotonic()
        reach = float(jnp.abs(states[Role.CLIENT].z).max())
    return {name: values.tolist() for name, values in found.items()} | {"reach": reach}


def measured(read: Images, solution: Callable[..., Array], states: Any) -> dict[str, Any]:
    """The results of `path` for one stop, over trials."""
    clients = states[Role.CLIENT]
    return {
        "error": errors(read, np.asarray(jax.vmap(solution)(states[Role.SERVER]))),
        "violation": np.asarray(jnp.abs(clients.w - clients.z).sum(axis=(-2, -1))),
    }


@eqx.filter_jit
def drawn_noise(
    plan: Plan, roots: Key[Array, " trials"], states: Any, round: Int[Array, ""]
) -> Float[Array, " trials"]:
    """Mean over agents and coordinates of the magnitude of the noise that a round draws."""

    def gathered(before: Any, seen: Observation) -> Any:
        phase = seen.phase
        assert phase.release is not None
        mechanism = phase.release.mechanism

        def of_agent(agent: Any, state: Any, objective: Any, scale: Any, released: Any) -> Any:
            context, keys = seen.known(agent)
            answer = ask(phase, state, objective, context, keys, scale)
            return jnp.abs(released - mechanism.noise_in(answer, scale)[0]).mean()

        agents = jnp.arange(plan.agents)
        each = jax.vmap(of_agent)(agents, seen.states, plan.objectives, seen.scale, seen.released)
        return before + each.mean()

    def one(root: PRNGKeyArray, states: Any) -> Any:
        observed = {**states, OBSERVED: jnp.zeros(())}
        simulator = Simulator(plan, root, observe=gathered)
        return simulator.round(observed, round, once=False)[OBSERVED]

    return jax.vmap(one)(roots, states)


def build(method: str, epsilon: float, rho: Penalty, proximity: float) -> Any:
    """A method of the paper, as printed or as its authors coded it.

    Raises:
        ConfigError: unknown name.
    """
    if method == "ObjT":
        coded = DPIADMMTrust(penalty=rho, radius=proximity, trust_region="as_coded")
        return DPIADMMPrinted(coded, epsilon)
    if method == "ObjT printed":
        printed = DPIADMMTrust(penalty=rho, radius=proximity, trust_region="printed")
        return DPIADMMPrinted(printed, epsilon)
    if method == "ObjP":
        return DPIADMMPrinted(DPIADMMProx(penalty=rho, proximity=proximity), epsilon)
    if method in ("OutP", "OutP noiseless"):
        return OutPAsCoded(epsilon, STEP_DELTA, rho, proximity)
    raise ConfigError(f"method={method!r} is none of the paper's")


def penalty(rho: float | str, epsilon: float, source: str) -> Any:
    """A constant, or a multiple of the paper's growing penalty.

    Example:
        >>> penalty(10.0, 0.05, "mnist")
        10.0
        >>> round(float(penalty("0.01 hat", 0.05, "mnist")(0)), 9)
        1.02
    """
    if not isinstance(rho, str):
        return rho
    share = float(rho.removesuffix(" hat"))
    base, inverse, every = SCHEDULES.get(source, SCHEDULES["mnist"])
    return GrowingPenalty(epsilon, share * base, share * inverse, every)


def task(read: Images, *, own: bool = False) -> Problem:
    """Softmax regression on the mean loss of all records.

    Args:
        read: images to fit.
        own: whether every agent divides by the number of its own records instead, as in the
            authors' code of OutP.
    """
    return problem.empirical_risk(
        list(read.features),
        list(read.classes),
        problem.Softmax(read.kinds),
        regulariser=problem.L2(BETA),
        normaliser=None if own else float(read.records),
    )


def errors(read: Images, answers: np.ndarray) -> list[float]:
    """Share of misclassified test records, %, for every answer."""
    loss = problem.Softmax(read.kinds)
    return [
        100.0 * scores(loss, read.test_features, read.test_classes, answer)["error"]
        for answer in answers
    ]
