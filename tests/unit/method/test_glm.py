"""Private regression: estimating equations, intervals, and refusals with what would do."""

import math
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.special import expit

import tacit
from tacit import data, network, problem
from tacit.data.cells import Column, Scale, columns_of
from tacit.data.design import design_of
from tacit.errors import ConfigError, PrivacyError, ProblemError
from tacit.method import CoefficientTable, PrivateGLM, _glm_expectations, _glm_families
from tacit.method._glm_refusal import least_curvature, refusal
from tacit.method.coefficients import Checks
from tacit.method.glm import FamilyName
from tacit.privacy import Masks
from tacit.privacy.score import Score
from tests.quick import only

SITES, SLOPES = 4, np.array([0.8, -0.5, 0.3])
TRUE = {"gaussian": 0.5, "binomial": -0.4, "poisson": 0.3, "gamma": 0.2}
BOUNDS = {
    "gaussian": data.Numeric(-7, 7),
    "poisson": data.Numeric(0, 20),
    "negative_binomial": data.Numeric(0, 20),
}


def schema(family: str) -> data.Schema:
    features: dict[str, Any] = {f"x{j}": data.Numeric(-1, 1) for j in range(2)}
    features["x2"] = data.Boolean()
    features["y"] = (
        data.Boolean() if family == "binomial" else BOUNDS.get(family, data.Numeric(0, 30))
    )
    return data.Schema(features, target=None, intercept=False)


def drawn(family: str, records: int, seed: int = 0) -> tuple[Any, Any]:
    """Columns and target."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(records, 3))
    x[:, 1] = 0.6 * x[:, 0] + 0.4 * x[:, 1]
    x[:, 2] = x[:, 2] > 0.2
    eta = x @ SLOPES + TRUE[family]
    if family == "gaussian":
        return x, np.clip(eta + rng.normal(size=records), -7, 7)
    if family == "binomial":
        return x, (rng.random(records) < expit(eta)).astype(float)
    if family == "poisson":
        return x, np.minimum(rng.poisson(np.exp(eta)), 20).astype(float)
    return x, np.minimum(rng.gamma(2.0, np.exp(eta) / 2.0), 30.0)


def setting(family: str, x: Any, y: Any, **given: Any) -> tuple[Any, Any, PrivateGLM]:
    """Task, network and method."""
    declared = schema(family)
    columns = columns_of(declared)
    scale = columns["y"].scale
    assert scale is not None
    table = np.column_stack([x, (y - scale.centre) / scale.unit])
    task = problem.record_tables(
        np.array_split(table, SITES), declared, size=given.pop("size", None)
    )
    design = design_of([columns[f"x{j}"] for j in range(3)])
    return task, network.Coordinator(SITES), PrivateGLM(design, columns["y"], family, **given)


def fitted(family: str, x: Any, y: Any, seed: int = 0, **given: Any) -> CoefficientTable:
    task, net, method = setting(family, x, y, **given)
    result = tacit.run(task, net, method, rounds=method.sums, seed=seed)
    assert isinstance(result.answer, CoefficientTable)
    return result.answer


def budget(epsilon: float = 1.0, **given: Any) -> tacit.Privacy:
    return tacit.Privacy(clip=1.0, epsilon=epsilon, **({"masks": Masks()} | given))


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


@pytest.mark.parametrize(
    "family", only(["poisson"], ["gaussian", "binomial", "poisson", "gamma"], pytest.mark.long)
)
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


@pytest.mark.long
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


def test_too_little_is_refused_with_what_would_do() -> None:
    x, y = drawn("binomial", 600)
    found = fitted("binomial", x, y, privacy=budget(0.5))
    assert not found.checks.passed and found.refusal is not None
    assert np.isnan(found.standard_errors).all()
    assert "records" in found.refusal.needs and "epsilon" in found.refusal.needs
    assert "No intervals" in found.sentence() and found.frame()["lower"].isna().all()
    with pytest.raises(ConfigError, match="no test"):
        found.wald(["x0"])


@pytest.mark.parametrize("column", only(["constant"], ["constant", "collinear"], pytest.mark.long))
def test_columns_that_say_nothing_are_refused(column: str) -> None:
    x, y = drawn("binomial", 20_000)
    x[:, 1] = 0.5 if column == "constant" else x[:, 0]
    found = fitted("binomial", x, y, privacy=budget(2.0))
    assert not found.checks.passed


@pytest.mark.slow
def test_counts_that_vary_too_much_for_a_poisson_model_are_refused() -> None:
    x, _ = drawn("poisson", 20_000)
    rng = np.random.default_rng(1)
    mean = np.exp(x @ SLOPES + 0.3) * rng.gamma(1.5, 1 / 1.5, len(x))
    found = fitted("poisson", x, np.minimum(rng.poisson(mean), 20.0), privacy=budget(1.0))
    assert abs(found.checks.excess) > 3.0 and found.refusal is not None
    assert "negative_binomial" in found.refusal.needs


@pytest.mark.parametrize("seed", [44, pytest.param(90, marks=pytest.mark.long)])
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
        noises = [row.noise_multiplier for row in released]
        assert all(a > b for a, b in pairwise(noises))  # type: ignore[operator]


@pytest.mark.long
def test_a_budget_that_gives_nothing_is_refused_without_absurd_numbers() -> None:
    x, y = drawn("binomial", 400)
    found = fitted("binomial", x, y, privacy=budget(1e-6))
    assert found.refusal is not None and found.checks.lost
    assert "no useful estimate is possible" in found.refusal.needs
    assert not re.search(r"inf|e\+", found.refusal.needs)


@pytest.mark.long
def test_a_strong_effect_is_not_judged_by_the_information_of_a_point_far_away() -> None:
    rng = np.random.default_rng(1)
    x = np.column_stack([*rng.uniform(-1, 1, size=(2, 4000)), rng.random(4000) < 0.5])
    y = (rng.random(4000) < expit(6.0 * x[:, 0] - 1.0)).astype(float)
    found = fitted("binomial", x, y)
    whole: Any = sm.Logit(y, sm.add_constant(x)).fit(disp=0)
    ratio = np.sqrt(np.diag(found.sampling)) / whole.bse
    # with the information of the sum before it pooled, this is 0.79
    assert found.refusal is None and 0.88 < ratio[1] < 1.1


def test_every_family_can_be_named() -> None:
    assert set(get_args(FamilyName)) == set(_glm_families.FAMILIES)


def test_what_would_do_is_called_a_guess_where_the_eigenvalue_is_mostly_noise() -> None:
    x, y = drawn("binomial", 400)
    task, net, method = setting("binomial", x, y, privacy=budget(1.0))
    agreed = tacit.contract(task, net, method, rounds=method.sums)
    # as one number, the noise is 1 / sqrt(8) of that of an operator of 4 columns
    for curvature, guessed in ((0.8, False), (1.4, False), (1.5, True)):
        found = refusal(Checks(curvature, 0.0, 1.0, 0.0), method, agreed)
        assert found is not None and ("guesses" in found.needs) is guessed


def test_a_hidden_eigenvalue_is_guessed_from_the_mean_one_unless_that_is_hidden_too() -> None:
    x, y = drawn("binomial", 400)
    task, net, method = setting("binomial", x, y, privacy=budget(1.0))
    agreed = tacit.contract(task, net, method, rounds=method.sums)
    for average, said in ((1.5, "about 13,000 records"), (0.1, "about 4,300 records"),
                          (math.inf, "at least 4,300 records")):  # fmt: skip
        found = refusal(Checks(math.inf, 0.0, 1.0, 0.0, average), method, agreed)
        assert found is not None and found.needs.startswith(said)
        assert ("the mean one" in found.needs) is math.isfinite(average)
        assert ("guesses" in found.needs) is math.isfinite(average)
        assert "e+" not in found.needs


def test_what_no_records_could_do_without_is_no_advice() -> None:
    x, y = drawn("binomial", 400)
    for epsilon, hopeless in ((1.0, False), (1e-300, True)):
        task, net, method = setting("binomial", x, y, privacy=budget(epsilon))
        agreed = tacit.contract(task, net, method, rounds=method.sums)
        assert (least_curvature(method, agreed) > 0.75) is hopeless
        found = refusal(Checks(math.inf, 0.0, 1.0, 0.0, math.inf), method, agreed)
        assert found is not None and not re.search(r"\binf\b", found.reason + found.needs)
        assert found.needs.startswith("no useful estimate is possible") is hopeless
    needed = re.search(r"an epsilon of at least ([\d.]+) with as many", found.needs)
    assert needed is not None and 0.05 < float(needed[1]) < 1.0


@pytest.mark.parametrize("family", ["binomial", "gaussian", "gamma"])
def test_no_records_have_more_information_than_the_best_ones(family: str) -> None:
    """The information of any records, computed from the query, keeps the bound in the refusal."""
    x, y = drawn(family, 400)
    task, net, method = setting(family, x, y, privacy=budget(1.0))
    agreed = tacit.contract(task, net, method, rounds=method.sums)
    query, d = method.queries[-1], method.width
    rng = np.random.default_rng(0)
    score = method.score(-1)
    assert isinstance(score, Score)
    rows = rng.normal(size=(400, d)) * score.norm
    residuals, weights = rng.uniform(-1, 1, size=(2, 400, 1))
    asked = np.column_stack([rows, residuals, *([] if score.logistic else [abs(weights)])])
    with jax.enable_x64(True):
        total = score.shaped(score.bounded(jnp.asarray(asked)).sum(axis=0))
        largest = float(np.linalg.eigvalsh(np.asarray(total[1 : d + 1]))[0])
    noise = [SITES * float(agreed.spread(t, SITES)) for t in (method.sums - 1, method.sums)]
    spread = [float(query.spread(each)[0]) for each in noise]
    size = math.prod(spread) / math.hypot(*spread) * method.curvature_unit * math.sqrt(2 * d)
    assert least_curvature(method, agreed) < size / largest < 20 * least_curvature(method, agreed)


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


def test_what_cannot_be_is_refused() -> None:
    x, y = drawn("binomial", 100)
    task, net, method = setting("binomial", x, y)
    with pytest.raises(ConfigError, match="sums=5"):
        replace(method, sums=5)
    with pytest.raises(ConfigError, match="family='logit'"):
        replace(method, family="logit")
    with pytest.raises(ConfigError, match="binomial"):
        replace(method, target=method.design.columns[0])
    with pytest.raises(ConfigError, match="also a column"):
        replace(method, target=method.design.columns[2])
    with pytest.raises(ConfigError, match="covariance='hc3'"):
        replace(method, covariance="hc3")  # type: ignore[arg-type]
    with pytest.raises(PrivacyError, match="sampling"):
        replace(method, privacy=budget(sampling=0.5, masks=None))
    with pytest.raises(PrivacyError, match="laplace"):
        replace(method, privacy=tacit.Privacy(clip=1.0, epsilon=1.0, noise="laplace"))
    with pytest.raises(PrivacyError, match="clip"):
        replace(method, privacy=tacit.Privacy(clip=2.0, epsilon=1.0))
    with pytest.raises(ConfigError, match="rounds=5"):
        tacit.run(task, net, method, rounds=5)
    private = replace(method, privacy=budget(relation="add_remove"))
    with pytest.raises(ProblemError, match="size"):
        tacit.run(task, net, private, rounds=4)
    negative = data.Schema({"z": data.Numeric(-1, 1), "x": data.Numeric(0, 1)}, None)
    columns = columns_of(replace(negative, intercept=False))
    many = Column("z", (), (0,), Scale(0.0, 5000.0, 0.0, 1.0))
    with pytest.raises(ConfigError, match="at most 1000"):
        PrivateGLM(design_of([columns["x"]]), many, "poisson")
    with pytest.raises(ConfigError, match="at least 0"):
        PrivateGLM(design_of([columns["x"]]), columns["z"], "poisson")


@pytest.mark.slow
def test_an_audit_stands_and_finds_a_bound_that_is_half_of_what_it_should_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = drawn("binomial", 60)

    def audited(sums: int) -> Any:
        task, net, method = setting("binomial", x, y, privacy=budget(1.0, masks=None), sums=sums)
        return tacit.audit_method(task, net, method, rounds=sums, trials=4000, seed=0)

    honest = audited(4)
    assert not honest.refuted and honest.exact and 0.3 < honest.best.epsilon <= 1.0
    monkeypatch.setattr(Score, "movement", lambda self, relation: 1.0)
    # with another number of sums, because programs are kept by what they compute
    planted = audited(3)
    assert planted.refuted and planted.best.epsilon > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
@pytest.mark.parametrize("family", [*sorted(TRUE), "negative_binomial"])
def test_an_audit_measures_the_mu_that_is_claimed(family: str, relation: str) -> None:
    # a table of expectations at every point takes most of a run of the last one
    counts = family == "negative_binomial"
    trials, sums = (3000, 3) if counts else (20_000, 4)
    x, y = drawn("poisson" if counts else family, 60)
    # at a large mu, which fewer runs measure to 1 %
    private = budget(8.0, relation=relation)
    task, net, method = setting(family, x, y, privacy=private, size=15, sums=sums)
    found = tacit.audit_method(task, net, method, rounds=sums, trials=trials, seed=0, stop=False)
    assert found.mu is not None and found.claimed_mu is not None
    assert 0.95 < found.mu / found.claimed_mu < 1.05 and not found.refuted
