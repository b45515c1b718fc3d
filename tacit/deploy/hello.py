"""A running agent's answer to whoever asks whether it is there: time, versions, round, signed.

A neighbour that asks by its number is also told what was last heard of it, so that an agent whose
state was lost, or is an older copy, learns so before it answers a question twice.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.deploy.keys import Card, sign, verify
from tacit.errors import WireError

HELLO = "hello"
"""Its name below a member's number."""

_CONTEXT = b"tacit hello 1\n"
_LARGEST = 4096


@dataclass(frozen=True)
class Hello:
    """What an agent says of itself. Public values only.

    Attributes:
        time: seconds since 1970, by its clock.
        round: that it is in, -1 before round 0.
        versions: of what computes.
        heard: position of the newest message that it has of who asks; -1 for none.
    """

    time: float
    round: int
    versions: dict[str, str]
    heard: int = -1


def write_hello(
    run: bytes,
    round: int,
    versions: dict[str, str],
    identity: Ed25519PrivateKey,
    heard: int = -1,
) -> bytes:
    """A signed answer.

    Args:
        run: id of the run.
        round: that the agent is in.
        versions: of what computes.
        identity: the agent's.
        heard: position of the newest message of who asks; -1 for none.
    """
    said = {
        "run": run.hex(),
        "time": time.time(),
        "round": round,
        "versions": versions,
        "heard": heard,
    }
    text = json.dumps(said)
    return json.dumps(
        {"text": text, "signature": sign(identity, _CONTEXT + text.encode())}
    ).encode()


def read_hello(data: bytes, run: bytes, card: Card) -> Hello:
    """Check an answer and read it.

    Raises:
        WireError: anything else than a signed answer of this agent in this run.
    """
    if len(data) > _LARGEST:
        raise WireError(f"{len(data)} bytes, and at most {_LARGEST} are read")
    try:
        found = json.loads(data)
        text, signature = found["text"], found["signature"]
        if not verify(card, _CONTEXT + text.encode(), signature):
            raise WireError("the signature is not the sender's")
        said = json.loads(text)
        if said["run"] != run.hex():
            raise WireError("an answer from another run")
        versions = {str(name): str(value) for name, value in said["versions"].items()}
        return Hello(float(said["time"]), int(said["round"]), versions, int(said["heard"]))
    except (
        *(ValueError, KeyError, TypeError, AttributeError),
        *(OverflowError, RecursionError),  # Infinity, and depth
    ) as error:
        raise WireError("no answer of an agent") from error
