"""Made-up records: of the declared shape, with the stated prevalence and gain; and their noise."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tacit import network
from tacit.advise import Columns, Law, Setting
from tacit.advise.columns import Table
from tacit.advise.law import Slopes
from tacit.advise.measure import CLIPS
from tacit.advise.noise import epsilon_for, multiplier, with_epsilon
from tacit.advise.setting import changed
from tacit.advise.shrink import MOST_AGENTS, shape
from tacit.errors import ConfigError, PrivacyError
from tacit.method import DPSG
from tacit.privacy import GaussianRelease, Masks, Privacy, Repeated, accounting
from tacit.problem import Hinge, Huber, Logistic, Poisson, Softmax, Squared
from tacit.problem.records import Weighting
from tacit.problem.scores import base_scores, scores

BUDGET = Privacy(clip=1.0, epsilon=1.7, delta=1e-6)
FEW = Setting(20, 10, network.ring(5), BUDGET)
METHOD = DPSG(step=1.0, privacy=BUDGET)


def test_columns_are_as_declared() -> None:
    declared = (
        Columns("numeric", 2, low=0.0, high=5.0),
        Columns("standard"),
        Columns("boolean"),
        Columns("rare"),
        Columns("levels", 2, levels=3),
    )
    rng = np.random.default_rng(0)
    rows = Table(declared, True, None, rng, wide=True).draw(5000, rng)
    assert rows.shape == (5000, 8)
    assert rows[:, :2].min() >= 0.0
    assert rows[:, :2].max() <= 5.0
    assert rows[:, 2].std() == pytest.approx(1.0, abs=0.05)
    assert set(np.unique(rows[:, 3:7])) == {0.0, 1.0}
    assert rows[:, 4].mean() < 0.15
    # the first level is the reference
    assert set(np.unique(rows[:, 5:7].sum(axis=1))) == {0.0, 1.0}
    assert (rows[:, 7] == 1.0).all()
    bounded = Table(declared, True, 1.0, rng, wide=False).draw(50, rng)
    assert np.linalg.norm(bounded, axis=1).max() <= 1.0 + 1e-12


@pytest.mark.parametrize("prevalence", [0.1, pytest.param(0.5, marks=pytest.mark.long)])
def test_prevalence_and_gain_are_met(prevalence: float) -> None:
    asked = replace(FEW, loss=Logistic(), prevalence=prevalence, gain=0.3)
    law = Law(asked, seed=1)
    rows, answers = law.draw(40_000)
    assert answers.mean() == pytest.approx(prevalence, rel=0.1)
    truth = law.slope * law.truth[:, 0]
    truth[-1] += law.level - law.mean @ truth  # the intercept
    best = scores(Logistic(), rows, answers, truth)["loss"]
    base = base_scores(Logistic(), answers, answers)["loss"]
    assert 1.0 - best / base == pytest.approx(0.3, abs=0.04)


def test_numbers_stay_within_the_bounds_of_the_target() -> None:
    asked = replace(FEW, target=(0.0, 400.0), gain=0.5)
    rows, answers = Law(asked, seed=1).draw(20_000)
    assert answers.min() >= 0.0
    assert answers.max() <= 400.0
    assert answers.mean() == pytest.approx(160.0, abs=10.0)
    fitted = rows @ np.linalg.lstsq(rows, answers, rcond=None)[0]
    assert 1.0 - np.var(answers - fitted) / np.var(answers) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge(), Poisson(), Softmax(3)])
def test_every_loss_has_records_and_slopes(loss: object) -> None:
    asked = replace(FEW, loss=loss, parameters=12, target=(0.0, 9.0))
    problem = Law(asked, seed=1).problem(np.array([20, 30]), np.array([20.0, 30.0]))
    assert problem.counts.tolist() == [20, 30]
    assert problem.dimension == 12
    slopes = Slopes(asked)
    assert slopes.typical > 0
    assert 0 < slopes.clipped(0.1 * slopes.typical) < slopes.clipped(10.0 * slopes.typical)


def test_clips_are_set_by_the_few_records_that_say_most() -> None:
    slopes = Slopes(replace(FEW, loss=Logistic(), prevalence=0.02))
    of_a_yes = np.quantile(slopes.norms, 0.99)
    assert max(CLIPS) * slopes.typical > of_a_yes > max(CLIPS) * np.median(slopes.norms)


def test_the_multiplier_spends_the_budget_exactly() -> None:
    z = multiplier(FEW, 30, METHOD)
    spent = accounting.epsilon([Repeated(GaussianRelease(z), 30)], 1e-6)
    assert spent == pytest.approx(1.7, rel=1e-6)


def test_a_person_at_two_sites_needs_the_noise_of_twice_the_rounds() -> None:
    twice = Privacy(clip=1.0, epsilon=1.7, delta=1e-6, sites_per_person=2)
    method = DPSG(step=1.0, privacy=twice)
    assert multiplier(replace(FEW, budget=twice), 10, method) == pytest.approx(
        multiplier(FEW, 20, METHOD)
    )


def test_masks_leave_a_site_a_share_of_the_noise() -> None:
    alone = multiplier(FEW, 30, METHOD)
    for masks, hidden in ((Masks(), 4), (Masks(coalition=2, min_cohort=4), 2)):
        masked = replace(FEW, network=network.Coordinator(5), budget=changed(BUDGET, masks=masks))
        assert multiplier(masked, 30, METHOD) == pytest.approx(alone / math.sqrt(hidden))
    with pytest.raises(PrivacyError, match="coalition=6 of 5 agents"):
        replace(FEW, budget=changed(BUDGET, masks=Masks(coalition=6)))


def test_the_epsilon_that_brings_so_much_less_noise() -> None:
    found = epsilon_for(FEW, 30, METHOD, 3.0)
    assert found is not None
    tried = multiplier(
        with_epsilon(FEW, found), 30, DPSG(step=1.0, privacy=changed(BUDGET, epsilon=found))
    )
    assert 0.8 < tried * 3.0 / multiplier(FEW, 30, METHOD) <= 1.0
    assert epsilon_for(FEW, 30, METHOD, 1000.0) is None


def test_large_settings_are_simulated_smaller_and_say_so() -> None:
    small = shape(FEW)
    assert (small.counts.tolist(), small.agents, small.notes, small.noise) == ([20] * 5, 5, (), 1.0)
    many = shape(replace(FEW, records=10**6, network=network.Coordinator(320)))
    assert many.agents == MOST_AGENTS
    assert len(many.notes) == 2
    # fewer clients with less noise average to what all of them do
    assert many.noise == pytest.approx(many.counts[0] / 10**6 * math.sqrt(32 / 320))
    uneven = shape(
        replace(FEW, records=[10**6, 10**5, 10**5, 10**4, 10**4], weighting=Weighting.RECORD)
    )
    assert uneven.counts[0] == pytest.approx(100 * uneven.counts[-1], rel=0.1)
    assert uneven.divisors == pytest.approx(np.full(5, uneven.counts.sum()), rel=0.01)
    drawn = network.random_regular(100, 6, seed=1)
    assert shape(replace(FEW, network=drawn)).network.degrees.tolist() == [6] * 32
    assert shape(replace(FEW, network=network.path(100))).network.kind == "path"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"records": 0}, "records=0 must be at least 1"),
        ({"records": [1, 2]}, r"records=\[1, 2\] has 2 numbers for 5 sites"),
        ({"parameters": 0}, "parameters=0 must be at least 1"),
        ({"row_norm": 0.0}, "row_norm=0.0 must be positive"),
        ({"prevalence": 1.0}, "prevalence=1.0 must be above 0 and below 1"),
        ({"gain": 0.0}, "gain=0.0 must be above 0 and below 1"),
        ({"target": (1.0, 1.0)}, "must be a lower and an upper bound"),
        ({"columns": (Columns("boolean", 3),)}, "the columns make 4 features"),
        ({"loss": Softmax(3)}, "parameters=10 must be a multiple of the 3 classes"),
        ({"budget": Privacy(clip=1.0, noise_multiplier=1.0)}, "one finite epsilon"),
        ({"budget": Privacy(clip=1.0, epsilon=[1.0, 2.0])}, "one finite epsilon"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        replace(FEW, **change)


def test_how_curved_hubers_loss_is_does_not_follow_from_made_up_answers() -> None:
    # few made-up answers within the bounds of 20 are within the threshold of 1; of real ones most
    apart, near = (
        Slopes(replace(FEW, loss=Huber(1.0), target=(0.0, high))).curvature for high in (20.0, 0.5)
    )
    assert apart == near
