"""Curves and panels of methods at claims of privacy (Gratton et al., 2020, 2021), from answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.method import PaperClaim
from tacit.papers.gratton2021.plan import (
    CERTIFIED_ROUNDS,
    LARGE,
    LITTLE_NOISE,
    OURS,
    PROVED,
    SMALL,
    TOTALS,
    Answers,
    Claim,
    Compared,
    baselines,
    drawn_claims,
    records,
    totals,
    trade_offs,
)
from tacit.papers.gratton2021.setting import AGENTS, ROUNDS
from tacit.report.reproduction import Curve, Panel

ERROR = "normalised error"

ZERO = "answering 0"


def finals(answers: Sequence[Any]) -> list[float]:
    """The error of every run."""
    return [error for answer in answers for error in answer["final"]]


DIVERGED = 1e3
"""Largest error drawn; the error of answering 0 is the number of agents."""


def mean(answers: Sequence[Any]) -> float:
    """Mean error over all runs, infinite if one diverged, NaN if there was none."""
    found = finals(answers)
    return (
        float(np.mean(np.nan_to_num(found, nan=np.inf, posinf=np.inf))) if found else float("nan")
    )


def band(name: str, x: Sequence[float], runs: Sequence[Sequence[float]]) -> Curve:
    """The mean of runs with their 10th and 90th percentile, up to `DIVERGED`."""
    drawn = [np.minimum(np.nan_to_num(each, nan=np.inf, posinf=np.inf), DIVERGED) for each in runs]
    low, high = (
        [float(np.percentile(each, q)) if len(each) else float("nan") for each in drawn]
        for q in (10, 90)
    )
    middle = [float(np.mean(each)) if len(each) else float("nan") for each in drawn]
    return Curve(name, list(x), middle, low, high)


def rounds_curve(name: str, answers: Sequence[Any]) -> Curve:
    """Errors over rounds of all runs, without the start."""
    errors = np.concatenate([np.asarray(answer["errors"]) for answer in answers], axis=1)[1:]
    rounds = [float(number) for number in answers[0]["rounds"][1:]]
    return band(name, rounds, errors.tolist())


def _zero(x: Sequence[float]) -> Curve:
    return Curve(ZERO, [min(x), max(x)], [float(AGENTS)] * 2, reference=True)


def over_rounds(found: Compared, figure: str) -> list[Panel]:
    """Error over rounds at each drawn claim; the paper has both epsilons in one panel."""
    return [
        Panel(
            f"{figure}: epsilon {epsilon:g}, delta {delta:g}",
            "round",
            ERROR,
            [
                *(
                    rounds_curve(name, runs)
                    for name in found.methods
                    if (runs := found.of(name, (epsilon, delta)))
                ),
                _zero([1.0, float(ROUNDS)]),
            ],
            "Epsilon and delta as claimed for an iteration. Bands: 10th to 90th percentile of the "
            "runs.",
        )
        for epsilon, delta in drawn_claims(found.scale)
    ]


def by_noise(found: Answers, equal: float) -> Panel:
    """The baselines with decreasing noise, and D-ZOA at its claim and at its actual noise."""
    claims = [SMALL, LARGE, *LITTLE_NOISE]
    x = [epsilon for epsilon, _ in claims]
    curves = [
        band(n, x, [finals(found.of(n, claim)) for claim in claims]) for n in baselines(found.kind)
    ]
    error = mean(found.of(OURS, SMALL))
    return Panel(
        "Ours: the noise that is there",
        "epsilon that the noise of one iteration is worth",
        ERROR,
        [*curves, Curve("D-ZOA: claim, and its own noise", [SMALL[0], equal], [error] * 2)],
        f"D-ZOA stands twice: left where it claims to be, right where its own noise belongs by the "
        f"formula of the others (a model estimate, epsilon = {equal:.3g}).",
        log="xy",
    )


def trade_off_panels(found: Compared, figure: str, equation: str) -> list[Panel]:
    """Error over the total epsilon (a) and over delta (b), one panel per curve of a method.

    Args:
        found: runs to judge.
        figure: name of the figure.
        equation: equation of the total, in the paper.
    """
    panels: list[Panel] = []
    for fixed, claims in trade_offs(found.scale).items():
        over_epsilon = fixed.startswith("delta")
        x = [PaperClaim(*c).total(ROUNDS) if over_epsilon else c[1] for c in claims]
        panels.append(
            Panel(
                f"{figure} ({'a' if over_epsilon else 'b'}): {fixed}",
                f"total epsilon as claimed, {equation}" if over_epsilon else "delta as claimed",
                ERROR,
                [
                    *(
                        band(name, x, [finals(found.of(name, c)) for c in claims])
                        for name in found.methods
                    ),
                    _zero(x),
                ],
                f"Bands: 10th to 90th percentile of the runs. Errors above {DIVERGED:g} are drawn "
                "there.",
                log="xy",
            )
        )
    return panels


def proved_over_rounds(found: Answers, count: int, total: Claim) -> Panel:
    """Methods with a proof at one true total epsilon."""
    curves = [rounds_curve(n, [found.of_proved(n, count, total)]) for n in PROVED]
    return Panel(
        f"True total epsilon {total[0]:g}, N_k = {count}",
        "round",
        ERROR,
        [*curves, _zero([1.0, float(CERTIFIED_ROUNDS)])],
        f"Total epsilon {total[0]:g} at delta {total[1]:g}, one record replaced. Bands: 10th to "
        "90th percentile of the runs.",
    )


def proved_over_totals(found: Answers, count: int) -> Panel:
    """Methods with a proof over their true total epsilon."""
    ordered = sorted(totals(found.scale))
    x = [epsilon for epsilon, _ in ordered]
    curves = [
        band(n, x, [found.of_proved(n, count, total)["final"] for total in ordered]) for n in PROVED
    ]
    return Panel(
        f"Over true total epsilon, N_k = {count}",
        "total epsilon",
        ERROR,
        [*curves, _zero(x)],
        f"Proved, delta {TOTALS[0][1]:g}, one record replaced. Bands: 10th to 90th percentile.",
        log="xy",
    )


def certified_panels(found: Answers, *, rounds: bool) -> list[Panel]:
    """Panels over rounds at the paper's totals, or over totals, for every number of records."""
    counts = records(found.scale)
    if rounds:
        return [proved_over_rounds(found, count, total) for count in counts for total in TOTALS]
    return [proved_over_totals(found, count) for count in counts]
