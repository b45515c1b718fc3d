"""Calls to plain Python: float64 on whichever thread JAX makes them."""

import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.errors import ProblemError
from tacit.problem.callback import call_host, host_errors
from tacit.problem.constraint import Polyhedron

THIRD = 1.0 / 3.0


@jax.jit
def late(a: Any) -> Any:
    """Two numbers that take a while: a call that awaits them is made on a thread of JAX."""
    return jnp.sum(jnp.linalg.matrix_power(a, 200)) * 0.0 + jnp.full(2, THIRD)


@pytest.mark.usefixtures("float64")
def test_float64_arrives_and_returns_whole_on_a_thread_of_jax() -> None:
    seen = []

    def half(numbers: np.ndarray) -> np.ndarray:
        seen.append((threading.get_ident(), numbers.dtype, jnp.ones(1).dtype))
        return numbers / 2.0

    compiled = jax.jit(lambda x: call_host(half, (2,), x))
    for _ in range(5):  # compiling takes longer than the first work does
        answer = np.asarray(compiled(late(jnp.eye(400))))
        assert answer.dtype == np.float64 and np.all(answer == THIRD / 2.0)
    assert any(thread != threading.get_ident() for thread, *_ in seen)
    assert all(given == own == np.float64 for _, given, own in seen)


@pytest.mark.usefixtures("float64")
def test_a_polyhedron_projects_on_a_thread_of_jax() -> None:
    project = jax.jit(Polyhedron([[1.0, 1.0]], [0.1]).project)
    for _ in range(5):
        np.testing.assert_allclose(project(late(jnp.eye(400))), 0.05, atol=1e-9)


@pytest.mark.parametrize("vmap_method", ["sequential", "expand_dims"])
@pytest.mark.usefixtures("float64")
def test_batches(vmap_method: Any) -> None:
    def scaled(numbers: np.ndarray, by: np.ndarray) -> np.ndarray:
        return numbers[..., :1] * by[..., None]

    points, factors = np.random.default_rng(0).normal(size=(5, 3)), np.arange(5)
    inner = jax.vmap(lambda x, k: call_host(scaled, (1,), x, k, vmap_method=vmap_method))
    np.testing.assert_array_equal(inner(points, factors), points[:, :1] * factors[:, None])
    one = jax.vmap(lambda x: call_host(scaled, (1,), x, 3, vmap_method=vmap_method))
    np.testing.assert_array_equal(one(points), points[:, :1] * 3)


def test_single_precision_stays_single_and_overflows_without_a_word() -> None:
    with jax.enable_x64(False):
        answer = call_host(huge, (2,), jnp.ones(2, jnp.float32))
    assert answer.dtype == np.float32 and np.isinf(answer).all()


def huge(numbers: np.ndarray) -> np.ndarray:
    assert numbers.dtype == np.float64
    return numbers * 1e300


def test_the_error_of_a_host_function_is_the_one_that_is_raised() -> None:
    def refusing(numbers: np.ndarray) -> np.ndarray:
        raise ProblemError(f"nothing is near {numbers[0]:g}")

    with pytest.raises(ProblemError, match=r"nothing is near 3$"), host_errors():
        jax.block_until_ready(jax.jit(lambda x: call_host(refusing, (1,), x))(jnp.full(1, 3.0)))
