"""Every test of tables runs with columns of text as pandas 3 makes them, and as pandas 2 does."""

import pytest


@pytest.fixture(autouse=True)
def _either(text_columns: None) -> None: ...
