"""The claims of Huang, Mitra, Vaidya (2015) about the accuracy of PDOP, compared with runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit.papers.target import Answer
from tacit.report.reproduction import Claim, Verdict

ORDER = 1.25
"""The part of the error that noise adds is at most of the order of `1/epsilon^2` if it nowhere
exceeds this multiple of the value that this law extrapolates from the largest epsilon."""

BOUNDED = 1.1
"""Least growth of the error over the last decade of epsilon that counts as unbounded growth."""


def order(epsilons: Sequence[float], fixed: Answer) -> Claim:
    """Whether the error is of the order of `1/epsilon^2` with the other parameters fixed.

    Args:
        epsilons: epsilons, increasing.
        fixed: "error" and "deviation", one per epsilon, and "silent", the error without noise.
    """
    extra = np.asarray(fixed["error"]) - fixed["silent"]
    scaled = extra * np.square(epsilons)
    slack = 3.0 * np.asarray(fixed["deviation"]) * np.square(epsilons)
    place, said = "section 4.4, after theorem 10; also 1 and 5", "the accuracy is of order 1/eps^2"
    if extra[-1] <= 3.0 * fixed["deviation"][-1]:
        return Claim(
            place, said, Verdict.UNDECIDED, "At the largest epsilon noise adds nothing that shows."
        )
    between = f"between epsilon {epsilons[-2]:g} and {epsilons[-1]:g}"
    grows = extra[-2] / extra[-1]
    numbers = (
        f"what noise adds grows {grows:.1f} times {between}, where 1/eps^2 grows "
        f"{(epsilons[-1] / epsilons[-2]) ** 2:.1f} times"
    )
    if np.any(scaled - slack > ORDER * scaled[-1]):
        worst = int(np.argmax(scaled))
        return Claim(
            place,
            said,
            Verdict.NOT_REPRODUCED,
            f"At epsilon {epsilons[worst]:g} noise adds {extra[worst]:.3g}, "
            f"{scaled[worst] / scaled[-1]:.2g} times what that order allows; {numbers}.",
        )
    return Claim(
        place,
        said,
        Verdict.REPRODUCED,
        f"With c, q and p fixed {numbers}, and less where the square holds it back. Without noise "
        f"{fixed['silent']:.3g} is left, which no epsilon lessens.",
    )


def boundless(epsilons: Sequence[float], fixed: Answer) -> Claim:
    """Whether the error becomes arbitrarily bad as epsilon falls.

    Args:
        epsilons: epsilons, increasing.
        fixed: runs, as for `order`.
    """
    small = float(fixed["error"][0])
    before = next(i for i, epsilon in enumerate(epsilons) if epsilon >= 10.0 * epsilons[0])
    grown = small / float(fixed["error"][before])
    verdict = Verdict.REPRODUCED if grown > BOUNDED else Verdict.NOT_REPRODUCED
    still = "still grows" if grown > BOUNDED else "stands still, as the square bounds it"
    return Claim(
        "section 4.4, after theorem 10",
        "as epsilon goes to 0, the accuracy becomes arbitrarily bad",
        verdict,
        f"From epsilon {epsilons[before]:g} to {epsilons[0]:g} the error goes from "
        f"{float(fixed['error'][before]):.3g} to {small:.3g}: it {still}. Theorem 10's bound does "
        "grow without end.",
    )


def theorem10(
    rows: Mapping[int, Mapping[str, Any]], drifts: Mapping[float, Mapping[str, float]]
) -> Claim:
    """Whether errors obey theorem 10: refuted by one more than three standard errors above."""
    loose = np.concatenate([np.divide(row["stated"], row["error"]) for row in rows.values()])
    over = [
        error - 3.0 * deviation > stated
        for row in rows.values()
        for error, deviation, stated in zip(
            row["error"], row["deviation"], row["stated"], strict=True
        )
    ]
    weight = max(drifts, key=lambda w: drifts[w]["error"] / drifts[w]["printed"])
    worst = drifts[weight]
    said = (
        f"On the rendezvous theorem 10 allows {loose.min():.3g} to {loose.max():.3g} times the "
        "error measured"
    )
    place, states = "section 4.4, theorem 10, eq (15)", "the accuracy is at most (15)"
    if worst["error"] > worst["printed"]:
        return Claim(
            place,
            states,
            Verdict.REFUTED,
            f"The mean of two people who give each other's messages a weight of {weight:g} ends at "
            f"a squared distance of {worst['error']:.3g}, where (15) says at most "
            f"{worst['printed']:.3g}: a factor of {worst['error'] / worst['printed']:.2g}. {said}.",
        )
    if any(over):
        return Claim(
            place,
            states,
            Verdict.REFUTED,
            f"{sum(over)} of {len(over)} errors on the rendezvous lie above (15) by more than "
            "three standard errors.",
        )
    return Claim(place, states, Verdict.REPRODUCED, f"No error exceeds (15). {said}.")
