"""The bound on rounding errors of sums, against sums in exact arithmetic."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.clipping import clipped
from tacit.errors import PrivacyError
from tacit.privacy.rounding import sum_error


def exact_sum(rows: np.ndarray) -> list[Fraction]:
    return [sum(map(Fraction, column.tolist()), Fraction(0)) for column in rows.T]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("kind", "roundoff"), [("float32", 2.0**-24), ("float64", 2.0**-53)])
def test_sums_err_by_less_than_half_the_bound(order: int, kind: str, roundoff: float) -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_cauchy(size=(2000, 3)).astype(kind)
    rows /= np.maximum(np.linalg.norm(rows, order, axis=1, keepdims=True), 1.0).astype(kind) * 1.001
    computed = np.add.accumulate(rows)[-1]  # one after the other: the worst order
    error = np.array(
        [float(Fraction(float(c)) - e) for c, e in zip(computed, exact_sum(rows), strict=True)]
    )
    bound = sum_error(2000, 1.0, 3, roundoff)
    assert 0.0 < np.linalg.norm(error, order) < bound / 2


@pytest.mark.parametrize("order", [1, 2])
def test_a_clipped_vector_is_longer_than_its_clip_by_less_than_the_bound(
    order: int, float64: None
) -> None:
    rows = np.random.default_rng(1).standard_cauchy(size=(300, 7))
    inside = np.asarray(jax.jit(lambda r: clipped(r, 0.1, order))(jnp.asarray(rows)))
    allowed = Fraction(0.1) + Fraction(sum_error(0, 0.1, 7)) / 2
    for row in inside.tolist():
        sizes = [abs(Fraction(entry)) for entry in row]
        length = sum(sizes) if order == 1 else sum(size**2 for size in sizes)
        assert length <= (allowed if order == 1 else allowed**2)


def test_the_bound_grows_with_the_square_of_the_records() -> None:
    small, large = (sum_error(records, 1.0, 5) for records in (10**4, 10**6))
    assert large / small == pytest.approx(10**4, rel=0.01)


def test_a_sum_without_correct_digits_is_refused() -> None:
    with pytest.raises(PrivacyError, match=r"4194304 records .* no correct digit"):
        sum_error(2**22, 1.0, 3, 2.0**-24)
