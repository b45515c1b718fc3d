"""The accuracy of functional perturbation as its paper states it: values, and where they fail."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tacit.errors import ConfigError
from tacit.method import CurvatureBounds, LegendreBasis
from tacit.method.forms import Form
from tacit.papers.nozari2016.accuracy import (
    interior_accuracy,
    interior_accuracy_at,
    modulus_accuracy,
    modulus_accuracy_at,
    noise_l2_norm,
    noise_scale,
    square_summable_from,
)
from tacit.papers.nozari2016.bounds import agents_factor, printed_metric_epsilon
from tacit.papers.nozari2016.minimisers import Domain, argmin_modulus, hoelder_constant

SQUARE = Domain.box([-5.0, -5.0], [5.0, 5.0])
RECORDS, WEIGHT, HALF = 100, 0.01, 5.0
TIGHT = CurvatureBounds(
    RECORDS * WEIGHT,
    RECORDS * (WEIGHT + 0.5),
    math.sqrt(2.0) * RECORDS * (WEIGHT * HALF + 1.0 / (1.0 + math.exp(-2 * HALF))),
)
"""The constants that are attained: 1, 51 and 148.5."""
PRINTED = CurvatureBounds(
    RECORDS * WEIGHT,
    RECORDS * WEIGHT + RECORDS * HALF * math.sqrt(2.0) + math.exp(2 * HALF),
    math.sqrt(2.0) * RECORDS * (WEIGHT * HALF + math.exp(2 * HALF)),
)
"""`alpha`, `beta` and `u` as section VII prints them."""


def test_the_printed_constants_of_section_vii() -> None:
    assert PRINTED.strong_convexity == 1.0
    assert PRINTED.smoothness == pytest.approx(22_734.57, abs=5e-3)
    assert PRINTED.gradient_bound == pytest.approx(3_115_019.74, abs=5e-3)


@pytest.mark.parametrize(
    ("bounds", "form", "values"),
    [
        (PRINTED, "printed", [1293.1, 939.2, 683.8, 499.2, 365.6, 268.6]),
        (TIGHT, "printed", [134.8, 95.95, 68.56, 49.18, 35.39, 25.55]),
        (TIGHT, "corrected", [547.8, 284.0, 149.2, 79.51, 42.96, 23.50]),
    ],
)
def test_corollary_vi_4_on_the_example_of_the_paper(
    bounds: CurvatureBounds, form: Form, values: list[float]
) -> None:
    found = [
        modulus_accuracy_at(epsilon, 1.1, bounds, SQUARE, agents=10, form=form)
        for epsilon in (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
    ]
    assert [float(f"{each:.{5 if each > 1000.0 else 4}g}") for each in found] == values


@pytest.mark.parametrize(
    ("form", "values"), [("printed", [39.51, 18.34, 3.951]), ("corrected", [27.18, 12.62, 2.718])]
)
def test_remark_vi_5_on_the_example_of_the_paper(form: Form, values: list[float]) -> None:
    found = [
        interior_accuracy_at(epsilon, 1.1, 1.0, 51.0, 2, agents=10, form=form)
        for epsilon in (1.0, 10.0, 1000.0)
    ]
    assert [float(f"{each:.4g}") for each in found] == values


def test_theorem_vi_3_adds_up_agents_that_differ() -> None:
    scales, p, smoothing = [0.5, 2.0, 1.0], [0.55, 0.8, 0.6], [0.0, 0.1, 3.0]
    for form in ("printed", "corrected"):
        u = TIGHT.gradient_bound * (1 if form == "printed" else 3)
        summed = CurvatureBounds(3.0, 153.0, u)
        by_hand = sum(
            argmin_modulus(norm, summed, SQUARE, form=form)
            for scale, exponent, left in zip(scales, p, smoothing, strict=True)
            for norm in (noise_l2_norm(scale, exponent, form=form), left)
        )
        found = modulus_accuracy(scales, p, TIGHT, SQUARE, agents=3, smoothing=smoothing, form=form)
        assert found == pytest.approx(by_hand, rel=1e-12)
    at = modulus_accuracy_at(0.7, 1.2, TIGHT, SQUARE, agents=3, smoothing=0.2)
    scale = noise_scale(0.7, 1.2)
    assert at == modulus_accuracy(scale, 0.6, TIGHT, SQUARE, agents=3, smoothing=0.2)


def test_the_scale_that_goes_with_an_epsilon() -> None:
    for q, p in ((1.1, None), (2.0, 0.9)):
        scale = noise_scale(0.3, q, p)
        assert printed_metric_epsilon(scale, q, q / 2 if p is None else p) == pytest.approx(0.3)


@pytest.mark.not_quick
def test_laplace_noise_is_longer_than_printed() -> None:
    # 20,000 coefficients; what follows adds little at p = 1.5
    rng = np.random.default_rng(0)
    k = np.arange(1.0, 2001.0)
    norms = np.sqrt(np.sum((rng.laplace(size=(4000, 2000)) * 0.7 / k**1.5) ** 2, axis=1))
    printed, corrected = (noise_l2_norm(0.7, 1.5, form=form) for form in ("printed", "corrected"))
    assert math.sqrt(np.mean(norms**2)) == pytest.approx(corrected, rel=0.03)
    assert np.mean(norms) > printed
    assert corrected == pytest.approx(math.sqrt(2.0) * printed)


def test_one_of_n_agents_moves_the_minimiser_by_the_corrected_power() -> None:
    def one(agents: int, form: Form) -> float:
        """The bound if one agent alone adds noise, as a share of that of all agents."""
        return interior_accuracy(1.0, 0.55, 1.0, 51.0, 2, agents=agents, form=form) / agents

    for form in ("printed", "corrected"):
        assert one(64, form) / one(1, form) == pytest.approx(agents_factor(64, 2, form=form))
    assert one(1, "printed") == pytest.approx(
        hoelder_constant(1.0, 51.0, 2, form="printed")
        * noise_l2_norm(1.0, 0.55, form="printed") ** (1.0 / 3.0)
    )


def test_the_printed_remark_is_too_small_for_many_agents() -> None:
    # quadratics x^2 / 2 on [-5, 5]; noise on their slope alone keeps them what they are
    agents, scale, p, trials = 1000, 0.1, 0.55, 500
    basis = LegendreBasis([-5.0], [5.0], 1)
    steep = math.sqrt(3.0 / (2.0 * 5.0**3))  # of the second function, sqrt(3 / 250) x
    assert basis.size == 2
    rng = np.random.default_rng(0)
    slopes = steep * scale / 2.0**p * rng.laplace(size=(trials, agents))
    error = float(np.mean(np.abs(np.sum(slopes, axis=1)))) / agents
    printed, corrected = (
        interior_accuracy(scale, p, 1.0, 1.5, 1, agents=agents, form=form)
        for form in ("printed", "corrected")
    )
    assert printed < 0.5 * error < corrected


@pytest.mark.parametrize(
    ("scales", "first"),
    [
        ([1.0, 0.5, 0.1], 3),  # 0.1 3^1 log 9 = .66, and .5 2 log 4 = 1.4
        ([1e9], 1),  # log 1 = 0
        ([0.1, 0.1, 0.1], 1),
        ([0.1, 0.1, 0.4], None),
    ],
)
def test_lemma_v_1_on_a_few_scales(scales: list[float], first: int | None) -> None:
    assert square_summable_from(scales, p=1.0, s=2.0) == first


def test_power_laws_keep_to_lemma_v_1_from_some_coefficient_on() -> None:
    k = np.arange(1.0, 100_001.0)
    for gamma in (0.1, 1.0, 3.0):
        assert square_summable_from(gamma / k**1.1, p=0.7, s=1.5) is not None
    assert square_summable_from(k**-0.5, p=0.51, s=1.01) is None


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: noise_scale(0.0, 1.1), "epsilon=0.0"),
        (lambda: noise_scale(1.0, 0.9), "q=0.9"),
        (lambda: noise_l2_norm(1.0, 0.5), "p=0.5"),
        (lambda: noise_l2_norm(math.nan, 0.6), "scale=nan"),
        (lambda: square_summable_from([1.0], 0.5, 2.0), "p=0.5"),
        (lambda: square_summable_from([1.0, 0.0], 0.6, 2.0), "scales="),
        (lambda: modulus_accuracy([1.0, 2.0], 0.6, TIGHT, SQUARE, agents=3), "scales has shape"),
        (lambda: modulus_accuracy(1.0, 0.6, TIGHT, SQUARE, agents=0), "agents=0"),
        (lambda: modulus_accuracy(1.0, 0.6, TIGHT, SQUARE, agents=2, smoothing=-1.0), "smoothing"),
        (lambda: modulus_accuracy_at([1.0, 0.0], 1.1, TIGHT, SQUARE, agents=2), "epsilon=0.0"),
        (lambda: interior_accuracy(1.0, 0.6, 2.0, 1.0, 2, agents=2), "smoothness"),
        (lambda: interior_accuracy_at(1.0, 1.0, 1.0, 2.0, 2, agents=2), "q=1.0"),
    ],
)
def test_arguments_are_checked(make: Callable[[], object], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        make()
