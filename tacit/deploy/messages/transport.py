"""Messages over zenoh: mutual TLS, and an access list with one entry per neighbour.

A message is pushed once. A neighbour that misses one requests it by name, and is answered from
disk. Nothing is relayed, discovered or gossiped: an agent communicates only with its neighbours in
the manifest, at their addresses in it.
"""

from __future__ import annotations

import base64
import errno
import json
import logging
import socket
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tacit.deploy.files import write_text
from tacit.deploy.identity.keys import Card, Keys
from tacit.deploy.messages.carrier import Endpoint, Link
from tacit.deploy.messages.gate import INSIDE, Gate
from tacit.deploy.messages.handshake import Question
from tacit.errors import TransportError

log = logging.getLogger("tacit.site")

LARGEST = 16 << 20
"""Bytes that one message may have."""

_ANSWER_SECONDS = 10.0


class Transport:
    """An open connection to the neighbours of one agent.

    Args:
        endpoint: the agent's end.

    Raises:
        TransportError: zenoh is not installed, or the agent cannot listen at its address.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        try:
            import zenoh
        except ImportError as error:
            raise TransportError(
                "sites exchange messages over zenoh; install it with: pip install 'tacit[deploy]'"
            ) from error
        keys, number, neighbours = endpoint.keys, endpoint.number, endpoint.neighbours
        self._zenoh, self._accept = zenoh, endpoint.accept
        self._prefix = f"tacit/{endpoint.run[:32]}"
        trusted = endpoint.folder / "trusted.crt"
        write_text(trusted, "".join(sorted({card.authority for card in neighbours.values()})))
        inner = free_port() if endpoint.listen else None
        config = zenoh.Config.from_json5(
            json.dumps(settings(keys, trusted, self._prefix, number, neighbours, inner))
        )
        self._gate = None if inner is None else _gate(keys.card.address, inner)
        remote = zenoh.Locality.REMOTE
        try:
            self._session = zenoh.open(config)
            self._declared: list[Any] = [
                self._session.declare_queryable(
                    f"{self._prefix}/{number}/**",
                    self._answering(endpoint.serve),
                    allowed_origin=remote,
                )
            ]
            for sender in neighbours:
                self._declared.append(
                    self._session.declare_subscriber(
                        f"{self._prefix}/{sender}/**",
                        self._hearing(sender),
                        allowed_origin=remote,
                    )
                )
        except zenoh.ZError as error:
            if self._gate is not None:
                self._gate.close()
            raise TransportError(f"cannot connect: {error}") from error
        if self._gate is not None:
            info = self._session.info
            self._declared.append(info.declare_link_events_listener(self._linked, history=True))
            self._gate.open()

    @property
    def connections(self) -> dict[str, int]:
        """Numbers of connections admitted and refused here; empty for a member that only dials."""
        return {} if self._gate is None else dict(self._gate.counts)

    def publish(self, key: str, data: bytes) -> None:
        """Push a message to all that listen; if it is lost, it is requested later."""
        self._session.put(
            f"{self._prefix}/{key}",
            data,
            congestion_control=self._zenoh.CongestionControl.DROP,
            express=True,
            allowed_destination=self._zenoh.Locality.REMOTE,
        )

    def request(self, sender: int, keys: Iterable[str]) -> None:
        """Ask a neighbour for messages; answers arrive as if they had been pushed."""

        def answered(reply: Any) -> None:
            if reply.ok is not None:
                self._deliver(sender, reply.ok)

        for key in keys:
            self._session.get(
                f"{self._prefix}/{key}",
                answered,
                target=self._zenoh.QueryTarget.ALL,
                timeout=_ANSWER_SECONDS,
                allowed_destination=self._zenoh.Locality.REMOTE,
            )

    def question(self, asked: int, asker: int) -> Question:
        """A greeting for a neighbour that has none yet to answer."""
        return Question(asked, asker)

    def close(self) -> None:
        """End the connection."""
        try:
            # before the gate, through which it notifies the others
            self._session.close()
        except self._zenoh.ZError as error:  # it ends with the process
            log.warning("the connection did not end by itself: %(error)s", {"error": error})
        finally:
            if self._gate is not None:
                self._gate.close()

    def _linked(self, event: Any) -> None:
        port = str(event.link.dst).rpartition(":")[2]
        if self._gate is not None and event.kind == self._zenoh.SampleKind.PUT and port.isdigit():
            self._gate.proved(int(port))

    def _answering(self, serve: Callable[[str], bytes | None]) -> Callable[[Any], None]:
        start = len(self._prefix) + 1

        def answer(query: Any) -> None:
            key = str(query.key_expr)
            data = serve(key[start:])
            if data is not None:
                query.reply(key, data)

        return answer

    def _hearing(self, sender: int) -> Callable[[Any], None]:
        return lambda sample: self._deliver(sender, sample)

    def _deliver(self, sender: int, sample: Any) -> None:
        self._accept(
            sender, str(sample.key_expr)[len(self._prefix) + 1 :], sample.payload.to_bytes()
        )


class Zenoh:
    """Tacit's own connections, over mutual TLS."""

    ask_every: float = 0.25

    def connect(self, endpoint: Endpoint) -> Link:
        """Connect a member."""
        return Transport(endpoint)

    def doing(self, endpoint: Endpoint) -> str:
        """Whether it listens or dials."""
        if endpoint.listen:
            return f"listening at {endpoint.keys.card.address}"
        return "dialling the coordinator"


def free_port() -> int:
    """A port of this machine at which nobody listens."""
    with socket.socket() as trial:
        trial.bind((INSIDE, 0))
        return int(trial.getsockname()[1])


def _gate(address: str, inner: int) -> Gate:
    try:
        return Gate(address, inner)
    except OSError as error:
        raise TransportError(
            f"{address} is in use, perhaps by this member's running agent (tacit status DIR); "
            "tacit doctor says more"
            if error.errno == errno.EADDRINUSE
            else f"cannot listen at {address!r} ({error.strerror}); is the address this machine's?"
        ) from error


def settings(
    keys: Keys,
    trusted: Path,
    prefix: str,
    number: int,
    neighbours: Mapping[int, Card],
    inner: int | None = None,
) -> dict[str, Any]:
    """The configuration of zenoh; `inner` is its port behind the gate, if it listens."""
    dial = [f"tls/{card.address}#{_only(card)}" for card in neighbours.values() if card.address]
    return {
        "mode": "peer",
        "connect": {
            "endpoints": sorted(dial),
            "timeout_ms": -1,  # 0 tries once, and a client may start before its coordinator
            "exit_on_failure": False,
            "retry": {
                "period_init_ms": 100,
                "period_max_ms": 2000,
                "period_increase_factor": 1.5,
            },
        },
        "listen": {
            "endpoints": [] if inner is None else [f"tls/{INSIDE}:{inner}"],
            "exit_on_failure": True,
        },
        "scouting": {
            "delay": 0,
            "multicast": {"enabled": False},
            "gossip": {"enabled": False},
        },
        "adminspace": {"enabled": False},
        "open": {"return_conditions": {"connect_scouted": False, "declares": False}},
        "transport": {
            "shared_memory": {"enabled": False},
            "unicast": {"max_sessions": 4 * len(neighbours) + 4},
            "link": {
                "protocols": ["tls"],
                "rx": {"max_message_size": LARGEST + 4096},
                "tls": {
                    "root_ca_certificate": str(trusted),
                    "listen_private_key": str(keys.private),
                    "listen_certificate": str(keys.certificate),
                    "connect_private_key": str(keys.private),
                    "connect_certificate": str(keys.certificate),
                    "enable_mtls": True,
                    "verify_name_on_connect": True,
                    "close_link_on_expiration": True,
                },
            },
        },
        "access_control": access(prefix, number, neighbours),
    }


def _only(card: Card) -> str:
    """The settings for dialling an endpoint: only the authority of its card vouches for it.

    Incoming connections are checked against all neighbours' authorities, because a listener has one
    list.
    """
    # line ends, so that the encoding needs no padding, which a setting cannot contain
    text = card.authority + "\n" * (-len(card.authority) % 3)
    return f"root_ca_certificate_base64={base64.b64encode(text.encode()).decode()}"


def access(prefix: str, number: int, neighbours: Mapping[int, Card]) -> dict[str, Any]:
    """The access list: a neighbour may read this agent's messages and send its own."""
    rules = [
        _rule("send", "egress", ["put", "reply", "declare_queryable"], f"{prefix}/{number}/**"),
        _rule("be asked", "ingress", ["query", "declare_subscriber"], f"{prefix}/{number}/**"),
    ]
    subjects: list[dict[str, Any]] = []
    policies: list[dict[str, Any]] = []
    for other, card in neighbours.items():
        theirs = f"{prefix}/{other}/**"
        rules += [
            _rule(f"hear {other}", "ingress", ["put", "reply", "declare_queryable"], theirs),
            _rule(f"ask {other}", "egress", ["query", "declare_subscriber"], theirs),
        ]
        subjects.append({"id": str(other), "cert_common_names": [card.name]})
        policies.append(
            {
                "rules": ["send", "be asked", f"hear {other}", f"ask {other}"],
                "subjects": [str(other)],
            }
        )
    return {
        "enabled": True,
        "default_permission": "deny",
        "rules": rules,
        "subjects": subjects,
        "policies": policies,
    }


def _rule(name: str, flow: str, messages: list[str], key: str) -> dict[str, Any]:
    return {
        "id": name,
        "permission": "allow",
        "flows": [flow],
        "messages": messages,
        "key_exprs": [key],
    }
