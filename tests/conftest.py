"""Settings that every test shares."""

import gc
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

from tests.matrix import forget_programs

# JAX keeps what it has traced, millions of objects; looking through them all again and again for
# garbage takes long.
gc.set_threshold(100_000, 50, 50)


MOST_PAGES = 3_000_000_000 // 4096
"""Memory of a worker from which on it lets go of what was compiled."""


@pytest.fixture(scope="module", autouse=True)
def bounded_memory() -> Iterator[None]:
    """Programs of one module are hardly ever another's."""
    yield
    pages = Path("/proc/self/statm")
    if pages.exists() and int(pages.read_text().split()[1]) > MOST_PAGES:
        forget_programs()


@pytest.fixture
def float64() -> Iterator[None]:
    """Run a test of traced code in the precision that `tacit.run` works in."""
    with jax.enable_x64(True):
        yield
