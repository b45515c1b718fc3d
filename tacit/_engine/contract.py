"""The terms of a run, computed once before it starts, from declared constants alone.

A contract says what every owner releases, with how much noise, and what that guarantees. All code
that runs, accounts, audits or advises uses one, so all of it refers to the same noise. It
lives on the host, in double precision whatever the run's, and is never part of compiled code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import Any, TypeVar

import jax
import numpy as np
from jaxtyping import Float, Int

from tacit._engine import charging
from tacit._engine.calibrate import calibrate
from tacit._engine.charging import Kinds, Owners
from tacit._engine.foreign import assumptions
from tacit._engine.keys import public_key
from tacit._engine.places import check_place, check_stops
from tacit._engine.result import ReleaseRow
from tacit._engine.run_guarantee import guarantees, spent
from tacit._engine.spread import spread_of
from tacit.errors import ConfigError, PrivacyError
from tacit.method.phase import AbstractMethod, Phase
from tacit.method.releases import Releases
from tacit.method.stated import placed
from tacit.network.base import AbstractNetwork
from tacit.privacy.event import Event
from tacit.privacy.guarantees import Guarantees
from tacit.privacy.noise import GridRelease, on_grid
from tacit.privacy.noise.pairs import PairRelease, pair_releases
from tacit.privacy.noise.sums import SumRelease, sum_releases
from tacit.privacy.query import Sums, sensitivity_of
from tacit.problem.task import Task
from tacit.types import Relation

Value = TypeVar("Value")

Stops = Sequence[int] | Int[np.ndarray, " rows"]
"""Numbers of rounds, ascending."""


def _exact(compute: Callable[..., Value]) -> Callable[..., Value]:
    """Compute in double precision."""

    @wraps(compute)
    def computed(*arguments: Any, **named: Any) -> Value:
        with jax.enable_x64(True):
            return compute(*arguments, **named)

    return computed


def _lazy(compute: Callable[[Any], Value]) -> cached_property[Value]:
    """Compute in double precision, on first access, and once."""
    return cached_property(_exact(compute))


@dataclass(frozen=True, eq=False)
class Contract:
    """The terms of a run. Make one with `contract`.

    Attributes:
        releases: releases of the method on the network, with its noise calibrated.
        owners: declared constants of the owners.
        network: links and weights between the agents.
        rounds: number of rounds.
        seed: seed that decides who takes part if the network draws that.
        trials: number of repetitions in a simulation; one of them may be published.
        most_records: declared upper bounds on the agents' numbers of records, where these are
            private.
        numbers: names of the entries of an answer.
    """

    releases: Releases
    owners: Owners
    network: AbstractNetwork
    rounds: int
    seed: int
    trials: int = 1
    most_records: tuple[int, ...] | None = None
    numbers: tuple[str, ...] = ()

    def __repr__(self) -> str:
        name, agents = type(self.method).__name__, self.network.agents
        return f"<Contract of {name} between {agents} agents, {self.rounds} rounds>"

    @property
    def method(self) -> AbstractMethod:
        """The method on the network, with its noise calibrated."""
        return self.releases.method

    @property
    def grid(self) -> bool:
        """Whether noise is drawn on a grid, as in every production release."""
        return self.releases.grid

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The table of phases; a release is identified by its position there."""
        return self.releases.phases

    @_lazy
    def kinds(self) -> Kinds:
        """The owners, grouped by what they release."""
        return self.owners.kinds(self.releases)

    @_lazy
    def scales(self) -> tuple[Float[np.ndarray, "*_shape"], ...]:
        """Noise scale of every phase: shape `(agents,)`, or `(rounds, agents)` if it varies."""
        return charging.scales(self.releases, self.kinds)

    @_lazy
    def events(self) -> tuple[tuple[Event, ...], ...]:
        """Everything that each owner is charged for."""
        return charging.events(self.releases, self.kinds)

    @_lazy
    def guarantee(self) -> Guarantees:
        """The guarantee of the whole run, owner by owner."""
        return guarantees(self.releases, self.owners, self.kinds)

    @_lazy
    def table(self) -> tuple[ReleaseRow, ...]:
        """The table of releases, with the largest numbers over all owners."""
        return self._rows(self.kinds.contexts, slice(None))

    @_exact
    def table_of(self, agent: int) -> tuple[ReleaseRow, ...]:
        """The table of one owner's releases.

        Args:
            agent: number of the owner.

        Raises:
            ConfigError: a number that no owner has.
        """
        check_place("agent", agent, len(self.owners.contexts))
        rows = self._rows([self.owners.contexts[agent]], slice(agent, agent + 1))
        return tuple(row for row in rows if row.released)

    @_exact
    def taken(self, stops: Stops) -> Int[np.ndarray, "rows agents"]:
        """How often every owner has released something by each of the given rounds.

        Args:
            stops: as for `evaluations`.

        Raises:
            ConfigError: as for `evaluations`.
        """
        check_stops(stops, self.rounds)
        ends, row = np.unique(np.asarray(stops, dtype=int), return_inverse=True)
        hides, key = self.method.hides, public_key(self.seed)
        return np.array([hides.releases(self.network, end, key) for end in ends.tolist()])[row]

    @_exact
    def spent(self, stops: Stops) -> Float[np.ndarray, "rows agents"]:
        """Epsilon that every owner has spent by each of the given rounds, the first being 0.

        Args:
            stops: as for `evaluations`.

        Raises:
            ConfigError: as for `evaluations`.
        """
        check_stops(stops, self.rounds)
        return spent(self.releases, self.owners, stops, self.taken(stops))

    def evaluations(self, stops: Stops) -> Int[np.ndarray, " rows"]:
        """Oracle calls of all agents by each of the given rounds: points asked, times units.

        Args:
            stops: numbers of rounds, from 0 to those of the run.

        Raises:
            ConfigError: something else.
        """
        check_stops(stops, self.rounds)
        kinds, kind = self.kinds
        counts = np.array([public.count for public in kinds])
        asked = np.zeros(len(stops), dtype=np.int64)
        for phase in self.releases:
            assert phase.query is not None
            query = phase.query
            each = [query.evaluations_of(public.agent, self._dimension) for public in kinds]
            values = (phase.repeat * counts * np.array(each))[kind]
            if phase.rounds.before:
                asked += int(values.sum())
                continue
            run = phase.rounds.of(self.rounds)
            ends = (np.minimum(stops, end) for end in (run.stop, run.start))
            last, first = (self.taken(end) for end in ends)
            asked += ((last - first) * values).sum(axis=1)
        return asked

    @_exact
    def release(self, phase: int, agent: int) -> GridRelease | SumRelease | PairRelease:
        """The release that adds noise to an agent's answer in a phase in production.

        Args:
            phase: position of the phase in the table; it has a query.
            agent: number of the owner.

        Raises:
            ConfigError: a phase or an agent that there is not, or a phase without a release.
            PrivacyError: the release has no secure form, or no grid fits.
        """
        check_place("phase", phase, len(self.phases))
        check_place("agent", agent, len(self.owners.contexts))
        asked = self.phases[phase]
        if asked.query is None or asked.release is None:
            raise ConfigError(
                f"phase={phase} ({asked.name!r}) releases nothing; see contract.table"
            )
        if asked.hides.summed:
            return self.sums[phase][agent]
        if asked.hides.shares:
            return self._paired[phase][agent]
        return on_grid(
            asked.release.mechanism,
            asked.query,
            self.owners.contexts[agent],
            asked.release.relation,
            most_records=self.records[agent],
        )

    @property
    def records(self) -> tuple[int, ...]:
        """Declared upper bounds on the agents' numbers of records; 1 for a whole cost."""
        return self.most_records or tuple(public.count for public in self.owners.contexts)

    @_lazy
    def sums(self) -> Mapping[int, tuple[SumRelease, ...]]:
        """Every agent's release on one grid, by number of the phase whose sum alone is read.

        Empty where a release has no grid: without noise, or for a whole cost that is compared by a
        distance, which has no bound.
        """
        privacy = self.method.privacy
        if privacy is None or privacy.relation is Relation.METRIC:
            return {}
        if not np.any(privacy.noise_multiplier):
            return {}
        return {
            index: sum_releases(
                phase.release.mechanism,
                phase.query,
                self.owners.contexts,
                phase.release.relation,
                self.records,
            )
            for index, phase in enumerate(self.phases)
            if phase.hides.summed and phase.release is not None and phase.query is not None
        }

    @_lazy
    def _paired(self) -> Mapping[int, tuple[PairRelease, ...]]:
        """Every agent's release on one grid, by number of the phase whose noise pairs share."""
        return {
            index: pair_releases(
                phase.release.mechanism,
                phase.query,
                self.owners.contexts,
                phase.release.relation,
                self.records,
            )
            for index, phase in enumerate(self.phases)
            if phase.hides.shares and phase.release is not None and phase.query is not None
        }

    @property
    def exponents(self) -> tuple[int | None, ...]:
        """By phase: agents' releases in its sums are multiples of `2^exponent`; else `None`."""
        found = {index: releases[0].grid.exponent for index, releases in self.sums.items()}
        return tuple(found.get(index) for index in range(len(self.phases)))

    @property
    def turns(self) -> int:
        """Number of turns in a run between sites: rounds, or the sums that may be tried."""
        return self.method.hides.turns(self.rounds, self.releases.sums(self.rounds))

    @_exact
    def spread(self, phase: int, agents: int | None = None) -> Float[np.ndarray, "*_shape"]:
        """Standard deviation of all noise in the mean that the receiver of a phase holds.

        For each coordinate, in the unit of the answer: the noise of all whose answers are in the
        mean, including what pairs of them share; for a sum, multiply by the number of agents in it.
        On a grid it is that of the noise drawn there.

        Args:
            phase: position of the phase in the table.
            agents: number of agents in the mean, which then weighs them equally. By default all, as
                the network weighs them in round 0.

        Returns:
            Array of shape `()`; between peers `(agents,)`, for each one's mean of its neighbours
            and itself. For noise that varies by round, with a leading axis of rounds. 0 for what is
            public.

        Raises:
            ConfigError: a phase that there is not.
            PrivacyError: noise that is not in the answer, or scales with the agents' records, or is
                shared by pairs, in a mean of only some agents.
        """
        check_place("phase", phase, len(self.phases))
        asked, scales = self.phases[phase], np.asarray(self.scales[phase], dtype=float)
        if self.grid and asked.release is not None and np.all(scales > 0.0):
            made = [self.release(phase, agent) for agent in range(len(self.owners.contexts))]
            scales = np.array([each.scale * each.grid.step for each in made])
        return spread_of(asked, scales, self._dimension, self.network, self.seed, agents)

    @property
    def _dimension(self) -> int:
        dimension = self.owners.contexts[0].dimension
        assert dimension is not None
        return dimension

    def _rows(self, contexts: Sequence[Any], own: slice) -> tuple[ReleaseRow, ...]:
        rows: list[ReleaseRow] = []
        most = iter(np.max([self.releases.times(public) for public in contexts], axis=0).tolist())
        for phase, scales in zip(self.phases, self.scales, strict=True):
            released = mechanism = ""
            sensitivity: float | None = 0.0
            noise_scale: float | None = float(np.max(scales[..., own]))
            noise_range: tuple[float, float] | None = None
            sensitivity_range: tuple[float, float] | None = None
            times = 0
            if phase.release is not None and phase.query is not None:
                released, mechanism = phase.release.name, phase.release.mechanism.name
                relation, query = phase.release.relation, phase.query
                sensitivity = max(sensitivity_of(query, each, relation) for each in contexts)
                times = phase.repeat * next(most)
                if phase.release.mechanism.own_records:
                    sensitivity = noise_scale = None
                else:
                    run = phase.rounds.of(self.rounds)
                    ends = [
                        max(
                            sensitivity_of(query, replace(each, round=at), relation)
                            for each in contexts
                        )
                        for at in (run[0], run[-1])
                    ]
                    if ends[0] != ends[1]:
                        sensitivity_range = (ends[0], ends[1])
                    if scales.ndim > 1:
                        first, last = (float(np.max(scales[at, own])) for at in (run[0], run[-1]))
                        noise_range = (first, last)
            rows.append(
                ReleaseRow(
                    phase=phase.name,
                    sender=phase.sender.value,
                    receiver="" if phase.receiver is None else phase.receiver.value,
                    released=released,
                    mechanism=mechanism,
                    sensitivity=sensitivity,
                    noise_scale=noise_scale,
                    times=times,
                    noise_range=noise_range,
                    sensitivity_range=sensitivity_range,
                )
            )
        return tuple(rows)


@_exact
def contract(
    problem: Task,
    network: AbstractNetwork,
    method: AbstractMethod,
    *,
    rounds: int,
    seed: int = 0,
    trials: int = 1,
    grid: bool = False,
    most_records: Sequence[int] | None = None,
) -> Contract:
    """Calibrate the noise of a run, from declared constants alone.

    Args:
        problem: problem; only its declared constants and record counts are read.
        network: links and weights between the agents.
        method: method to run.
        rounds: number of rounds, at least 1.
        seed: seed that decides who takes part if the network draws that.
        trials: number of repetitions in a simulation.
        grid: whether noise is drawn on a grid, as in every production release.
        most_records: declared upper bounds on the agents' numbers of records, where these are
            private.

    Raises:
        PrivacyError: a budget that cannot be met, or samples of the records with noise on a grid.
        BudgetExceeded: the accountant does not confirm the calibrated noise.
    """
    releases = Releases(placed(method, network), grid=grid)
    if grid:
        check_samples(releases)
    owners = owners_of(problem, network, releases, rounds, seed, trials)
    most = None if most_records is None else tuple(most_records)
    calibrated = calibrate(releases, owners)
    numbers = tuple(calibrated.method.numbers(problem))
    return Contract(calibrated, owners, network, rounds, seed, trials, most, numbers)


def check_samples(releases: Releases) -> None:
    """Refuse a method that asks a sample of the records, whatever its budget says of it.

    Raises:
        PrivacyError: such a method.
    """
    for phase in releases:
        if phase.query is not None and phase.query.rate < 1.0:
            raise PrivacyError(
                f"sampling={phase.query.rate!r} (phase {phase.name!r}): what a secret sample of "
                "records gains rests on a generator that is not built for secrets; between sites "
                "leave sampling, and the rate of queries, at 1"
            )


@_exact
def owners_of(
    problem: Task,
    network: AbstractNetwork,
    releases: Releases,
    rounds: int,
    seed: int = 0,
    trials: int = 1,
) -> Owners:
    """The owners' declared constants, with how often each takes part.

    Raises:
        PrivacyError: noise that changes from round to round, with an owner who misses some rounds;
            or whole agents whose records move an answer further than the clip of one.
    """
    method, privacy = releases.method, releases.method.privacy
    unit = method.protects(problem)
    times = method.hides.releases(network, rounds, public_key(seed))
    declared = method.hides.declared(times, rounds, releases.sums(rounds))
    if releases.varies and np.any(times < rounds):
        agent = int(np.argmin(times))
        raise PrivacyError(
            f"noise that changes from round to round is charged for all {rounds} rounds, and "
            f"{network.names[agent]!r} takes part in {times[agent]} of them; use a network in "
            "which everybody takes part, or the same noise in every round"
        )
    times = declared
    if releases.sites > 1:
        # a person's records may be at the most active sites
        times = np.full_like(times, times.max())
    relation = Relation.ADD_REMOVE if privacy is None else privacy.relation
    if releases.relation is Relation.METRIC:
        relation = Relation.METRIC
    owners = Owners.of(problem, network, rounds, times, trials, unit, relation)
    whole = () if unit is problem.unit else _whole(problem, releases, owners)
    foreign = assumptions(problem, network, releases)
    return replace(owners, assumptions=(*whole, *foreign, *owners.assumptions))


def _whole(problem: Task, releases: Releases, owners: Owners) -> tuple[str, ...]:
    """What is assumed where all records of an agent are protected together, in words.

    Raises:
        PrivacyError: an answer that moves further with many records than with one.
    """
    queries = [phase.query for phase in releases if phase.query is not None]
    for query in queries:
        if any(map(query.beside, owners.contexts)):
            raise PrivacyError(
                f"the query {type(query).__name__} adds a centre to every record, and where whole "
                "agents are protected the number of their records is private; leave the centre "
                "out, or protect records"
            )
    if all(query.sums is Sums.ONE for query in queries):
        return ()
    divisors, counts = np.asarray(problem.normaliser), np.asarray(problem.counts)
    short = np.flatnonzero(divisors < counts)
    if len(short):  # by how much would tell a number that is private
        raise PrivacyError(
            "the data of a whole agent are protected, and the sum over the records of "
            f"{problem.names[short[0]]!r} is divided by less than their number, so that together "
            "they move it further than the clip of one. Use weighting='agent', a normaliser that "
            "no agent exceeds, or a query that clips all of an agent's data together, as "
            "ClippedUpdate does"
        )
    if not problem.declared and np.array_equal(divisors, counts):
        return ()
    return ("no agent has more records than the declared number that its sums are divided by",)
