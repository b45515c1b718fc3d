"""A running agent's signed answer to a greeting: time, versions and round.

The asker is also told what was last heard from it, so that an agent whose state was lost, or is an
older copy, learns this before it answers a question twice. An answer contains who was asked, the
asker and the nonce of the question and is signed with them: it cannot be shown to another asker,
replayed, or given for the other party at a site that adds up for all, which has the same key.
"""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass, field
from string import hexdigits

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import tacit
from tacit.deploy.identity.keys import Card, sign, verify
from tacit.errors import EnvironmentMismatch, WireError

HELLO = "hello"
"""Its name below a member's number."""

_HEXDIGITS = frozenset(hexdigits)

_FORMAT = 2
_FORMATS = sorted(range(1, 10), key=lambda format: format != _FORMAT)  # this one is tried first
"""That is written here, and those of other versions that are known for what they are."""
_NONCE = 32
"""Digits of a nonce."""
_LARGEST = 4096


@dataclass(frozen=True)
class Hello:
    """What an agent says about itself. Public values only.

    Attributes:
        time: seconds since 1970, by its clock.
        round: its current round, -1 before round 0.
        versions: versions of the software that computes.
        heard: position of the newest message that it has from the asker; -1 for none.
    """

    time: float
    round: int
    versions: dict[str, str]
    heard: int = -1


@dataclass(frozen=True)
class Question:
    """A question of one member to another. A new nonce is drawn for each.

    Attributes:
        asked: number of the member that is asked.
        asker: number of the member that asks.
        nonce: 32 hexadecimal digits that were never used before.
    """

    asked: int
    asker: int
    nonce: str = field(default_factory=lambda: secrets.token_hex(_NONCE // 2))

    def key(self) -> str:
        """Its name on the network, below the run."""
        return f"{self.asked}/{HELLO}/{self.asker}/{self.nonce}"

    @classmethod
    def read(cls, key: str) -> Question | None:
        """The question with a given name; `None` if the name is not that of a question."""
        parts = key.split("/")
        if len(parts) != 4 or parts[1] != HELLO or len(parts[3]) != _NONCE:
            return None
        asked, _, asker, nonce = parts
        if not all(each.isascii() and each.isdigit() and len(each) < 10 for each in (asked, asker)):
            return None
        return cls(int(asked), int(asker), nonce) if _HEXDIGITS.issuperset(nonce) else None


def write_hello(
    question: Question,
    run: bytes,
    round: int,
    versions: dict[str, str],
    identity: Ed25519PrivateKey,
    heard: int = -1,
) -> bytes:
    """A signed answer.

    Args:
        question: question that is answered.
        run: id of the run.
        round: current round of the agent.
        versions: versions of the software that computes.
        identity: signing key of the agent.
        heard: position of the newest message from the asker; -1 for none.
    """
    said = {
        "run": run.hex(),
        "asked": question.asked,
        "asker": question.asker,
        "nonce": question.nonce,
        "time": time.time(),
        "round": round,
        "versions": versions,
        "heard": heard,
    }
    text = json.dumps(said)
    return json.dumps({"text": text, "signature": sign(identity, _signed(text, _FORMAT))}).encode()


def read_hello(data: bytes, question: Question, run: bytes, card: Card) -> Hello:
    """Check an answer and read it.

    Args:
        data: bytes of the answer, as received.
        question: question that was asked.
        run: id of the run.
        card: card of the agent that was asked; its key must have signed the answer.

    Raises:
        WireError: anything but this agent's signed answer to this question in this run.
        EnvironmentMismatch: it is from the agent, which runs another version of tacit.
    """
    if len(data) > _LARGEST:
        raise WireError(f"{len(data)} bytes, and at most {_LARGEST} are read")
    try:
        found = json.loads(data)
        text, signature = found["text"], found["signature"]
        formats = (each for each in _FORMATS if verify(card, _signed(text, each), signature))
        if (signed := next(formats, None)) is None:
            raise WireError("the signature is not the sender's")
        said = json.loads(text)
        if said["run"] != run.hex():
            raise WireError("an answer from another run")
        if signed != _FORMAT or said["versions"].get("tacit") != tacit.__version__:
            raise EnvironmentMismatch(_another(card.name, said["versions"].get("tacit")))
        if Question(said["asked"], said["asker"], said["nonce"]) != question:
            raise WireError("an answer to another question")
        versions = {str(name): str(value) for name, value in said["versions"].items()}
        return Hello(float(said["time"]), int(said["round"]), versions, int(said["heard"]))
    except (
        *(ValueError, KeyError, TypeError, AttributeError),
        *(OverflowError, RecursionError),  # Infinity, and deep nesting
    ) as error:
        raise WireError("no answer of an agent") from error


def _signed(text: str, format: int) -> bytes:
    return b"tacit hello %d\n" % format + text.encode()


def _another(name: str, version: object) -> str:
    return (
        f"{name!r} runs tacit {str(version)[:40]} and this member {tacit.__version__}, so one may "
        "compute what the other does not expect, and nothing more is sent; install the version "
        "that the run began with at both, and give the same command again"
    )
