"""Figures 2 and 3 of Gratton et al. (2021): the law of the gradient estimates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.report.reproduction import Curve, Panel, Reproduction, Verdict, compared
from tacit.reproduce.gratton2021.findings import factor
from tacit.reproduce.gratton2021.gradient_runs import BINS, ITERATES, gradient_entries
from tacit.reproduce.gratton2021.plan import SMALL
from tacit.reproduce.gratton2021.setting import ALPHA0, INNER_STEPS, PENALTY, Kind
from tacit.reproduce.target import Answer, Piece, Scale, Target

AGENT = 1
"""Agent 2, counted from 0."""

KINDS: Sequence[Kind] = ("ridge", "lasso")

STRAIGHT = 0.995
"""Correlation of the points of a QQ plot from which they look like a line: a Laplace law has 0.988,
a uniform one 0.984, Student's with five degrees of freedom 0.9954."""

DRAWS = {Scale.FAST: 2_000, Scale.FULL: 50_000}

PROTOTYPE = (1200.0, 5500.0)
"""How many times smaller than claimed the variance of the iterates was in a prototype."""


def straightness(answer: Answer) -> float:
    """Correlation of the entries' quantiles with those of the normal law."""
    from scipy import stats

    normal = stats.norm.ppf(answer["probabilities"])
    return float(np.corrcoef(normal, answer["quantiles"])[0, 1])


def shortfall(answer: Answer) -> list[float]:
    """How many times smaller than claimed each agent's variance is."""
    return [c / v for c, v in zip(answer["claimed"], answer["variances"], strict=True)]


def verdict(correlations: Sequence[float]) -> Verdict:
    """Whether every QQ plot looks like a line."""
    return Verdict.REPRODUCED if min(correlations) >= STRAIGHT else Verdict.NOT_REPRODUCED


def _told(answers: Sequence[Answer], scale: Scale, outer: int, inner: int) -> Reproduction:
    from scipy import stats

    by_kind = dict(zip(KINDS, answers, strict=True))
    correlations = {kind: straightness(answer) for kind, answer in by_kind.items()}
    ratios = [ratio for answer in answers for ratio in shortfall(answer)]
    found = verdict(list(correlations.values()))
    looks = "look normal" if found is Verdict.REPRODUCED else "do not look normal"
    law = ", ".join(
        f"{correlations[kind]:.4f} and {answer['kurtosis']:.2f} ({kind}, J = "
        f"{answer['directions']})"
        for kind, answer in by_kind.items()
    )
    heavier = min(answer["kurtosis"] for answer in answers) > 0
    tails = ", so their tails are heavier than a normal law's" if heavier else ""
    centres = (BINS[1:] + BINS[:-1]) / 2
    ends = np.linspace(-4.0, 4.0, 81)
    normal = stats.norm.ppf(by_kind[KINDS[0]]["probabilities"])
    return Reproduction(
        found,
        f"The entries {looks}: correlation of the QQ plot and excess kurtosis are {law}{tails}. "
        "But normal is not enough: the claim needs a variance, too, and what theorem 1 takes for "
        f"granted is {factor(min(ratios))} to {factor(max(ratios))} times the variance of the "
        "iterate sent in this round, over agents and both problems.",
        published=[
            Panel(
                f"Histogram, t = {inner}, m = {outer}",
                "entry, in standard deviations",
                "density",
                [
                    *(
                        Curve(k, centres.tolist(), a["density"], shape="bars")
                        for k, a in by_kind.items()
                    ),
                    Curve(
                        "normal law", ends.tolist(), stats.norm.pdf(ends).tolist(), reference=True
                    ),
                ],
                f"{DRAWS[scale]:,} estimates at one point of either problem, entries of "
                "agent 2, each standardised by itself.",
                log="",
            ),
            Panel(
                f"QQ plot, t = {inner}, m = {outer}",
                "quantile of the normal law",
                "quantile of the entries",
                [
                    *(
                        Curve(k, normal.tolist(), a["quantiles"], shape="points")
                        for k, a in by_kind.items()
                    ),
                    Curve("normal law", [-2.4, 2.4], [-2.4, 2.4], reference=True),
                ],
                "The 1st to the 99th percentile.",
                log="",
            ),
        ],
        comparison=[
            compared(
                f"variance claimed over measured, {kind}, agent {agent + 1}",
                None,
                ratio,
                prototype=f"{PROTOTYPE[0]:,.0f} to {PROTOTYPE[1]:,.0f}",
            )
            for kind, answer in by_kind.items()
            for agent, ratio in enumerate(shortfall(answer))
        ],
        parameters={
            "where": f"agent 2, inner step t = {inner} of round m = {outer}, at the point that a "
            "run reaches",
            "left out: epsilon, and so J": f"{SMALL[0]:g} for one iteration at delta {SMALL[1]:g}; "
            "J from eq (22)",
            "as in figures 4 to 7": f"rho = {PENALTY:g}, T = {INNER_STEPS}, u1 = 1, alpha0 = "
            f"{ALPHA0:g}, cold start, sum of losses, eta = 1",
            "iterates for the variance": f"{DRAWS[scale] // ITERATES:,} from the same state",
        },
        notes=[
            "There is no certified half: a law that looks normal is no guarantee, and the "
            "certified D-ZOA does not rest on one."
        ],
        shortened=""
        if scale is Scale.FULL
        else f"{DRAWS[Scale.FAST]:,} estimates instead of {DRAWS[Scale.FULL]:,}",
    )


def _target(figure: int, outer: int, inner: int) -> Target:
    def pieces(scale: Scale) -> Sequence[Piece]:
        arguments = {
            "epsilon": SMALL[0],
            "delta": SMALL[1],
            "data": 0,
            "agent": AGENT,
            "outer": outer,
            "inner": inner,
            "seed": 0,
            "draws": DRAWS[scale],
        }
        seconds = 14.0 + 0.003 * DRAWS[scale]
        return [Piece(gradient_entries, {"kind": kind, **arguments}, seconds) for kind in KINDS]

    return Target(
        f"gratton2021/fig{figure}",
        f"histogram and QQ plot of the gradient's entries at agent 2, t = {inner}, m = {outer}",
        pieces,
        lambda answers, scale: _told(answers, scale, outer, inner),
    )


FIG2 = _target(2, outer=50, inner=100)
FIG3 = _target(3, outer=150, inner=50)
