"""Streams of uniform random words: one that nobody can repeat, and a repeatable one for tests."""

from __future__ import annotations

import os
from typing import Any, Protocol, runtime_checkable

import numpy as np

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
        try:
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        except ImportError as error:
            raise PrivacyError(
                "secure noise needs the package `cryptography`, which is not installed, and "
                "nothing else is used in its place: pip install 'tacit[deploy]'"
            ) from error
        try:  # Python raises NotImplementedError on a system without such numbers
            key = os.urandom(32)
        except (NotImplementedError, OSError) as error:
            raise PrivacyError(
                f"the operating system gives no random numbers ({error}), and nothing else is used "
                "in their place: run where os.urandom works"
            ) from error
        # The key is new, so the counter may begin at 0.
        self._cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def words(self, kind: type[np.unsignedinteger[Any]], count: int) -> np.ndarray:
        return np.frombuffer(self._cipher.update(bytes(count * np.dtype(kind).itemsize)), kind)


class SeededStream:
    """The same words for the same seed: for tests and simulations, never for a certificate.

    Args:
        seed: seed of the words, at least 0.
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.Philox(seed))

    def words(self, kind: type[np.unsignedinteger[Any]], count: int) -> np.ndarray:
        return np.frombuffer(self._generator.bytes(count * np.dtype(kind).itemsize), kind)
