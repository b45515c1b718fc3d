"""The version is raised whenever what is released, sent or stored may differ in a bit.

Members of a run and stored states compare `tacit.__version__`, and equal numbers have to mean equal
bits. Below stand digests of what can be made here within a moment; the bits of every method are
compared by `python -m tests.bits`.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import tacit
from tacit._engine import checkpoint
from tacit._engine.keys import (
    agent_secret,
    pair_secret,
    phase_keys,
    public_key,
    rekeyed,
    trial_key,
)
from tacit.deploy.messages.handshake import Question, write_hello
from tacit.deploy.messages.mailbox import Heard
from tacit.deploy.messages.outgoing import Made, Outgoing
from tacit.deploy.messages.slots import packed
from tacit.deploy.messages.wire import Address, encode
from tacit.privacy import NoiseKind
from tacit.privacy.masking import mask, mask_label, pair_key
from tacit.privacy.noise import SeededNoise
from tacit.privacy.noise.pairs import PairKeys

VERSION = "0.2.0.dev5"
"""What the digests are of."""

RUN = bytes(range(32))
IDENTITY = Ed25519PrivateKey.from_private_bytes(RUN)


class State(NamedTuple):
    x: Any
    gradient: Any = None


STATE = State(np.array([1.0, -2.5]))


def message(folder: Path) -> Iterator[bytes]:
    yield encode(Address(RUN, 2, 7, 1, 3), [np.array([1.0, -2.5]), np.arange(4)], IDENTITY)
    yield encode(Address.last(RUN, 2, 9), [], IDENTITY)


def hello(folder: Path) -> Iterator[bytes]:
    question = Question(1, 0, "0" * 32)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tacit.deploy.messages.handshake.time", SimpleNamespace(time=lambda: 1.0))
        yield write_hello(question, RUN, 7, {"tacit": "1"}, IDENTITY, heard=41)
    yield question.key().encode()


def journal(folder: Path) -> Iterator[bytes]:
    outgoing = Outgoing(folder / "journal.db", RUN.hex(), None, {}, 0, lambda address: 0)
    outgoing.commit(Made(0, "0/0/0/0", b"bytes"), STATE, ["north"])
    outgoing.heard.keep([Heard(1, 0, RUN, bytes(64))], (0, b"copy"))
    outgoing.absences.left(1, 3)
    outgoing.close()
    with closing(sqlite3.connect(folder / "journal.db")) as file:
        yield str(file.execute("PRAGMA user_version").fetchone()).encode()
        for name, made in file.execute("SELECT name, sql FROM sqlite_master ORDER BY name"):
            yield f"{name} {made} ".encode()
            yield repr(file.execute(f"SELECT * FROM {name}").fetchall()).encode()


def state(folder: Path) -> Iterator[bytes]:
    yield from map(bytes, packed(STATE))
    yield from map(bytes, packed(STATE._replace(gradient=np.array([[4, 5]]))))


def kept_run(folder: Path) -> Iterator[bytes]:
    checkpoint.save(folder / "run.checkpoint", "ab" * 32, 3, STATE)
    with np.load(folder / "run.checkpoint") as archive:
        for name in archive.files:
            yield name.encode() + archive[name].tobytes()


def keys(folder: Path) -> Iterator[bytes]:
    root = trial_key(2, 1)
    roots = rekeyed(root.reshape(1), RUN)
    found = [public_key(2), pair_secret(root, 1, 4), *roots]
    for place in ((-1, 0, 0), (0, 0, 0), (7, 2, 5)):
        found += phase_keys(agent_secret(root, 3), *place)
    for each in found:
        yield np.asarray(jax.random.key_data(each)).astype("<u4").tobytes()


def masks(folder: Path) -> Iterator[bytes]:
    public = X25519PrivateKey.from_private_bytes(RUN[::-1]).public_key().public_bytes_raw()
    shared = pair_key(RUN, public, RUN, 0, 4)
    label = mask_label(RUN, 7, 2, 1, [0, 4], b"iterate")
    yield mask({4: shared}, 0, [0, 4], label, 5).astype("<u8").tobytes()


def shared_noise(folder: Path) -> Iterator[bytes]:
    for scale in (1000.0, 2.0**33):
        drawn = PairKeys(RUN, 4, {0: RUN[::-1], 9: RUN}).mask(scale, 64, 7, 2, 1)
        yield drawn.astype("<i8").tobytes()


def noise(folder: Path) -> Iterator[bytes]:
    for law in (NoiseKind.GAUSSIAN, NoiseKind.LAPLACE):
        drawn = SeededNoise(3).added(np.zeros(64, np.int64), law, 1000.0)
        yield drawn.astype("<i8").tobytes()


DIGESTS: dict[Callable[[Path], Iterator[bytes]], str] = {
    message: "98c745b9c3361265",
    hello: "bef151006220ab3c",
    journal: "7c3b415e7385b3dc",
    state: "73ee5985b48398c0",
    kept_run: "992c8e86c08d46ed",
    keys: "f6dff676b9847c24",
    masks: "525f7190e77a92d3",
    noise: "e78969f776d3ce0d",
    shared_noise: "06bde8a3d52fd4c0",
}


@pytest.mark.parametrize("form", DIGESTS, ids=lambda form: form.__name__)
def test_another_form_has_another_version(
    form: Callable[[Path], Iterator[bytes]], tmp_path: Path
) -> None:
    found = hashlib.sha256()
    for part in form(tmp_path):
        found.update(len(part).to_bytes(8, "big") + part)
    assert (tacit.__version__, found.hexdigest()[:16]) == (VERSION, DIGESTS[form]), (
        "what is released, sent or stored has changed: raise tacit.__version__ (tacit/__init__.py, "
        "CITATION.cff), then VERSION and the digests here"
    )


def test_whoever_cites_tacit_cites_this_version() -> None:
    cited = (Path(__file__).parents[2] / "CITATION.cff").read_text()
    assert f"\nversion: {tacit.__version__}\n" in cited
