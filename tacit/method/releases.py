"""What a method releases, phase by phase: the events that an owner is charged for.

Everything here is plain Python over declared constants: the table of phases, record counts, degrees
and the public record of who takes part. No function of this file can see data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import equinox as eqx
import numpy as np
from jaxtyping import Float

from tacit.errors import PrivacyError, UnsupportedEvent
from tacit.method.phase import AbstractMethod, Phase, phases_of
from tacit.privacy import masked
from tacit.privacy.adjacency import at_distance
from tacit.privacy.event import Event, Repeated, on_grid
from tacit.privacy.query import sensitivity_of
from tacit.types import PublicContext, Relation


class Releases:
    """The releasing phases of a method, read once.

    Args:
        method: method whose phases are read.
        grid: whether noise is drawn on a grid, as in every production release.
    """

    def __init__(self, method: AbstractMethod, *, grid: bool = False) -> None:
        self.method, self.grid = method, grid
        self.phases: tuple[Phase, ...] = phases_of(method)
        privacy = method.privacy
        self.records = 1 if privacy is None else privacy.records_per_person
        self.sites = 1 if privacy is None else privacy.sites_per_person
        relations = {phase.release.relation for phase in self if phase.release is not None}
        if len(relations) > 1:
            raise PrivacyError("one run has one neighbouring relation, and its releases have two")
        self.relation = relations.pop() if relations else Relation.REPLACE_ONE
        self.varies = any(phase.varies for phase in self.phases)
        if self.varies and any(phase.hides.summed for phase in self.phases):
            raise PrivacyError(
                "noise that changes from round to round is charged by the round, and a masked sum "
                "by the attempt; a method has one or the other"
            )

    def __iter__(self) -> Iterator[Phase]:
        return (phase for phase in self.phases if phase.release is not None)

    @property
    def private(self) -> bool:
        """Whether the method has a budget, or noise of its own for which something is proved."""
        mechanisms = [phase.release.mechanism for phase in self if phase.release is not None]
        return self.method.privacy is not None or any(each.calibrated for each in mechanisms)

    def with_noise(self, multiplier: float | Float[np.ndarray, " owners"]) -> Releases:
        """The releases of the method with another noise multiplier, of all owners or of each."""
        assert self.method.privacy is not None
        budget = self.method.privacy.calibrated(multiplier)
        return Releases(
            eqx.tree_at(lambda method: method.privacy, self.method, budget), grid=self.grid
        )

    def numbers(self, public: PublicContext) -> list[float]:
        """What the noise of an owner's releases follows from: equal for owners whose cost is."""
        found: list[float] = []
        for phase in self:
            assert phase.query is not None and phase.release is not None
            query, relation, dose = phase.query, self.relation, phase.release.mechanism.dose
            for round in range(public.rounds) if phase.varies else (0,):
                here = replace(public, round=round)
                found += [sensitivity_of(query, here, relation), query.rate]
                found += [] if dose is None else [dose.multiplier(query, here, relation)]
        return np.nan_to_num(found, nan=-1.0).tolist()  # not calibrated yet

    def once(self, public: PublicContext) -> list[Event]:
        """What one owner releases before round 0."""
        return self._released(public, once=True)

    def round(self, public: PublicContext, round: int = 0) -> list[Event]:
        """What one owner releases in one round that it takes part in."""
        return self._released(replace(public, round=round), once=False)

    def sums(self, rounds: int) -> int:
        """Number of sums that a run asks for if every one succeeds."""
        return sum(len(phase.rounds.of(rounds)) for phase in self if phase.hides.summed)

    def times(
        self, public: PublicContext, taken: int | None = None, done: int | None = None
    ) -> list[int]:
        """Maximum number of rounds in which an owner releases something, by releasing phase.

        Answers beyond the rounds belong to sums that are tried again. Which ones is not known
        beforehand, so each is counted as the most expensive.

        Args:
            public: declared constants of the owner.
            taken: number of answers so far to what is asked in every round; by default for the
                whole run.
            done: number of rounds so far; by default all.
        """
        done = public.rounds if done is None else done
        taken = public.participations if taken is None else taken
        found = []
        for phase in self:
            run = phase.rounds.of(public.rounds)
            so_far = len(run[: max(0, done - run.start)])
            found.append(1 if phase.rounds.before else min(taken, so_far))
        for place in self._again(public) if taken > done else []:
            found[place] += taken - done
        return found

    def _again(self, public: PublicContext) -> list[int]:
        """Positions among the releasing phases of what is counted for sums that are tried again."""
        summed = [place for place, phase in enumerate(self) if phase.hides.summed]
        if not summed:  # asked about a budget: the cost of as many releases without masks
            return [place for place, phase in enumerate(self) if not phase.rounds.before]
        if len(summed) < 2:
            return summed
        phases = list(self)
        costs = masked.as_dear([self.event(phases[place], public) for place in summed])
        return [summed[place] for place, more in enumerate(costs) if more == [place]]

    def all(self, public: PublicContext) -> list[Event]:
        """Everything that one owner releases during the run."""
        if self.varies:
            rounds = [event for t in range(public.rounds) for event in self.round(public, t)]
            return self.once(public) + rounds
        return self.after(public, [(None, None)])[0]

    def after(
        self, public: PublicContext, ends: Iterable[tuple[int | None, int | None]]
    ) -> list[list[Event]]:
        """What one owner has released in all by each of several ends of its rounds.

        Args:
            public: declared constants of the owner, with the same noise in every round.
            ends: for each, the number of answers and that of rounds so far, as for `times`.
        """
        once = self.once(public)
        steps = [(phase.rounds.before, self._steps(phase, public)) for phase in self]
        return [
            once
            + [
                Repeated(step, most)
                for (before, step), most in zip(steps, self.times(public, *end), strict=True)
                if most and not before
            ]
            for end in ends
        ]

    def by_phase(self, public: PublicContext, place: int) -> list[Event]:
        """What one owner releases in one phase during the run.

        Args:
            public: declared constants of the owner.
            place: position of the phase among the releasing phases.
        """
        phase = list(self)[place]
        if phase.rounds.before:
            return [self._steps(phase, public)]
        if self.varies:
            rounds = (replace(public, round=t) for t in phase.rounds.of(public.rounds))
            return [self._steps(phase, each) for each in rounds]
        most = self.times(public)[place]
        return [Repeated(self._steps(phase, public), most)] if most else []

    def event(self, phase: Phase, public: PublicContext) -> Event:
        """The cost of one step of a releasing phase: for a person, if one may have several records.

        Args:
            phase: phase with a query.
            public: declared constants of the owner, in the round.
        """
        if phase.query is None or phase.release is None:
            raise TypeError(f"phase {phase.name!r} releases nothing")
        event = phase.release.mechanism.event(phase.query, public, phase.release.relation)
        event = _grouped(event, self.records)
        return on_grid(event) if self.grid else event

    def _released(self, public: PublicContext, *, once: bool) -> list[Event]:
        return [
            self._steps(phase, public)
            for phase in self
            if phase.rounds.before is once and phase.rounds.includes(public.round, public.rounds)
        ]

    def _steps(self, phase: Phase, public: PublicContext) -> Event:
        event = self.event(phase, public)
        return event if phase.repeat == 1 else Repeated(event, phase.repeat)


def _grouped(event: Event, records: int) -> Event:
    """The event for a person with several records at one site: the answer moves by that factor."""
    if records == 1:
        return event
    try:
        return at_distance(event, records)
    except UnsupportedEvent as unproved:
        raise PrivacyError(
            f"records_per_person={records} cannot be combined with {type(event).__name__}: no "
            "rule for groups is proved here; set sampling=1 or records_per_person=1"
        ) from unproved
