"""A member that was stopped asks its neighbours before it gives them up."""

from __future__ import annotations

import pytest

from tacit.deploy import waited
from tacit.deploy.waited import Waited


def test_time_in_which_the_process_was_stopped_counts_as_one_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(waited.time, "monotonic", lambda: now[0])
    so_far = Waited(every=0.25, most=5.0)
    told = [so_far()]
    for seconds in (0.25, 5.0, 60.0, 1.0, 5.25):
        now[0] += seconds
        told.append(so_far())
    assert told == [0.0, 0.25, 5.25, 5.5, 6.5, 6.75]
