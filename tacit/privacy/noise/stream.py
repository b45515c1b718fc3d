"""Streams of uniform random words: secret ones, and a repeatable one for tests."""

from __future__ import annotations

import os
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tacit import checks
from tacit.errors import PrivacyError


@runtime_checkable
class Stream(Protocol):
    """Independent uniform words."""

    def words(self, kind: type[np.unsignedinteger[Any]], count: int) -> np.ndarray:
        """`count` words of an unsigned type, shape `(count,)`."""
        ...


class CipherStream:
    """AES-256 in counter mode under a key that the operating system has just drawn.

    A stream is made for one release and dropped after it. So no state is shared between threads, a
    forked child cannot repeat its parent's noise, and what remains in memory after a release does
    not reveal its noise.

    Raises:
        PrivacyError: the package `cryptography` or the system's random numbers are missing. There
            is no fallback.
    """

    def __init__(self) -> None:
        try:  # Python raises NotImplementedError on a system without such numbers
            key = os.urandom(32)
        except (NotImplementedError, OSError) as error:
            raise PrivacyError(
                f"the operating system gives no random numbers ({error}), and nothing else is used "
                "in their place: run where os.urandom works"
            ) from error
        self._cipher = _keystream(key)

    def words(self, kind: type[np.unsignedinteger[Any]], count: int) -> np.ndarray:
        return np.frombuffer(self._cipher.update(bytes(count * np.dtype(kind).itemsize)), kind)


class SharedStream:
    """AES-256 in counter mode under a key that two agents share; both read the same words.

    Args:
        key: key of 32 bytes that serves this stream and nothing else (`masking.stream_key`).

    Raises:
        PrivacyError: a key of another length, or the package `cryptography` is missing.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != 32:  # only its length is shown: it is a secret
            raise PrivacyError(f"the key of a shared stream has {len(key)} bytes and must have 32")
        self._cipher = _keystream(key)

    def words(self, kind: type[np.unsignedinteger[Any]], count: int) -> np.ndarray:
        form = np.dtype(kind).newbyteorder("<")  # the same words on every machine
        data = self._cipher.update(bytes(count * form.itemsize))
        return np.frombuffer(data, form).astype(kind, copy=False)


class SeededStream:
    """The same words for the same seed: for tests and simulations, never for a certificate.

    Args:
        seed: seed of the words, at least 0.

    Raises:
        PrivacyError: another seed.
    """

    def __init__(self, seed: int) -> None:
        whole = checks.whole("seed", seed, 0, PrivacyError)
        self._generator = np.random.Generator(np.random.Philox(whole))

    def words(self, kind: type[np.unsignedinteger[Any]], count: int) -> np.ndarray:
        return np.frombuffer(self._generator.bytes(count * np.dtype(kind).itemsize), kind)


def _keystream(key: bytes) -> Any:
    """The cipher under a key that serves one stream, so the counter may begin at 0."""
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError as error:
        raise PrivacyError(
            "secure noise needs the package `cryptography`, which is not installed, and "
            "nothing else is used in its place: pip install 'tacit[deploy]'"
        ) from error
    return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
