"""Pairwise masks: uniform modulo 2^64, cancelling in the sum over a cohort.

Agent `i` of the cohort `S` sends its value `x_i`, noise included, in steps of a grid, as

    Y_i = x_i + sum_(j in S, j > i) G(k_ij) - sum_(j in S, j < i) G(k_ij)    mod 2^64,

where `i` and `j` alone know `k_ij` and `G(k)` is the keystream of AES-256 in counter mode, from 0,
under HMAC-SHA256(k, label). Each `G` appears once with either sign, so `sum_i Y_i = sum_i x_i`; to
anyone who knows no `k_ij`, messages that lack one member's are independent and uniform.

The difference of two values under the same mask has no mask, so a label serves one release only.

Source: Bonawitz et al. (2017), figure 4; RFC 7748 (2016), section 6.1; RFC 5869 (2010), section 2.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
from jaxtyping import Int64, UInt64

from tacit.errors import PrivacyError
from tacit.privacy.noise.stream import SharedStream

_PAIR = b"tacit pair key 1\n"
_LABEL = b"tacit mask label 2\n"


def new_key() -> tuple[bytes, bytes]:
    """An X25519 private key, for this run and process only, and its public key; 32 bytes each.

    Raises:
        PrivacyError: the package `cryptography` is missing.
    """
    with _cryptography():
        from cryptography.hazmat.primitives.asymmetric import x25519
    private = x25519.X25519PrivateKey.generate()
    return private.private_bytes_raw(), private.public_key().public_bytes_raw()


def pair_key(private: bytes, public: bytes, run: bytes, one: int, other: int) -> bytes:
    """The key that two agents share for a run; both get the same.

    HKDF-SHA256 of the X25519 agreement, bound to the run and both agents' numbers and public keys.

    Args:
        private: private key of agent `one`, 32 bytes.
        public: public key of agent `other`, 32 bytes, signed by that agent.
        run: id of the run, 32 bytes.
        one: number of the agent that holds `private`, from 0 to 2^64 - 1.
        other: number of the other agent, in the same range.

    Returns:
        32 bytes, as secret as `private`.

    Raises:
        PrivacyError: a wrong length or number, a public key that reveals the agreement to anybody
            (a point of low order), or the package `cryptography` is missing.
    """
    with _cryptography():
        from cryptography.hazmat.primitives.asymmetric import x25519
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    if one == other:
        raise PrivacyError(f"agent {one} shares no mask with itself: give another agent's number")
    _check_bytes(private, f"the private key of agent {one}")
    _check_bytes(public, f"the public key of agent {other}")
    _check_bytes(run, "run")
    own = x25519.X25519PrivateKey.from_private_bytes(private)
    try:
        agreement = own.exchange(x25519.X25519PublicKey.from_public_bytes(public))
    except ValueError as error:  # the agreement is 0
        raise PrivacyError(
            f"the public key {public.hex()} of agent {other} is a point of low order: anybody "
            "would know the masks; leave that agent out"
        ) from error
    ends = sorted([(one, own.public_key().public_bytes_raw()), (other, public)])
    info = _PAIR + run + _packed("agents", *(each for each, _ in ends)) + ends[0][1] + ends[1][1]
    return HKDF(SHA256(), 32, salt=None, info=info).derive(agreement)


def mask_label(
    run: bytes, round: int, phase: int, attempt: int, cohort: Sequence[int], iterate: bytes
) -> bytes:
    """What the masks of one release are drawn for: SHA-256 of bytes that encode all arguments.

    Args:
        run: id of the run, 32 bytes.
        round: index of the round, from 0 to 2^64 - 1.
        phase: number of the phase in the method's table, in the same range.
        attempt: number of the attempt at the round, in the same range.
        cohort: numbers of the summed agents, ascending, each once.
        iterate: the public iterate or its hash, of any length.

    Raises:
        PrivacyError: `run` of another length, a number out of range, or a cohort out of order.
    """
    _check_bytes(run, "run")
    _check_ascending(cohort)
    # all but the last have a known length, so no two different releases have the same bytes
    numbers = _packed("(round, phase, attempt, members)", round, phase, attempt, len(cohort))
    told = _LABEL + run + numbers + _packed("cohort", *cohort) + iterate
    return hashlib.sha256(told).digest()


def stream_key(key: bytes, label: bytes) -> bytes:
    """The key of the one stream that two agents draw for a label; 32 bytes.

    Args:
        key: key that they share, from `pair_key`.
        label: label from `mask_label`, 32 bytes.

    Raises:
        PrivacyError: an argument of another length.
    """
    _check_bytes(key, "the key of a pair")
    _check_bytes(label, "label")
    return hmac.digest(key, label, "sha256")


def mask(
    keys: Mapping[int, bytes], agent: int, cohort: Sequence[int], label: bytes, size: int
) -> UInt64[np.ndarray, " n"]:
    """The mask that an agent adds to its value, modulo 2^64, in a cohort's sum; shape `(size,)`.

    Args:
        keys: key from `pair_key` for each other member, by its number; extra keys are ignored.
        agent: number of the agent.
        cohort: numbers of the summed agents, ascending, each once, `agent` among them.
        label: label from `mask_label` for this cohort, never used for another value.
        size: number of coordinates, at least 1.

    Raises:
        PrivacyError: a cohort that is out of order, lacks the agent or has no other member, a
            missing key, a wrong length or size, or the package `cryptography` is missing.
    """
    _check_ascending(cohort)
    if agent not in cohort or len(cohort) < 2:
        raise PrivacyError(f"cohort={list(cohort)} must have agent {agent} and at least one other")
    _check_bytes(label, "label")
    if size < 1:
        raise PrivacyError(f"size={size} must be at least 1, the number of coordinates")
    total = np.zeros(size, np.uint64)
    for other in (member for member in cohort if member != agent):
        if other not in keys:
            raise PrivacyError(f"keys has none for agent {other} of the cohort: make it (pair_key)")
        _check_bytes(keys[other], f"the key for agent {other}")
        words = SharedStream(stream_key(keys[other], label)).words(np.uint64, size)
        change = np.add if agent < other else np.subtract
        change(total, words, out=total)
    return total


def sealed(
    steps: Int64[np.ndarray, " n"], mask: UInt64[np.ndarray, " n"]
) -> UInt64[np.ndarray, " n"]:
    """The message: a value in steps, as two's complement, plus a mask modulo 2^64; shape `(n,)`.

    Raises:
        PrivacyError: another dtype, or shapes that differ.
    """
    _check_array(steps, "steps", np.int64, steps.shape)
    _check_array(mask, "mask", np.uint64, steps.shape)
    return steps.view(np.uint64) + mask


def opened(messages: Sequence[UInt64[np.ndarray, " n"]]) -> Int64[np.ndarray, " n"]:
    """The sum, in steps, of the values in the messages of a whole cohort, one per member.

    It is exact if it lies within [-2^63, 2^63), see `largest_cohort`; shape `(n,)`.

    Raises:
        PrivacyError: no messages, another dtype, or shapes that differ.
    """
    if len(messages) == 0:
        raise PrivacyError("messages is empty: give the message of each member of the cohort")
    for number, message in enumerate(messages):
        _check_array(message, f"messages[{number}]", np.uint64, messages[0].shape)
    return np.add.reduce(messages, axis=0).view(np.int64)


def largest_cohort(largest: int) -> int:
    """How many values of size at most `largest`, in steps, have sums within [-2^63, 2^63).

    Raises:
        PrivacyError: `largest` is below 1.

    Example:
        >>> largest_cohort(2**60)
        7
    """
    if largest < 1:
        raise PrivacyError(f"largest={largest} must be at least 1, in steps")
    return (2**63 - 1) // largest


@contextmanager
def _cryptography() -> Generator[None, None, None]:
    try:
        yield
    except ImportError as error:
        text = "masks need the package `cryptography`, which is not installed"
        raise PrivacyError(f"{text}: pip install 'tacit[deploy]'") from error


def _packed(what: str, *numbers: int) -> bytes:
    try:
        return struct.pack(f"<{len(numbers)}Q", *numbers)  # same bytes on every machine
    except struct.error as error:
        raise PrivacyError(f"{what}={numbers} must be whole, from 0 to 2^64 - 1") from error


def _check_bytes(value: bytes, what: str) -> None:
    if len(value) != 32:  # show only its length: it may be a secret
        raise PrivacyError(f"{what} has {len(value)} bytes and must have 32: give it raw")


def _check_ascending(cohort: Sequence[int]) -> None:
    if any(before >= after for before, after in pairwise(cohort)):
        raise PrivacyError(f"cohort={list(cohort)} must be ascending, each agent once: sort it")


def _check_array(array: np.ndarray, what: str, kind: type, shape: tuple[int, ...]) -> None:
    if array.dtype != kind or array.shape != shape or array.ndim != 1:
        found = f"{array.dtype} of shape {array.shape}"
        raise PrivacyError(f"{what} is {found}: give {kind.__name__} of one shape (n,) for all")
