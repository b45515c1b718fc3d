"""Calculations without a study: of budget, rounds and noise, any two give the third.

Nothing here knows a study or a method: a run is a number of releases of one kind, one per round.
For a study, use `tacit.account`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple, TypeAlias

from tacit.arguments import checked
from tacit.errors import PrivacyError
from tacit.kinds import Relation
from tacit.privacy import accounting, caution
from tacit.privacy.calibration import affordable_rounds
from tacit.privacy.calibration import noise_multiplier as needed
from tacit.privacy.caution import DELTA
from tacit.privacy.event import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    PoissonSampled,
    Repeated,
)
from tacit.ranges import Count, Range

Budget: TypeAlias = Annotated[float, Range(above=0.0)]

_LAWS = {
    "gaussian": GaussianRelease,
    "laplace": LaplaceRelease,
    "discrete_gaussian": DiscreteGaussianRelease,
    "discrete_laplace": DiscreteLaplaceRelease,
}

_TO_SHOW = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Fractions of a run after which its epsilon is shown."""


class Stated(NamedTuple):
    """A guarantee at one delta.

    Attributes:
        delta: delta of the guarantee, in [1e-12, .1], or 0.
        epsilon: epsilon of everything that is released.
    """

    delta: float
    epsilon: float


class Spent(NamedTuple):
    """What a part of a run costs.

    Attributes:
        rounds: number of rounds.
        epsilon: epsilon of all their releases.
    """

    rounds: int
    epsilon: float


@dataclass(frozen=True)
class NoisePlan:
    """Noise, rounds and epsilon that fit together. Made with `plan_noise`.

    Attributes:
        event: release of one round.
        epsilon: epsilon of all rounds, at most `budget`.
        budget: epsilon that was given; `None` if it was computed.
        rounds: number of releases of an owner, one per round; 0 if not even one is within the
            budget.
        noise_multiplier: noise scale divided by sensitivity.
        delta: delta of the whole run.
        sensitivity: sensitivity of an answer to one record; `None` without a clip and a number of
            records.
        warning: warning about a large epsilon or delta; empty if there is none.
    """

    event: Event
    epsilon: float
    budget: float | None
    rounds: int
    noise_multiplier: float
    delta: float
    sensitivity: float | None
    warning: str

    @property
    def noise_scale(self) -> float | None:
        """Scale of the noise in every coordinate of an answer: a standard deviation for Gaussian
        noise.
        """
        return None if self.sensitivity is None else self.sensitivity * self.noise_multiplier

    @property
    def events(self) -> tuple[Event, ...]:
        """All of an owner's releases."""
        return (Repeated(self.event, self.rounds),) if self.rounds else ()

    def curve(self) -> tuple[Spent, ...]:
        """What is spent as the rounds progress: after one, and after each quarter of them."""
        at = sorted({max(1, math.ceil(self.rounds * share)) for share in _TO_SHOW})
        return tuple(
            Spent(n, accounting.epsilon([Repeated(self.event, n)], self.delta))
            for n in at
            if n <= self.rounds
        )


@checked(PrivacyError)
def plan_noise(
    *,
    epsilon: Budget | None = None,
    rounds: Count | None = None,
    noise_multiplier: Budget | None = None,
    delta: Annotated[float, Range(least=0.0, below=1.0)] = DELTA,
    noise: Literal["gaussian", "laplace", "discrete_gaussian", "discrete_laplace"] = "gaussian",
    sampling: Annotated[float, Range(above=0.0, most=1.0)] = 1.0,
    relation: Literal["replace_one", "add_remove"] = "replace_one",
    clip: Budget | None = None,
    records: Count | None = None,
    large_delta: bool = False,
) -> NoisePlan:
    """Compute whichever of epsilon, rounds and noise multiplier is not given.

    The result holds if every record's contribution is clipped, the noise has the stated scale in
    every coordinate, each record is held by one owner only, and the numbers were not chosen by
    looking at the data.

    Args:
        epsilon: budget of the whole run, positive.
        rounds: number of releases of an owner, one per round.
        noise_multiplier: noise scale divided by sensitivity, positive.
        delta: delta of the whole run, in [1e-12, 1), or 0 for Laplace noise of either kind.
        noise: law of the noise; the discrete ones are those of runs between sites.
        sampling: probability with which each record takes part in a round, in (0, 1]; below 1 only
            with `relation="add_remove"`.
        relation: adjacency of the data sets.
        clip: largest norm of one record's contribution, positive; l1 for Laplace noise, else l2.
        records: number of records of an owner, by which its sums are divided.
        large_delta: accept a delta of at least one over the number of records.

    Returns:
        The plan. The computed value has been evaluated: its epsilon is at most the budget's.

    Raises:
        PrivacyError: not exactly two of the three, an argument out of range, a clip without records
            or the reverse, or a budget that no noise can meet.

    Example:
        >>> round(plan_noise(epsilon=1.0, rounds=20_000).noise_multiplier, 3)
        597.46
        >>> plan_noise(epsilon=1.0, noise_multiplier=60.0).rounds
        201
        >>> plan = plan_noise(noise_multiplier=60.0, rounds=201, clip=1.0, records=2000)
        >>> round(plan.epsilon, 4), plan.noise_scale
        (0.9981, 0.06)
    """
    if [epsilon, rounds, noise_multiplier].count(None) != 1:
        raise PrivacyError(
            "give two of epsilon, rounds and noise_multiplier: the third follows from them"
        )
    _check_released(noise, delta, sampling, relation)
    sensitivity = _sensitivity(clip, records, relation, sampling)
    if records is not None and not large_delta:
        caution.check_delta(delta, records, "records", "or accept it by name (large_delta)")

    def released(multiplier: float) -> Event:
        event = _LAWS[noise](multiplier)
        return event if sampling == 1.0 else PoissonSampled(sampling, event)

    if noise_multiplier is None:
        assert epsilon is not None and rounds is not None
        count = rounds
        multiplier = needed(epsilon, delta, lambda z: [Repeated(released(z), count)])
    else:
        multiplier = noise_multiplier
    event = released(multiplier)
    if rounds is None:
        assert epsilon is not None
        rounds = affordable_rounds(epsilon, delta, lambda count: [Repeated(event, count)])
    spent = accounting.epsilon([Repeated(event, rounds)] if rounds else [], delta)
    unknown = caution.delta_warning(delta) if records is None else ""
    warning = " ".join(filter(None, (caution.warning(spent), unknown)))
    return NoisePlan(event, spent, epsilon, rounds, multiplier, delta, sensitivity, warning)


@checked(PrivacyError)
def at_other_deltas(events: Iterable[Event], delta: float) -> tuple[Stated, ...]:
    """The same releases stated at several deltas; all of these guarantees hold at once.

    Args:
        events: everything that is released.
        delta: delta at which they are already stated, in [1e-12, 1), or 0.

    Returns:
        One per delta, from the largest to the smallest, including the given one.

    Example:
        >>> [each.delta for each in at_other_deltas([LaplaceRelease(2.0)], 0.0)]
        [1e-06, 1e-09, 0.0]
    """
    events = tuple(events)
    if delta == 0.0:
        deltas = [1e-6, 1e-9, 0.0]
    else:
        # by decimals: 1e-3 times the binary number nearest to 1e-4 is not 1e-7
        near = [float(Decimal(repr(float(delta))).scaleb(power)) for power in (4, 2, 0, -2, -4)]
        deltas = [d for d in near if accounting.SMALLEST_DELTA <= d <= 0.1 or d == delta]
    return tuple(Stated(each, accounting.epsilon(events, each)) for each in deltas)


def _check_released(noise: str, delta: float, sampling: float, relation: str) -> None:
    if sampling < 1.0 and relation != "add_remove":
        raise PrivacyError(
            f"sampling={sampling:g} is accounted for adding or removing a record only; take "
            "relation='add_remove', or leave sampling out"
        )
    if delta == 0.0 and not noise.endswith("laplace"):
        raise PrivacyError(
            "delta=0 is out of reach of Gaussian noise; take noise='laplace', or a delta far below "
            "one over the number of records"
        )
    accounting.check_delta(delta)


def _sensitivity(
    clip: float | None, records: int | None, relation: str, sampling: float
) -> float | None:
    if (clip is None) != (records is None):
        given = f"records={records}" if clip is None else f"clip={clip:g}"
        absent = "clip=1.0" if clip is None else "records=1000"
        raise PrivacyError(
            f"{given} alone does not give the scale of the noise: give the other one, too, such as "
            f"{absent}, or leave it out"
        )
    if clip is None or records is None:
        return None
    factor = 2.0 if relation == Relation.REPLACE_ONE else 1.0
    return factor * clip / (records * sampling)
