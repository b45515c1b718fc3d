"""The configuration of zenoh for one agent: whom it dials and trusts, and who may read what."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.deploy.identity.keys import Card, Keys
from tacit.deploy.messages.gate import INSIDE

LARGEST = 16 << 20
"""Bytes that one message may have."""


def settings(
    keys: Keys,
    trusted: Path,
    prefix: str,
    number: int,
    neighbours: Mapping[int, Card],
    inner: int | None = None,
    *,
    apart: bool = False,
) -> dict[str, Any]:
    """The configuration of zenoh.

    Args:
        keys: keys of this agent.
        trusted: file with the certificates of the neighbours' authorities.
        prefix: beginning of the names of all messages.
        number: number of this agent.
        neighbours: cards of the neighbours, by number.
        inner: port behind the gate, if it listens.
        apart: whether what is for one neighbour is for no other.
    """
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
        "access_control": access(prefix, number, neighbours, apart=apart),
    }


def _only(card: Card) -> str:
    """The settings for dialling an endpoint: only the authority of its card vouches for it.

    Incoming connections are checked against all neighbours' authorities, because a listener has one
    list.
    """
    # line ends, so that the encoding needs no padding, which a setting cannot contain
    text = card.authority + "\n" * (-len(card.authority) % 3)
    return f"root_ca_certificate_base64={base64.b64encode(text.encode()).decode()}"


def spoken(prefix: str, speaker: int, hearer: int, *, apart: bool) -> str:
    """The names of all messages of one agent that another may read."""
    return f"{prefix}/{speaker}/{hearer}/**" if apart else f"{prefix}/{speaker}/**"


def access(
    prefix: str, number: int, neighbours: Mapping[int, Card], *, apart: bool = False
) -> dict[str, Any]:
    """The access list: a neighbour may read this agent's messages and send its own."""
    rules: dict[str, dict[str, Any]] = {}
    subjects: list[dict[str, Any]] = []
    policies: list[dict[str, Any]] = []
    for other, card in neighbours.items():
        mine = spoken(prefix, number, other, apart=apart)
        theirs = spoken(prefix, other, number, apart=apart)
        to = f" to {other}" if apart else ""  # one rule where all may read the same
        sent = ["put", "reply", "declare_queryable"]
        asked = ["query", "declare_subscriber"]
        given = [
            _rule(f"send{to}", "egress", sent, mine),
            _rule(f"be asked{to}", "ingress", asked, mine),
            _rule(f"hear {other}", "ingress", sent, theirs),
            _rule(f"ask {other}", "egress", asked, theirs),
        ]
        rules |= {each["id"]: each for each in given}
        subjects.append({"id": str(other), "cert_common_names": [card.name]})
        policies.append({"rules": [each["id"] for each in given], "subjects": [str(other)]})
    return {
        "enabled": True,
        "default_permission": "deny",
        "rules": list(rules.values()),
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
