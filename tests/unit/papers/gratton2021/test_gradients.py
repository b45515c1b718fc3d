"""Figures 2 and 3: whether entries of gradients are normal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from tacit.papers import Scale
from tacit.papers.gratton2021.gradient_runs import BINS
from tacit.papers.gratton2021.gradients import RUNS, STRAIGHT
from tacit.report.reproduction import Verdict, draw
from tests.unit.papers.gratton2021.answers import HELD, NOT, OPEN, TARGETS, verdicts


def entries(law: Any, kurtosis: float = 0.0, *, others: Any = None) -> dict[str, Any]:
    """Six runs whose first entry has a law, and the others, too, or another one."""
    probabilities = (np.arange(99) + 1) / 100
    normal = stats.norm.ppf(probabilities)

    def straight(each: Any) -> float:
        return float(np.corrcoef(normal, each.ppf(probabilities))[0, 1])

    line = [straight(law), *[straight(others or law)] * 9]
    apart = [1e-4, -1e-4, 2e-4, -2e-4, 0.0, 0.0]
    return {
        "density": [0.1] * (len(BINS) - 1),
        "probabilities": probabilities.tolist(),
        "quantiles": law.ppf(probabilities).tolist(),
        "correlations": [
            [1.0 - (1.0 + 1000 * shift) * (1.0001 - each) for each in line] for shift in apart
        ],
        "kurtosis": [[kurtosis + 100 * shift] * 10 for shift in apart],
        "directions": 14,
        "variances": [1e-3] * 5,
        "claimed": [1.0] * 5,
    }


@pytest.mark.not_quick
@pytest.mark.parametrize("figure", ["fig2", "fig3"])
def test_entries_are_normal_or_not(figure: str) -> None:
    def told(*answers: Any) -> Any:
        found = TARGETS[figure].told(answers, Scale.FAST)
        for panel in found.published:
            draw(panel)
        return found

    norm, heavy = entries(stats.norm), entries(stats.logistic, 1.2)
    other, split = entries(stats.laplace), entries(stats.norm, others=stats.laplace)
    found = told(norm, norm, norm, norm)
    assert verdicts(found) == [HELD, HELD] and found.shortened
    assert "is 1,000 to 1,000 times the variance" in found.sentence
    # straight to the eye, but with tails that runs show
    with_tails = told(norm, heavy, norm, norm)
    assert verdicts(with_tails) == [Verdict.CONDITIONALLY] * 2
    assert "heavier tails than a normal law's at lasso." in with_tails.claims[0].found
    light = told(entries(stats.norm, -0.5), norm, norm, norm)
    assert "lighter tails than a normal law's at ridge." in light.claims[0].found
    assert verdicts(told(norm, other, norm, norm)) == [NOT, NOT]
    # an entry that is not drawn, and one at the other figure's point
    assert verdicts(told(norm, split, norm, norm)) == [HELD, NOT]
    assert verdicts(told(norm, norm, norm, other)) == [HELD, NOT]
    assert 0.988 < STRAIGHT < 0.9954  # between Laplace's and Student's


def test_one_run_decides_nothing_about_a_law() -> None:
    one = entries(stats.norm)
    one |= {key: one[key][:1] for key in ("correlations", "kurtosis")}
    assert verdicts(TARGETS["fig2"].told([one] * 4, Scale.FAST)) == [OPEN, OPEN]


def test_both_figures_of_gradients_share_their_pieces() -> None:
    for scale in Scale:
        two, three = (TARGETS[name].pieces(scale) for name in ("fig2", "fig3"))
        assert [*two[2:], *two[:2]] == list(three)
        assert [(p.arguments["outer"], p.arguments["inner"]) for p in two[::2]] == [
            (50, 100),
            (150, 50),
        ]
        assert {p.arguments["runs"] for p in two} == {RUNS[scale]} and RUNS[scale] > 1
