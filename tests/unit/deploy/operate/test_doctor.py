"""The doctor finds what was planted, and says what to do."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import tacit
from tacit._engine.environment import versions
from tacit.deploy.agreement.manifest import Manifest, agreed
from tacit.deploy.identity import certificates, keys
from tacit.deploy.member.checking import Options
from tacit.deploy.messages.carrier import Endpoint
from tacit.deploy.messages.handshake import Question, read_hello, write_hello
from tacit.deploy.messages.transport import Transport
from tacit.deploy.operate.doctor import Finding, examine
from tacit.errors import WireError
from tacit.study.read import parse_study
from tests.sites import STUDY, free_port, member, records


@dataclass
class Ward:
    """North asks the doctor; south's agent runs; west's does not."""

    folder: Path
    keys: list[keys.Keys]
    hello: Callable[[Question], bytes]
    transport: Transport | None = None

    def manifest(self, sign: int = 3, **addresses: str) -> Manifest:
        members = [member(each, addresses.get(each.card.name)) for each in self.keys]
        made = agreed(parse_study(STUDY), ["age", "intercept"], 0, members)
        for each in self.keys[:sign]:
            if not addresses:
                made = made.signed_by(each)
        return made

    def start_south(self, manifest: Manifest) -> None:
        state = self.folder / "state"
        state.mkdir(exist_ok=True)
        self.transport = Transport(
            Endpoint(
                self.keys[1],
                manifest.run.hex(),
                1,
                {0: self.keys[0].card, 2: self.keys[2].card},
                state,
                listen=True,
                serve=self.served,
                accept=lambda *_: None,
            )
        )

    def served(self, key: str) -> bytes | None:
        question = Question.read(key)
        return None if question is None else self.hello(question)

    def asked(self, agreed_on: Manifest, **change: Path) -> dict[str, Finding]:
        path = self.folder / "run.toml"
        path.write_text(agreed_on.toml())
        options = Options(path, self.keys[0].folder, self.folder, records(self.folder))
        return {each.what: each for each in examine(replace(options, **change))}


@pytest.fixture
def ward(tmp_path: Path) -> Iterator[Ward]:
    certificates.create_authority(tmp_path / "authority", "all")
    made = [
        keys.create(tmp_path / name, name, f"127.0.0.1:{free_port()}", tmp_path / "authority")
        for name in ("north", "south", "west")
    ]
    ward = Ward(tmp_path, made, lambda question: b"")
    run = ward.manifest().run
    ward.hello = lambda question: write_hello(question, run, 3, versions(), made[1].identity)
    yield ward
    if ward.transport is not None:
        ward.transport.close()


@pytest.mark.long
def test_what_is_right_is_called_right(ward: Ward) -> None:
    manifest = ward.manifest()
    ward.start_south(manifest)
    found = ward.asked(manifest)
    assert found.pop("west").told.startswith("nobody listens")
    assert all(each.good for each in found.values()), found
    assert "in round 4" in found["south, its agent"].told


@pytest.mark.long
def test_a_clock_an_hour_off_and_another_version_are_found(
    ward: Ward, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = ward.manifest()
    ward.start_south(manifest)
    run, own = manifest.run, ward.keys[1].identity
    real = time.time

    def late(question: Question) -> bytes:
        with monkeypatch.context() as patched:
            patched.setattr("tacit.deploy.messages.handshake.time.time", lambda: real() + 3600.0)
            return write_hello(question, run, 3, versions(), own)

    ward.hello = late
    told = ward.asked(manifest)["south, its agent"]
    assert told.good is False and "ahead" in told.told and "clock" in told.told
    ward.hello = lambda question: write_hello(question, run, 3, versions() | {"jax": "0.1"}, own)
    told = ward.asked(manifest)["south, its agent"]
    assert told.good is False and "jax 0.1 there" in told.told
    ward.hello = lambda question: write_hello(question, run, 3, {"tacit": "0.1.0"}, own)
    told = ward.asked(manifest)["south, its agent"]
    assert told.good is False and told.told.startswith("'south' runs tacit 0.1.0 and this member")


@pytest.mark.slow
def test_another_manifest_and_another_identity_are_found(ward: Ward) -> None:
    manifest = ward.manifest()
    other = manifest.model_copy(update={"patience": 5.0})
    ward.start_south(other)
    told = ward.asked(manifest)["south, its agent"]
    assert told.good is False and "another manifest" in told.told
    with pytest.raises(WireError, match="signature"):
        read_hello(
            write_hello(Question(1, 0), manifest.run, 0, {}, ward.keys[2].identity),
            Question(1, 0),
            manifest.run,
            ward.keys[1].card,
        )


@pytest.mark.parametrize("number", ["Infinity", "1e400", "NaN", "[]"])
def test_a_greeting_with_numbers_that_are_none_is_a_typed_error(ward: Ward, number: str) -> None:
    own, question = ward.keys[1], Question(1, 0)
    asked = {"asker": 0, "nonce": question.nonce}
    for name in ("time", "round", "heard"):
        said = asked | {"run": "ab" * 32, "time": 1.0, "round": 1, "heard": 1}
        said["versions"] = {"tacit": tacit.__version__}
        text = json.dumps(said | {name: "X"}).replace('"X"', number)
        signature = keys.sign(own.identity, b"tacit hello 2\n" + text.encode())
        data = json.dumps({"text": text, "signature": signature}).encode()
        if name == "time" and number != "[]":
            continue  # a clock that is far off is the doctor's to judge
        with pytest.raises(WireError, match="no answer"):
            read_hello(data, question, bytes.fromhex("ab" * 32), own.card)


PLANTED: list[tuple[str, str, Callable[[Ward], dict[str, Finding]]]] = [
    ("south", "not known here", lambda w: w.asked(w.manifest(south="no-such-host.invalid:7447"))),
    ("agreement and records", "not signed by 'west'", lambda w: w.asked(w.manifest(sign=2))),
    (
        "agreement and records",
        "cannot be read|no such|does not exist",
        lambda w: w.asked(w.manifest(), data=w.folder / "absent.csv"),
    ),
    ("manifest", "cannot be read", lambda w: w.asked(w.manifest(), manifest=w.folder / "no.toml")),
    ("manifest", "takes no part", lambda w: w.asked(w.manifest(), keys=stranger(w))),
    ("keys", "chmod 600", lambda w: w.asked(w.manifest(), keys=opened(w))),
    ("own certificate", "ended", lambda w: w.asked(w.manifest(), keys=ended(w))),
    ("own address", "not an address of this machine", lambda w: elsewhere(w)),
    ("south", "nobody listens at port", lambda w: w.asked(w.manifest())),
    ("south", "'west' answers at", lambda w: swapped(w)),
    ("south", "another authority", lambda w: impostor(w)),
    ("south", "ended the connection|wrong version|WRONG_VERSION", lambda w: plain(w)),
]


def stranger(ward: Ward) -> Path:
    return keys.create(ward.folder / "stranger", "east").folder


def opened(ward: Ward) -> Path:
    (ward.keys[0].folder / "tls.pem").chmod(0o644)
    return ward.keys[0].folder


def ended(ward: Ward) -> Path:
    certificates.certify(ward.keys[0].folder, "north", "127.0.0.1", ward.folder / "authority", 0)
    time.sleep(1.1)
    return ward.keys[0].folder


def elsewhere(ward: Ward) -> dict[str, Finding]:
    own = keys.create(ward.folder / "far", "north", "192.0.2.1:7447", ward.folder / "authority")
    ward.keys[0] = own
    return ward.asked(ward.manifest())


def swapped(ward: Ward) -> dict[str, Finding]:
    """West's agent answers where south's should."""
    ward.keys[1], ward.keys[2] = ward.keys[2], ward.keys[1]
    manifest = ward.manifest()
    ward.start_south(manifest)
    ward.keys[1], ward.keys[2] = ward.keys[2], ward.keys[1]
    here = {"south": ward.keys[2].card.address, "west": ward.keys[1].card.address}
    return ward.asked(ward.manifest(3, **here))


def impostor(ward: Ward) -> dict[str, Finding]:
    """South has made new keys with an authority of its own and told nobody."""
    manifest = ward.manifest()
    right = ward.keys[1]
    ward.keys[1] = keys.create(ward.folder / "new", "south", right.card.address)
    ward.start_south(manifest)
    ward.keys[1] = right
    return ward.asked(manifest)


def plain(ward: Ward) -> dict[str, Finding]:
    """Something else listens at south's port."""
    _, _, port = ward.keys[1].card.address.rpartition(":")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", int(port)))
        listening.listen()

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"220 mail.example ready, go ahead\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        found = ward.asked(ward.manifest())
        thread.join()
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("what", "word", "plant"), PLANTED)
def test_planted_mistakes_are_found(
    ward: Ward, what: str, word: str, plant: Callable[[Ward], dict[str, Finding]]
) -> None:
    finding = plant(ward)[what]
    assert finding.good is False

    assert re.search(word, finding.told), finding.told
