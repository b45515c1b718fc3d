"""Private regression of several classes: against statsmodels, with noise, predictions, refusals."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.special import softmax

import tacit
from tacit import data, network, problem
from tacit.data.cells import columns_of
from tacit.data.design import design_of
from tacit.data.formula import parse_formula
from tacit.data.undeclared import filled
from tacit.errors import ConfigError, ProblemError
from tacit.method import CoefficientTable, PrivateGLM, load_regression
from tacit.method._glm_estimate import _shaken
from tacit.privacy import Masks
from tacit.privacy.class_score import ClassScore
from tests.quick import only

pytestmark = pytest.mark.long

LEVELS = ["never", "some", "often"]
TRUE = np.array([[0.2, 0.8, -0.4], [-0.4, 0.3, 0.6]])
"""Intercept and slopes of each level against the first."""
COLUMNS = {"x0": data.Numeric(-1, 1), "x1": data.Numeric(-1, 1), "y": data.Categorical(LEVELS)}


def drawn(records: int, seed: int = 0) -> tuple[Any, Any]:
    """Columns and classes."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(records, 2))
    logits = np.column_stack([np.zeros(records), TRUE[:, 0] + x @ TRUE[:, 1:].T])
    ends = softmax(logits, axis=1).cumsum(axis=1)
    return x, np.minimum((rng.random(records)[:, None] > ends).sum(axis=1), 2)


def setting(x: Any, y: Any, **given: Any) -> tuple[Any, Any, PrivateGLM]:
    """Task, network and method."""
    schema = data.Schema(COLUMNS, target=None, intercept=False)
    columns = columns_of(schema)
    table = np.column_stack([x, np.eye(3)[y]])
    task = problem.record_tables(np.array_split(table, 4), schema, size=given.pop("size", None))
    design = design_of([columns["x0"], columns["x1"]])
    method = PrivateGLM(design, columns["y"], "multinomial", **given)
    return task, network.Coordinator(4), method


def fitted(x: Any, y: Any, seed: int = 0, **given: Any) -> CoefficientTable:
    task, net, method = setting(x, y, **given)
    found = tacit.run(task, net, method, rounds=method.sums, seed=seed).answer
    assert isinstance(found, CoefficientTable)
    return found


def budget(epsilon: float = 1.0, **given: Any) -> tacit.Privacy:
    return tacit.Privacy(clip=1.0, epsilon=epsilon, **({"masks": Masks()} | given))


def test_without_noise_and_weights_it_is_the_fit_of_statsmodels() -> None:
    rng = np.random.default_rng(0)
    x = rng.choice([-1.0, 1.0], size=(4000, 2))
    _, y = drawn(4000)
    y = np.where(rng.random(4000) < 0.3 + 0.1 * x[:, 0], 2, y)
    table = fitted(x, y)
    theirs = sm.MNLogit(y, sm.add_constant(x)).fit(disp=0)
    # every row has the same norm, so that Mallows' factor is a constant and cancels
    np.testing.assert_allclose(table.values, theirs.params.T.ravel(), atol=1e-6)
    light = np.sqrt((1 + 2 / 3) / 3)
    np.testing.assert_allclose(
        table.standard_errors, theirs.bse.T.ravel() / np.sqrt(light), rtol=1e-3
    )
    assert table.names[:4] == ("some: Intercept", "some: x0", "some: x1", "often: Intercept")
    robust = fitted(x, y, covariance="robust")
    np.testing.assert_allclose(robust.standard_errors, theirs.bse.T.ravel(), rtol=0.05)
    assert table.refusal is None and "against 'never'" in table.sentence()
    assert [row["parameter"] for row in table.ratios()] == [
        name for name in table.names if "Intercept" not in name
    ]
    assert table.wald([name for name in table.names if name.endswith("x0")]).degrees == 2


@pytest.mark.slow
@pytest.mark.parametrize("relation", only(["replace_one"], ["replace_one", "add_remove"]))
def test_noise_is_in_the_errors_that_are_printed(relation: str) -> None:
    x, y = drawn(20_000)
    size = 5000 if relation == "add_remove" else None
    given = {"privacy": budget(1.0, relation=relation), "size": size}
    runs = [fitted(x, y, seed, **given) for seed in range(40)]
    assert all(run.checks.passed for run in runs)
    exact = fitted(x, y).values
    stated = np.sqrt(np.mean([np.diag(run.privacy) for run in runs], axis=0))
    seen = np.sqrt(np.mean([(run.values - exact) ** 2 for run in runs], axis=0))
    assert np.all(np.abs(seen / stated - 1.0) < 0.4)  # 3.5 standard errors of 40 runs


def test_the_noise_of_the_information_acts_on_a_step_as_stated() -> None:
    rng = np.random.default_rng(0)
    block = ClassScore(lambda record, point: record, 3, 3, 1.0, 1.0)
    step = rng.normal(size=block.width)
    noise = jnp.asarray(rng.normal(size=(20_000, block.length)))
    matrices = np.asarray(jax.vmap(block.shaped)(noise))[:, 1 : block.width + 1]
    seen = np.cov((matrices @ step / block.units[1]).T)
    stated = _shaken(step, np.sqrt((1 + 1 / 2) / 2), 2)
    np.testing.assert_allclose(seen, stated, atol=0.05 * stated.max())


@pytest.mark.slow
def test_intervals_cover_and_without_the_privacy_term_they_would_not() -> None:
    covered, naive = [], []
    for seed in range(60):
        x, y = drawn(4000, seed)
        found = fitted(x, y, seed, privacy=budget(0.8))
        off = np.abs(found.values - TRUE.ravel())
        covered.append(off <= 1.96 * np.sqrt(np.diag(found.covariance)))
        naive.append(off <= 1.96 * np.sqrt(np.diag(found.sampling)))
    assert np.mean(covered) > 0.92 and np.mean(covered, axis=0).min() > 0.85
    assert np.mean(naive, axis=0).min() < 0.85


def frame(records: int) -> pd.DataFrame:
    x, y = drawn(records)
    named = {"x0": x[:, 0], "x1": x[:, 1], "y": np.array(LEVELS)[y]}
    return pd.DataFrame(named).assign(site=np.arange(records) % 4)


def whole() -> tacit.Regression:
    """A fit without noise."""
    return tacit.glm(
        "y ~ x0 + x1", frame(2000), columns=COLUMNS, family="multinomial", epsilon=None, seed=0
    )


def test_it_predicts_the_probability_of_every_level(tmp_path: Path) -> None:
    fit = whole()
    fit.save(tmp_path / "fit.json")
    new = pd.DataFrame({"x0": [0.5, np.nan, 0.2], "x1": [-0.3, 0.1, 0.9]})
    found = load_regression(tmp_path / "fit.json").predict(new.dropna())
    pd.testing.assert_frame_equal(found, fit.predict(new.dropna()))
    rows = np.column_stack([np.ones(2), new.dropna()])
    values = fit.table.values.reshape(2, 3)
    expected = softmax(np.column_stack([np.zeros(2), rows @ values.T]), axis=1)
    np.testing.assert_allclose(found[[f"{each} mean" for each in LEVELS]], expected, rtol=1e-9)
    # the intervals are those of draws of the coefficients, on the scale of log odds
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal(fit.table.values, fit.table.covariance, 40_000)
    logits = np.einsum("nd,skd->snk", rows, draws.reshape(-1, 2, 3))
    p = softmax(np.pad(logits, ((0, 0), (0, 0), (1, 0))), axis=2)
    for k, level in enumerate(LEVELS):
        ends = found[[f"{level} lower", f"{level} upper"]].to_numpy()
        np.testing.assert_allclose(
            ends, np.quantile(p[:, :, k], [0.025, 0.975], axis=0).T, atol=0.003
        )
    with pytest.raises(ProblemError, match="take predict"):
        fit.compare(frame(100))
    assert len(fit.forest().data) > 0


def test_steps_towards_a_rare_level_count_as_much_as_all_others() -> None:
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.uniform(-1, 1, 60_000), np.zeros(60_000)])
    logits = np.column_stack([np.zeros(60_000), 0.2 + 0.3 * x[:, 0], 4.0 * x[:, 0] - 6.0])
    y = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    task, net, method = setting(x, y, sums=3)
    method = replace(method, design=design_of([method.design.columns[0]]))
    found = tacit.run(task, net, method, rounds=3).answer
    assert isinstance(found, CoefficientTable) and found.refusal is not None
    theirs = sm.MNLogit(y, sm.add_constant(x[:, 0])).fit(disp=0).params.T.ravel()
    off = np.abs(found.values - theirs) / np.sqrt(np.diag(found.covariance))
    assert off[:2].max() < 0.5 and off[2:].min() > 3.0  # of 0.6 % of the records


def test_a_file_with_other_levels_is_refused(tmp_path: Path) -> None:
    fit = whole()
    text = fit.model.to_json()
    path = tmp_path / "fit.json"
    for changed in (
        text.replace(
            '"levels": [\n    "never",\n    "some"', '"levels": [\n    "zzz",\n    "some"'
        ),
        text.replace('"family": "multinomial"', '"family": "binomial"'),
    ):
        assert changed != text
        path.write_text(changed)
        with pytest.raises(ProblemError, match="not those of its formula"):
            load_regression(path)


def test_what_cannot_be_is_refused() -> None:
    _, _, method = setting(*drawn(20))
    two = columns_of(
        data.Schema({"x0": data.Numeric(-1, 1), "z": data.Boolean()}, None, intercept=False)
    )
    with pytest.raises(ConfigError, match="2 levels"):
        replace(method, target=two["z"], design=design_of([two["x0"]]))
    with pytest.raises(ConfigError, match="family='multinomial'"):
        replace(method, family="binomial")
    columns = columns_of(data.Schema(COLUMNS, target=None, intercept=False))
    _, design = parse_formula("y ~ x0 + offset(x1)", columns)
    with pytest.raises(ConfigError, match=r"offset\(x1\)"):
        replace(method, design=design)


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_an_audit_measures_the_mu_that_is_claimed(relation: str) -> None:
    x, y = drawn(60)
    task, net, method = setting(x, y, privacy=budget(8.0, relation=relation), size=15)
    found = tacit.audit_method(task, net, method, rounds=4, trials=20_000, seed=0, stop=False)
    assert found.mu is not None and found.claimed_mu is not None
    assert 0.95 < found.mu / found.claimed_mu < 1.05 and not found.refuted


def test_levels_that_are_read_off_are_in_the_order_of_their_numbers() -> None:
    table = pd.DataFrame({"y": [10, 2, 3, 2], "x": [0.1, 0.5, 0.2, 0.9]})
    found = filled(table, {}, {"y": False, "x": False}, "multinomial")
    assert isinstance(found.features["y"], data.Categorical)
    assert list(found.features["y"].levels) == ["2", "3", "10"]
