"""A folder with the table of visits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.regression.visits import visits


@pytest.fixture
def fitted(tmp_path: Path) -> Path:
    visits().to_csv(tmp_path / "visits.csv", index=False)
    return tmp_path
