"""Figures 2 and 3 of Gratton et al. (2021): the law of the gradient estimates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.papers.decide import below, every
from tacit.papers.gratton2021.findings import factor
from tacit.papers.gratton2021.gradient_runs import BINS, ITERATES, gradient_entries
from tacit.papers.gratton2021.plan import SMALL, TYPICAL
from tacit.papers.gratton2021.setting import ALPHA0, INNER_STEPS, PENALTY, Kind
from tacit.papers.target import Answer, Piece, Scale, Target
from tacit.report.reproduction import (
    Claim,
    Curve,
    Panel,
    Reproduction,
    Verdict,
    compared,
    concluded,
)

AGENT = 1
"""Agent 2, counted from 0."""

KINDS: Sequence[Kind] = ("ridge", "lasso")

POINTS = {2: (50, 100), 3: (150, 50)}
"""Outer and inner iteration, by figure."""

STRAIGHT = 0.995
"""Correlation at which the points of a QQ plot look like a line: a Laplace law has 0.988,
a uniform one 0.984, Student's with five degrees of freedom 0.9954."""

RUNS, DRAWS = {Scale.FAST: 8, Scale.FULL: 10}, {Scale.FAST: 2_000, Scale.FULL: 5_000}


def shortfall(answer: Answer) -> list[float]:
    """Ratio of the claimed to the actual variance of each agent."""
    return [c / v for c, v in zip(answer["claimed"], answer["variances"], strict=True)]


def normal(
    place: str, said: str, entries: dict[str, tuple[Sequence[float], Sequence[float]]]
) -> Claim:
    """Whether entries are normal: straight in a QQ plot, and with the tails of the normal law.

    If they look normal, but their tails are heavier or lighter than the runs allow, it holds with a
    change: the figures show where most of the entries are, and the text is about their law.

    Args:
        place: place in the paper.
        said: the paper's statement.
        entries: correlation of the QQ plot and excess kurtosis, one per run each, by name.
    """
    straight = every([below([STRAIGHT] * len(r), r) for r, _ in entries.values()])
    apart = {name: below([0.0] * len(k), k) for name, (_, k) in entries.items()}
    heavy, light = ([name for name, told in apart.items() if told is way] for way in (True, False))
    verdict = straight
    if straight is Verdict.REPRODUCED and (heavy or light):
        verdict = Verdict.CONDITIONALLY
    numbers = "; ".join(
        f"{name}: {np.mean(correlations):.4f} and {np.mean(kurtosis):.2f}"
        for name, (correlations, kurtosis) in entries.items()
    )
    tails = " and ".join(
        f"{way} tails than a normal law's at {', '.join(names)}"
        for way, names in (("heavier", heavy), ("lighter", light))
        if names
    )
    return Claim(
        place,
        said,
        verdict,
        f"Correlation of the QQ plot and excess kurtosis, means over runs: {numbers}. At least "
        f"{STRAIGHT:g} counts as a line"
        + (f"; beyond the error of the runs there are {tails}." if tails else "."),
    )


def claims(figure: int, own: Sequence[Answer], other: Sequence[Answer]) -> list[Claim]:
    """The statements of section VI about figures 2 and 3.

    Args:
        figure: number of the figure, 2 or 3.
        own: answers at its point, for each kind of problem.
        other: answers at the other figure's point.
    """
    drawn, rest = {}, {}
    for where, answers in ((figure, own), (5 - figure, other)):
        outer, inner = POINTS[where]
        for kind, answer in zip(KINDS, answers, strict=True):
            correlations, kurtosis = (np.asarray(answer[k]) for k in ("correlations", "kurtosis"))
            if where == figure:
                drawn[kind] = (correlations[:, 0].tolist(), kurtosis[:, 0].tolist())
            left = 1 if where == figure else 0
            least = left + int(correlations.mean(axis=0)[left:].argmin())
            rest[f"{kind}, t = {inner}, m = {outer}, entry {least + 1} (the least straight)"] = (
                correlations[:, least].tolist(),
                kurtosis[:, least].tolist(),
            )
    place = f"section VI, on figure {figure}"
    return [
        normal(place, "the entry is normally distributed, as section IV-B assumes", drawn),
        normal(place, "other entries and other iterations give the same", rest),
    ]


def _told(answers: Sequence[Answer], scale: Scale, figure: int) -> Reproduction:
    from scipy import stats

    own, other = answers[: len(KINDS)], answers[len(KINDS) :]
    by_kind = dict(zip(KINDS, own, strict=True))
    outer, inner = POINTS[figure]
    said = claims(figure, own, other)
    verdict, sentence = concluded(said, shortened=scale is not Scale.FULL)
    ratios = [ratio for answer in own for ratio in shortfall(answer)]
    variance = (
        "A law that looks normal is not enough: the claim also needs a variance, and what "
        f"theorem 1 takes for granted is {factor(min(ratios))} to {factor(max(ratios))} times the "
        "variance of the iterate sent in this round, over agents and both problems."
    )
    centres = (BINS[1:] + BINS[:-1]) / 2
    ends = np.linspace(-4.0, 4.0, 81)
    quantiles = stats.norm.ppf(own[0]["probabilities"])
    return Reproduction(
        verdict,
        f"{sentence} {variance}",
        claims=said,
        published=[
            Panel(
                f"Figure {figure}, histogram: t = {inner}, m = {outer}",
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
                f"The first entry at agent 2: {DRAWS[scale]:,} estimates at one point of each of "
                f"{RUNS[scale]} runs, standardised in each. The paper does not say which problem "
                "it has.",
                log="",
            ),
            Panel(
                f"Figure {figure}, QQ plot: t = {inner}, m = {outer}",
                "quantile of the normal law",
                "quantile of the entry",
                [
                    *(
                        Curve(k, quantiles.tolist(), a["quantiles"], shape="points")
                        for k, a in by_kind.items()
                    ),
                    Curve("normal law", [-2.4, 2.4], [-2.4, 2.4], reference=True),
                ],
                "The same, from the 1st to the 99th percentile.",
                log="",
            ),
        ],
        comparison=[
            compared(
                f"ours: variance of the iterate, claimed over measured, {kind}, agent {agent + 1}",
                None,
                ratio,
            )
            for kind, answer in by_kind.items()
            for agent, ratio in enumerate(shortfall(answer))
        ],
        parameters={
            "where": f"agent 2, inner step t = {inner} of round m = {outer}, at the points that "
            "runs reach",
            "left out: epsilon, and so J": f"{SMALL[0]:g} for one iteration at delta {SMALL[1]:g}; "
            "J from eq (22): " + ", ".join(f"{a['directions']} ({k})" for k, a in by_kind.items()),
            "as in figures 4 to 7": f"rho = {PENALTY:g}, T = {INNER_STEPS}, u1 = 1, alpha0 = "
            f"{ALPHA0:g}, cold start, sum of losses, eta = 1",
            "iterates for the variance": f"{DRAWS[scale] // ITERATES:,} from the same state, in "
            "each run",
        },
        notes=[
            variance,
            "There is no certified half: the certified D-ZOA does not rest on a law of its "
            "gradients.",
        ],
        shortened=""
        if scale is Scale.FULL
        else f"{RUNS[scale]} runs with {DRAWS[scale]:,} estimates each instead of "
        f"{RUNS[Scale.FULL]} with {DRAWS[Scale.FULL]:,}",
    )


def _at(outer: int, inner: int, scale: Scale) -> list[Piece]:
    arguments = {
        "epsilon": SMALL[0],
        "delta": SMALL[1],
        "data": TYPICAL,
        "agent": AGENT,
        "outer": outer,
        "inner": inner,
        "seed": 0,
        "runs": RUNS[scale],
        "draws": DRAWS[scale],
    }
    seconds = 8.0 + 0.0013 * DRAWS[scale] * RUNS[scale]
    return [Piece(gradient_entries, {"kind": kind, **arguments}, seconds) for kind in KINDS]


def _target(figure: int) -> Target:
    outer, inner = POINTS[figure]

    def pieces(scale: Scale) -> Sequence[Piece]:
        return [*_at(outer, inner, scale), *_at(*POINTS[5 - figure], scale)]

    return Target(
        f"gratton2021/fig{figure}",
        f"histogram and QQ plot of the gradient's entries at agent 2, t = {inner}, m = {outer}",
        pieces,
        lambda answers, scale: _told(answers, scale, figure),
    )


FIG2, FIG3 = _target(2), _target(3)
