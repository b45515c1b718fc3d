"""What a member has on its disk at the end of a run."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.deploy.member.adding import ADDING
from tacit.privacy.ledger import verify
from tests.simulated_sites.disk import opened


@dataclass
class Left:
    """A member's files, as far as they tell whether a run was right.

    Attributes:
        releases: digests of the payloads that its ledger charged, each with how often.
        unsound: what is wrong with the ledger; empty if nothing is.
        over: whether more was spent than the budget.
        absences: member, first round without it, round of its return.
        without: members that it, or who adds up at its site, ever went on without.
        result: whether there is a result.
        mask_key: whether its key for masks is still there.
        evidence: whether it kept two messages that contradict each other.
    """

    releases: list[str] = field(default_factory=list)
    unsound: str = ""
    over: bool = False
    absences: list[tuple[int, int, int | None]] = field(default_factory=list)
    without: set[int] = field(default_factory=set)
    result: bool = False
    mask_key: bool = False
    evidence: bool = False


def found(folder: Path, run: bytes, *, thorough: bool) -> Left:
    """Read a member's folder.

    Args:
        folder: folder of the member.
        run: id of the run.
        thorough: whether to check the ledger as `tacit ledger verify` does.
    """
    left, state = Left(), folder / "state"
    ledger = folder / "own" / "ledger"
    if not ledger.exists():
        ledger = folder / "keys" / "runs" / run.hex() / "ledger"
    if ledger.exists():
        left.releases = [what["payload_hash"][:16] for what in _releases(ledger)]
        if thorough:
            sound = verify(ledger)
            left.unsound = "" if sound.sound else str(sound)
            left.over = any(each.spent > each.epsilon for each in sound.balances)
    left.absences = _absences(state / "journal.db")
    left.without = {agent for agent, _, _ in left.absences}
    left.without |= {agent for agent, _, _ in _absences(state / ADDING / "journal.db")}
    left.result = (state / "result.json").exists()
    left.mask_key = (folder / "keys" / "masks" / f"{run.hex()}.key").exists()
    left.evidence = (state / "evidence" / "conflict.json").exists()
    return left


def _absences(journal: Path) -> list[tuple[int, int, int | None]]:
    if not journal.exists():
        return []
    with closing(opened(journal)) as file:
        try:
            return file.execute("SELECT * FROM absences").fetchall()
        except sqlite3.Error:
            return []


def _releases(ledger: Path) -> list[dict[str, Any]]:
    with closing(opened(ledger)) as file:
        rows = file.execute("SELECT text FROM entries").fetchall()
    entries = [json.loads(text) for (text,) in rows]
    return [each["what"] for each in entries if each["kind"] == "release"]
