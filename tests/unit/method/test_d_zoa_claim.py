"""The formulas of the D-ZOA paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit import DZOASolver
from tacit.errors import ConfigError, PrivacyError
from tacit.method.d_zoa_claim import (
    PaperClaim,
    initial_step,
    inner_directions,
    minimum_inner_steps,
    printed_step,
)

SETTING = {
    "penalty": 4.0,
    "degrees": np.array([2, 2, 2, 3, 1]),
    "counts": np.full(5, 20),
    "dimension": 10,
    "inner_steps": 100,
    "radius": 2.0,
    "optimum": 2.0,
}


def test_total_of_eq_25() -> None:
    assert PaperClaim(0.15, 1e-3).total(200) == pytest.approx(2.04, abs=0.005)
    assert PaperClaim(0.95, 1e-3).total(200) == pytest.approx(12.90, abs=0.005)


def test_directions_follow_the_square_of_the_degree() -> None:
    directions = inner_directions(PaperClaim(0.5, 1e-3), **SETTING)
    ratios = directions / directions[4]
    np.testing.assert_allclose(ratios, SETTING["degrees"] ** 2, rtol=0.1)


def test_directions_are_rounded_to_the_nearest_integer() -> None:
    # eq (22) of Gratton et al. (2021), solved for J: log(1.25 / delta) = 1 at delta = 1.25 / e
    claim, own = PaperClaim(1.0, 1.25 / math.e), {"degrees": np.array([1]), "counts": np.array([5])}
    setting = SETTING | own | {"dimension": 1, "inner_steps": 1, "penalty": 0.2}
    # s1 = s2 = 1, and ||b*||^2 = 1 / log 2 leaves 4 (alpha0^2 - 1) / log 2 = 2.1 J
    setting |= {"optimum": 1.0 / math.sqrt(math.log(2.0))}
    for exact, rounded in ((30.4, 30), (30.6, 31), (0.6, 1)):
        alpha0 = math.sqrt(1.0 + 2.1 * exact * math.log(2.0) / 4.0)
        assert inner_directions(claim, initial_step=alpha0, **setting) == [rounded]
    with pytest.raises(PrivacyError, match=r"J = 0\.4 directions .* rounds to none"):
        inner_directions(claim, initial_step=math.sqrt(1 + 0.84 * math.log(2) / 4), **setting)


@pytest.mark.parametrize("epsilon", [0.15, 0.95])
def test_the_first_step_that_goes_with_a_number_of_directions(epsilon: float) -> None:
    claim, closed = PaperClaim(epsilon, 1e-3), SETTING["degrees"] + 1
    steps = initial_step(claim, directions=30, **(SETTING | {"degrees": closed}))
    for degree, step in zip(closed, steps, strict=True):
        own = SETTING | {"degrees": np.array([degree]), "counts": np.array([20])}
        assert inner_directions(claim, initial_step=step, **own) == [30]
    assert np.all(np.diff(steps[[4, 0, 3]]) < 0)  # more neighbours, less noise is needed
    with pytest.raises(ConfigError, match="directions=0"):
        initial_step(claim, directions=0, **SETTING)


def test_a_claim_that_needs_less_than_one_direction() -> None:
    with pytest.raises(PrivacyError, match="rounds to none"):
        inner_directions(PaperClaim(0.15, 1e-3), **(SETTING | {"counts": np.ones(5, int)}))


def test_too_few_inner_steps_are_refused_with_the_number_needed() -> None:
    needed = minimum_inner_steps(10, 2.0, 2.0, initial_step=0.2)
    assert needed > 1
    with pytest.raises(PrivacyError, match=f"below the {needed}"):
        inner_directions(
            PaperClaim(0.5, 1e-3), **(SETTING | {"inner_steps": needed - 1}), initial_step=0.2
        )
    inner_directions(
        PaperClaim(0.5, 1e-3), **(SETTING | {"inner_steps": needed + 20}), initial_step=0.2
    )


def test_no_number_of_steps_is_enough_for_an_optimum_far_away() -> None:
    with pytest.raises(PrivacyError, match="no inner_steps"):
        minimum_inner_steps(10, 1e-6, 2.0)


def test_step_as_printed() -> None:
    assert printed_step(10, 2.0, 1.8) == pytest.approx(0.54 * 2 / (1.8 * np.sqrt(10 * np.log(20))))


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 1e-3), (np.inf, 1e-3), (1.0, 0.0), (1.0, 1.0)]
)
def test_claims_out_of_range(epsilon: float, delta: float) -> None:
    with pytest.raises(PrivacyError, match="must be"):
        PaperClaim(epsilon, delta)


def test_the_claim_is_about_the_printed_algorithm() -> None:
    with pytest.raises(ConfigError, match="printed=True"):
        DZOASolver(step=0.1, claim=PaperClaim(0.15, 1e-3))
    with pytest.raises(ConfigError, match="printed=True"):
        DZOASolver(printed=True, claim=PaperClaim(0.15, 1e-3))
