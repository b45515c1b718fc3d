"""Auditing a method against the guarantee of its own run."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import numpy as np

from tacit import checks as arguments
from tacit._engine import inputs
from tacit._engine.compiled import lay_out
from tacit._engine.contract import Contract, contract
from tacit._engine.mistakes import nothing_kept
from tacit._engine.plan import as_arrays
from tacit.arguments import checked
from tacit.audit.checks import Check
from tacit.audit.curve import claimed_trade_off, is_gaussian, measured_mu, trade_off
from tacit.audit.deployed import deployed_checks
from tacit.audit.estimators import lower_bounds, trials_to_reject
from tacit.audit.family import scaled
from tacit.audit.neighbours import check_owner, given
from tacit.audit.noise import simulated_checks
from tacit.audit.readings import Scores
from tacit.audit.result import Audit
from tacit.audit.runs import Runs
from tacit.audit.sequential import FEWEST, LOOKS, Pile, Progress, attack, learned, looks
from tacit.errors import ConfigError, NonPrivateRelease, PrivacyError
from tacit.method.phase import AbstractMethod
from tacit.method.worst_case import Neighbours
from tacit.network.base import AbstractNetwork
from tacit.privacy.guarantee import Guarantee, Scope, Status
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.task import Rows, Task
from tacit.types import Unit


@checked(ConfigError, own="problem network method rounds trials seed progress")
def audit_method(
    problem: Task,
    network: AbstractNetwork,
    method: AbstractMethod,
    *,
    rounds: int,
    owner: int = 0,
    neighbour: Task | None = None,
    trials: int = 20_000,
    seed: int | None = None,
    confidence: float = 0.95,
    stop: bool = True,
    assumptions: tuple[str, ...] = (),
    progress: Progress | None = None,
) -> Audit:
    """Run a method on neighbouring data, and try to refute its claim of privacy.

    The claim is the one that the guarantee of such a run states for the owner, at its delta; for a
    guarantee per release, it is what all releases of the run compose to. Where every
    release carries noise of a known law, each run is scored by the exact likelihood ratio of
    everything that the owner released; otherwise a score is learned from half of the runs and tried
    on the other half. With pairwise masks, the sums over the honest agents are scored.

    Args:
        problem: problem whose public parts and declared numbers are used; its data are used only
            with `neighbour`.
        network: network of the agents.
        method: method, calibrated as `tacit.run` would.
        rounds: number of rounds per run, at least 1.
        owner: index of the agent whose data change.
        neighbour: the problem with one record (or cost) of the owner changed, instead of the
            worst case that the method declares.
        trials: number of runs on each data set, at least `FEWEST`.
        seed: seed of all randomness, at least 0; drawn and recorded if `None`.
        confidence: probability, in (0.5, 1), with which a true claim is not refuted.
        stop: whether to stop as soon as the claim is refuted; `False` makes all the runs, for the
            largest lower bound.
        assumptions: assumptions of the claim beyond those that follow from the run, such as what a
            study makes public about its data.
        progress: function called with (runs done per side, all runs per side).

    Raises:
        NonPrivateRelease: the method makes no claim that could be audited.
        ConfigError: an argument out of range.
        NetworkError: a network that does not fit the problem or the method.
        ProblemError: no such owner, or a neighbouring problem that is not a neighbour.
        PrivacyError: a budget that cannot be met, or a method without worst-case neighbours.
    """
    problem, network, method = inputs.admitted(problem, network, method)
    shower = inputs.shower(progress)
    trials = arguments.whole("trials", trials, FEWEST, ConfigError)
    rounds, seed = arguments.whole("rounds", rounds, 1, ConfigError), inputs.seeded(seed)
    if not 0.5 < confidence < 1.0:
        raise ConfigError(f"confidence={confidence!r} must be in (0.5, 1), such as 0.95")
    check_owner(problem, owner)
    seed = secrets.randbits(31) if seed is None else seed
    inputs.check_arguments(problem, network, method, rounds, seed)
    agreed = contract(problem, network, method, rounds=rounds, seed=seed)
    claim: Guarantee = agreed.guarantee[owner]
    if claim.status is Status.NONE:
        raise NonPrivateRelease(
            f"{type(method).__name__} claims no privacy for {claim.owner}, so there is nothing to "
            "audit; give it a privacy budget"
        )
    claim = replace(claim, assumptions=(*claim.assumptions, *assumptions))
    alone = None
    if claim.total_epsilon is not None:  # what is attacked is all that the run releases
        alone = claim
        claim = replace(
            claim,
            status=Status.MODEL,
            scope=Scope.RUN,
            epsilon=claim.total_epsilon,
            total_epsilon=None,
        )
    neighbours = (
        method.worst_case(problem, owner)
        if neighbour is None
        else given(
            problem,
            neighbour,
            owner,
            None if claim.unit is Unit.AGENT else claim.records_per_person,
        )
    )
    with nothing_kept(method):
        checks, untested = _checks(agreed, problem, method, neighbours, claim)
        events = agreed.events[owner]
        runs = Runs(agreed, problem, neighbours)
        gaussian = is_gaussian(events)
        settings: dict[str, Any] = {
            "delta": claim.delta,
            "gaussian": gaussian,
            "curve": None if gaussian else scaled(events),
        }
        seen = attack(
            runs,
            _likelihoods if runs.exact else learned,
            claim=claim.epsilon,
            when=list(looks(trials)) if stop else [(trials, 1.0)],
            batch=runs.batch(trials, LOOKS[0][0]),
            confidence=confidence,
            settings=settings,
            progress=shower,
        )
    needed = trials_to_reject(
        seen.scores, seen.others, claim.epsilon / 2.0, confidence=confidence, **settings
    )
    perfect = np.ones(len(seen.scores)), np.zeros(len(seen.others))
    return Audit(
        claim=claim,
        bounds=seen.bounds,
        curve=trade_off(
            seen.scores,
            seen.others,
            claimed_trade_off(events, claim.epsilon, claim.delta),
            confidence=confidence,
        ),
        trials=seen.trials,
        confidence=confidence,
        # the score is learned from half of the runs
        trials_needed_for_twice=needed if runs.exact or needed is None else 2 * needed,
        ceiling=max(
            bound.epsilon for bound in lower_bounds(*perfect, confidence=confidence, **settings)
        ),
        how=neighbours.how,
        exact=runs.exact,
        rounds=rounds,
        seed=seed,
        alone=alone,
        checks=checks,
        untested=untested,
        mu=measured_mu(seen.scores, seen.others) if gaussian and runs.exact else None,
    )


def _checks(
    agreed: Contract,
    problem: Task,
    method: AbstractMethod,
    neighbours: Neighbours,
    claim: Guarantee,
) -> tuple[tuple[Check, ...], str]:
    """The results of tests of noise, samples, grids and masks, and why some were not made."""
    proved = claim.status is Status.PROVED
    with jax.enable_x64(True):
        plan, _ = lay_out(agreed, problem)
        if not isinstance(problem.objectives, EmpiricalRisk | Rows):  # a black box may take long
            there = as_arrays(neighbours.objectives)
            plan = eqx.tree_at(lambda p: p.objectives, plan, there)
        found = simulated_checks(plan, agreed.owners, problem.names, agreed.seed, proved=proved)
        shares = any(phase.hides.shares for phase in agreed.phases)
        if not (proved or shares):
            return tuple(found), "only proved methods run between sites"
        try:
            found += deployed_checks(problem, agreed.network, method, agreed.rounds, agreed.seed)
        except PrivacyError as error:
            return tuple(found), str(error)
    return tuple(found), ""


def _likelihoods(rows: Pile, others: Pile) -> tuple[Scores, Scores]:
    """Scores of runs that each give only their exact log-likelihood ratio."""
    return rows[:, 0], others[:, 0]
