"""The guessing game: how it is played, and that its tails are those of the best attacker."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tacit.audit.binomial import tail
from tacit.audit.game import gaussian_tail, largest_refuted, play, revealed_tail


def test_tails_are_exact_at_the_ends_too() -> None:
    for count in (0, 1, 7, 10):
        assert float(tail(count, 10, 0.3)) == pytest.approx(stats.binom.sf(count - 1, 10, 0.3))
    assert float(tail(-1, 10, 0.3)) == 1.0 and float(tail(11, 10, 0.3)) == 0.0


def test_a_perfect_attacker_guesses_all_but_the_coins_that_no_run_answers() -> None:
    game = play(np.ones(500), np.zeros(500), 0.5)
    assert (game.runs, game.made, game.correct) == (1000, 500, 500)
    assert game.false_alarms == game.missed == 0.0
    everything = play(np.ones(500), np.zeros(500), 1.0)
    assert everything.made == 1000 and 950 < everything.correct <= 1000


def test_infinite_scores_are_played() -> None:
    loud, other = np.random.default_rng(0).normal(size=(2, 100))
    loud[0] = np.inf
    assert 0 < play(loud, other, 0.5).correct < 100


def test_without_a_delta_the_tail_is_binomial() -> None:
    rate = 1.0 / (1.0 + np.exp(-1.5))
    assert float(revealed_tail(1.5, 0.0, 100, 60, 50)) == pytest.approx(
        stats.binom.sf(49, 60, rate)
    )


@pytest.mark.parametrize("delta", [1e-5, 0.01, 0.3])
def test_revealed_runs_are_guessed_for_certain(delta: float) -> None:
    rng = np.random.default_rng(1)
    runs, made, rate = 400, 200, 1.0 / (1.0 + np.exp(-1.0))
    revealed = np.minimum(rng.binomial(runs, delta, size=200_000), made)
    right = revealed + rng.binomial(made - revealed, rate)
    for correct in map(int, np.quantile(right, [0.5, 0.9, 0.99])):
        exact = np.mean(right >= correct)
        found = float(revealed_tail(1.0, delta, runs, made, correct))
        assert exact - 0.005 < found < 1.05 * exact + 0.005


@pytest.mark.parametrize("mu", [0.3, 1.5])
@pytest.mark.parametrize("made", [40, 108, 200])
def test_the_gaussian_tail_is_that_of_the_surest_guesses(mu: float, made: int) -> None:
    rng = np.random.default_rng(2)
    coins = rng.random((20_000, 200)) < 0.5
    seen = rng.normal(size=coins.shape) + np.where(coins, mu, -mu) / 2.0
    surest = np.argsort(-np.abs(seen), axis=1)[:, :made]
    right = np.take_along_axis((seen > 0) == coins, surest, axis=1).sum(axis=1)
    for correct in map(int, np.quantile(right, [0.5, 0.9, 0.99])):
        exact = np.mean(right >= correct)
        found = float(gaussian_tail(mu, 200, made, correct))
        # never less, up to the error of the simulation, and little more
        assert exact - 0.01 < found < 1.1 * exact + 0.01


def test_whatever_is_made_of_the_outputs_the_tail_bounds_it() -> None:
    # an attacker who looks at the sign only, or at a coarse version, of Gaussian outputs
    rng = np.random.default_rng(3)
    mu, runs = 0.5, 300
    for process in (np.sign, np.floor, np.abs, lambda x: x**2 * np.sign(x)):
        right = np.array(
            [
                play(process(rng.normal(size=runs) + mu), process(rng.normal(size=runs)), 0.54)
                for _ in range(400)
            ]
        )
        correct = int(np.quantile([game.correct for game in right], 0.9))
        found = float(gaussian_tail(mu, right[0].runs, right[0].made, correct))
        assert found > 0.1 - 3 * np.sqrt(0.09 / 400)


def test_the_largest_refuted_parameter_is_rounded_down() -> None:
    assert largest_refuted(lambda x: np.exp(x - 5.0), 0.05, 10.0) == pytest.approx(
        5.0 + np.log(0.05), abs=1e-5
    )
    assert largest_refuted(lambda x: np.float64(1.0), 0.05, 10.0) == 0.0
    assert largest_refuted(lambda x: np.float64(0.0), 0.05, 10.0) == 10.0
