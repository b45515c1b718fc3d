"""What is checked: kinds of runs in which all has to hold, and lines of defence taken out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SAFE = ("OneAnswer", "OneKnownAnswer", "Charged", "Made", "NobodyRefuses", "Ends")
"""What holds wherever a copy can be told from another place on the same machine."""

WHOLE = ("OneKnownAnswer", "Made", "NobodyRefuses", "Ends")
"""What holds where a whole machine is put back, of which only neighbours can know."""

STATE, LEDGER, KEYS = "state", "ledger", "keys"
BESIDE = ((STATE,), (LEDGER,), (KEYS,), (LEDGER, KEYS))
"""What is put back where the ledger is beside the keys."""

APART = (*BESIDE, (STATE, LEDGER))
"""What is put back where the ledger is elsewhere."""

MACHINE = ((STATE, LEDGER, KEYS),)


@dataclass(frozen=True)
class Case:
    """A kind of run.

    Attributes:
        name: its name.
        members: number of members.
        rounds: number of turns.
        put_back: what an owner may put back, once: any of these, each a set of parts.
        apart: whether the ledger is elsewhere than beside the keys.
        plain: turns whose messages release nothing.
        removed: line of defence that is taken out; empty if none is.
        holds: invariants that are checked.
        always: properties of whole behaviours that are checked.
    """

    name: str
    members: int = 2
    rounds: int = 2
    put_back: tuple[tuple[str, ...], ...] = ()
    apart: bool = False
    plain: tuple[int, ...] = ()
    removed: str = ""
    holds: tuple[str, ...] = SAFE
    always: tuple[str, ...] = ()

    def text(self) -> str:
        """The case as the checker reads it."""
        copies = (_set(map(_quoted, parts)) for parts in self.put_back)
        lines = [
            "SPECIFICATION Spec",
            "CONSTANTS",
            f"Members = {_set('abc'[: self.members])}",
            f"Rounds = {self.rounds}",
            f"Plain = {_set(map(str, self.plain))}",
            f"Apart = {str(self.apart).upper()}",
            f"PutBacks = {_set(copies)}",
            "Crashes = 1",
            f"Removed = {_set([_quoted(self.removed)] if self.removed else [])}",
        ]
        if self.holds:
            lines.append(f"INVARIANTS {' '.join(self.holds)}")
        # members are alike, but the checker cannot use that for a property of whole behaviours
        lines.append(f"PROPERTIES {' '.join(self.always)}" if self.always else "SYMMETRY Alike")
        return "\n".join(lines) + "\n"


def _set(parts: Iterable[str]) -> str:
    return "{" + ", ".join(parts) + "}"


def _quoted(name: str) -> str:
    return f'"{name}"'


HOLD = (
    Case("three members crash", members=3),
    Case("three members, copies, 1 turn", members=3, rounds=1, put_back=BESIDE),
    Case("copies, ledger beside the keys", put_back=BESIDE),
    Case("copies, ledger elsewhere", put_back=APART, apart=True),
    Case("copies, message 1 releases nothing", put_back=APART, apart=True, plain=(1,)),
    Case("copies, message 2 releases nothing", put_back=BESIDE, plain=(2,)),
    Case("a whole machine", put_back=MACHINE, holds=WHOLE),
    Case("all end", put_back=BESIDE, holds=(), always=("AllEnd",)),
)
"""Kinds of runs in which all has to hold."""

FAIL = (
    Case("published before it is on disk", removed="commit first", holds=("OneAnswer",)),
    Case("charged in a transaction of its own", removed="charge"),
    Case("signatures not checked", removed="signatures"),
    Case(
        "releases not noted in the journal",
        put_back=((LEDGER, KEYS),),
        removed="noted",
        holds=("OneAnswer",),
    ),
    Case(
        "nothing noted beside the keys",
        put_back=((STATE,),),
        plain=(2,),
        removed="head",
        holds=("OneAnswer",),
    ),
    Case(
        "releases not noted beside the keys",
        put_back=((STATE, LEDGER),),
        apart=True,
        removed="bound",
        holds=("OneAnswer",),
    ),
    Case("neighbours not asked", put_back=MACHINE, removed="greeting", holds=WHOLE),
    Case("what is heard not stored", put_back=MACHINE, removed="heard", holds=WHOLE),
)
"""Kinds of runs without a line of defence, in which something has to break."""
