"""A stranger without a certificate keeps no member out, and leaves a trace."""

from __future__ import annotations

import logging
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tacit.deploy.identity import certificates, keys
from tacit.deploy.messages import gate
from tacit.deploy.messages.address import host_and_port
from tacit.deploy.messages.carrier import Endpoint
from tacit.deploy.messages.gate import Gate
from tacit.deploy.messages.transport import Transport
from tests.sites import free_port

RUN = "ab" * 32
HALF = bytes.fromhex("16030100c8010000c40303") + bytes(20)
ELSEWHERE = "127.0.0.2" if sys.platform == "linux" else "127.0.0.1"


def hello() -> bytes:
    """A whole first message of a handshake, of somebody who never answers."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    came, goes = ssl.MemoryBIO(), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(came, goes).do_handshake()
    return goes.read()


@contextmanager
def strangers(port: int, begin: bytes, count: int) -> Iterator[None]:
    """As many connections as are let stand, each of which begins so; new ones for those ended."""
    over, there = threading.Event(), threading.Event()

    def attack() -> None:
        with ExitStack() as stack:
            mine: list[socket.socket] = []
            while not over.is_set():
                while len(mine) < count:
                    one = socket.create_connection(
                        ("127.0.0.1", port), 5.0, source_address=(ELSEWHERE, 0)
                    )
                    mine.append(stack.enter_context(one))
                    one.sendall(begin)
                    one.setblocking(False)
                there.set()
                time.sleep(0.05)
                mine = [each for each in mine if _open(each)]

    thread = threading.Thread(target=attack, daemon=True)
    thread.start()
    assert there.wait(30)
    try:
        yield
    finally:
        over.set()
        thread.join()


def _open(one: socket.socket) -> bool:
    try:
        return bool(one.recv(1 << 14))
    except BlockingIOError:
        return True
    except OSError:
        return False


@pytest.mark.long
@pytest.mark.parametrize(
    "begin",
    [
        pytest.param(HALF, id="half", marks=pytest.mark.slow),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="no TLS", marks=pytest.mark.slow),
        pytest.param(b"whole", id="whole"),
    ],
)
def test_members_get_in_past_strangers(
    tmp_path: Path, begin: bytes, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "SECONDS", 1.0)
    caplog.set_level(logging.WARNING, "tacit.site")
    certificates.create_authority(tmp_path / "authority", "all")
    address = f"127.0.0.1:{free_port()}"
    made = [
        keys.create(
            tmp_path / str(i), f"site {i}", address if i == 4 else "", tmp_path / "authority"
        )
        for i in range(5)
    ]
    cards = {i: each.card for i, each in enumerate(made)}
    heard = {i: threading.Event() for i in range(4)}

    def opened(number: int, around: dict[int, keys.Card]) -> Transport:
        return Transport(
            Endpoint(
                made[number],
                RUN,
                number,
                around,
                made[number].folder,
                listen=number == 4,
                serve=lambda key: b"the model",
                accept=lambda sender, key, data: heard[number].set(),
            )
        )

    with ExitStack() as stack:
        hub = stack.enter_context(closing(opened(4, {i: cards[i] for i in range(4)})))
        port = host_and_port(address)[1]
        begun = hello() if begin == b"whole" else begin
        stack.enter_context(strangers(port, begun, 150))
        time.sleep(2.5)  # so that the first have failed
        clients = {i: stack.enter_context(closing(opened(i, {4: cards[4]}))) for i in range(4)}
        ends = time.monotonic() + 60
        while time.monotonic() < ends and not all(each.is_set() for each in heard.values()):
            for number, client in clients.items():
                client.request(4, ["4/1/0/0"])
                heard[number].wait(0.1)
        counts = hub.connections
        # and they stay
        time.sleep(1.5)
        for each in heard.values():
            each.clear()
        for number, client in clients.items():
            client.request(4, ["4/1/0/0"])
            assert heard[number].wait(20)
    assert counts["let_in"] == 4 and counts["refused"] > 0
    told = [record.getMessage() for record in caplog.records]
    assert any(f"refused a connection from {ELSEWHERE}" in line for line in told)
    assert len(told) < 40  # not a line for each


def test_few_at_a_time_are_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "SECONDS", 0.5)
    begun = hello()
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener, ExitStack() as stack:
        port = free_port()
        door = Gate(f"127.0.0.1:{port}", listener.getsockname()[1])
        door.open()
        stack.callback(door.close)
        outside = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(12)
        ]
        for each in outside:
            each.sendall(begun)
        first = [listener.accept() for _ in range(gate.OF_ONE_ADDRESS)]
        for inside, _ in first:
            stack.enter_context(inside)
            assert inside.recv(len(begun), socket.MSG_WAITALL) == begun
        listener.settimeout(0.2)
        with pytest.raises(TimeoutError):
            listener.accept()
        # who is proved makes room at once, and the address has more places then
        door.proved(first[0][1][1])
        listener.settimeout(10)
        stack.enter_context(listener.accept()[0])
        assert door.counts["let_in"] == 1


def test_an_address_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        Gate(f"127.0.0.1:{taken.getsockname()[1]}", 1)
