"""What agents tell each other of the runs that they are both in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice

import tacit
from tacit.deploy.standing.entries import Entry, State

_FORMAT = "tacit-lobby-1"
_RUN = re.compile(r"[0-9a-f]{64}")
_MOST_RUNS = 200
"""Runs in a list, at most; those that are over are not in it."""

_OLD = timedelta(days=30)
"""After which others are no longer told of a run that was refused or has failed."""

_VERSION = re.compile(r"[0-9A-Za-z.+!-]{1,40}")

UPGRADING = "upgrading"
"""The version of an agent that pauses for an upgrade. Nobody has it, so nobody begins a run."""

BEGUN, ENDED, FAILED = "begun", "ended", "failed"
_AT = {State.BEGUN: BEGUN, State.FINISHED: ENDED, State.FAILED: FAILED}


@dataclass(frozen=True)
class About:
    """What a member says of a run.

    Attributes:
        signed: members whose signature it has.
        refused: signed refusals that it knows of, by name.
        at: where it is: `BEGUN`, `FAILED`, `ENDED`, which it says only of a run that it is about to
            serve again, or nothing.
        version: version of tacit that it has begun it with; empty if it has not, or does not say.
    """

    signed: frozenset[str]
    refused: dict[str, str]
    at: str
    version: str = ""


@dataclass(frozen=True)
class Told:
    """A member's list.

    Attributes:
        version: version of its tacit; empty if it is older than such lists, or sent something else.
        runs: what it says of each run, by id.
    """

    version: str = ""
    runs: dict[str, About] = field(default_factory=dict)


def shown(entry: Entry) -> bool:
    """Whether others are told of a run: not if it is over, or came to nothing long ago."""
    if entry.state in (State.REFUSED, State.FAILED):
        return entry.decision is not None and entry.decision.age() < _OLD
    return entry.state is not State.FINISHED


def list_of(entries: Iterable[Entry], version: str = tacit.__version__) -> bytes:
    """What a member is told of its runs, and of this site's version of tacit."""
    runs = {
        each.run: {
            "signed": list(each.signed),
            "refused": each.refusals,
            "at": _AT.get(each.state, ""),
            "version": each.began_with,
        }
        for each in entries
    }
    said = {"format": _FORMAT, "version": version, "runs": runs}
    return json.dumps(said, sort_keys=True).encode()


def read_list(data: bytes) -> Told:
    """Another agent's list; an empty one if it is none."""
    try:
        found = json.loads(data)
        runs = found["runs"] if found["format"] == _FORMAT else {}
        known = {
            str(run): About(
                frozenset(str(name) for name in about["signed"]),
                {str(name): str(text) for name, text in about["refused"].items()},
                str(about["at"]),
                _plain(about.get("version", "")),
            )
            for run, about in islice(runs.items(), _MOST_RUNS)
            if _RUN.fullmatch(run)
        }
        return Told(_plain(found.get("version", "")), known)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Told()


def _plain(version: object) -> str:
    """A version of somebody else, if it can be shown as it is."""
    return str(version) if _VERSION.fullmatch(str(version)) else ""
