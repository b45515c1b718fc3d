"""One run with many canaries."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tacit.audit.one_run import one_run_bound, one_run_tail
from tacit.errors import ConfigError


def test_without_a_delta_the_tail_is_binomial() -> None:
    rate = 1.0 / (1.0 + np.exp(-1.0))
    assert one_run_tail(1.0, 0.0, 100, 40, 35) == pytest.approx(stats.binom.sf(34, 40, rate))


def test_the_tail_is_that_of_the_papers_program() -> None:
    epsilon, delta, m, r, v = 1.0, 1e-4, 500, 100, 90
    rate = 1.0 / (1.0 + np.exp(-epsilon))
    alpha = total = 0.0
    for i in range(1, v + 1):
        total += stats.binom.pmf(v - i, r, rate)
        alpha = max(alpha, total / i)
    expected = stats.binom.sf(v - 1, r, rate) + 2 * m * delta * alpha
    assert one_run_tail(epsilon, delta, m, r, v) == pytest.approx(expected)


def test_randomised_response_is_bounded_from_below_only() -> None:
    rng = np.random.default_rng(0)
    epsilon, above, found = 1.0, 0, []
    for _ in range(200):
        included = rng.random(400) < 0.5
        honest = rng.random(400) < 1.0 / (1.0 + np.exp(-epsilon))
        bound = one_run_bound((included == honest) * 1.0, included, delta=0.0, guesses=300)
        found.append(bound.epsilon)
        above += bound.epsilon > epsilon
    assert above <= 21 and np.mean(found) > 0.6


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"guesses": 0}, "guesses=0"),
        ({"guesses": 11}, "guesses=11 must be from 1 to the 10"),
        ({"delta": 1.0}, "delta=1.0"),
        ({"confidence": 0.0}, "confidence=0.0"),
        ({"included": np.ones(9, dtype=bool)}, "10 scores for 9 canaries"),
    ],
)
def test_wrong_arguments_are_refused(changes: dict, says: str) -> None:
    settings = {"included": np.ones(10, dtype=bool), "delta": 0.0, "guesses": 5, **changes}
    included = settings.pop("included")
    with pytest.raises(ConfigError, match=says):
        one_run_bound(np.zeros(10), included, **settings)
