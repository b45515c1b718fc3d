"""Counts that vary more than a Poisson model says: expectations, bounds, and the fit."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import tacit
from tacit import data, network, problem
from tacit.data.cells import columns_of
from tacit.data.design import design_of
from tacit.method import CoefficientTable, PrivateGLM
from tacit.method import _glm_negative_binomial as counts
from tacit.method._glm_family import Linear
from tacit.privacy import Masks
from tests.quick import only

pytestmark = pytest.mark.long

FAMILY = counts.NegativeBinomial()
MODELS = {"poisson": (1e-4, 1.5), "few": (0.2, 0.3), "some": (2 / 3, 1.5), "many": (0.5, 30.0)}
EACH = pytest.mark.parametrize("model", only(["some"], MODELS))
EVERY = np.arange(0.0, 5000.0)
SLOPES = np.array([0.6, -0.4, 0.3])


def chance(alpha: float, mean: float) -> Any:
    return stats.nbinom.pmf(EVERY, 1 / alpha, 1 / (1 + alpha * mean))


def clipped(model: tuple[float, float], mean: float) -> Any:
    """The clipped score of every count, computed without tacit."""
    alpha, typical = model
    bound = np.sqrt(typical / (1 + alpha * typical))
    return bound * np.tanh((EVERY - mean) / (1 + alpha * mean) / bound)


@pytest.fixture(scope="module", params=[None], ids=["float64"])
def wide() -> Any:
    with jax.enable_x64(True):
        yield


@EACH
def test_what_is_looked_up_is_what_sums_over_all_counts_give(model: str, wide: None) -> None:
    alpha, typical = MODELS[model]
    table = counts.tabulated(jnp.array([alpha, typical]))
    logs = np.log(typical) + np.random.default_rng(0).uniform(-2.5, 2.0, 20)
    found = np.asarray(counts.looked_up(jnp.stack(table), jnp.asarray(logs)))
    for at, (centre, weight, _, _, variance, _) in zip(logs, found.T, strict=True):
        p, score = chance(alpha, np.exp(at)), clipped(MODELS[model], np.exp(at))
        # of a million records the standard error is 1e-3 standard deviations
        assert centre == pytest.approx(p @ score, abs=1e-4 * np.sqrt(variance))
        assert variance == pytest.approx(p @ score**2 - (p @ score) ** 2, rel=1e-3)
        # differentiated in the mean that counts have, while scores are measured at the same one
        slope = [chance(alpha, np.exp(at + step)) @ score for step in (-1e-4, 1e-4)]
        assert weight == pytest.approx((slope[1] - slope[0]) / 2e-4, rel=1e-3)


@EACH
def test_all_that_is_released_of_a_record_has_mean_0_under_the_model(
    model: str, wide: None
) -> None:
    alpha, typical = MODELS[model]
    by, y = jnp.array([alpha, typical]), jnp.asarray(EVERY[:2000])
    for mean in typical * np.array([0.2, 1.0, 3.0]):
        p, predictor = chance(alpha, mean)[:2000], jnp.full(2000, np.log(mean))
        residual, _, excess, moment = _asked(y, predictor, by)
        for each in (residual, excess, moment):
            released = np.asarray(each)
            assert abs(p @ released) < 2e-3 * np.sqrt(p @ released**2)


@settings(max_examples=40, deadline=None)
@given(
    y=st.floats(0, 1000),
    predictor=st.floats(-1e6, 1e6),
    alpha=st.floats(counts.LEAST, counts.GREATEST),
    typical=st.floats(1e-2, 1e3),
)
def test_no_record_is_out_of_its_units(
    wide: None, y: float, predictor: float, alpha: float, typical: float
) -> None:
    by = jnp.array([alpha, typical])
    residual, weight, excess, moment = _asked(jnp.array(y), jnp.array(predictor), by)
    # what is beyond would be clipped, and biased: by a table's rounding at most
    assert abs(residual) <= 1 + 1e-3 and -1e-9 <= weight <= 1
    assert abs(excess) <= 1 + 1e-2 and abs(moment) <= 1


@jax.jit
def _asked(y: Any, predictor: Any, by: Any) -> Any:
    return *FAMILY.terms(y, predictor, by), FAMILY.moment(y, predictor, by)


def test_no_record_decides_how_long_a_count_takes(wide: None) -> None:
    by, y = jnp.array([0.5, 1.5]), jnp.array(3.0)
    steep = [_asked(y, jnp.array(at), by) for at in (7.0, 30.0, 700.0)]
    for other in steep[1:]:
        np.testing.assert_array_equal(np.asarray(other), np.asarray(steep[0]))


@pytest.mark.parametrize("alpha", only(["0.6"], [0.05, 0.6, 3.0]))
def test_the_overdispersion_is_found_from_both_sums(alpha: float, wide: None) -> None:
    p, y = chance(alpha, 2.0), jnp.asarray(EVERY)
    mean = p @ np.log1p(EVERY)
    spread = p @ (np.log1p(EVERY) - mean) ** 2
    zero = jnp.zeros(())
    link = FAMILY.linked(Linear(jnp.asarray(mean), jnp.asarray(spread), zero), zero)
    assert float(link.dispersion) == pytest.approx(alpha, rel=0.01)
    assert float(link.predictor) == pytest.approx(np.log(2.0), abs=0.01)
    by = jnp.array([1.3 * alpha, 2.0])
    moment = p @ np.asarray(FAMILY.moment(y, jnp.full(len(EVERY), np.log(2.0)), by))
    now = FAMILY.dispersion(jnp.asarray(moment), by)
    assert float(now[0]) == pytest.approx(alpha, rel=0.01)
    # and without noise nothing is left of the wrong one
    centre, _ = FAMILY.expected(by, now)
    score = clipped((1.3 * alpha, 2.0), 2.0)
    truly = p @ score - chance(1.3 * alpha, 2.0) @ score
    assert float(centre) == pytest.approx(truly, rel=0.02)


def fitted(x: Any, y: Any, family: Any = "negative_binomial", **given: Any) -> CoefficientTable:
    features: dict[str, Any] = {f"x{j}": data.Numeric(-1, 1) for j in range(3)}
    features["y"] = data.Numeric(0, 80)
    schema = data.Schema(features, target=None, intercept=False)
    columns = columns_of(schema)
    table = np.column_stack([x, y / 40.0 - 1.0])
    task = problem.record_tables(np.array_split(table, 4), schema)
    design = design_of([columns[f"x{j}"] for j in range(3)])
    method = PrivateGLM(design, columns["y"], family, **given)
    answer = tacit.run(task, network.Coordinator(4), method, rounds=method.sums, seed=0).answer
    assert isinstance(answer, CoefficientTable)
    return answer


def drawn(alpha: float, records: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(records, 3))
    mean = np.exp(x @ SLOPES + 0.3)
    if alpha:
        mean = mean * rng.gamma(1 / alpha, alpha, records)
    return x, np.minimum(rng.poisson(mean), 80).astype(float)


@pytest.mark.parametrize("alpha", only(["0.7"], [0.0, 0.7, 2.0]))
def test_without_noise_it_is_nearly_the_fit_of_statsmodels(alpha: float) -> None:
    x, y = drawn(alpha, 8000)
    found = fitted(x, y)
    assert found.checks.passed and not found.privacy.any() and found.link == "log"
    model = sm.GLM(
        y, sm.add_constant(x), family=sm.families.NegativeBinomial(alpha=max(alpha, 1e-6))
    )
    theirs = model.fit()
    # clipped differently, an estimate moves by a part of what its greater variance allows
    assert np.all(np.abs(found.values - theirs.params) <= 2.0 * 0.5 * theirs.bse)
    ratio = found.standard_errors / theirs.bse
    assert np.all((ratio > 0.98) & (ratio < 1.25))


@pytest.mark.slow
def test_intervals_with_noise_cover_and_no_other_family_would() -> None:
    x, y = drawn(0.7, 20_000)
    privacy = tacit.Privacy(clip=1.0, epsilon=1.0, masks=Masks())
    found = fitted(x, y, privacy=privacy)
    off = np.abs(found.values - [0.3, *SLOPES])
    assert found.refusal is None and np.all(off <= 3.5 * found.standard_errors)
    assert np.all(np.diag(found.privacy) > 0)
    poisson = fitted(x, y, "poisson", privacy=privacy)
    assert poisson.refusal is not None and "negative_binomial" in poisson.refusal.needs
