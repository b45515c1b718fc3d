"""The harness that compares bits before and after a change of structure."""

from __future__ import annotations

from typing import Any

import jax
import pytest

from tacit._engine import step as agent
from tests.bits import compared, digests
from tests.conformance.table import ROWS
from tests.matrix import forget_programs


@pytest.mark.slow  # compiles a run twice
def test_a_changed_key_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    row = next(row for row in ROWS if row.name == "dpsg")
    kept = digests(row)
    assert compared({row.name: kept}, {row.name: digests(row)}) == []
    honest = agent.phase_keys

    def other(secret: Any, round: Any, phase: int, step: Any) -> Any:
        keys = honest(secret, round, phase, step)
        return keys._replace(noise=jax.random.fold_in(keys.noise, 1))

    monkeypatch.setattr(agent, "phase_keys", other)
    forget_programs()
    try:
        found = digests(row)
    finally:
        forget_programs()
    differences = compared({row.name: kept}, {row.name: found})
    assert differences == ["dpsg: batched", "dpsg: exact", "dpsg: released"]


def test_a_row_that_is_new_or_gone_differs_in_everything() -> None:
    assert compared({}, {"new": {"exact": "0"}}) == ["new: exact"]
    assert compared({"gone": {"exact": "0"}}, {}) == ["gone: exact"]


def test_no_row_hides_another_of_its_name() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
