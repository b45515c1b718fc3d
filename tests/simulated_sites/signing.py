"""Signatures: what was signed here is known to be good, anything else is checked."""

from __future__ import annotations

import hashlib
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.deploy.identity.keys import Card
from tests.simulated_sites.world import simulating, world

_REAL = Card.public_key
_MOST = 200_000

_signed: dict[bytes, tuple[bytes, bytes]] = {}
"""By signature: the public key and what was signed."""


class Verifier:
    """A public key.

    Args:
        key: the real one.
    """

    def __init__(self, key: Ed25519PublicKey) -> None:
        self._key, self._raw = key, key.public_bytes_raw()

    def verify(self, signature: bytes, data: bytes) -> None:
        """Check a signature; one that was made here is good for what it was made of alone."""
        known = _signed.get(signature)
        if known is None:
            self._key.verify(signature, data)
        elif known != (self._raw, data):
            raise InvalidSignature

    def public_bytes_raw(self) -> bytes:
        return self._raw


class Signer:
    """A private key.

    Args:
        key: the real one.
    """

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self._public = Verifier(key.public_key())

    def sign(self, data: bytes) -> bytes:
        """A real signature in one seed of 16; else 64 bytes that are known to be good here."""
        if simulating() and world().chance.of_run("signed") >= 1 / 16:
            key = self._public.public_bytes_raw()
            found = hashlib.blake2b(data, key=key, digest_size=64).digest()
        else:
            found = self._key.sign(data)
        _signed[found] = self._public.public_bytes_raw(), bytes(data)
        return found

    def public_key(self) -> Verifier:
        return self._public

    def private_bytes_raw(self) -> bytes:
        return self._key.private_bytes_raw()


def forget() -> None:
    """Forget what was signed in runs before, now and then; never within a run, which needs it."""
    if len(_signed) > _MOST:
        _signed.clear()


_verifiers: dict[str, Verifier] = {}


def public_key(card: Any) -> Verifier:
    """In the place of `Card.public_key`."""
    found = _verifiers.get(card.signing_key)
    if found is None:
        found = _verifiers[card.signing_key] = Verifier(_REAL(card))
    return found
