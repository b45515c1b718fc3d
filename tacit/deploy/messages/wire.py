"""Messages between sites: schema-checked bytes with a signature, never pickle.

    TACT | version 2 | kind | run 32 | sender 2 | round 4 | phase 1 | step 4
         | leaves 1 | each leaf: dtype 1, axes 1, each axis 4 | data | Ed25519 signature 64

Numbers are little-endian. The signature is over a SHA-256 digest of the head, up to the number of
leaves, and of the SHA-256 digest of the rest: so the latter, the address and the signature together
show that a message was sent, without the message. A reader knows the shapes that the method's phase
sends, so nothing is allocated on a stranger's claim.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.errors import WireError

MAGIC, VERSION = b"TACT", 2
MESSAGE, FINISHED = 0, 1
"""Kinds: a message of a phase; and, without leaves, that the sender needs nothing more."""

_HEAD = struct.Struct("<4sBB32sHiBIB")
_SIGNATURE = 64
_CONTEXT = b"tacit message 2\n"
_DTYPES = ("<f8", "<f4", "<i8", "<i4", "|b1")
"""Types of numbers that a message may hold, by their code."""

_MOST_AXES = 8
_LAST = 255
"""Phase in the address of a last word."""

Leaf = tuple[str, tuple[int, ...]]
"""Dtype and shape of one array of a message."""


@dataclass(frozen=True)
class Address:
    """The address of a message: there is exactly one message for each address.

    Attributes:
        run: digest of the manifest, 32 bytes.
        sender: number of the agent; that of a coordinator is the number of agents.
        round: -1 before round 0.
        phase: number of the phase in the method's table.
        step: number of the repetition of a phase within a round.
        kind: `MESSAGE` or `FINISHED`.
    """

    run: bytes
    sender: int
    round: int
    phase: int
    step: int = 0
    kind: int = MESSAGE

    @classmethod
    def last(cls, run: bytes, sender: int, rounds: int) -> Address:
        """The address of a member's last word in a run of `rounds` rounds."""
        return cls(run, sender, rounds, _LAST, 0, FINISHED)

    def key(self) -> str:
        """The name of the message on the network, below the run."""
        return f"{self.sender}/{self.round + 1}/{self.phase}/{self.step}"

    @classmethod
    def read(cls, key: str, run: bytes) -> Address:
        """The address with a given name.

        Args:
            key: output of `key`, as received.
            run: digest of the manifest, 32 bytes.

        Raises:
            WireError: it is not the name of a message.
        """
        parts = key.split("/")
        if len(parts) != 4 or not all(part.isascii() and part.isdigit() for part in parts):
            raise WireError(f"{key[:80]!r} is not a valid message key")
        if any(len(part) > 9 for part in parts):
            raise WireError(f"{key!r} is not a valid message key")
        sender, round, phase, step = map(int, parts)
        kind = FINISHED if phase == _LAST else MESSAGE
        return cls(run, sender, round - 1, phase, step, kind)

    @staticmethod
    def names_last(key: str) -> bool:
        """Whether a name is that of a member's last word."""
        return key.split("/")[2:3] == [str(_LAST)]


@dataclass(frozen=True)
class Received:
    """A message whose form was checked and whose signature holds.

    Attributes:
        address: address of the message.
        leaves: arrays of the message, each as bytes, dtype and shape.
        digest: digest of its contents, 32 bytes.
        signature: signature of the sender, 64 bytes.
    """

    address: Address
    leaves: list[tuple[bytes, np.dtype, tuple[int, ...]]]
    digest: bytes
    signature: bytes

    def data(self) -> bytes:
        """The message as it was received."""
        shapes = [(dtype.str, shape) for _, dtype, shape in self.leaves]
        pieces = [leaf for leaf, _, _ in self.leaves]
        return b"".join([_head(self.address, shapes), *pieces, self.signature])


def digest_of(data: bytes) -> bytes:
    """The digest of a message's contents after its head, 32 bytes."""
    return hashlib.sha256(memoryview(data)[_HEAD.size : -_SIGNATURE]).digest()


def was_sent(
    address: Address, arrays: int, digest: bytes, signature: bytes, key: Ed25519PublicKey
) -> bool:
    """Whether a signature belongs to a message with a given address.

    Args:
        address: address of the message.
        arrays: number of arrays in it.
        digest: digest of its contents.
        signature: signature to check, 64 bytes.
        key: public key of the sender.
    """
    try:
        key.verify(signature, _signed(_fixed(address, arrays), digest))
    except (InvalidSignature, struct.error):
        return False
    return True


def _signed(fixed: bytes, digest: bytes) -> bytes:
    return _CONTEXT + hashlib.sha256(fixed + digest).digest()


def signature_of(data: bytes) -> bytes:
    """The signature of a message, 64 bytes."""
    return data[-_SIGNATURE:]


def leaf_of(dtype: np.dtype, shape: tuple[int, ...]) -> Leaf:
    """Dtype and shape of an array, as messages name them.

    Raises:
        WireError: numbers of another type.
    """
    name = dtype.newbyteorder("<").str
    if name not in _DTYPES:
        raise WireError(f"an array of type {dtype} cannot be sent; use float64 or int64")
    return name, shape


def encode(address: Address, arrays: Sequence[np.ndarray], key: Ed25519PrivateKey) -> bytes:
    """The bytes of a message; the same for the same message and key.

    Args:
        address: address of the message.
        arrays: arrays of the message.
        key: signing key of the sender.

    Raises:
        WireError: a number that does not fit its field.
    """
    parts: list[bytes | memoryview] = []
    try:
        parts.append(_head(address, [leaf_of(array.dtype, array.shape) for array in arrays]))
    except struct.error as error:
        raise WireError(f"{address} does not fit the format of messages: {error}") from error
    for array in arrays:
        plain = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
        parts.append(plain.reshape(-1).view(np.uint8).data)
    body = b"".join(parts)
    digest = hashlib.sha256(memoryview(body)[_HEAD.size :]).digest()
    return body + key.sign(_signed(body[: _HEAD.size], digest))


def decode(
    data: bytes, expected: Address, shapes: Sequence[Leaf], key: Ed25519PublicKey
) -> Received:
    """Check a message in full and read it.

    Args:
        data: bytes of the message, as received.
        expected: address that the message must have.
        shapes: dtypes and shapes of the arrays that this phase sends.
        key: public key of the sender, from the manifest.

    Raises:
        WireError: anything but a complete, finite, signed message with this address.
    """
    if len(data) > len(MAGIC) and data.startswith(MAGIC) and data[len(MAGIC)] != VERSION:
        raise WireError(
            f"a message of version {data[len(MAGIC)]}, and {VERSION} is read: its sender runs "
            "another version of tacit; install one version at both"
        )
    size = _HEAD.size + sum(2 + 4 * len(shape) + _bytes(name, shape) for name, shape in shapes)
    if len(data) != size + _SIGNATURE:
        raise WireError(f"{len(data)} bytes where a message of this phase has {size + _SIGNATURE}")
    digest, signature = digest_of(data), signature_of(data)
    try:
        key.verify(signature, _signed(data[: _HEAD.size], digest))
    except InvalidSignature as error:
        raise WireError("the signature is not the sender's") from error
    magic, _, kind, run, sender, round, phase, step, count = _HEAD.unpack_from(data)
    if magic != MAGIC:
        raise WireError("bytes that are not a message")
    if (address := Address(run, sender, round, phase, step, kind)) != expected:
        raise WireError(f"a message of {_place(address)} instead of {_place(expected)}")
    if count != len(shapes):
        raise WireError(f"{count} arrays where this phase sends {len(shapes)}")
    at = _HEAD.size
    for name, shape in shapes:
        header = struct.pack(f"<BB{len(shape)}I", _DTYPES.index(name), len(shape), *shape)
        if data[at : at + len(header)] != header:
            raise WireError(f"an array of another type or shape than {name}{list(shape)}")
        at += len(header)
    leaves: list[tuple[bytes, np.dtype, tuple[int, ...]]] = []
    for name, shape in shapes:
        dtype, length = np.dtype(name), _bytes(name, shape)
        array = np.frombuffer(data, dtype, length // dtype.itemsize, at)
        if dtype.kind == "f" and not np.isfinite(array).all():
            raise WireError("numbers that are not finite")
        leaves.append((data[at : at + length], dtype, tuple(shape)))
        at += length
    return Received(expected, leaves, digest, signature)


def _head(address: Address, shapes: Sequence[Leaf]) -> bytes:
    """Everything before the numbers."""
    return _fixed(address, len(shapes)) + b"".join(
        struct.pack(f"<BB{len(shape)}I", _DTYPES.index(name), len(shape), *shape)
        for name, shape in shapes
    )


def _fixed(address: Address, arrays: int) -> bytes:
    return _HEAD.pack(
        MAGIC,
        VERSION,
        address.kind,
        address.run,
        address.sender,
        address.round,
        address.phase,
        address.step,
        arrays,
    )


def _bytes(name: str, shape: tuple[int, ...]) -> int:
    if len(shape) > _MOST_AXES:
        raise WireError(f"an array with {len(shape)} axes cannot be sent")
    return math.prod(shape) * np.dtype(name).itemsize


def _place(address: Address) -> str:
    return (
        f"agent {address.sender}, round {address.round}, phase {address.phase}, step "
        f"{address.step}, kind {address.kind}, run {address.run.hex()[:8]}"
    )
