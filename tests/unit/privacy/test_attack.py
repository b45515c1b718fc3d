"""Attempts to break what is promised: extreme records, listed budgets, sleepers, chosen words."""

from __future__ import annotations

from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import network
from tacit._engine.keys import agent_secret, phase_keys, public_key, trial_key
from tacit._engine.plan import as_arrays
from tacit.data.loaders import load_csv
from tacit.data.schema import BinaryTarget, Categorical, Numeric, Schema
from tacit.data.table import prepare
from tacit.method import DPSG, GradientDescent
from tacit.privacy import Privacy
from tacit.problem import empirical_risk
from tacit.problem.erm import EmpiricalRisk
from tacit.problem.losses import Hinge, Huber, Logistic, Poisson, Quantile, Softmax, Squared


def risk(row: list[float], target: float, loss: Any) -> EmpiricalRisk:
    return as_arrays(
        EmpiricalRisk(
            normaliser=np.float64(1.0),
            features=np.array([row]),
            targets=np.array([target]),
            mask=np.ones(1),
            loss=loss,
        )
    )


LOSSES = [Squared(), Logistic(), Huber(1.0), Hinge(), Quantile(0.5), Poisson()]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("order", [1, 2])
def test_no_record_however_extreme_passes_the_clip(loss: Any, order: int, float64: None) -> None:
    rows = [[1e308, 1e308], [1e-300, 1e200], [1e300, 0.0], [800.0, 1.0], [1e-320, 1e-320]]
    points = [[1.0, 0.0], [0.0, 0.0], [1e300, -1e300], [np.nan, 1.0]]
    for row, x in product(rows, points):
        g = risk(row, 1.0, loss).clipped_gradient(jnp.array(x), jnp.asarray(1e-3), order, None)
        assert np.linalg.norm(np.asarray(g), order) <= 1e-3 * (1 + 1e-12), (row, x)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("double", "score", "huge"), [(True, 195.0, 1e175), (False, 24.0, 1e22)])
def test_softmax_slopes_whose_squares_vanish_are_clipped_all_the_same(
    order: int, double: bool, score: float, huge: float
) -> None:
    # the second feature has weight 0, as a sparse iterate has: only the first makes the score
    with jax.enable_x64(double):
        x = jnp.array([1.0, -1.0, 0.0, 0.0])
        g = risk([score, huge], 0.0, Softmax(2)).clipped_gradient(x, jnp.asarray(1.0), order, None)
        assert np.linalg.norm(np.asarray(g), order) <= 1.0 + 1e-5


def test_a_feature_that_overflows_in_float32_poisons_nothing() -> None:
    with jax.enable_x64(False):
        g = risk([1.0, 1e39], 0.0, Logistic()).clipped_gradient(
            jnp.array([0.1, 0.0]), jnp.asarray(1.0), 2, None
        )
        assert np.isfinite(np.asarray(g)).all()


def sites(agents: int = 3, seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    features = [rng.normal(size=(10, 2)) for _ in range(agents)]
    return features, [rng.normal(size=10) for _ in range(agents)]


@pytest.mark.parametrize(
    "kind", [list, *(pytest.param(kind, marks=pytest.mark.long) for kind in (tuple, np.array))]
)
def test_every_owner_keeps_its_own_budget_however_the_budgets_are_listed(kind: Any) -> None:
    task = empirical_risk(*sites(), Squared())
    method = DPSG(step=0.1, privacy=Privacy(clip=1.0, epsilon=kind([10.0, 0.1, 0.1])))
    result = tacit.run(task, network.ring(3), method, rounds=2, seed=0)
    assert [g.epsilon for g in result.guarantee] == pytest.approx([10.0, 0.1, 0.1])


def test_a_client_that_sleeps_reveals_nothing_and_is_charged_nothing() -> None:
    star = network.Coordinator(3, 0.5)
    seed = next(s for s in range(50) if star.participations(1, public_key(s)).tolist() == [0, 1, 1])
    features, targets = sites()
    method = GradientDescent(step=0.1, privacy=Privacy(clip=1.0, noise_multiplier=1.0))
    runs = [
        tacit.run(
            empirical_risk([first, *features[1:]], targets, Squared()),
            star, method, rounds=1, seed=seed,
        )
        for first in (features[0], 1e150 * features[0])
    ]  # fmt: skip
    np.testing.assert_array_equal(runs[0].solutions, runs[1].solutions)
    assert runs[0].guarantee[0].epsilon == 0.0
    assert runs[0].guarantee[1].epsilon > 0.0


def test_no_two_uses_of_randomness_share_a_key() -> None:
    found = [jax.random.key_data(public_key(7))]
    for trial, agent in product(range(2), range(3)):
        secret = agent_secret(trial_key(7, trial), agent)
        for round, phase, step in product((-1, 0, 1), range(2), range(2)):
            found += [jax.random.key_data(key) for key in phase_keys(secret, round, phase, step)]
    assert len(np.unique(np.stack(found), axis=0)) == len(found)


def test_what_a_guarantee_assumes_does_not_depend_on_who_lacks_a_value() -> None:
    target = BinaryTarget("ill", positive=1, negative=0)
    schema = Schema({"age": Numeric(0, 120, missing="drop"), "dose": Numeric(0, 5)}, target)
    whole = pd.DataFrame({"age": [30.0, 40.0], "dose": [1.0, 2.0], "ill": [0, 1]})
    lacking = whole.assign(age=[30.0, np.nan])
    assert prepare(whole, schema).assumptions == prepare(lacking, schema).assumptions


def test_one_record_does_not_change_how_the_others_are_read(tmp_path: Any) -> None:
    target = BinaryTarget("ill", positive=1, negative=0)
    schema = Schema({"group": Categorical(levels=(1, 2), other="zero")}, target)
    read = []
    for name, last in (("one.csv", "2.0"), ("other.csv", "unknown")):
        path = tmp_path / name
        path.write_text(f"group,ill\n1.0,0\n2.0,1\n{last},1\n", encoding="utf-8")
        read.append(prepare(load_csv(path), schema).features)
    np.testing.assert_array_equal(read[0][:2], read[1][:2])
