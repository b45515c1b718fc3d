"""The runs for figure 2 of Nozari, Tallapragada, Cortes (2016), and how they are gathered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.papers.nozari2016.certified import quadratic
from tacit.papers.nozari2016.runs import perturbed, replaced
from tacit.papers.target import Answer, Piece, Scale

EPSILONS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
DEGREES: Sequence[int] = (2, 4, 6, 14)
"""The paper has 15, 28 and 120 coefficients, which are degrees 4, 6 and 14."""

RUNS = 20
FAST_RUNS = {2: 4, 4: 8, 6: 4, 14: 4}
FAST_FROM = {2: 0.01, 4: 0.01, 6: 0.1, 14: 10.0}
"""Smallest epsilon of a fast run; projections take longest where noise is large."""

FAST_DRAWS = 4
"""Draws of the records, for the certified quadratics."""

BLOCK = {2: 4, 4: 4, 6: 4, 14: 1}
"""Runs per piece."""

SECONDS = {
    2: (0.3, 0.2, 0.2, 0.2, 0.2, 0.2),
    4: (1.3, 0.9, 0.5, 0.5, 0.5, 0.5),
    6: (4.5, 2.5, 1.4, 1.3, 1.2, 1.2),
    14: (55.0, 35.0, 13.0, 6.5, 3.5, 3.0),
}
"""Seconds of a run, by `EPSILONS`."""

TOLERANCE = 1e-4
"""Violation that projections leave, as a share of beta and u."""

CERTIFIED = (0.5, 5.0, 50.0, 500.0, 5000.0, 50000.0)
"""Epsilons per record."""


@dataclass(frozen=True)
class Found:
    """Distances from the minimiser at one degree and epsilon."""

    degree: int
    epsilon: float
    distances: Sequence[float]

    @property
    def mean(self) -> float:
        """Mean over the runs."""
        return float(np.mean(self.distances))

    @property
    def deviation(self) -> float:
        """Standard error of the mean; infinite for one run."""
        count = len(self.distances)
        return float(np.std(self.distances, ddof=1)) / count**0.5 if count > 1 else float("inf")


def planned(scale: Scale) -> list[tuple[int, float, int]]:
    """Degree, epsilon and first seed of every piece."""
    full = scale is Scale.FULL
    return [
        (degree, epsilon, first)
        for degree in DEGREES
        for epsilon in EPSILONS
        if full or epsilon >= FAST_FROM[degree]
        for first in range(0, RUNS if full else FAST_RUNS[degree], BLOCK[degree])
    ]


def pieces(scale: Scale) -> list[Piece]:
    """Perturbed minimisers as planned, the cost of a record at each degree, and quadratics."""
    draws = FAST_DRAWS if scale is Scale.FAST else RUNS
    return [
        *(
            Piece(
                perturbed,
                {
                    "degree": degree,
                    "epsilon": epsilon,
                    "first": first,
                    "runs": BLOCK[degree],
                    "tolerance": TOLERANCE,
                },
                0.5 + BLOCK[degree] * SECONDS[degree][EPSILONS.index(epsilon)],
            )
            for degree, epsilon, first in planned(scale)
        ),
        *(
            Piece(replaced, {"degree": degree, "tolerance": 0.05}, 1.0 + 0.1 * degree)
            for degree in DEGREES
        ),
        Piece(quadratic, {"epsilons": CERTIFIED, "runs": draws, "trials": 5}, 8.0 + 0.5 * draws),
    ]


def gathered(plan: Sequence[tuple[int, float, int]], answers: Sequence[Answer]) -> list[Found]:
    """The runs of every degree and epsilon, of all pieces together."""
    together: dict[tuple[int, float], list[float]] = {}
    for (degree, epsilon, _), answer in zip(plan, answers, strict=True):
        together.setdefault((degree, epsilon), []).extend(answer["distance"])
    return [Found(degree, epsilon, each) for (degree, epsilon), each in together.items()]
