"""Masks modulo 2^64: gone from a whole sum, uniform in anything less, the same bytes everywhere.

Keys are fixed, so no test here fails by chance: a false alarm is one for keys drawn at random.
"""

import hashlib
import hmac
import inspect
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tacit.errors import PrivacyError
from tacit.privacy.masking import (
    largest_cohort,
    mask,
    mask_label,
    new_key,
    opened,
    pair_key,
    sealed,
)

RUN = bytes(range(100, 132))
COHORT = (0, 2, 3, 7, 11)
LABEL = mask_label(RUN, 5, 0, 1, COHORT, b"iterate")
LIMIT = 2**63 - 1

FIRST, SECOND, THIRD = bytes(range(32)), bytes(range(32, 64)), bytes(range(64, 96))


def public(private: bytes) -> bytes:
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def shared(*agents: int) -> dict[int, dict[int, bytes]]:
    """A key for each pair, under both numbers."""
    rng = np.random.default_rng(0)
    keys: dict[int, dict[int, bytes]] = {agent: {} for agent in agents}
    for one, other in combinations(agents, 2):
        keys[one][other] = keys[other][one] = rng.bytes(32)
    return keys


KEYS = shared(*COHORT)


def masks(cohort: Sequence[int], label: bytes, size: int) -> np.ndarray:
    keys = shared(*cohort)
    return np.stack([mask(keys[agent], agent, cohort, label, size) for agent in cohort])


@pytest.mark.parametrize("cohort", [(0, 1), (5, 9, 2**64 - 1), COHORT, tuple(range(12))])
def test_masks_of_a_whole_cohort_cancel(cohort: tuple[int, ...]) -> None:
    found = masks(cohort, LABEL, 1001)
    assert not found.sum(axis=0, dtype=np.uint64).any()
    # false alarm: 12 * 1001 words, each 0 with probability 2^-64
    assert found.all()


@st.composite
def values(draw: st.DrawFn) -> np.ndarray:
    """Of several members, in any size that as many may have."""
    members = draw(st.integers(2, len(COHORT)))
    largest = draw(st.sampled_from([1, 10**6, LIMIT // members]))
    assert members <= largest_cohort(largest)
    number = st.sampled_from([-largest, 0, largest]) | st.integers(-largest, largest)
    row = st.lists(number, min_size=3, max_size=3)
    return np.array(draw(st.lists(row, min_size=members, max_size=members)), np.int64)


def added(steps: np.ndarray) -> np.ndarray:
    """What comes out of the messages of the first members."""
    cohort = COHORT[: len(steps)]
    found = masks(cohort, LABEL, steps.shape[1])
    return opened([sealed(*each) for each in zip(steps, found, strict=True)])


@settings(max_examples=200, deadline=None)
@given(values())
def test_the_sum_of_sealed_values_is_exact(steps: np.ndarray) -> None:
    assert added(steps).tolist() == [sum(column) for column in steps.T.tolist()]


def test_only_the_whole_sum_has_to_fit() -> None:
    least, most = -(2**63), LIMIT
    steps = np.array([[most, least, least, -1], [most, most, 0, least], [least, 1, 0, 1]])
    assert added(steps).tolist() == [most - 1, 0, least, least]


def test_the_largest_cohort_is_the_last_whose_sums_fit() -> None:
    for largest in (1, 2, 3, 10**6, 2**31, 2**53 + 1, 2**60, LIMIT // 3, LIMIT - 1, LIMIT):
        members = largest_cohort(largest)
        assert members * largest <= LIMIT < (members + 1) * largest
    assert largest_cohort(2**63) == 0
    steps = np.full((3, 1), LIMIT // 3 + 1)  # one step more than three may have
    assert len(steps) > largest_cohort(LIMIT // 3 + 1)
    assert added(steps).item() == 3 * (LIMIT // 3 + 1) - 2**64


ALARM = 1e-10
"""Of one test of uniformity, with the chi-square law taken as exact."""


def uniform(words: np.ndarray) -> bool:
    """Whether bits and bytes are as frequent as they should be, at each place of a word."""
    parts = words.astype("<u8").view(np.uint8).reshape(-1, 8)
    counts = np.stack([np.bincount(place, minlength=256) for place in parts.T])
    expected = len(words) / 256
    by_bytes = stats.chi2(8 * 255).sf(np.sum((counts - expected) ** 2) / expected)
    ones = np.unpackbits(parts, axis=1).sum(axis=0)
    by_bits = stats.chi2(64).sf(np.sum((ones - len(words) / 2) ** 2) / (len(words) / 4))
    # too even is not random either
    return all(ALARM / 2 < p < 1 - ALARM / 2 for p in (by_bytes, by_bits))


def test_all_messages_but_one_are_uniform_and_the_last_tells_the_sum() -> None:
    """Whichever is missing: no sum or difference of the others tells that all values are equal.

    False alarm: 210 combinations with two tests each, 4.2e-8.
    """
    size = 8192
    steps = np.full(size, -3)
    messages = np.stack([sealed(steps, each) for each in masks(COHORT, LABEL, size)])
    tried = 0
    for signs in product((-1, 0, 1), repeat=len(COHORT)):
        if any(signs) and not all(signs):
            combined = np.array(signs).astype(np.uint64) @ messages
            assert uniform(combined), signs
            tried += 1
    assert tried == 210
    assert opened(list(messages)).tolist() == [-3 * len(COHORT)] * size


def test_what_is_not_uniform_is_noticed() -> None:
    size = 8192
    found = masks(COHORT, LABEL, size)
    assert uniform(found[0])
    assert not uniform(sealed(np.full(size, -3), np.zeros(size, np.uint64)))
    assert not uniform(found[0] * np.uint64(2))  # the lowest bit is 0
    assert not uniform(found[0] % np.uint64(3 << 62))  # the highest bits are never both 1
    # with all five messages a difference has the parity of the sum
    assert not uniform(found[:4].sum(axis=0, dtype=np.uint64) - found[4])


RELEASE: dict[str, Any] = {
    "run": RUN,
    "round": 5,
    "phase": 0,
    "attempt": 1,
    "cohort": COHORT,
    "iterate": b"iterate",
}


@pytest.mark.parametrize(
    "change",
    [
        {"run": bytes(32)},
        {"round": 6},
        {"phase": 2},
        {"attempt": 2},
        {"cohort": (*COHORT, 12)},
        {"cohort": COHORT[:-1]},
        {"iterate": b"iteratf"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_masks_of_different_releases_do_not_cancel(change: dict[str, Any]) -> None:
    """One member masks for another release than the others; keys and peers are the same.

    False alarm: 7 * 5 * 2 * 64 words, each 0 with probability 2^-64.
    """
    other = mask_label(**(RELEASE | change))
    ours, theirs = masks(COHORT, LABEL, 64), masks(COHORT, other, 64)
    assert (ours != theirs).all()
    for member in range(len(COHORT)):
        mixed = ours.copy()
        mixed[member] = theirs[member]
        assert mixed.sum(axis=0, dtype=np.uint64).all()


def test_masks_of_different_cohorts_do_not_cancel() -> None:
    """False alarm: 64 words, each 0 with probability 2^-64."""
    large, small = COHORT, COHORT[:-1]
    label = mask_label(RUN, 5, 0, 1, small, b"iterate")
    mixed = [mask(KEYS[agent], agent, small, label, 64) for agent in small[:-1]]
    mixed.append(mask(KEYS[small[-1]], small[-1], large, LABEL, 64))
    assert np.sum(mixed, axis=0, dtype=np.uint64).all()


def test_labels_of_releases_that_nearly_agree_differ() -> None:
    one = (1).to_bytes(8, "little")
    releases = [
        (RUN, 1, 0, 0, (1, 2), b""),
        (RUN, 0, 0, 1, (1, 2), b""),
        (RUN, 1, 0, 256, (1, 2), b""),
        (RUN, 1, 0, 0, (1, 2), b"\0"),
        (RUN, 1, 0, 0, (1, 2), bytes(8)),
        (RUN, 1, 0, 0, (1, 2), (3).to_bytes(8, "little")),  # as if it were a member
        (RUN, 1, 0, 0, (1, 2, 3), b""),
        (RUN, 1, 0, 0, (1, 2 + 2**32), b""),
        (RUN, 1, 0, 0, (12,), b""),
        (RUN, 1, 0, 0, (), one + (2).to_bytes(8, "little")),
        (RUN[:24] + one, 1, 0, 0, (1, 2), b""),
        (RUN[1:] + RUN[:1], 1, 0, 0, (1, 2), b""),
        (RUN, 2, 0, 0, (1, 2), b""),
        (RUN, 2, 0, 1, (0, 1), b""),
        (RUN, 2, 0, 2, (0, 1), b""),
        (RUN, 2, 2, 0, (0, 1), b""),
        (RUN, 0, 2, 2, (0, 1), b""),
    ]
    assert len({mask_label(*each) for each in releases}) == len(releases)


numbers = st.integers(0, 3)
labelled = st.tuples(
    st.sampled_from([bytes(32), b"\1" + bytes(31), bytes(31) + b"\1"]),
    numbers,
    numbers,
    numbers,
    st.sets(numbers).map(lambda cohort: tuple(sorted(cohort))),
    st.lists(numbers, max_size=3).map(
        lambda words: b"".join(n.to_bytes(8, "little") for n in words)
    ),
)


@settings(max_examples=300, deadline=None)
@given(labelled, labelled)
def test_only_the_same_release_has_the_same_label(one: tuple, other: tuple) -> None:
    assert (mask_label(*one) == mask_label(*other)) == (one == other)


def test_both_ends_agree_and_nobody_else() -> None:
    (a, our), (b, their), (c, third) = new_key(), new_key(), new_key()
    assert len({a, our, b, their, c, third}) == 6
    assert public(a) == our and len(a) == len(our) == 32
    key = pair_key(a, their, RUN, 4, 9)
    assert key == pair_key(b, our, RUN, 9, 4) and len(key) == 32
    others = [pair_key(c, our, RUN, 9, 4), pair_key(c, their, RUN, 4, 9)]
    others += [pair_key(a, third, RUN, 4, 9), pair_key(b, third, RUN, 9, 4)]
    assert key not in others


def test_a_key_is_bound_to_the_run_the_numbers_and_the_public_keys() -> None:
    theirs = public(SECOND)
    same_point = theirs[:-1] + bytes([theirs[-1] | 0x80])  # X25519 drops the highest bit
    own = X25519PrivateKey.from_private_bytes(FIRST)
    agreements = [own.exchange(X25519PublicKey.from_public_bytes(p)) for p in (theirs, same_point)]
    assert same_point != theirs and agreements[0] == agreements[1]
    keys = [
        pair_key(FIRST, theirs, RUN, 0, 1),
        pair_key(FIRST, theirs, RUN, 1, 0),  # who has which number
        pair_key(FIRST, theirs, RUN, 0, 2),
        pair_key(FIRST, theirs, RUN, 2, 1),
        pair_key(FIRST, theirs, RUN, 256, 1),
        pair_key(FIRST, theirs, bytes(32), 0, 1),
        pair_key(FIRST, same_point, RUN, 0, 1),
        pair_key(FIRST, public(THIRD), RUN, 0, 1),
    ]
    assert len(set(keys)) == len(keys)


def test_keys_labels_and_masks_are_as_described() -> None:
    """Step by step with other means, and the bytes as they were."""
    ends = {3: FIRST, 4: SECOND, 5: THIRD}
    keys: dict[int, bytes] = {}
    for other in (3, 5):
        point = X25519PublicKey.from_public_bytes(public(ends[other]))
        agreement = X25519PrivateKey.from_private_bytes(SECOND).exchange(point)
        low, high = min(4, other), max(4, other)
        info = b"tacit pair key 1\n" + RUN + np.array([low, high], "<u8").tobytes()
        info += public(ends[low]) + public(ends[high])
        extracted = hmac.digest(bytes(32), agreement, "sha256")
        keys[other] = hmac.digest(extracted, info + b"\1", "sha256")
        assert pair_key(SECOND, public(ends[other]), RUN, 4, other) == keys[other]
    members = np.array([7, 1, 2, 3, 3, 4, 5], "<u8").tobytes()
    label = hashlib.sha256(b"tacit mask label 2\n" + RUN + members + b"at").digest()
    assert mask_label(RUN, 7, 1, 2, (3, 4, 5), b"at") == label

    def stream(key: bytes) -> list[int]:
        derived = hmac.new(key, label, hashlib.sha256).digest()
        block = Cipher(algorithms.AES(derived), modes.ECB()).encryptor()
        text = b"".join(block.update(i.to_bytes(16, "big")) for i in range(300))
        return [int.from_bytes(text[i : i + 8], "little") for i in range(0, 8 * 599, 8)]

    expected = [(b - a) % 2**64 for a, b in zip(stream(keys[3]), stream(keys[5]), strict=True)]
    found = mask(keys, 4, (3, 4, 5), label, 599)
    assert found.dtype == np.uint64 and found.tolist() == expected
    assert keys[3].hex() == "877d2d382a2d20d0cd708b2248288bc2aa6cdba49d04752bf3d0dacf359d996a"
    assert label.hex() == "0d97aa3635aa18037f4c50d82c291b925184f1a88da0fe71fce43165a24e0172"
    assert found[:2].tolist() == [11595295016210657104, 15212619177506178865]


@pytest.mark.parametrize(
    "point",
    [
        bytes(32).hex(),
        "01" + bytes(31).hex(),
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ec" + 30 * "ff" + "7f",
        "ed" + 30 * "ff" + "7f",
        "ee" + 30 * "ff" + "7f",
    ],
)
def test_a_point_of_low_order_is_refused(point: str) -> None:
    with pytest.raises(PrivacyError, match=f"{point} of agent 8 .*leave that agent out"):
        pair_key(FIRST, bytes.fromhex(point), RUN, 0, 8)


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_bytes_of_another_length_are_refused(length: int) -> None:
    wrong, theirs = bytes(range(length)), public(SECOND)
    says = f"has {length} bytes and must have 32: give it raw"
    with pytest.raises(PrivacyError, match=f"^the private key of agent 6 {says}$"):
        pair_key(wrong, theirs, RUN, 6, 8)  # and is not shown
    with pytest.raises(PrivacyError, match=f"the public key of agent 8 {says}"):
        pair_key(FIRST, wrong, RUN, 6, 8)
    with pytest.raises(PrivacyError, match=f"run {says}"):
        pair_key(FIRST, theirs, wrong, 6, 8)
    with pytest.raises(PrivacyError, match=f"run {says}"):
        mask_label(wrong, 0, 0, 0, COHORT, b"")
    with pytest.raises(PrivacyError, match=f"label {says}"):
        mask(KEYS[0], 0, COHORT, wrong, 1)
    with pytest.raises(PrivacyError, match=f"^the key for agent 7 {says}$"):
        mask(KEYS[0] | {7: wrong}, 0, COHORT, LABEL, 1)


@pytest.mark.parametrize("number", [-1, 2**64, 2**70])
def test_numbers_out_of_range_are_refused(number: int) -> None:
    says = r"must be whole, from 0 to 2\^64 - 1"
    with pytest.raises(PrivacyError, match=rf"agents=.*{number}.* {says}"):
        pair_key(FIRST, public(SECOND), RUN, 1, number)
    with pytest.raises(PrivacyError, match=rf"round.*=\({number}, 0, 0, 5\) {says}"):
        mask_label(RUN, number, 0, 0, COHORT, b"")
    with pytest.raises(PrivacyError, match=rf"attempt.*=\(0, 0, {number}, 5\) {says}"):
        mask_label(RUN, 0, 0, number, COHORT, b"")
    with pytest.raises(PrivacyError, match=rf"phase.*=\(0, {number}, 0, 5\) {says}"):
        mask_label(RUN, 0, number, 0, COHORT, b"")
    with pytest.raises(PrivacyError, match=rf"cohort=\({number},\) {says}"):
        mask_label(RUN, 0, 0, 0, [number], b"")


@pytest.mark.parametrize("cohort", [(0, 3, 2), (0, 2, 2), (3, 2, 0)])
def test_a_cohort_out_of_order_is_refused(cohort: tuple[int, ...]) -> None:
    says = rf"cohort=\[{', '.join(map(str, cohort))}\] must be ascending.*sort it"
    with pytest.raises(PrivacyError, match=says):
        mask_label(RUN, 0, 0, 0, cohort, b"")
    with pytest.raises(PrivacyError, match=says):
        mask(KEYS[0], 0, cohort, LABEL, 1)


def test_a_cohort_that_cannot_hide_the_agent_is_refused() -> None:
    for cohort in ([], [2, 3], [0]):
        with pytest.raises(PrivacyError, match=r"must have agent 0 and at least one other"):
            mask(KEYS[0], 0, cohort, LABEL, 1)
    with pytest.raises(PrivacyError, match=r"none for agent 5 .*pair_key"):
        mask(KEYS[0], 0, [0, 2, 5], LABEL, 1)
    with pytest.raises(PrivacyError, match="agent 3 shares no mask with itself: give another"):
        pair_key(FIRST, public(SECOND), RUN, 3, 3)


@pytest.mark.parametrize("size", [0, -1])
def test_a_mask_of_nothing_is_refused(size: int) -> None:
    with pytest.raises(PrivacyError, match=f"size={size} must be at least 1"):
        mask(KEYS[0], 0, COHORT, LABEL, size)


@pytest.mark.parametrize("largest", [0, -5])
def test_a_size_below_one_step_is_refused(largest: int) -> None:
    with pytest.raises(PrivacyError, match=f"largest={largest} must be at least 1"):
        largest_cohort(largest)


def test_arrays_of_another_kind_are_refused() -> None:
    """As users call it: without the types that are checked in tests."""
    seal, read = inspect.unwrap(sealed), inspect.unwrap(opened)
    words, steps = np.zeros(3, np.uint64), np.zeros(3, np.int64)
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: seal(steps.astype(float), words), "steps is float64 .* give int64"),
        (lambda: seal(steps.astype(np.int32), words), "steps is int32 .* give int64"),
        (lambda: seal(steps, steps), "mask is int64 .* give uint64"),
        (lambda: seal(steps, words[:1]), r"mask is uint64 of shape \(1,\): .* one shape"),
        (lambda: seal(steps[:, None], words[:, None]), r"steps is int64 of shape \(3, 1\)"),
        (lambda: read([]), "messages is empty: give the message of each member"),
        (lambda: read([words, steps]), r"messages\[1\] is int64 .* give uint64"),
        (lambda: read([words, words[:2]]), r"messages\[1\] is uint64 of shape \(2,\)"),
        (lambda: read([words.astype(">u8")]), r"messages\[0\] is >u8 .* give uint64"),
        (lambda: read([words[:, None]]), r"messages\[0\] is uint64 of shape \(3, 1\)"),
    ]
    for call, says in refused:
        with pytest.raises(PrivacyError, match=says):
            call()


def test_messages_are_left_as_they_are() -> None:
    steps, hidden = np.arange(3), masks(COHORT, LABEL, 3)[0]
    message = sealed(steps, hidden)
    kept = message.copy()
    opened([message])[:] = 0
    opened([message, message])[:] = 0
    assert message.tolist() == kept.tolist() and steps.tolist() == [0, 1, 2]


@pytest.mark.parametrize("module", ["asymmetric", "ciphers"])
def test_a_missing_package_is_refused(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, f"cryptography.hazmat.primitives.{module}", None)
    calls: list[Callable[[], object]] = [lambda: mask(KEYS[0], 0, COHORT, LABEL, 1)]
    if module == "asymmetric":
        calls = [new_key, lambda: pair_key(FIRST, public(SECOND), RUN, 0, 1)]
    for call in calls:
        with pytest.raises(PrivacyError, match=r"tacit\[deploy\]"):
            call()


def test_the_package_is_loaded_only_when_it_is_used() -> None:
    code = (
        "import sys\n"
        "from tacit.privacy.masking import new_key\n"
        "before = 'cryptography' in sys.modules\n"
        "new_key()\n"
        "print(before, 'cryptography' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "True"]
