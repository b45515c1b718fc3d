"""Settings that every test shares."""

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture
def float64() -> Iterator[None]:
    """Run a test of traced code in the precision that `tacit.run` works in."""
    with jax.enable_x64(True):
        yield
