"""Black boxes: JAX and NumPy callables, traced or not, and those that fail."""

from __future__ import annotations

import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.audit import audit_callable
from tacit.errors import ConfigError, OracleError
from tacit.privacy import GaussianRelease, LaplaceRelease, Repeated, Status, epsilon

D, OTHER = np.array([1.0, 1.0]), np.array([1.0, 0.0])


def laplace(data: Any, key: Any) -> Any:
    return jnp.sum(data) + jax.random.laplace(key, ())


def audit(mechanism: Any, **changes: Any) -> Any:
    settings: dict[str, Any] = {"claim": (1.0, 0.0), "trials": 640, "seed": 0, **changes}
    return audit_callable(mechanism, D, OTHER, **settings)


def _total(rows: Any) -> Any:
    return rows.sum(axis=1)


@pytest.mark.long
def test_a_true_claim_stands_and_half_of_it_does_not() -> None:
    found = audit(laplace)
    assert not found.refuted and found.trials == 640 and not found.exact
    half = audit(laplace, claim=(0.5, 0.0), trials=4000)
    assert half.refuted and half.guarantee.status is Status.REFUTED
    assert "the callable" in half.sentence() and half.best.epsilon <= 1.0
    document = json.loads(json.dumps(half.to_dict(), allow_nan=False))
    assert document["format"] == "tacit-audit-1" and document["refuted"]


def test_a_score_may_be_given() -> None:
    found = audit(laplace, score=lambda rows: rows[:, 0], stop=False)
    assert found.exact and 0.5 < found.best.epsilon < 1.0


def test_numpy_callables_get_generators_of_their_own() -> None:
    def box(data: Any, rng: Any) -> Any:
        assert isinstance(rng, np.random.Generator)
        return data.sum() + rng.laplace() / 4.0

    told: list[tuple[int, int]] = []
    found = audit(box, generator="numpy", progress=lambda done, of: told.append((done, of)))
    assert found.refuted and told[-1] == (found.trials, 640)
    assert audit(box, generator="numpy").to_dict() == found.to_dict()


def test_what_cannot_be_traced_runs_one_by_one() -> None:
    def box(data: Any, key: Any) -> Any:
        return float(laplace(data, key))

    assert (
        audit(box, trials=64).to_dict()["bounds"] == audit(laplace, trials=64).to_dict()["bounds"]
    )


def test_noise_behind_the_keys_back_is_not_frozen_into_one_draw() -> None:
    hidden = np.random.default_rng(0)

    def box(data: Any, key: Any) -> Any:
        return jnp.sum(data) + hidden.laplace()

    # traced, all runs would have one draw of noise, and the two sides would differ always
    assert not audit(box, trials=128).refuted


@pytest.mark.slow
def test_a_claim_about_known_releases_is_tested_more_sharply() -> None:
    def noisy(data: Any, key: Any) -> Any:
        return jnp.sum(data) + 4.0 * jax.random.normal(key, (4,))

    def many(data: Any, key: Any) -> Any:
        return jnp.sum(data) + 4.0 * jax.random.laplace(key, (10,))

    for box, events in (
        (noisy, [Repeated(GaussianRelease(4.0), 4)]),
        (many, [Repeated(LaplaceRelease(4.0), 10)]),
    ):
        claim = (epsilon(events, 1e-6), 1e-6)
        plain = audit(box, claim=claim, score=_total, stop=False)
        sharp = audit(box, claim=claim, score=_total, stop=False, events=events)
        assert plain.best.epsilon < sharp.best.epsilon < claim[0]


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"trials": 5}, ConfigError, "trials=5"),
        ({"confidence": 0.2}, ConfigError, "confidence=0.2"),
        ({"batch": 0}, ConfigError, "batch=0"),
        ({"generator": "torch"}, ConfigError, "generator='torch'"),
        ({"seed": -1}, ConfigError, "seed=-1"),
        ({"score": lambda rows: rows}, OracleError, "one number a run"),
        ({"score": lambda rows: 1 / 0}, OracleError, "the score failed"),
    ],
)
def test_wrong_arguments_are_refused(changes: Any, error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        audit(laplace, **{"trials": 64, **changes})


def test_a_failing_box_is_named() -> None:
    def raises(data: Any, rng: Any) -> Any:
        raise ValueError("no such column")

    def ragged(data: Any, rng: Any) -> Any:
        return np.zeros(rng.integers(1, 5))

    def nothing(data: Any, rng: Any) -> Any:
        return np.nan

    def longer(data: Any, rng: Any) -> Any:
        return np.zeros(int(data.sum()))

    for box, says in (
        (raises, "failed on `data`: no such column"),
        (ragged, "pad its output"),
        (nothing, "not finite in run 0 on `data`"),
        (longer, "2 numbers on one data set and 1 on the other"),
    ):
        with pytest.raises(OracleError, match=says):
            audit(box, generator="numpy", trials=64)


def test_complex_answers_are_refused_and_not_cut() -> None:
    def leaks(data: Any, key: Any) -> Any:
        return jax.random.laplace(key, ()) + 1j * jnp.sum(data)

    with pytest.raises(OracleError, match="complex numbers"):
        audit(leaks, claim=(1.0, 0.0))


@pytest.mark.parametrize("generator", ["jax", "numpy"])
@pytest.mark.parametrize(
    ("box", "told"),
    [
        (lambda data: data, r"takes \(data\), and is called with \(data, randomness\)"),
        (lambda data, key: None, "the mechanism gives None; return its output, an array"),
        (lambda data, key: "a", "the mechanism gives text; an output consists of arrays"),
    ],
)
def test_a_mechanism_that_gives_no_numbers_is_told_so(box: Any, told: str, generator: str) -> None:
    with pytest.raises(OracleError, match=told):
        audit(box, claim=(1.0, 0.0), generator=generator)


def test_progress_that_takes_other_arguments_is_named() -> None:
    def mechanism(data: Any, key: Any) -> Any:
        return jnp.sum(data) + jax.random.laplace(key, ())

    with pytest.raises(ConfigError, match=r"progress raised .*\(runs done, runs\), here \(0, "):
        audit(mechanism, claim=(1.0, 0.0), progress=lambda: None)


@pytest.mark.parametrize(
    "claim", [1.0, (1.0,), (1.0, 1e-6, 0.0), "1", (1.0, "x"), None, [1.0, 0.0]]
)
def test_a_claim_is_a_pair_or_a_guarantee(claim: Any) -> None:
    with pytest.raises(ConfigError, match=r"claim is .*; give epsilon and delta, such as claim="):
        audit_callable(lambda data, key: data, 0.0, 1.0, claim=claim, seed=0)
