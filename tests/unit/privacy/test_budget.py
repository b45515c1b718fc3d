"""What a user may ask for, and what is refused with its name."""

import math
from typing import Any

import numpy as np
import pytest

from tacit.errors import PrivacyError
from tacit.privacy.budget import Privacy
from tacit.privacy.dose import Calibrated
from tacit.privacy.hiding import ALONE
from tacit.privacy.laws import GAUSSIAN, L2_LAPLACE, LAPLACE, NoiseKind
from tacit.privacy.masked import Masks, SecureSum
from tacit.types import Relation


def test_a_budget_has_sane_defaults() -> None:
    asked = Privacy(clip=1.0, epsilon=1.0)
    assert asked.relation is Relation.REPLACE_ONE
    assert asked.noise is NoiseKind.GAUSSIAN
    assert asked.delta == 1e-6
    assert asked.order == 2


def test_words_become_enums() -> None:
    words: dict[str, Any] = {"noise": "laplace", "relation": "add_remove"}
    asked = Privacy(clip=1.0, epsilon=1.0, **words)
    assert asked.noise is NoiseKind.LAPLACE
    assert asked.relation is Relation.ADD_REMOVE
    assert asked.order == 1


def test_masks_may_be_a_truth_value() -> None:
    assert Privacy(clip=1.0, epsilon=1.0, masks=True).masks == Masks()
    assert Privacy(clip=1.0, epsilon=1.0, masks=False).masks is None


def test_the_mechanism_follows_the_noise() -> None:
    given = Privacy(clip=1.0, noise_multiplier=5.0).mechanism
    assert given.law is GAUSSIAN and given.hides is ALONE
    assert isinstance(given.dose, Calibrated) and given.dose.noise_multiplier == 5.0
    asked = Privacy(clip=1.0, epsilon=1.0, noise=NoiseKind.LAPLACE).mechanism
    assert asked.law is LAPLACE
    # not yet calibrated
    assert isinstance(asked.dose, Calibrated) and math.isnan(asked.dose.noise_multiplier)
    masks = Masks(coalition=2)
    hidden = Privacy(clip=1.0, epsilon=1.0, masks=masks).mechanism
    assert hidden.law is GAUSSIAN and hidden.hides == SecureSum(masks)


def test_numbers_may_differ_per_owner() -> None:
    asked = Privacy(clip=np.array([1.0, 2.0]), epsilon=np.array([0.5, math.inf]))
    assert asked.epsilon[1] == math.inf


def test_a_pure_budget_is_for_laplace_only() -> None:
    assert Privacy(clip=1.0, epsilon=1.0, delta=0.0, noise=NoiseKind.LAPLACE).delta == 0.0
    l2 = Privacy(clip=1.0, epsilon=1.0, delta=0.0, noise="l2_laplace")
    assert l2.order == 2 and l2.mechanism.law is L2_LAPLACE
    with pytest.raises(PrivacyError, match="delta=0"):
        Privacy(clip=1.0, epsilon=1.0, delta=0.0)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"clip": 0.0}, "clip=0"),
        ({"clip": -1.0}, "clip=-1"),
        ({"clip": math.nan}, "clip=nan"),
        ({"clip": np.ones((2, 2))}, "clip="),
        ({"epsilon": 0.0}, "epsilon=0"),
        ({"epsilon": -1.0}, "epsilon=-1"),
        ({"epsilon": np.array([1.0, math.nan])}, "epsilon="),
        ({"epsilon": None}, "needs epsilon"),
        ({"noise_multiplier": 1.0}, "not both"),
        ({"epsilon": None, "noise_multiplier": -1.0}, "noise_multiplier=-1"),
        ({"delta": 1.0}, "delta=1"),
        ({"delta": 1e-13}, "delta=1e-13"),
        ({"delta": -1e-6}, "delta=-1e-06"),
        ({"sampling": 0.0}, "sampling=0"),
        ({"sampling": 1.5}, "sampling=1.5"),
        ({"sites_per_person": 0}, "sites_per_person=0"),
        ({"records_per_person": -1}, "records_per_person=-1"),
    ],
)
def test_what_is_out_of_range_is_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(PrivacyError, match=named):
        Privacy(**{"clip": 1.0, "epsilon": 1.0, **changes})


@pytest.mark.parametrize(("given", "order"), [(None, None), (1, 1), (2, 2), ("inf", math.inf)])
def test_a_clip_may_be_in_another_norm_than_the_noise(given: Any, order: Any) -> None:
    asked = Privacy(clip=1.0, epsilon=1.0, clip_norm=given)
    assert asked.clip_norm == order
    assert asked.order == 2


@pytest.mark.parametrize("wrong", [3, 0, "2", True, "max"])
def test_an_unknown_norm_is_refused(wrong: Any) -> None:
    with pytest.raises(PrivacyError, match=r"clip_norm=.* must be 1, 2 or 'inf'"):
        Privacy(clip=1.0, epsilon=1.0, clip_norm=wrong)
