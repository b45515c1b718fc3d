"""The closed form: exact noise, signal of the synthetic law, and what would be needed."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tacit import network
from tacit.advise import Law, Setting, estimate
from tacit.advise.closed_form import epsilon_for, estimates, multiplier, records_for, with_epsilon
from tacit.advise.law import Slopes, variances
from tacit.errors import ConfigError
from tacit.privacy import GaussianRelease, Privacy, Repeated, accounting
from tacit.problem import Hinge, Logistic, Poisson, Softmax, Squared

BUDGET = Privacy(clip=1.0, epsilon=1.7, delta=1e-6)
FEW = Setting(20, 10, network.ring(5), BUDGET)


def test_the_multiplier_spends_the_budget_exactly() -> None:
    z = multiplier(FEW, 30)
    spent = accounting.epsilon([Repeated(GaussianRelease(z), 30)], 1e-6)
    assert spent == pytest.approx(1.7, rel=1e-6)


def test_a_person_at_two_sites_needs_the_noise_of_twice_the_rounds() -> None:
    twice = Privacy(clip=1.0, epsilon=1.7, delta=1e-6, sites_per_person=2)
    assert multiplier(replace(FEW, budget=twice), 10) == pytest.approx(multiplier(FEW, 20))


def test_equal_features_give_the_textbook_ratio() -> None:
    flat = replace(FEW, decay=0.0)
    slopes = Slopes.of(flat)
    for each in estimates(flat, slopes):
        noise = 2.0 * each.clip * each.noise_multiplier / 20
        assert each.noise_scale == pytest.approx(noise)
        ratio = 10 * noise**2 / (each.rounds * 5 * each.signal**2)
        assert each.error == pytest.approx(ratio / (1 + ratio), rel=1e-9)


def test_little_remains_of_nothing_when_records_abound() -> None:
    found = [estimate(replace(FEW, records=n)).error for n in (20, 200, 2000, 20000)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.5
    assert found[-1] < 1e-4


def test_more_sites_more_epsilon_and_fewer_parameters_help() -> None:
    base = estimate(FEW).error
    assert estimate(replace(FEW, network=network.ring(50))).error < base
    assert estimate(with_epsilon(FEW, 17.0)).error < base
    assert estimate(replace(FEW, parameters=2)).error < base


def test_units_do_not_matter() -> None:
    base = estimate(FEW).error
    assert estimate(replace(FEW, row_norm=7.0)).error == pytest.approx(base, rel=0.05)
    assert estimate(replace(FEW, weight=1 / 20)).error == pytest.approx(base, rel=1e-9)


def test_laplace_noise_is_worse_for_many_releases() -> None:
    laplace = Privacy(clip=1.0, epsilon=1.7, delta=0.0, noise="laplace")
    assert estimate(replace(FEW, budget=laplace)).error > estimate(FEW).error


def test_what_would_be_needed_is_least_and_enough() -> None:
    records = records_for(FEW, 0.1)
    epsilon = epsilon_for(FEW, 0.1)
    assert records is not None
    assert epsilon is not None
    assert estimate(replace(FEW, records=records)).error <= 0.1
    assert estimate(replace(FEW, records=int(0.9 * records))).error > 0.1
    assert estimate(with_epsilon(FEW, epsilon)).error <= 0.1
    assert estimate(with_epsilon(FEW, 0.9 * epsilon)).error > 0.1


def test_no_epsilon_is_named_where_none_is_enough() -> None:
    assert epsilon_for(replace(FEW, records=1, parameters=500), 0.1) is None


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge(), Poisson(), Softmax(3)])
def test_rows_and_scores_are_as_declared(loss: object) -> None:
    setting = replace(FEW, loss=loss, parameters=12, row_norm=2.0, signal=0.5)
    law = Law.of(setting, seed=1)
    rows, answers = law.draw(20_000)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(2.0)
    scores = rows @ law.truth.reshape(setting.features, setting.classes)
    assert scores.std(axis=0) == pytest.approx(0.5, rel=0.25)
    assert variances(setting).sum() == pytest.approx(4.0)
    assert len(np.unique(answers)) >= 2
    assert estimate(setting).signal > 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"records": 0}, "records=0 must be at least 1"),
        ({"parameters": 0}, "parameters=0 must be at least 1"),
        ({"row_norm": 0.0}, "row_norm=0.0 must be positive"),
        ({"signal": math.inf}, "signal=inf must be positive and finite"),
        ({"noise": -1.0}, "noise=-1.0 must be at least 0"),
        ({"loss": Softmax(3)}, "parameters=10 must be a multiple of the 3 classes"),
        ({"budget": Privacy(clip=1.0, noise_multiplier=1.0)}, "one finite epsilon"),
        ({"budget": Privacy(clip=1.0, epsilon=[1.0, 2.0])}, "one finite epsilon"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        replace(FEW, **change)
