"""Advice by rehearsal: verdicts, arrangements, and that a promise holds on the study's records."""

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tacit
from tacit import network
from tacit._engine.runner import Simulation
from tacit.advise import (
    Advice,
    Law,
    Measured,
    Need,
    Setting,
    Verdict,
    advise,
    measure,
)
from tacit.advise.advice import percent, verdict
from tacit.advise.candidates import candidates
from tacit.advise.measure import Bench
from tacit.advise.noise import with_epsilon
from tacit.advise.plans import changes
from tacit.advise.setting import changed
from tacit.errors import ConfigError, ProblemError
from tacit.method import DPSG, DZOA, GradientDescent
from tacit.privacy import Masks, Privacy
from tacit.problem import L1, Logistic
from tacit.problem.records import Weighting
from tacit.problem.scores import base_scores, scores, share_kept
from tacit.types import Oracle

BUDGET = Privacy(clip=1.0, epsilon=1.7, delta=1e-6)


def setting(records: object, **more: object) -> Setting:
    """Five sites on a ring, ten parameters: one shape, so that little is compiled."""
    return Setting(records, 10, network.ring(5), BUDGET, **more)


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """Fewer methods and settings are tried, each as it would be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "ROUNDS", (30, 100))
        patch.setattr(measure, "CLIPS", (1.0, 0.25))
        patch.setattr(measure, "PATHS", (3.0, 10.0, 30.0))
        patch.setattr(measure, "_FINALISTS", 2)
        few = [DZOA, DPSG, GradientDescent]
        patch.setattr("tacit.advise.candidates._private", lambda: few)
        yield


@pytest.fixture(scope="module")
def easy() -> Advice:
    """Advice where the budget leaves a lot of hope."""
    return advise(with_epsilon(setting(60), 40.0))


@pytest.fixture(scope="module")
def hopeless() -> Advice:
    """The setting of few records in which nothing learns."""
    return advise(setting(30))


@pytest.mark.slow
def test_a_hopeless_case_is_called_hopeless(hopeless: Advice) -> None:
    assert hopeless.verdict is Verdict.HOPELESS
    assert hopeless.best.kept < 0.25
    assert hopeless.sentence.startswith("Hopeless: with 30 records a site and epsilon 1.7 the best")
    assert hopeless.best.spread[0] < hopeless.best.kept < hopeless.best.spread[1]


@pytest.mark.slow
def test_what_would_be_enough_was_rehearsed(hopeless: Advice) -> None:
    records, epsilon = hopeless.needs
    assert records.value is not None
    # at most 64 times as many, rounded up to two digits
    assert 60 <= records.value <= 2000
    assert f"you would need about {records.value:,.0f} records a site" in hopeless.sentence
    assert records.kept is not None
    assert records.kept >= 0.75
    # and so many records are not called hopeless
    again = advise(setting(int(records.value)))
    assert again.best.kept > 0.5
    assert epsilon.value is None or 1.7 < epsilon.value <= 50


@pytest.mark.slow
def test_an_easy_case_is_not(easy: Advice) -> None:
    assert easy.verdict is Verdict.HOPEFUL
    assert easy.needs == ()
    assert easy.left_out["gradient-descent"] == "it needs a coordinator"
    assert easy.left_out["d-zoa"] == "it makes do with values, and gradients tell more"
    assert np.isfinite(easy.half)


@pytest.mark.slow
def test_the_advice_as_toml_does_what_was_promised(easy: Advice) -> None:
    sections = tomllib.loads(easy.toml)
    arguments = sections["method"]
    named = {each.build.name: each.build for each in candidates(easy.setting)[0]}
    method = named[arguments.pop("name")](**arguments, privacy=Privacy(**sections["privacy"]))
    law = Law(easy.setting, seed=99)
    problem = law.problem(easy.setting.counts, easy.setting.divisors)
    result = tacit.run(
        problem,
        network.ring(5),
        method,
        rounds=sections["run"]["rounds"],
        seed=99,
        runtime=Simulation(trials=16),
        require="proved",
    )
    rows, answers = law.draw(4000)
    loss = easy.setting.loss
    pooled = scores(loss, rows, answers, problem.reference().solution)["loss"]
    known = np.asarray(problem.objectives.targets)[np.asarray(problem.objectives.mask) > 0]
    base = base_scores(loss, known, answers)["loss"]
    found = [scores(loss, rows, answers, each.mean(axis=0))["loss"] for each in result.solutions]
    kept = [share_kept(each, pooled, base, higher=False) for each in found]
    came = float(np.median(kept))
    assert 0.5 < easy.best.kept / came < 2.0
    assert easy.best.spread[0] <= came <= easy.best.spread[1]
    assert result.guarantee[0].epsilon <= 40.0


def test_only_values_leave_one_method() -> None:
    found, left_out = candidates(setting(20, oracle=Oracle.VALUE))
    assert [each.name for each in found] == ["d-zoa"]
    assert "only values can be had" in left_out["dpsg"]


def test_a_coordinator_has_its_own_methods() -> None:
    star = replace(setting(20), network=network.Coordinator(4))
    assert [each.name for each in candidates(star)[0]] == ["gradient-descent"]


def test_nothing_fits_values_and_a_coordinator() -> None:
    star = replace(setting(20, oracle=Oracle.VALUE), network=network.Coordinator(4))
    with pytest.raises(ConfigError, match="no private method that is proved"):
        advise(star)


def test_a_pooled_fit_of_zero_is_refused() -> None:
    lasso = setting(20, regulariser=L1(1e3))
    with pytest.raises(ProblemError, match="pooled fit of the made-up records is zero"):
        Bench(lasso).drawn(1)


@pytest.mark.slow
def test_less_noise_keeps_more_and_weighting_and_prevalence_matter() -> None:
    uneven = setting([200, 200, 200, 10, 10], loss=Logistic(), prevalence=0.5)
    (dpsg,) = [each for each in candidates(uneven)[0] if each.build is DPSG]

    def lost(asked: Setting, less: float = 1.0) -> float:
        bench = Bench(asked)
        return bench.lost(bench.choice(dpsg, 1.0, 30, 10.0), (1, 2), less)

    alone = lost(uneven, 4.0)
    assert lost(uneven, 32.0) < 0.5 * alone
    # two small sites with their large noise decide as much as the large ones, or not
    assert lost(replace(uneven, weighting=Weighting.RECORD), 4.0) < 0.5 * alone
    assert lost(replace(uneven, prevalence=0.05), 4.0) > 1.5 * alone


def test_what_else_could_be_arranged() -> None:
    names = [plan.words for plan in changes(setting(20), "dpsg")]
    assert names == ["a coordinator and masks"]
    plans = changes(setting([10, 20, 30, 40, 50]), "dpsg")
    assert [plan.words for plan in plans] == [
        "every record counts the same",
        "a coordinator and masks, and every record counts the same",
    ]
    assert plans[1].setting.budget.masks == Masks()
    assert plans[1].setting.weighting is Weighting.RECORD
    assert plans[1].setting.network.coordinated
    assert 'weighting = "record"' in plans[1].sections
    assert 'graph = "coordinator"' in plans[1].sections
    star = replace(setting(20), network=network.Coordinator(5))
    (only,) = changes(star, "gradient-descent")
    assert (only.words, only.sections) == ("masks", ())
    masked = replace(star, budget=changed(BUDGET, masks=Masks()))
    laplace = replace(setting(20), budget=changed(BUDGET, noise="laplace"))
    two = replace(setting(20), network=network.path(2))
    drawn = replace(setting(20), network=network.Coordinator(5, 0.5))
    for none in (masked, laplace, two, drawn):
        assert changes(none, "dpsg") == []


def made(*shares: float) -> Measured:
    return Measured("dpsg", 1.0, 10, {"step": 1.0}, np.array(shares))


def advice(measured: Measured, *needs: Need) -> Advice:
    return Advice(setting(20), (measured,), (), needs, {}, (), 0.0, 0.0)


def test_the_verdict_follows_from_the_median_share() -> None:
    assert verdict(made(0.8)) is Verdict.HOPEFUL
    assert verdict(made(0.3)) is Verdict.WEAK
    assert verdict(made(0.1)) is Verdict.HOPELESS
    assert verdict(made(float("nan"))) is Verdict.HOPELESS
    assert advice(made(0.7, 0.8, 0.9)).sentence == (
        "Hopeful: with 20 records a site and epsilon 1.7 the best method, dpsg, keeps 80% of what "
        "a fit without privacy gains over the base rate (median; 70% to 90% over the trials)."
    )
    worse = advice(made(-2.0, -1.0, 0.1), Need("records", 90, 0.8), Need("epsilon", None, None))
    assert "dpsg, is worse than the base rate (it keeps -100%" in worse.sentence
    assert worse.sentence.endswith("; you would need about 90 records a site.")
    never = advice(made(0.1, 0.2), Need("records", None, None), Need("epsilon", None, None))
    assert "not even 64 times less noise would make it hopeful" in never.sentence
    nothing = advice(made(np.nan, np.nan, 0.5))
    assert nothing.verdict is Verdict.HOPELESS
    assert "even a fit without privacy is no better than the base rate" in nothing.sentence
    assert made(np.nan).spread[0] != made(np.nan).spread[0]


def test_nothing_is_promised_where_the_trials_are_far_apart() -> None:
    apart = made(-0.4, 0.1, 0.1, 0.4, 0.5, 0.5, 0.9)
    assert (apart.kept, apart.middle, apart.agreed) == (0.4, (0.1, 0.5), False)
    assert verdict(apart) is Verdict.OPEN
    assert "40%" in advice(apart).sentence
    assert "half of the trials lie between 10% and 50%" in advice(apart).sentence
    assert advice(apart).sentence.startswith("Open: ")
    # on the other side as well: more may come than was promised
    assert verdict(made(0.3, 0.3, 0.3, 0.7, 0.9)) is Verdict.OPEN
    # single trials far off say nothing against the rest
    assert verdict(made(-9.0, 0.7, 0.8, 0.9, 5.0)) is Verdict.HOPEFUL
    # and what is hopeless in the median stays so
    assert verdict(made(-5.0, 0.0, 0.1, 0.2, 0.9)) is Verdict.HOPELESS


def test_a_trial_that_diverged_keeps_less_than_nothing() -> None:
    found = made(-np.inf, 0.1, 0.2)
    assert found.kept == 0.1
    assert found.spread == (-np.inf, 0.2)
    assert percent(-np.inf) == "less than -900%"
    assert found.left == pytest.approx(0.9)


def test_the_toml_keeps_masks() -> None:
    star = replace(
        setting(20),
        network=network.Coordinator(5),
        budget=changed(BUDGET, masks=Masks(coalition=2, min_cohort=5)),
    )
    told = replace(advice(made(0.5)), setting=star).toml
    assert "masks = { coalition = 2, min_cohort = 5 }\n" in told


def test_progress_that_takes_other_arguments_is_named() -> None:
    wrong: Any = lambda done: None  # noqa: E731
    with pytest.raises(
        ConfigError, match=r"progress raised .*\(task, steps done, steps\), here \('"
    ):
        advise(setting(20), progress=wrong)
