"""What a run would guarantee, release and cost, without running it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from tacit import checks
from tacit._engine import charging, inputs
from tacit._engine.calibrate import calibrate
from tacit._engine.contract import Contract, owners_of
from tacit._engine.contract import contract as computed
from tacit._engine.result import ReleaseRow
from tacit._engine.run_guarantee import guarantees
from tacit.arguments import checked, remedy
from tacit.errors import ConfigError, TacitError, UnsupportedEvent
from tacit.method.phase import AbstractMethod
from tacit.method.releases import Releases
from tacit.network.base import AbstractNetwork
from tacit.privacy.accounting import epsilon
from tacit.privacy.adjacency import at_distance
from tacit.privacy.event import Event
from tacit.privacy.guarantee import Status
from tacit.privacy.guarantees import Guarantees
from tacit.privacy.plan import Spent, Stated, at_other_deltas
from tacit.problem.task import Task
from tacit.ranges import Count
from tacit.types import Relation


@dataclass(frozen=True)
class Account:
    """What a run would release, cost and guarantee. Uses declared constants only.

    Attributes:
        guarantee: guarantee of the whole run, owner by owner.
        owners: names of the owners.
        releases: one table per owner, in the order of `owners`: a row for each phase that releases
            something, with the owner's own numbers. `Result.releases` is one table for all owners.
        events: events of each owner's releases, for `tacit.privacy.profile`.
        rounds: numbers of rounds, ascending from 0 to the whole run's.
        epsilon: epsilon spent by every owner after each of them, shape `(points, agents)`.
    """

    guarantee: Guarantees
    owners: tuple[str, ...]
    releases: tuple[tuple[ReleaseRow, ...], ...]
    events: tuple[tuple[Event, ...], ...]
    rounds: Int[np.ndarray, " points"]
    epsilon: Float[np.ndarray, "points agents"]

    def __repr__(self) -> str:
        rounds = int(self.rounds[-1])
        return f"<Account of {len(self.owners)} owners, {rounds} rounds: {self.guarantee.brief()}>"

    @property
    def weakest(self) -> int:
        """The number of the owner with the weakest guarantee."""
        return next(i for i, each in enumerate(self.guarantee) if each is self.guarantee.worst)

    @checked(ConfigError)
    def curve(self, points: Count = 6) -> tuple[Spent, ...]:
        """Epsilon spent by the owner that spends most, as the rounds progress.

        Args:
            points: maximum number of points, including the first and the last; at least 1.

        Raises:
            ConfigError: another number.
        """
        shown = np.unique(np.linspace(1, len(self.rounds) - 1, points).round().astype(int))
        return tuple(Spent(int(self.rounds[i]), float(self.epsilon[i].max())) for i in shown)

    def at_deltas(self) -> tuple[Stated, ...]:
        """The weakest guarantee stated at several deltas; all of them hold at once.

        Returns:
            Statements from the largest delta to the smallest; empty if that owner is not protected.
        """
        worst = self.guarantee.worst
        if worst.status is Status.NONE:
            return ()
        return at_other_deltas(self.events[self.weakest], worst.delta)

    def replacing(self) -> Stated | None:
        """What replacing a record costs where the guarantee is about one that is there or not.

        Replacing is removing one and adding another, two steps of that adjacency. This is what
        replace-one adjacency would state, and with it the price of a private number of records.

        Returns:
            The epsilon of the weakest guarantee at its delta, for two records or two people in the
            place of one; `None` under another adjacency, or where no rule for it is proved.
        """
        worst = self.guarantee.worst
        if worst.status is Status.NONE or worst.relation is not Relation.ADD_REMOVE:
            return None
        try:
            apart = [at_distance(event, 2.0) for event in self.events[self.weakest]]
        except UnsupportedEvent:
            return None
        return Stated(worst.delta, epsilon(apart, worst.delta))


@checked(ConfigError, own="problem network method rounds seed trials")
def contract(
    problem: Task,
    network: AbstractNetwork,
    method: AbstractMethod,
    *,
    rounds: int,
    seed: int = 0,
    trials: int = 1,
) -> Contract:
    """What `run` with the same arguments agrees on beforehand: noise, guarantee, releases.

    Args:
        problem: problem; only its declared constants and record counts are read.
        network: links and weights between the agents.
        method: method; its noise is calibrated to its budget.
        rounds: number of rounds, at least 1.
        seed: seed that decides who takes part if the network draws that.
        trials: number of trials that the run would repeat; one of them may be published.

    Raises:
        ConfigError: an argument out of range.
        NetworkError: a network that does not fit the problem or the method.
        ProblemError: a problem that the method's assumptions exclude.
        PrivacyError: a budget that cannot be met.
    """
    problem, network, method = inputs.admitted(problem, network, method)
    rounds, seed = checks.whole("rounds", rounds, 1, ConfigError), inputs.seeded(seed) or 0
    trials = checks.whole("trials", trials, 1, ConfigError)
    inputs.check_arguments(problem, network, method, rounds, seed)
    return computed(problem, network, method, rounds=rounds, seed=seed, trials=trials)


@checked(ConfigError, own="problem network method rounds seed trials record")
def account(
    problem: Task,
    network: AbstractNetwork,
    method: AbstractMethod,
    *,
    rounds: int,
    seed: int = 0,
    trials: int = 1,
    record: int | Sequence[int] | None = None,
) -> Account:
    """The guarantee, releases and costs of `run` with the same arguments, without running it.

    Args:
        problem: problem; only its declared constants and record counts are read.
        network: links and weights between the agents.
        method: method; its noise is calibrated to its budget.
        rounds: number of rounds, at least 1.
        seed: seed that decides who takes part if the network draws that.
        trials: number of trials that the run would repeat; one of them may be published.
        record: rounds after which epsilon is also reported; about 50 by default.

    Raises:
        ConfigError: an argument out of range.
        NetworkError: a network that does not fit the problem or the method.
        ProblemError: a problem that the method's assumptions exclude.
        PrivacyError: a budget that cannot be met.

    Example:
        >>> import numpy as np, tacit
        >>> from tacit import network, problem
        >>> x = [np.ones((100, 2))] * 3
        >>> task = problem.empirical_risk(x, [np.ones(100)] * 3, problem.Squared())
        >>> private = tacit.DPSG(step=1.0, privacy=tacit.Privacy(clip=1.0, epsilon=2.0))
        >>> planned = tacit.account(task, network.ring(3), private, rounds=50)
        >>> planned.guarantee.worst.status.value, round(planned.guarantee.worst.epsilon, 6)
        ('proved', 2.0)
        >>> first_owner = planned.releases[0]
        >>> [(row.phase, row.times) for row in first_owner]
        [('iterate', 50)]
    """
    record = inputs.measured_after(record)
    agreed = contract(problem, network, method, rounds=rounds, seed=seed, trials=trials)
    return account_of(agreed, record)


def account_of(agreed: Contract, record: int | Sequence[int] | None = None) -> Account:
    """What a run guarantees according to its contract.

    Args:
        agreed: contract, made with `tacit._engine.contract.contract`.
        record: rounds after which epsilon is also reported; about 50 by default.
    """
    at = np.array([0, *inputs.stops(agreed.rounds, record)])
    rows = [agreed.table_of(public.agent) for public in agreed.kinds.contexts]
    return Account(
        guarantee=agreed.guarantee,
        owners=agreed.owners.names,
        releases=tuple(rows[own] for own in agreed.kinds.of),
        events=agreed.events,
        rounds=at,
        # a part never costs more than the whole, regardless of the last bit
        epsilon=np.minimum(agreed.spent(at), [each.epsilon for each in agreed.guarantee]),
    )


@remedy("give the result of tacit.mean_noise(...)")
@dataclass(frozen=True)
class MeanNoise:
    """Noise in the mean of all agents' answers in a round, for each way to keep the same budget.

    Standard deviations of one coordinate, with all agents taking part.

    Attributes:
        agents: `K`, number of answers in the mean.
        cohort: minimum number of agents in a masked sum, at most `K`.
        attempts: number of sums that the masked noise is made for, including those given up.
        local: noise with every agent hidden by its own noise alone.
        masked: noise with masks, against a coalition of 0, 1, ..., `cohort - 1` agents.
        central: a single noise for all, as a trusted curator would add.
        coalition: coalition that the method's masks declare; `None` for a method without masks.
    """

    agents: int
    cohort: int
    attempts: int
    local: float
    masked: tuple[float, ...]
    central: float
    coalition: int | None

    @property
    def bare(self) -> bool:
        """Whether the number corrupted may leave an honest agent with its own noise alone."""
        return self.coalition == self.cohort - 1

    def gain(self, coalition: int) -> float:
        """Factor by which masks make the noise smaller than `local`."""
        return self.local / self.masked[coalition]

    def saves(self, coalition: int) -> bool:
        """Whether masks against a coalition of this size reduce the noise, beyond rounding."""
        return self.gain(coalition) > 1.0 + 1e-9

    @property
    def warning(self) -> str:
        """Why the masks that a method declares save nothing; empty if they do, or if there are
        none.
        """
        if self.coalition is None:
            return ""
        if self.bare:
            larger = ", or raise min_cohort" if self.cohort < self.agents else ""
            return (
                f"WARNING: coalition = {self.coalition} in sums of at least {self.cohort} agents "
                "equals local noise: one honest agent is hidden by its own noise alone. Assume "
                f"fewer corrupted agents{larger}."
            )
        if not self.saves(self.coalition):
            return (
                "WARNING: local noise would be no larger than the noise under these masks, which "
                "make all agents add as much as the one that needs most, in "
                f"{self.attempts:,} sums. Assume fewer corrupted agents, or leave masks out."
            )
        return ""


@checked(ConfigError, own="problem network method rounds seed")
def mean_noise(
    problem: Task,
    network: AbstractNetwork,
    method: AbstractMethod,
    *,
    rounds: int,
    seed: int = 0,
) -> MeanNoise | None:
    """What masks save, or would save, in a run with the given arguments.

    With noise of scale `s` in an agent's answer the mean of `K` has `s / sqrt(K)`. Masks leave a
    sum of at least `K'` agents with the noise of `K' - c` honest ones, so that `s / sqrt(K' - c)`
    is enough, with `s` of the agent that needs most; one noise for all is `s / K`.

    Args:
        problem: problem; only its declared constants and record counts are read.
        network: links and weights between the agents.
        method: method, with or without masks.
        rounds: number of rounds, at least 1.
        seed: seed that decides who takes part if the network draws that.

    Returns:
        Standard deviations; `None` if masks cannot be used: no noise, or what `check_arguments`
        refuses (agents that come and go without `min_cohort`, a method that is not a sum at a
        public iterate).

    Raises:
        PrivacyError: a budget that cannot be met.

    Example:
        >>> import numpy as np, tacit
        >>> from tacit import network, problem
        >>> x = [np.ones((100, 2))] * 10
        >>> task = problem.empirical_risk(x, [np.ones(100)] * 10, problem.Squared())
        >>> private = tacit.GradientDescent(step=1.0, privacy=tacit.Privacy(clip=1.0, epsilon=2.0))
        >>> found = tacit.mean_noise(task, network.Coordinator(10), private, rounds=50)
        >>> variance = np.array([found.local, found.masked[1], found.central]) ** 2
        >>> (variance / found.central**2).round(3).tolist()
        [10.0, 1.111, 1.0]
    """
    problem, network, method = inputs.admitted(problem, network, method)
    rounds, seed = checks.whole("rounds", rounds, 1, ConfigError), inputs.seeded(seed) or 0
    privacy = method.privacy
    if privacy is None:
        return None
    hides = privacy.hides
    try:
        masked = replace(method, privacy=privacy.in_sums())
        inputs.check_arguments(problem, network, masked, rounds, seed)
    except TacitError:
        return None
    phase = next((index for index, each in enumerate(masked.phases()) if each.hides.summed), None)
    if phase is None:
        return None
    with jax.enable_x64(True):
        plain = replace(method, privacy=privacy.alone())
        alone = owners_of(problem, network, Releases(plain), rounds, seed)
        summed = owners_of(problem, network, Releases(masked), rounds, seed)
        if privacy.epsilon is None:
            owners = summed if hides.summed else alone
            calibrated = calibrate(Releases(method), owners)
            promised = guarantees(calibrated, owners, owners.kinds(calibrated))
            plain = _changed(
                plain, epsilon=np.array([each.epsilon for each in promised]), noise_multiplier=None
            )
        agreed = computed(problem, network, plain, rounds=rounds, seed=seed)
        private = calibrate(Releases(plain), summed)
        needed = charging.scales(private, summed.kinds(private))[phase]
        local = float(agreed.spread(phase))
    largest, agents = float(np.max(needed)), problem.agents
    cohort = masked.hides.cohort(agents)
    if not largest > 0.0:
        return None
    return MeanNoise(
        agents=agents,
        cohort=cohort,
        attempts=max(context.participations for context in summed.contexts),
        local=local,
        masked=tuple((largest / np.sqrt(agents * (cohort - np.arange(cohort)))).tolist()),
        central=float(np.max(agreed.scales[phase])) / agents,
        coalition=hides.coalition if hides.summed else None,
    )


def _changed(method: AbstractMethod, **values: Any) -> AbstractMethod:
    """The method with other values for some attributes of its budget."""
    assert method.privacy is not None
    budget = {each.name: getattr(method.privacy, each.name) for each in fields(method.privacy)}
    return replace(method, privacy=type(method.privacy)(**(budget | values)))
