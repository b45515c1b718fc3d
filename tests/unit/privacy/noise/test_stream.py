"""Streams: one key a stream, nothing to fall back on."""

import os
import sys

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tacit.errors import PrivacyError
from tacit.privacy.noise.stream import CipherStream, SeededStream, SharedStream


def test_the_cipher_encrypts_a_counter_from_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    key = bytes(range(32))
    monkeypatch.setattr(os, "urandom", lambda count: key[:count])
    block = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    expected = b"".join(block.update(i.to_bytes(16, "big")) for i in range(4))
    stream = CipherStream()
    words = [stream.words(np.uint64, 3), stream.words(np.uint16, 4), stream.words(np.uint64, 4)]
    assert b"".join(each.tobytes() for each in words) == expected


def test_a_shared_stream_is_that_of_its_key_in_one_order_of_bytes() -> None:
    key = bytes(range(32))
    block = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    expected = b"".join(block.update(i.to_bytes(16, "big")) for i in range(4))
    stream = SharedStream(key)
    words = [stream.words(np.uint64, 3), stream.words(np.uint16, 4), stream.words(np.uint64, 4)]
    assert b"".join(each.astype(each.dtype.newbyteorder("<")).tobytes() for each in words) == (
        expected
    )
    assert words[0].dtype == np.dtype(np.uint64) and words[1].dtype == np.dtype(np.uint16)
    assert not np.any(SharedStream(key[::-1]).words(np.uint64, 3) == words[0])
    with pytest.raises(PrivacyError, match="has 31 bytes and must have 32") as told:
        SharedStream(key[:31])
    assert key[:31].hex() not in str(told.value)


def test_every_stream_has_a_key_of_its_own() -> None:
    first, second = (CipherStream().words(np.uint64, 4) for _ in range(2))
    assert not np.any(first == second)


def test_words_are_uniform() -> None:
    words = CipherStream().words(np.uint16, 1 << 20).astype(float)
    assert abs(words.mean() - 32767.5) < 7 * 65536 / 12**0.5 / 2**10


@pytest.mark.parametrize("stream", [CipherStream(), SeededStream(0)])
def test_no_words_at_all(stream: CipherStream | SeededStream) -> None:
    assert stream.words(np.uint16, 0).shape == (0,)


def test_a_missing_cipher_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)
    with pytest.raises(PrivacyError, match=r"tacit\[deploy\]"):
        CipherStream()
    with pytest.raises(PrivacyError, match=r"tacit\[deploy\]"):
        SharedStream(bytes(32))


@pytest.mark.parametrize("error", [NotImplementedError("none here"), OSError("no device")])
def test_a_system_without_random_numbers_is_refused(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(count: int) -> bytes:
        raise error

    monkeypatch.setattr(os, "urandom", broken)
    with pytest.raises(PrivacyError, match=f"random numbers .*{error}"):
        CipherStream()


def test_a_seeded_stream_repeats() -> None:
    first, second, other = (SeededStream(seed).words(np.uint64, 4) for seed in (1, 1, 2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
