"""Kills, second processes, emptied states and older copies at random: nothing is answered twice.

`TACIT_KILLS=200 pytest -m slow tests/end_to_end/test_state_kills.py` for a number of one's own.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.end_to_end.kills import survived

MISTAKES = ("twin", "twin elsewhere", "emptied", "put back", "keys put back")


@pytest.mark.parametrize(
    "kills", [6, pytest.param(int(os.environ.get("TACIT_KILLS", "100")), marks=pytest.mark.slow)]
)
def test_no_mistake_of_its_owner_makes_a_member_answer_twice(tmp_path: Path, kills: int) -> None:
    found = survived("state_kills.py", tmp_path, kills, 7)
    assert found["kills"] >= kills and not found["errors"] and not found["problem"]
    assert found["newest_refused"] == []
    assert found["sent_twice_differently"] == 0
    assert found["sent_but_not_in_the_ledger"] == 0
    assert found["counted"] == found["in_the_ledger"]
    # a copy that is put back is refused, but for one since which nothing was started or sent
    for what in ("twin", "twin elsewhere", "emptied"):
        assert f"{what}: not refused" not in found
    if kills >= 100:
        assert all(found[what] for what in MISTAKES)
        assert found["messages"] > kills


@pytest.mark.long
def test_a_member_without_the_guard_is_found_out(tmp_path: Path) -> None:
    found = survived("state_kills.py", tmp_path, 12, 3, "unguarded")
    assert found["sent_twice_differently"] > 0
