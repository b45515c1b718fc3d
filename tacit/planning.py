"""What a run would guarantee, release and cost, without running it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Float, Int

from tacit.layout import check_arguments, owners_of, release_table, stops, taken
from tacit.method import claim, promise
from tacit.method.phase import AbstractMethod
from tacit.network.base import AbstractNetwork
from tacit.privacy.event import Event
from tacit.privacy.guarantee import Guarantees
from tacit.problem.problem import Problem
from tacit.result import ReleaseRow
from tacit.runtime.keys import public_key


@dataclass(frozen=True)
class Account:
    """What a run would release, cost and promise. Knows declared constants only.

    Attributes:
        guarantee: of the whole run, owner by owner.
        owners: their names.
        releases: for every owner, the phases that release something, with the owner's own numbers.
        events: for every owner, everything that it releases, for `tacit.privacy.profile`.
        rounds: numbers of rounds, ascending from 0 to those of the whole run.
        epsilon: what every owner has spent after each of them, shape `(points, agents)`.
    """

    guarantee: Guarantees
    owners: tuple[str, ...]
    releases: tuple[tuple[ReleaseRow, ...], ...]
    events: tuple[tuple[Event, ...], ...]
    rounds: Int[np.ndarray, " points"]
    epsilon: Float[np.ndarray, "points agents"]


def account(
    problem: Problem,
    network: AbstractNetwork,
    method: AbstractMethod,
    *,
    rounds: int,
    seed: int = 0,
    trials: int = 1,
    record: int | Sequence[int] | None = None,
) -> Account:
    """What `run` with the same arguments guarantees, without running it.

    Args:
        problem: only its declared constants and record counts are read.
        network: who talks to whom.
        method: how; its noise is calibrated to its budget.
        rounds: how many, at least 1.
        seed: decides who takes part where the network draws that.
        trials: how many the run would repeat; one of them may be published.
        record: give the epsilon after these rounds, too; about 50 by default.

    Raises:
        ConfigError: an argument out of range.
        NetworkError: a network that does not fit the problem or the method.
        ProblemError: a problem that the method's assumptions exclude.
        PrivacyError: a budget that cannot be met.

    Example:
        >>> import numpy as np, tacit
        >>> from tacit import network, problem
        >>> from tacit.planning import account
        >>> x = [np.ones((100, 2))] * 3
        >>> task = problem.empirical_risk(x, [np.ones(100)] * 3, problem.Squared())
        >>> private = tacit.DPSG(step=1.0, privacy=tacit.Privacy(clip=1.0, epsilon=2.0))
        >>> planned = account(task, network.ring(3), private, rounds=50)
        >>> planned.guarantee.worst.status.value, round(planned.guarantee.worst.epsilon, 6)
        ('proved', 2.0)
    """
    check_arguments(problem, network, method, rounds, seed)
    with jax.enable_x64(True):
        shared = public_key(seed)
        owners = owners_of(problem, network, method, rounds, shared, trials)
        method = claim.calibrate(method, owners)
        at = np.array([0, *stops(rounds, record)])
        kinds, kind = owners.kinds(method)
        rows = [
            tuple(r for r in release_table(method, owners, c.agent) if r.released) for c in kinds
        ]
        stated = promise.guarantees(method, owners)
        spent = promise.spent(
            method, owners, [taken(method, network, int(stop), shared) for stop in at]
        )
        return Account(
            guarantee=stated,
            owners=owners.names,
            releases=tuple(rows[own] for own in kind),
            events=claim.events(method, owners),
            rounds=at,
            # a part never costs more than the whole, whatever the last bit says
            epsilon=np.minimum(spent, [each.epsilon for each in stated]),
        )
