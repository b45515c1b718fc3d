"""Who gets through: the neighbours of the manifest, each with its own messages, and nobody else."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
import zenoh

from tacit.deploy.identity import certificates, keys
from tacit.deploy.messages.address import host_and_port
from tacit.deploy.messages.carrier import Endpoint
from tacit.deploy.messages.transport import Transport, settings
from tests.sites import free_port

RUN = "ab" * 32


class Listening:
    """Agent 0 with neighbours 1 and 2, and what ever reached it."""

    def __init__(self, folder: Path, *, apart: bool = False) -> None:
        self.folder = folder
        certificates.create_authority(folder / "authority", "all")
        self.keys = [
            keys.create(
                folder / str(i), f"site {i}", f"127.0.0.1:{free_port()}", folder / "authority"
            )
            for i in range(4)
        ]
        self.heard: list[tuple[int, str, bytes]] = []
        self.asked: list[str] = []
        self.came = threading.Event()
        (folder / "state").mkdir()
        self.transport = Transport(
            Endpoint(
                self.keys[0],
                RUN,
                0,
                {1: self.keys[1].card, 2: self.keys[2].card},
                folder / "state",
                listen=True,
                serve=self._serve,
                accept=self._accept,
                apart=apart,
            )
        )

    def _serve(self, key: str) -> bytes:
        self.asked.append(key)
        return b"the answer"

    def _accept(self, sender: int, key: str, data: bytes) -> None:
        self.heard.append((sender, key, data))
        self.came.set()

    def dial(self, own: keys.Keys, number: int, **change: Any) -> zenoh.Session:
        """A session of somebody who follows no rule but those that are enforced on it."""
        trusted = self.folder / f"trusted-{time.monotonic_ns()}"
        trusted.write_text(self.keys[0].card.authority)
        config = settings(own, trusted, "tacit/x", number, {0: self.keys[0].card})
        config["access_control"] = {"enabled": False, "default_permission": "allow"}
        config["transport"]["link"]["tls"] |= change.get("tls", {})
        config["transport"]["link"]["protocols"] = ["tls", "tcp"]
        config["connect"]["endpoints"] = [
            f"{change.get('protocol', 'tls')}/{self.keys[0].card.address}"
        ]
        return zenoh.open(zenoh.Config.from_json5(json.dumps(config)))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    listening = Listening(tmp_path_factory.mktemp("site"))
    yield listening
    listening.transport.close()


def attempt(site: Listening, session: zenoh.Session, sender: int, seconds: float) -> list[bytes]:
    """Push a message as a sender and ask for one of agent 0's, again and again."""
    for each in (site.heard, site.asked, site.came):
        each.clear()
    answers: list[bytes] = []
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and not (site.came.is_set() and answers):
        session.put(f"tacit/{RUN[:32]}/{sender}/1/0/0", b"hello")
        session.get(
            f"tacit/{RUN[:32]}/0/1/0/0",
            lambda reply: answers.append(reply.ok.payload.to_bytes()) if reply.ok else None,
            timeout=1.0,
        )
        time.sleep(0.1)
    return answers


def test_a_neighbour_is_heard_and_answered(site: Listening) -> None:
    with site.dial(site.keys[1], 1) as session:
        answers = attempt(site, session, 1, 20.0)
    assert site.heard[0] == (1, "1/1/0/0", b"hello")
    assert answers[0] == b"the answer" and site.asked[0] == "0/1/0/0"


def test_who_only_dials_finds_a_coordinator_that_starts_later_or_again(tmp_path: Path) -> None:
    certificates.create_authority(tmp_path / "authority", "all")
    client, coordinator = [
        keys.create(tmp_path / str(i), f"site {i}", address, tmp_path / "authority")
        for i, address in enumerate(["", f"127.0.0.1:{free_port()}"])
    ]
    came = threading.Event()

    def opened(own: keys.Keys, number: int, other: keys.Card) -> Transport:
        return Transport(
            Endpoint(
                own,
                RUN,
                number,
                {1 - number: other},
                own.folder,
                listen=number == 1,
                serve=lambda key: b"an answer",
                accept=lambda *told: came.set(),
            )
        )

    with closing(opened(client, 0, coordinator.card)) as dialling:
        for _ in range(2):
            time.sleep(0.5)
            came.clear()
            with closing(opened(coordinator, 1, client.card)):
                ends = time.monotonic() + 60
                while not came.is_set() and time.monotonic() < ends:
                    dialling.request(1, ["1/1/0/0"])
                    came.wait(0.1)
                assert came.is_set()


@pytest.mark.long
def test_a_neighbour_is_not_heard_in_anothers_name(site: Listening) -> None:
    with site.dial(site.keys[1], 1) as session:
        attempt(site, session, 2, 3.0)
    assert not site.heard


@pytest.mark.long
def test_a_member_who_is_no_neighbour_reads_and_says_nothing(site: Listening) -> None:
    with site.dial(site.keys[3], 3) as session:
        for sender in (1, 3):
            answers = attempt(site, session, sender, 2.0)
            assert not site.heard and not answers


@pytest.mark.slow
def test_strangers_do_not_get_in(site: Listening, tmp_path: Path) -> None:
    certificates.create_authority(tmp_path / "authority", "all")
    foreign = keys.create(tmp_path / "foreign", "site 1", "", tmp_path / "authority")
    alone = keys.create(tmp_path / "alone", "site 1")
    ended = keys.create(tmp_path / "ended", "site 1", "", site.folder / "authority")
    certificates.certify(ended.folder, "site 1", "", site.folder / "authority", 0)
    time.sleep(1.1)
    nothing = {"connect_private_key": None, "connect_certificate": None, "enable_mtls": False}
    with ExitStack() as stack:
        sessions = [
            stack.enter_context(site.dial(foreign, 1)),
            stack.enter_context(site.dial(alone, 1)),
            stack.enter_context(site.dial(ended, 1)),
            stack.enter_context(site.dial(site.keys[1], 1, tls=nothing)),
            stack.enter_context(site.dial(site.keys[1], 1, protocol="tcp")),
        ]
        for session in sessions:
            answers = attempt(site, session, 1, 1.5)
            assert not site.heard and not answers and not site.asked


@pytest.mark.parametrize(
    ("version", "passes"), [(ssl.TLSVersion.TLSv1_2, False), (ssl.TLSVersion.TLSv1_3, True)]
)
def test_nothing_older_than_tls_1_3_is_spoken(
    site: Listening, version: ssl.TLSVersion, passes: bool
) -> None:
    own = site.keys[1]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = context.maximum_version = version
    context.load_cert_chain(own.certificate, own.private)
    context.load_verify_locations(cadata=site.keys[0].card.authority)
    host, port = host_and_port(site.keys[0].card.address)
    with socket.create_connection((host, port), timeout=10.0) as raw:
        if not passes:
            with pytest.raises(ssl.SSLError, match="VERSION"):
                context.wrap_socket(raw, server_hostname=host)
            return
        with context.wrap_socket(raw, server_hostname=host) as spoken:
            assert spoken.version() == "TLSv1.3"


@pytest.mark.long
def test_an_authority_of_one_card_certifies_no_other_that_is_dialled(tmp_path: Path) -> None:
    """Two neighbours with authorities of their own; that of the third certifies a second's name."""
    certificates.create_authority(tmp_path / "authority", "of site 2")
    own, right = (
        keys.create(tmp_path / str(i), f"site {i}", f"127.0.0.1:{free_port()}") for i in (0, 1)
    )
    third = keys.create(tmp_path / "2", "site 2", "", tmp_path / "authority")
    impostor = keys.create(tmp_path / "x", "site 1", right.card.address, tmp_path / "authority")
    cards = {1: right.card, 2: third.card}
    for listening, answers in ((impostor, False), (right, True)):
        came = threading.Event()
        with (
            closing(
                Transport(
                    Endpoint(
                        listening,
                        RUN,
                        1,
                        {0: own.card},
                        listening.folder,
                        listen=True,
                        serve=lambda key: b"an answer",
                        accept=lambda *told: None,
                    )
                )
            ),
            closing(
                Transport(
                    Endpoint(
                        own,
                        RUN,
                        0,
                        cards,
                        own.folder,
                        listen=False,
                        serve=lambda key: None,
                        accept=lambda *told, came=came: came.set(),
                    )
                )
            ) as dialling,
        ):
            ends = time.monotonic() + (60 if answers else 3)
            while not came.is_set() and time.monotonic() < ends:
                dialling.request(1, ["1/1/0/0"])
                came.wait(0.1)
        assert came.is_set() == answers


def test_what_is_for_one_neighbour_is_for_no_other(tmp_path: Path) -> None:
    """Neighbour 1 asks for everything, and is given what is for it."""
    site, run = Listening(tmp_path, apart=True), f"tacit/{RUN[:32]}"
    heard, answers = set[bytes](), set[str]()
    with closing(site.transport), site.dial(site.keys[1], 1) as session:
        heard_by = [
            session.declare_subscriber(names, lambda it: heard.add(it.payload.to_bytes()))
            for names in (f"{run}/0/1/**", f"{run}/0/2/**", f"{run}/0/**")
        ]
        ends = time.monotonic() + 20.0
        while time.monotonic() < ends and not (heard and answers and site.came.is_set()):
            for other in (1, 2):
                site.transport.publish(f"0/{other}/list", f"for {other}".encode())
                session.get(
                    f"{run}/0/{other}/list",
                    lambda reply: answers.add(str(reply.ok.key_expr)) if reply.ok else None,
                    timeout=1.0,
                )
                session.put(f"{run}/1/{2 * (other - 1)}/list", f"to {other}".encode())
            time.sleep(0.2)
        time.sleep(1.0)
        assert len(heard_by) == 3
    assert heard == {b"for 1"}
    assert answers == {f"{run}/0/1/list"}
    assert set(site.asked) == {"0/1/list"}
    assert {each[1] for each in site.heard} == {"1/0/list"}
