"""The address where a member listens: `host:port`, in one canonical form."""

from __future__ import annotations

import ipaddress
import re

from tacit.errors import ConfigError

_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.ASCII | re.IGNORECASE)
_PORT = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)


def host_and_port(address: str, where: str = "") -> tuple[str, int]:
    """The parts of an address; it may contain nothing else, because it becomes part of a locator.

    Args:
        address: a DNS name, an IPv4 address or an IPv6 address in brackets; a colon; a port.
        where: place of the address, for the message.

    Raises:
        ConfigError: it is not an address.

    Example:
        >>> host_and_port("clinic.example:7447"), host_and_port("[::1]:7447")
        (('clinic.example', 7447), ('::1', 7447))
    """
    host, _, port = address.rpartition(":")
    if not _PORT.fullmatch(port) or int(port) > 65535:
        reason = "it ends without a port from 1 to 65535"
    elif host.startswith("["):
        inside = host[1:-1]
        # a zone may hold any letters, and has a meaning on one machine only
        if host.endswith("]") and "%" not in inside and _is_ip(inside):
            return inside, int(port)
        reason = f"{host!r} is not an IPv6 address in brackets"
    elif len(host) > 253 or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        reason = f"{host!r} is not a valid host name" + (
            "" if host.isascii() else "; write letters beyond ASCII as its xn-- form"
        )
    else:
        return host, int(port)
    raise ConfigError(
        f"{where}address={address!r} must be host:port, such as clinic.example:7447 or "
        f"[2001:db8::1]:7447: {reason}"
    )


def _is_ip(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True
