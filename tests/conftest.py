"""Settings that every test shares."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

# JAX keeps what it has traced, millions of objects; looking through them all again and again for
# garbage takes long.
gc.set_threshold(100_000, 50, 50)


# What one process compiles, the others and the next run of the tests take from the disk.
_COMPILED = {
    "jax_compilation_cache_dir": str(Path(__file__).parents[1] / ".pytest_cache" / "jax"),
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": 0,
}
for _name, _value in _COMPILED.items():
    jax.config.update(_name, _value)
    os.environ[_name.upper()] = str(_value)


@pytest.fixture
def float64() -> Iterator[None]:
    """Run a test of traced code in the precision that `tacit.run` works in."""
    with jax.enable_x64(True):
        yield
