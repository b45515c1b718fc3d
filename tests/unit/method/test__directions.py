"""Random directions are standard normals, independent of each other and of how they are batched."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from tacit.method._directions import normal_directions


@pytest.fixture(autouse=True)
def _double_precision():
    with jax.enable_x64(True):
        yield


def test_they_are_standard_normals_without_correlation() -> None:
    draws = np.asarray(normal_directions(jax.random.key(3), (2, 200_000)), float)
    assert draws.shape == (2, 200_000)
    assert stats.kstest(draws.ravel(), "norm").pvalue > 1e-4
    # both halves of a word, and one number and the next
    flat = draws.ravel()
    for a, b in ((flat[::2], flat[1::2]), (flat[:-1], flat[1:]), (draws[0], draws[1])):
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(len(a))
        assert abs(np.corrcoef(a**2, b**2)[0, 1]) < 5 / np.sqrt(len(a))
    assert np.isfinite(draws).all() and np.abs(draws).max() > 4


@pytest.mark.long
def test_an_odd_number_of_them_and_a_batch_of_keys() -> None:
    keys = jax.random.split(jax.random.key(0), 4)
    batch = jax.vmap(lambda key: normal_directions(key, (3, 5)))(keys)
    alone = jnp.stack([normal_directions(key, (3, 5)) for key in keys])
    np.testing.assert_array_equal(batch, alone)
    assert len(np.unique(np.asarray(batch))) == 60
