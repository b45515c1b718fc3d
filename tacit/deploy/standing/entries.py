"""A run in the queue of a site: its manifest, what its owner decided, and where it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from tacit.deploy.agreement.manifest import Manifest, check_runnable
from tacit.deploy.identity.keys import Keys, sign, verify
from tacit.study._output.blocks import largest
from tacit.study.build import shares_keys

_REFUSAL = b"tacit refusal 1\n"


class State(StrEnum):
    """Where a run is, in the words that its owner reads."""

    PROPOSED = "to be approved"
    SIGNING = "waits for signatures"
    READY = "ready"
    BEGUN = "begun"
    FAILED = "failed"
    FINISHED = "finished"
    REFUSED = "refused"


@dataclass(frozen=True)
class Decision:
    """What the owner decided about a run.

    Attributes:
        approved: whether it may run.
        time: when that was decided, UTC.
        dataset: dataset that it is about; `None` for a coordinator.
        charges: what it may be charged at most, as `ledger.encoding.grouped_to_json` has it.
        neighbours: what its epsilon is about.
    """

    approved: bool
    time: str
    dataset: str | None = None
    charges: tuple[Mapping[str, Any], ...] = ()
    neighbours: str = ""

    def age(self) -> timedelta:
        """How long ago that was."""
        return datetime.now(UTC) - datetime.fromisoformat(self.time)


@dataclass(frozen=True)
class Studied:
    """What is read off a manifest's study once: it takes longer than all the rest.

    Attributes:
        title: title of the study.
        method: name of the method.
        rounds: number of rounds.
        epsilon: largest budget of a site.
        masked: whether pairs of agents have keys for masks.
        claimed: whether epsilon is a model claim, of masks that others have to draw.
    """

    title: str
    method: str
    rounds: int
    epsilon: float | None
    masked: bool
    claimed: bool = False

    @classmethod
    def of(cls, manifest: Manifest) -> Studied:
        """Check the study of a manifest, and read it.

        Raises:
            ConfigError: a study that cannot be run between its members, or not here.
        """
        check_runnable(manifest)
        source = manifest.source(Path())
        study = source.study
        masked = shares_keys(source, manifest.names)
        return cls(
            study.title,
            str(dict(study.method)["name"]),
            study.run.rounds,
            None if study.privacy is None else largest(study.privacy.epsilon),
            masked,
            masked and not manifest.summed,
        )


@dataclass(eq=False)
class Entry:
    """A run in the queue.

    Attributes:
        run: id of the run, in hexadecimal.
        folder: folder of the run.
        manifest: manifest with the signatures that are known here.
        study: what is read off its study.
        unsigned: members whose signature is missing.
        decision: what the owner decided; `None` as long as nothing.
        refusals: signed refusals of other members, by name.
        informed: members that are known to have the manifest with all signatures.
        met: members that took part in it with this one.
        failure: why it ended without an answer; empty if it did not.
    """

    run: str
    folder: Path
    manifest: Manifest
    study: Studied
    unsigned: tuple[str, ...]
    decision: Decision | None = None
    refusals: dict[str, str] = field(default_factory=dict)
    informed: frozenset[str] = frozenset()
    met: frozenset[str] = frozenset()
    failure: str = ""

    @property
    def signed(self) -> tuple[str, ...]:
        """Members that have signed."""
        missing = set(self.unsigned)
        return tuple(each.name for each in self.manifest.members if each.name not in missing)

    @property
    def state_folder(self) -> Path:
        """Folder for the member's persistent state."""
        return self.folder / "state"

    @property
    def state(self) -> State:
        """Where the run is."""
        if (self.state_folder / "result.json").exists() and not self.failure:
            return State.FINISHED
        if self.decision is None:
            return State.PROPOSED
        if not self.decision.approved:
            return State.REFUSED
        if self.failure:
            return State.FAILED
        if self.unsigned:
            return State.SIGNING
        return State.BEGUN if (self.state_folder / "journal.db").exists() else State.READY

    @property
    def began_with(self) -> str:
        """Version of tacit that a run has begun with; empty if it has not."""
        if self.state is not State.BEGUN:
            return ""
        with suppress(OSError, ValueError, KeyError, TypeError):
            return str(json.loads((self.state_folder / "versions.json").read_bytes())["tacit"])
        return ""

    @property
    def report(self) -> Path:
        """File of the report, at the end."""
        return self.folder / "report.html"

    @property
    def bundle(self) -> Path:
        """File of the signed bundle, at the end."""
        return self.folder / f"{self.run[:12]}.tacit.zip"

    @property
    def open(self) -> bool:
        """Whether the run may still be charged: approved, not over, and refused by nobody."""
        if self.state in (State.SIGNING, State.READY):  # a refusal is final, so it cannot begin
            return not self.refusals
        return self.state in (State.BEGUN, State.FAILED)


def refusal(keys: Keys, run: str) -> str:
    """A member's signed refusal of a run."""
    return sign(keys.identity, _REFUSAL + bytes.fromhex(run))


def refused_by(manifest: Manifest, refusals: Mapping[str, str]) -> dict[str, str]:
    """Those of some refusals that their members have signed."""
    said = _REFUSAL + manifest.run
    return {
        each.name: refusals[each.name]
        for each in manifest.members
        if each.name in refusals and verify(each.card, said, refusals[each.name])
    }


def now() -> str:
    """The time, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
