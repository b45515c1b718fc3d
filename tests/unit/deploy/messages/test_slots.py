"""A state on the disk is read as what it was written, or not at all."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from tacit.deploy.messages.slots import packed, unpacked
from tacit.errors import RuntimeFailure


class Written(NamedTuple):
    x: Any
    average: Any


class Swapped(NamedTuple):
    average: Any
    x: Any


ONE, TWO = np.array([1.0, 2.0]), np.array([3.0, 4.0])


@pytest.mark.parametrize("average", [TWO, None])
def test_there_and_back(average: Any) -> None:
    found = unpacked(b"".join(packed(Written(ONE, average))), Written(TWO, ONE))
    assert isinstance(found, Written)
    assert np.array_equal(found.x, ONE)
    assert found.average is None if average is None else np.array_equal(found.average, TWO)


@pytest.mark.parametrize(
    "like",
    [Swapped(ONE, TWO), (ONE, TWO), Written(ONE, (TWO, TWO))],
    ids=["order", "names", "more"],
)
def test_fields_do_not_change_places(like: Any) -> None:
    data = b"".join(packed(Written(ONE, TWO)))
    with pytest.raises(RuntimeFailure, match="of another version of tacit"):
        unpacked(data, like)


@pytest.mark.parametrize("cut", [3, 20, -1])
def test_a_state_that_was_cut_off(cut: int) -> None:
    data = b"".join(packed(Written(ONE, TWO)))
    with pytest.raises(RuntimeFailure, match="of another version of tacit"):
        unpacked(data[:cut], Written(ONE, TWO))
