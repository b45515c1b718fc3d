"""Settings that every test shares."""

import gc
from collections.abc import Iterator

import jax
import pytest

# JAX keeps what it has traced, millions of objects; looking through them all again and again for
# garbage takes long.
gc.set_threshold(100_000, 50, 50)


@pytest.fixture
def float64() -> Iterator[None]:
    """Run a test of traced code in the precision that `tacit.run` works in."""
    with jax.enable_x64(True):
        yield
