"""Advice with masks: what they would bring, and methods measured under them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tacit import network
from tacit.advise import Advice, Measured, Setting, estimate
from tacit.advise.candidates import candidates
from tacit.advise.closed_form import multiplier
from tacit.advise.masks import mask_gain
from tacit.advise.measure import Bench
from tacit.advise.setting import changed
from tacit.errors import PrivacyError
from tacit.method import GradientDescent
from tacit.privacy import Masks, Privacy

BUDGET = Privacy(clip=1.0, epsilon=1.7, delta=1e-6)
STAR = Setting(100, 4, network.Coordinator(6), BUDGET)


def masked(setting: Setting = STAR, **values: Any) -> Setting:
    return replace(setting, budget=changed(setting.budget, masks=Masks(**values)))


def test_masks_leave_an_agent_a_share_of_the_noise() -> None:
    alone = multiplier(STAR, 30)
    assert multiplier(masked(), 30) == pytest.approx(alone / np.sqrt(5))
    assert multiplier(masked(coalition=2, min_cohort=4), 30) == pytest.approx(alone / np.sqrt(2))
    gone = replace(STAR, network=network.Coordinator(6, dropout=0.1))
    assert multiplier(masked(gone, min_cohort=4), 30) > multiplier(masked(min_cohort=4), 30)


def test_the_closed_form_counts_them() -> None:
    assert estimate(masked()).error < 0.5 * estimate(STAR).error


def test_methods_that_masks_cannot_hide_are_left_out() -> None:
    found, left_out = candidates(masked())
    names = {each.name for each in found}
    assert names == {"d-zoa-star", "gradient-descent", "or-zo", "zoo-admm"}
    assert left_out["fedavg"] == "masks cannot hide what it releases"
    assert left_out["dpsg"] == "it needs peers"


def test_masks_that_hide_nobody_are_refused() -> None:
    with pytest.raises(PrivacyError, match="coalition=6 of 6 agents"):
        masked(coalition=6)


def tried(setting: Setting) -> Any:
    """One run of gradient descent, as advice measures it."""
    found = [each for each in candidates(setting)[0] if each.build is GradientDescent]
    bench = Bench(setting, found)
    choice = bench.choice(found[0], 0.5, 30, 10.0)
    return bench, [(bench.confirm(choice, setting), choice)]


def test_what_they_would_bring_is_measured() -> None:
    bench, measured = tried(STAR)
    gain = mask_gain(bench, measured)
    assert gain is not None
    assert (gain.method, gain.coalition, gain.variance) == ("gradient-descent", 1, 5)
    assert gain.without == measured[0][0].error
    # the bias of the clip stays
    assert gain.without / 7 < gain.error < 0.7 * gain.without
    # and it is what a study with masks is told
    assert tried(masked())[1][0][0].error == pytest.approx(gain.error)


@pytest.mark.parametrize(
    "setting",
    [
        masked(),
        replace(STAR, network=network.Coordinator(2)),
        replace(STAR, network=network.Coordinator(6, 0.5)),
        replace(STAR, budget=changed(BUDGET, noise="laplace")),
    ],
    ids=["masked", "two sites", "drawn", "laplace"],
)
def test_where_they_bring_nothing_nothing_is_said(setting: Setting) -> None:
    bench = Bench(setting, [])
    assert mask_gain(bench, tried(STAR)[1]) is None


def test_no_method_that_takes_them_no_gain() -> None:
    bench, [(found, choice)] = tried(STAR)
    dpsg = candidates(replace(STAR, network=network.ring(6)))[0]
    other = next(each for each in dpsg if each.name == "dpsg")
    assert mask_gain(bench, [(found, replace(choice, candidate=other))]) is None


def test_the_toml_keeps_them() -> None:
    scores = {kind: {"loss": loss} for kind, loss in (("answer", 0.2), ("zero", 1.1))}
    made = Measured(
        "gradient-descent", 0.5, 30, {"step": 1.0}, np.array([0.1]),
        {**scores, "optimum": {"loss": 0.1}},
    )  # fmt: skip
    setting = masked(coalition=2, min_cohort=5)
    advice = Advice(setting, estimate(setting), (made,), (), {}, (), 0.0)
    assert "masks = { coalition = 2, min_cohort = 5 }\n" in advice.toml
