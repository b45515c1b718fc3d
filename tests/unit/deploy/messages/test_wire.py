"""Messages: what goes in comes out, and nothing else is read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.deploy.messages.wire import FINISHED, Address, Leaf, decode, encode
from tacit.errors import WireError

KEY, OTHER = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
HERE = Address(bytes(range(32)), sender=2, round=7, phase=1, step=3)
SHAPES: list[Leaf] = [("<f8", (3,)), ("<i4", (2, 2)), ("|b1", ())]
ARRAYS = [np.array([1.0, -2.5, 1e300]), np.arange(4, dtype=np.int32).reshape(2, 2), np.array(True)]
DATA = encode(HERE, ARRAYS, KEY)


def test_a_message_is_read_back_to_the_bit() -> None:
    received = decode(DATA, HERE, SHAPES, KEY.public_key())
    for (data, dtype, shape), array in zip(received.leaves, ARRAYS, strict=True):
        np.testing.assert_array_equal(np.frombuffer(data, dtype).reshape(shape), array)
    assert encode(HERE, ARRAYS, KEY) == DATA


@pytest.mark.parametrize("index", range(0, len(DATA), 5))
def test_any_changed_byte_is_noticed(index: int) -> None:
    changed = bytearray(DATA)
    changed[index] ^= 1
    with pytest.raises(WireError):
        decode(bytes(changed), HERE, SHAPES, KEY.public_key())


@pytest.mark.parametrize(
    ("expected", "word"),
    [
        (replace(HERE, round=6), "round 7"),
        (replace(HERE, round=8), "round 7"),
        (replace(HERE, sender=1), "agent 2"),
        (replace(HERE, phase=0), "phase 1"),
        (replace(HERE, step=0), "step 3"),
        (replace(HERE, run=bytes(32)), "run 00010203"),
        (replace(HERE, kind=FINISHED), "kind 0"),
    ],
)
def test_a_signed_message_from_elsewhere_is_refused(expected: Address, word: str) -> None:
    with pytest.raises(WireError, match=word):
        decode(DATA, expected, SHAPES, KEY.public_key())


def test_the_key_of_somebody_else_is_refused() -> None:
    with pytest.raises(WireError, match="signature"):
        decode(DATA, HERE, SHAPES, OTHER.public_key())


@pytest.mark.parametrize(
    "shapes",
    [
        [("<f8", (4,)), *SHAPES[1:]],
        [("<i8", (3,)), *SHAPES[1:]],
        [("<f8", (3,)), ("<i4", (4, 1)), ("|b1", ())],
        SHAPES[:2],
        [],
    ],
)
def test_other_types_and_shapes_are_refused(shapes: list[Leaf]) -> None:
    with pytest.raises(WireError):
        decode(DATA, HERE, shapes, KEY.public_key())


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(value: float) -> None:
    data = encode(HERE, [np.array([0.0, value])], KEY)
    with pytest.raises(WireError, match="finite"):
        decode(data, HERE, [("<f8", (2,))], KEY.public_key())


def test_what_does_not_fit_the_format_is_not_sent() -> None:
    with pytest.raises(WireError, match="fit"):
        encode(replace(HERE, sender=1 << 17), [], KEY)
    with pytest.raises(WireError, match="float64"):
        encode(HERE, [np.array(["text"])], KEY)


@given(st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        decode(data, HERE, SHAPES, KEY.public_key())


@given(st.integers(0, len(DATA)), st.binary(max_size=40), st.integers(0, 40))
@settings(max_examples=300, deadline=None)
def test_spliced_messages_are_refused(at: int, inserted: bytes, dropped: int) -> None:
    data = DATA[:at] + inserted + DATA[at + dropped :]
    if data == DATA:
        decode(data, HERE, SHAPES, KEY.public_key())
    else:
        with pytest.raises(WireError):
            decode(data, HERE, SHAPES, KEY.public_key())
