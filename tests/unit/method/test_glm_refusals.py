"""Private regressions that are refused, with what would do."""

import math
import re
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit

import tacit
from tacit import data
from tacit.data.cells import Column, Scale, columns_of
from tacit.data.design import design_of
from tacit.errors import ConfigError, PrivacyError, ProblemError
from tacit.method import PrivateGLM
from tacit.method._glm_refusal import least_curvature, refusal
from tacit.method.coefficients import Checks
from tacit.privacy.score import Score
from tests.unit.method.regressions import SITES, SLOPES, budget, drawn, fitted, setting

pytestmark = pytest.mark.long


def test_too_little_is_refused_with_what_would_do() -> None:
    x, y = drawn("binomial", 600)
    found = fitted("binomial", x, y, privacy=budget(0.5))
    assert not found.checks.passed and found.refusal is not None
    assert np.isnan(found.standard_errors).all()
    assert "records" in found.refusal.needs and "epsilon" in found.refusal.needs
    assert "No intervals" in found.sentence() and found.frame()["lower"].isna().all()
    with pytest.raises(ConfigError, match="no test"):
        found.wald(["x0"])
    # no page or paper shows coefficients that may be noise; the frame keeps them
    value = f"{found.values[1]:.4g}"
    assert value not in found.summary() and value not in found._repr_html_()
    assert found.cells()[1:] == found.ratios() == []
    assert "are not printed, since even a sign" in found.summary()
    assert found.frame()["coefficient"].notna().all() and found.frame()["odds_ratio"].isna().all()
    with pytest.raises(ConfigError, match="no table without intervals"):
        found.to_latex()


@pytest.mark.parametrize("column", ["constant", "collinear"])
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


def test_a_budget_that_gives_nothing_is_refused_without_absurd_numbers() -> None:
    x, y = drawn("binomial", 400)
    found = fitted("binomial", x, y, privacy=budget(1e-6))
    assert found.refusal is not None and found.checks.lost
    assert "no useful estimate is possible" in found.refusal.needs
    assert not re.search(r"inf|e\+", found.refusal.needs)


def test_a_strong_effect_is_not_judged_by_the_information_of_a_point_far_away() -> None:
    rng = np.random.default_rng(1)
    x = np.column_stack([*rng.uniform(-1, 1, size=(2, 4000)), rng.random(4000) < 0.5])
    y = (rng.random(4000) < expit(6.0 * x[:, 0] - 1.0)).astype(float)
    found = fitted("binomial", x, y)
    whole: Any = sm.Logit(y, sm.add_constant(x)).fit(disp=0)
    ratio = np.sqrt(np.diag(found.sampling)) / whole.bse
    # with the information of the sum before it pooled, this is 0.79
    assert found.refusal is None and 0.88 < ratio[1] < 1.1


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
    unknown: Any = "hc3"
    with pytest.raises(ConfigError, match="covariance='hc3'"):
        replace(method, covariance=unknown)
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


@pytest.mark.parametrize(
    ("family", "constant", "what"),
    [
        ("gaussian", False, "columns x0, x1 are constant or collinear"),
        ("binomial", True, "column x1 is constant"),
    ],
)
def test_without_noise_columns_are_named(family: str, constant: bool, what: str) -> None:
    x, y = drawn(family, 2000)
    x[:, 1] = 0.5 if constant else x[:, 0]
    found = fitted(family, x, y, privacy=None)
    assert found.refusal is not None and what in found.refusal.reason
    assert "noise" not in found.sentence() and np.isnan(found.standard_errors).all()
