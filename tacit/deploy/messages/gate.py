"""The gate before a member's listener: a stranger without a certificate cannot lock others out.

The listener behind it pauses for a tenth of a second after each failed handshake, and has no limit
per address. So a stranger who starts handshakes and never finishes them would stop a run. The gate
lets few connections through at a time, and fewer from one address; an address that was admitted
once by its certificate never waits for others. Bytes are forwarded unchanged: the gate holds no key
and reads only the beginning of a first message.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import socket
import threading
from collections import Counter, OrderedDict
from typing import Any

from tacit.deploy.messages.address import host_and_port

log = logging.getLogger("tacit.site")

INSIDE = "127.0.0.1"
"""Where the listener behind the gate is: nobody else reaches it there."""

SECONDS = 5.0
"""For which a connection may be unproved; a failed one keeps its place for as long."""

AT_ONCE = 16
"""Unproved connections that the listener sees at a time: at most so many fail in `SECONDS`."""

OF_ONE_ADDRESS = 4
"""Of those, from one address."""

WAITING = 256
"""Connections that wait for a place; more are let wait of addresses that were let in before."""

WAITING_OF_ONE_ADDRESS = 32
"""Of those, from one address, whichever it is."""

_ADDRESSES = 1024
"""Addresses that are remembered."""

_TOLD = 32
"""Of how many addresses the log tells one by one."""

_CHUNK = 1 << 16


class Gate:
    """Listens at a member's address and forwards connections to a port of this machine.

    Args:
        address: address of the member, `host:port`.
        inner: port at `INSIDE` of the listener behind the gate.

    Raises:
        OSError: the gate cannot listen at the address.
    """

    def __init__(self, address: str, inner: int) -> None:
        self._inner = inner
        self.counts: Counter[str] = Counter(let_in=0, refused=0)
        """Connections that were let in by their certificate, and that were refused."""
        self._refused: OrderedDict[str, int] = OrderedDict()
        self._known: OrderedDict[str, None] = OrderedDict()
        self._trying: Counter[str] = Counter()
        self._queued: Counter[str] = Counter()
        self._proofs: dict[int, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._sockets = _listening(address)
        self._servers: list[asyncio.Server] = []
        self._loop, self._places = asyncio.new_event_loop(), asyncio.Condition()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def open(self) -> None:
        """Admit connections, once the listener is ready."""
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()

    def proved(self, port: int) -> None:
        """Note that the listener has admitted the connection from a port of this machine."""

        def note() -> None:
            if port in self._proofs:
                self._proofs[port].set()

        with contextlib.suppress(RuntimeError):  # the gate is already closed
            self._loop.call_soon_threadsafe(note)

    def close(self) -> None:
        """Stop listening, and end every connection."""
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> None:
        for each in self._sockets:
            server = await asyncio.start_server(self._come, sock=each, backlog=512, limit=_CHUNK)
            self._servers.append(server)

    async def _stop(self) -> None:
        # nothing more is accepted, and accepted connections start, so that they can end: a server
        # that is closed in between forgets the socket
        for listening in self._sockets:
            with contextlib.suppress(NotImplementedError):  # Windows has no readers
                self._loop.remove_reader(listening)
        for _ in range(10):
            await asyncio.sleep(0)
        for each in (*self._servers, *self._sockets):
            each.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for _ in range(10):  # until aborted connections are closed
            await asyncio.sleep(0)

    async def _come(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await self._admit(reader, writer)
        finally:
            with contextlib.suppress(asyncio.CancelledError):
                await _end(writer)
            self._tasks.discard(task)

    async def _admit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        source = _source(writer)
        if self._queued[source] >= WAITING_OF_ONE_ADDRESS or (
            self._queued.total() >= WAITING and source not in self._known
        ):
            self._refuse(source, "too many of its connections wait")
            return
        self._queued[source] += 1
        try:
            first = await _hello(reader)
            if not first:
                self._refuse(source, "it did not begin a TLS handshake")
                return
            try:
                async with asyncio.timeout(2 * SECONDS):
                    await self._place(source)
            except TimeoutError:
                self._refuse(source, "too many others failed before it")
                return
        finally:
            _less(self._queued, source)
        await self._pass_on(source, first, reader, writer)

    async def _place(self, source: str) -> None:
        """Wait for a slot at the listener; an address that was admitted before has its own."""
        async with self._places:
            await self._places.wait_for(lambda: self._free(source))
            self._trying[source] += 1

    def _free(self, source: str) -> bool:
        mine = self._trying[source]
        if source in self._known:
            return mine < AT_ONCE
        return mine < OF_ONE_ADDRESS and self._trying.total() < AT_ONCE

    async def _leave(self, source: str) -> None:
        async with self._places:
            _less(self._trying, source)
            self._places.notify_all()

    async def _pass_on(
        self,
        source: str,
        first: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        proof, began = asyncio.Event(), self._loop.time()
        port, ways = 0, list[asyncio.Future[Any]]()
        out: asyncio.StreamWriter | None = None
        try:
            inside, out = await asyncio.open_connection(INSIDE, self._inner, limit=_CHUNK)
            port = out.get_extra_info("sockname")[1]
            self._proofs[port] = proof
            out.write(first)
            both = asyncio.ensure_future(_both(reader, out, inside, writer))
            ways = [both, asyncio.ensure_future(proof.wait())]
            await asyncio.wait(ways, timeout=SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if proof.is_set():
                self.counts["let_in"] += 1
                _remember(self._known, source, None)
                await self._leave(source)
                await both
                return
            self._refuse(source, "it showed no certificate that is trusted here")
        finally:
            self._proofs.pop(port, None)
            for way in ways:
                way.cancel()
            if not proof.is_set():
                # its slot is freed when it would have been without the failure
                left = SECONDS - (self._loop.time() - began)
                self._later(max(left, 0.0), source)
            if out is not None:
                await _end(out)

    def _later(self, seconds: float, source: str) -> None:
        def leave() -> None:
            task = self._loop.create_task(self._leave(source))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        self._loop.call_later(seconds, leave)

    def _refuse(self, source: str, reason: str) -> None:
        self.counts["refused"] += 1
        count = self._refused.get(source, 0) + 1
        _remember(self._refused, source, count)
        everybody = self.counts["refused"]
        # the 1st, 2nd, 4th ... of a few addresses, then of all, so that logs cannot fill a disk
        told = count if len(self._refused) <= _TOLD else everybody
        if told & (told - 1):
            return
        log.warning(
            "refused a connection from %(address)s: %(reason)s (%(count)d from there, "
            "%(all)d in all)",
            {
                "address": source,
                "reason": reason,
                "count": count,
                "all": everybody,
            },
        )


async def _hello(reader: asyncio.StreamReader) -> bytes:
    """A whole first record of a TLS handshake; empty for anything else, or nothing in time."""
    try:
        async with asyncio.timeout(SECONDS):
            head = await reader.readexactly(5)
            length = int.from_bytes(head[3:5])
            if head[:2] != b"\x16\x03" or not 4 <= length <= 1 << 14:
                return b""
            body = await reader.readexactly(length)
    except (TimeoutError, asyncio.IncompleteReadError):
        return b""
    return head + body if body[0] == 1 else b""


async def _both(
    reader: asyncio.StreamReader,
    out: asyncio.StreamWriter,
    inside: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """Forward bytes in both directions until one side ends."""
    ways = [asyncio.ensure_future(_copy(*way)) for way in ((reader, out), (inside, writer))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(_CHUNK):
            target.write(data)
            await target.drain()


async def _end(writer: asyncio.StreamWriter) -> None:
    """Close the writer once its data have been sent, or after a short time."""
    writer.close()
    try:
        async with asyncio.timeout(1.0):
            await writer.wait_closed()
    except (OSError, TimeoutError):
        writer.transport.abort()


def _listening(address: str) -> list[socket.socket]:
    """Sockets at each IP address of a host that belongs to this machine."""
    host, port = host_and_port(address)
    found = dict.fromkeys(
        (family, place[0])
        for family, *_, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    )
    bound: list[socket.socket] = []
    failed: OSError | None = None
    for family, number in found:
        try:
            each = socket.create_server((str(number), port), family=family, backlog=512)
        except OSError as error:
            failed = error
            continue
        bound.append(each)
    if not bound:
        raise failed or OSError(f"{host} has no number")
    return bound


def _source(writer: asyncio.StreamWriter) -> str:
    """The source of a connection: an IPv4 address, or the /64 of an IPv6 address."""
    number = ipaddress.ip_address(writer.get_extra_info("peername")[0].partition("%")[0])
    if isinstance(number, ipaddress.IPv6Address) and number.ipv4_mapped is None:
        return str(ipaddress.ip_network((number, 64), strict=False))
    return str(number)


def _less(counter: Counter[str], key: str) -> None:
    counter[key] -= 1
    if counter[key] <= 0:
        del counter[key]


def _remember(known: OrderedDict[str, Any], key: str, value: Any) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > _ADDRESSES:
        known.popitem(last=False)
