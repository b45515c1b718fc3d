"""Attacks on a method's privacy claim."""

from __future__ import annotations

from tacit.arguments import checked
from tacit.audit.method import audit_method
from tacit.audit.result import Audit
from tacit.errors import ConfigError
from tacit.method.phase import AbstractMethod
from tacit.network.base import AbstractNetwork
from tacit.problem.problem import Problem
from tacit.testing.hold import hold


@checked(ConfigError, own="problem network method rounds owner trials seed neighbour")
def check_claim(
    problem: Problem,
    network: AbstractNetwork,
    method: AbstractMethod,
    *,
    rounds: int = 6,
    owner: int = 0,
    neighbour: Problem | None = None,
    trials: int = 2_000,
    seed: int = 0,
) -> Audit:
    """Attack the privacy claim of a method, as `tacit.audit_method` does; fail if it is refuted.

    A true claim is refuted in one audit in twenty, by its confidence of 95 %. The seed is fixed, so
    a test that passes keeps passing until the code changes.

    Args:
        problem: problem whose public parts and declared numbers are used; its data only with
            `neighbour`.
        network: network between the agents.
        method: method under test.
        rounds: number of rounds per run, at least 1.
        owner: number of the agent whose data change.
        neighbour: problem with one record (or cost) of the owner changed, instead of the worst
            case that the method declares.
        trials: number of runs on each data set; more find smaller leaks.
        seed: seed of all randomness, at least 0.

    Returns:
        Audit, with the largest lower bound that was found.

    Raises:
        AssertionError: the claim is refuted.
        NonPrivateRelease: the method claims nothing.
        TacitError: as raised by `tacit.audit_method`.
    """
    found = audit_method(
        problem,
        network,
        method,
        rounds=rounds,
        owner=owner,
        neighbour=neighbour,
        trials=trials,
        seed=seed,
    )
    hold(not found.refuted, found.guarantee.sentence())
    return found
