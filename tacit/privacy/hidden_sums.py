"""What a guarantee states about releases that can be read only in sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.errors import PrivacyError
from tacit.privacy.event import Event, Masked, Repeated
from tacit.privacy.guarantee import Adversary
from tacit.privacy.masked import ASSUMPTIONS

_MOST_AGENTS = 1_024
"""Larger than the number of agents in any sum."""


@dataclass(frozen=True)
class Stated:
    """What is stated about an owner's releases; by default, that each can be read by itself.

    Attributes:
        assumptions: further assumptions of the guarantee.
        stated: further fields of the guarantee.
        words: words added to its theorem, after the contributions.
        drawn_by: maximum number of agents that draw the noise that hides one.
    """

    assumptions: tuple[str, ...] = ()
    stated: Mapping[str, Any] = field(default_factory=dict)
    words: str = ""
    drawn_by: int = 1


def in_sums(events: Sequence[Event], sites: int = 1) -> Stated:
    """What is stated about all events of one owner.

    Args:
        events: every event that the owner is charged for.
        sites: number of sites at which a person may release as much.
    """
    sums = [event for event in events if event.sum is not None]
    if not sums:
        return Stated()
    first, attempts = sums[0].sum, sum(times(event) for event in sums) // sites
    assert first is not None
    if len({event.sum.coalition for event in sums if event.sum is not None}) > 1:
        raise PrivacyError(
            "the sums of one run are hidden from coalitions of different sizes, and a guarantee "
            "names one; give all of them the same coalition"
        )
    return Stated(
        (*_assumed(first, attempts), *ASSUMPTIONS),
        {
            "adversary": Adversary.COLLUDING,
            "coalition": first.coalition,
            "min_cohort": first.cohort,
            "attempts": attempts,
        },
        _words(first),
        _MOST_AGENTS,
    )


def times(event: Event) -> int:
    """Number of releases that an event stands for."""
    return event.count * times(event.event) if isinstance(event, Repeated) else 1


def _assumed(sums: Masked, attempts: int) -> list[str]:
    corrupted = {0: "no agent is", 1: "at most 1 agent is"}.get(
        sums.coalition, f"at most {sums.coalition} agents are"
    )
    sums_of = "1 sum" if attempts == 1 else f"{attempts:,} sums"
    return [
        f"{corrupted} corrupted, which includes being curious",
        f"every sum has at least {sums.cohort} agents, and this agent is in at most "
        f"{sums_of}, counting those abandoned because an agent is missing",
    ]


def _words(sums: Masked) -> str:
    honest = sums.cohort - sums.coalition
    agents = "1 honest agent" if honest == 1 else f"{honest} honest agents"
    return f", of which masks leave sums with the noise of at least {agents}"
