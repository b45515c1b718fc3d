"""Evidence: two messages of one address with a neighbour's signature, both kept for its owner.

Each alone is a message like any other. Both together show that the neighbour answered one question
twice, which nobody can forge without its key.
"""

from __future__ import annotations

import time
from pathlib import Path

from tacit.deploy.files import check_private, make_folder, write_bytes, write_json
from tacit.deploy.messages.mailbox import Conflict
from tacit.errors import RuntimeFailure

_FOLDER, _REPORT = "evidence", "conflict.json"


def keep(state: Path, run: str, name: str, conflict: Conflict) -> str:
    """Store both messages on disk; the first two that contradict each other are kept.

    Args:
        state: state folder of this member.
        run: id of the run in hexadecimal.
        name: name of the neighbour.
        conflict: the two messages.

    Returns:
        A description of the conflict, for the owner.
    """
    folder = state / _FOLDER
    make_folder(folder)
    check_private(folder)
    if not (folder / _REPORT).exists():
        heard, first = conflict.heard, None
        if conflict.first is not None:
            first = "first.bin"
            write_bytes(folder / first, conflict.first)
        write_bytes(folder / "second.bin", conflict.second)
        document = {
            "format": "tacit-conflict-1",
            "run": run,
            "member": name,
            "message": conflict.key,
            "time": time.time(),
            "first": {
                "file": first,  # none if only its digest is left
                "digest": heard.digest.hex(),
                "signature": heard.signature.hex(),
            },
            "second": {"file": "second.bin"},
        }
        write_json(folder / _REPORT, document)
    return (
        f"{name!r} sent two different messages {conflict.key}, both with its signature: two "
        "processes run with its keys, or its state was put back or begun again. It has told more "
        "about its records than was promised"
    )


def check(state: Path) -> None:
    """Refuse to continue before the owner has seen what a neighbour did.

    Raises:
        RuntimeFailure: two messages contradicted each other.
    """
    folder = state / _FOLDER
    if (folder / _REPORT).exists():
        raise RuntimeFailure(
            f"a neighbour answered one question twice in this run; both answers are in {folder}. "
            "Speak with its owner, who has to end one of two processes or to put the newest state "
            f"back. To continue with what came first, move {folder} elsewhere"
        )
