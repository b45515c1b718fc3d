"""A member that was stopped asks its neighbours before it gives them up."""

from __future__ import annotations

import pytest

from tacit.deploy.member import waited
from tacit.deploy.member.waited import Waited


def test_time_in_which_nobody_looked_counts_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(waited.time, "monotonic", lambda: now[0])
    so_far = Waited(5.0)
    assert so_far() == 0.0
    told = []
    for seconds in (0.25, 5.0, 60.0, 1.0, 5.25):
        now[0] += seconds
        told.append(so_far())
    assert told == [0.25, 5.25, 10.25, 11.25, 16.25]
