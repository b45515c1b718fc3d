"""Private regression: estimating equations, noise in the errors, intervals."""

from dataclasses import replace
from itertools import pairwise
from typing import Any, get_args

import jax.numpy as jnp
import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.special import expit

import tacit
from tacit.data.design import design_of
from tacit.errors import ConfigError
from tacit.method import CoefficientTable, _glm_expectations, _glm_families
from tacit.method.glm import FamilyName
from tests.quick import only
from tests.unit.method.regressions import SLOPES, TRUE, budget, drawn, fitted, setting

pytestmark = pytest.mark.long


def equations(family: str, x: Any, y: Any, found: CoefficientTable) -> Any:
    """The mean score at the estimate, over its standard error: computed without tacit."""
    rows = np.column_stack([x, np.ones(len(x))])
    scaled = rows.copy()  # numbers are in [-1, 1], a boolean is 0 or 1
    u = np.minimum(1.0, np.sqrt(1 + 2 / 3 + 1 / 2) / np.linalg.norm(scaled, axis=1))
    eta = rows @ np.roll(found.values, -1)
    if family == "gaussian":
        sigma = np.std(y - eta)
        r = np.clip(y - eta, -2 * sigma, 2 * sigma)
    elif family == "binomial":
        r = y - expit(eta)
    elif family == "poisson":
        bound = 1.5 * np.sqrt(y.mean())
        counts = np.arange(200)
        chance = stats.poisson.pmf(counts, np.exp(eta)[:, None])
        away = np.clip(counts - np.exp(eta)[:, None], -bound, bound)
        weight = np.sum(chance * away * (counts - np.exp(eta)[:, None]), axis=1)
        light = np.minimum(1.0, 2 * y.mean() / weight)
        r = light * (np.clip(y - np.exp(eta), -bound, bound) - np.sum(chance * away, axis=1))
    else:
        ratio = y / np.exp(eta)
        shape = 1.0 / np.var(ratio)
        centre = stats.gamma.expect(
            lambda v: np.minimum(v, 2.0), (shape,), scale=1 / shape, lb=0, ub=np.inf
        )
        r = np.minimum(ratio, 2.0) - centre
    score = (u * r)[:, None] * scaled
    return score.sum(axis=0) / np.sqrt((score**2).sum(axis=0))


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson", "gamma"])
def test_without_noise_it_solves_the_equations_of_its_family(family: str) -> None:
    x, y = drawn(family, 4000)
    found = fitted(family, x, y)
    # clips are set from public estimates of dispersion, hence not exactly 0
    assert np.abs(equations(family, x, y, found)).max() < 0.05
    true = np.append(TRUE[family], SLOPES)
    assert np.all(np.abs(found.values - true) <= 4.0 * found.standard_errors)
    assert found.checks.passed and not found.privacy.any()


def test_without_noise_and_weights_it_is_the_fit_of_statsmodels() -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.choice([-1.0, 1.0], 3000), np.zeros(3000), np.zeros(3000)])
    y = (rng.random(3000) < expit(0.5 * x[:, 0] - 0.3)).astype(float)
    task, net, method = setting("binomial", x, y)
    method = replace(method, design=design_of([method.design.columns[0]]))
    table = tacit.run(task, net, method, rounds=4).answer
    assert isinstance(table, CoefficientTable)
    theirs = sm.GLM(y, sm.add_constant(x[:, 0]), family=sm.families.Binomial()).fit()
    # every row has the same norm, so that Mallows' factor is a constant and cancels
    np.testing.assert_allclose(table.values, theirs.params, atol=1e-6)
    # and makes the variance of the score that the model implies too large by the same factor
    np.testing.assert_allclose(table.standard_errors, theirs.bse / np.sqrt(0.8165), rtol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("relation", only(["replace_one"], ["replace_one", "add_remove"]))
def test_noise_is_in_the_errors_that_are_printed(relation: str) -> None:
    x, y = drawn("binomial", 20_000)
    size = 5000 if relation == "add_remove" else None
    given = {"privacy": budget(1.0, relation=relation), "size": size}
    runs = [fitted("binomial", x, y, seed, **given) for seed in range(40)]
    assert all(run.checks.passed for run in runs)
    exact = fitted("binomial", x, y).values
    stated = np.sqrt(np.mean([np.diag(run.privacy) for run in runs], axis=0))
    seen = np.sqrt(np.mean([(run.values - exact) ** 2 for run in runs], axis=0))
    assert np.all(np.abs(seen / stated - 1.0) < 0.4)  # 3.5 standard errors of 40 runs


def test_intervals_cover_and_without_the_privacy_term_they_would_not() -> None:
    covered, naive = [], []
    true = np.append(TRUE["binomial"], SLOPES)
    for seed in range(60):
        x, y = drawn("binomial", 8000, seed)
        found = fitted("binomial", x, y, seed, privacy=budget(0.7))
        off = np.abs(found.values - true)
        covered.append(off <= 1.96 * np.sqrt(np.diag(found.covariance)))
        naive.append(off <= 1.96 * np.sqrt(np.diag(found.sampling)))
    assert np.mean(covered) > 0.92 and np.mean(covered, axis=0).min() > 0.85
    assert np.mean(naive, axis=0).min() < 0.75


class _Plain(_glm_families.Poisson):
    """A Poisson model whose clip is not centred: a planted fault."""

    def terms(self, y: Any, predictor: Any, by: Any) -> Any:
        found = super().terms(y, predictor, by)
        bound = self.clip * jnp.sqrt(by[0])
        centre, weight, _ = _glm_expectations.clipped_count(jnp.exp(predictor), bound)
        light = jnp.minimum(1.0, 2.0 * by[0] / weight)
        return found._replace(residual=found.residual + light * centre / self.units(by)[0])


@pytest.mark.slow
def test_a_clip_that_is_not_centred_would_bias() -> None:
    x, y = drawn("poisson", 20_000)
    true = np.append(TRUE["poisson"], SLOPES)
    furthest = {}
    for name, family in {"centred": "poisson", "plain": _Plain()}.items():
        task, net, method = setting("poisson", x, y)
        table = tacit.run(task, net, replace(method, family=family), rounds=4).answer
        assert isinstance(table, CoefficientTable)
        error = np.sqrt(np.diag(table.sampling))
        furthest[name] = float(np.abs((table.values - true) / error).max())
    assert furthest["centred"] < 4.0 and furthest["plain"] > 6.0


@pytest.mark.parametrize("seed", [44, 90])
def test_a_square_that_noise_leaves_nothing_of_does_not_close_the_clip(seed: int) -> None:
    family, by = _glm_families.Gaussian(), jnp.array([0.39, 1.0])
    assert float(family.dispersion(jnp.asarray(-0.01), by)[0]) == pytest.approx(0.13)
    x, y = drawn("gaussian", 2000, seed)
    found = fitted("gaussian", x, y, seed, privacy=budget(0.6))
    # with a clip that follows the noise these are 17 and 14 standard errors off
    off = np.abs(found.values - np.append(TRUE["gaussian"], SLOPES))
    assert np.all(off < 5.0 * np.sqrt(np.diag(found.covariance)))


def test_no_record_decides_how_long_a_count_takes() -> None:
    family = _glm_families.Poisson()
    by = jnp.array([2.0, 1.0])
    steep = [family.terms(jnp.array([3.0]), jnp.array([at]), by) for at in (7.0, 30.0, 700.0)]
    for other in steep[1:]:
        np.testing.assert_array_equal(np.asarray(other), np.asarray(steep[0]))


@pytest.mark.slow
def test_batched_and_exact_runs_agree() -> None:
    x, y = drawn("binomial", 200)
    task, net, method = setting("binomial", x, y, privacy=budget(1.0, masks=None), sums=3)
    one, other = (
        tacit.run(task, net, method, rounds=3, seed=1, runtime=tacit.Simulation(exact=exact))
        for exact in (False, True)
    )
    np.testing.assert_allclose(one.solutions, other.solutions, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_a_released_variance_that_noise_made_negative_leaves_the_noise_in_the_errors() -> None:
    x, y = drawn("poisson", 400)
    for covariance in ("robust", "model"):
        found = fitted("poisson", x, y, privacy=budget(0.05), covariance=covariance)
        assert np.linalg.eigvalsh(found.sampling).min() >= -1e-12 * np.trace(found.sampling)
        assert np.all(np.diag(found.covariance) >= np.diag(found.privacy))


def test_three_or_four_sums_cost_one_budget() -> None:
    x, y = drawn("binomial", 400)
    for sums in (3, 4):
        task, net, method = setting("binomial", x, y, privacy=budget(1.0), sums=sums)
        agreed = tacit.contract(task, net, method, rounds=sums)
        worst = agreed.guarantee.worst
        assert worst.status.value == "proved"
        assert worst.epsilon == pytest.approx(1.0, rel=1e-6) and worst.epsilon <= 1.0
        released = [row for row in agreed.table if row.released]
        assert len(released) == sums and {row.times for row in released} == {1}
        noises = [float(row.noise_multiplier or 0.0) for row in released]
        assert all(a > b for a, b in pairwise(noises))


def test_every_family_can_be_named() -> None:
    assert set(get_args(FamilyName)) == set(_glm_families.FAMILIES)


def test_a_table_is_printed_for_readers_and_for_latex() -> None:
    x, y = drawn("binomial", 8000)
    table = fitted("binomial", x, y)
    printed = table.summary().splitlines()
    assert printed[1].split() == [
        "coef", "std", "err", "sampling", "privacy", "z", "P>|z|", "[0.025", "0.975]"
    ]  # fmt: skip
    assert [line.split()[0] for line in printed[3:7]] == list(table.names)
    latex = table.to_latex()
    assert "x2[T.true]" in latex and "$<0.001$" in latex and "$-" in latex
    assert latex.count(r"\\") == 5 and "<table" in table._repr_html_()
    frame = table.frame()
    np.testing.assert_allclose(frame["odds_ratio"], np.exp(table.values))
    joint = table.wald(["x0", "x1"])
    assert joint.degrees == 2 and joint.p_value < 1e-6
    with pytest.raises(ConfigError, match="age"):
        table.wald(["age"])
    with pytest.raises(ConfigError, match=r"level=1\.5"):
        table.conf_int(1.5)
