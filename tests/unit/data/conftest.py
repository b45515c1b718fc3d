"""Every test of tables runs with columns of text as pandas 3 makes them, and as pandas 2 does."""

from collections.abc import Iterator

import pytest

from tests.text_columns import columns_of_text


@pytest.fixture(autouse=True, params=["str", pytest.param("object", marks=pytest.mark.long)])
def _either(request: pytest.FixtureRequest) -> Iterator[None]:
    with columns_of_text(request.param):
        yield
