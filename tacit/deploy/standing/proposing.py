"""Whose proposals are taken, and how many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tacit.deploy.agreement.manifest import Manifest
from tacit.deploy.identity.keys import Card
from tacit.deploy.standing.entries import Entry, State
from tacit.errors import ConfigError

MOST_UNDECIDED = 50
"""Runs that may wait for their owner's decision: others cannot fill the disk with proposals."""

MOST_OF_ONE = 10
"""Of those, runs that one member has signed: so nobody takes the room of the others."""


def proposers(
    manifest: Manifest, missing: Sequence[str], trusted: Mapping[str, Card] | None
) -> list[str]:
    """Who has signed a manifest, and counts.

    Args:
        manifest: the manifest.
        missing: members that have not signed it.
        trusted: cards of members whose signature counts, by name; any member's if `None`.

    Raises:
        ConfigError: nobody.
    """
    signed = [each for each in manifest.members if each.name not in missing]
    if trusted is not None:
        known = {card.whole() for card in trusted.values()}
        signed = [each for each in signed if each.card.whole() in known]
    if signed:
        return [each.name for each in signed]
    raise ConfigError(
        "nobody has signed this manifest, so nobody proposes it; its author proposes it with "
        "`tacit site propose`"
    )


def check_room(entries: Sequence[Entry], by: Sequence[str]) -> None:
    """Refuse a run of others if too many wait for a decision.

    Args:
        entries: all runs.
        by: who has signed the new one.

    Raises:
        ConfigError: too many of all, or of those that each of them signed.
    """
    waiting = [each for each in entries if each.state is State.PROPOSED]
    signed = Counter(name for each in waiting for name in each.signed)
    if len(waiting) >= MOST_UNDECIDED:
        told = f"{MOST_UNDECIDED} runs"
    elif min(signed[name] for name in by) >= MOST_OF_ONE:
        told = f"{MOST_OF_ONE} runs that {' and '.join(by)} signed"
    else:
        return
    raise ConfigError(f"{told} wait to be approved; refuse some before more are taken")
