"""The statements of Gratton et al. (2020) about their figures, compared with runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.papers.gratton2020.plan import BASELINE, Found
from tacit.papers.gratton2021.claims import faster
from tacit.papers.gratton2021.curves import finals, mean
from tacit.papers.gratton2021.leads import along, case_of, converge, gain, lead, same_privacy
from tacit.papers.gratton2021.plan import LITTLE_NOISE, OURS, SMALL, drawn_claims
from tacit.papers.target import Answer
from tacit.report.reproduction import Claim as Said


def claims_of_fig2(found: Found) -> list[Said]:
    """The statements of section VI about figure 2, and of the abstract about both figures."""
    place, drawn = "section VI, on figure 2", drawn_claims(found.scale)
    said = "both converge to the centralised solution"
    return [
        converge(place, said, found, drawn, to_optimum=True),
        gain(place, "accuracy improves with epsilon", found, "delta"),
        faster(
            place,
            BASELINE,
            {case_of(c): (found.of(BASELINE, c)[0], _together(found.of(OURS, c))) for c in drawn},
            OURS,
        ),
        lead(place, f"D-ZOA has higher accuracy than {BASELINE}", found, drawn),
        _same_privacy(found),
    ]


def claims_of_fig3(found: Found) -> list[Said]:
    """The statements of section VI about figure 3."""
    place = "section VI, on figure 3"
    return [
        gain(place, "both gain accuracy with a larger epsilon", found, "delta"),
        gain(place, "both gain accuracy with a larger delta", found, "epsilon"),
        lead(
            f"{place} (a)",
            f"D-ZOA outperforms {BASELINE} in accuracy",
            found,
            along(found, "delta"),
        ),
        lead(
            f"{place} (b)",
            f"D-ZOA is superior to {BASELINE} at epsilon 0.15 and 0.95",
            found,
            along(found, "epsilon"),
        ),
        _same_privacy(found),
    ]


def _together(answers: Sequence[Answer]) -> Answer:
    """The runs of several data sets as one answer."""
    return {
        "rounds": answers[0]["rounds"],
        "errors": np.concatenate([each["errors"] for each in answers], axis=1).tolist(),
        "final": finals(answers),
    }


def _same_privacy(found: Found) -> Said:
    """Whether the lead is at equal privacy."""
    little = {claim: mean(found.of(BASELINE, claim)) for claim in LITTLE_NOISE}
    best = min(little, key=lambda claim: little[claim])
    return same_privacy(
        "abstract",
        "D-ZOA is ahead with the same privacy guarantee",
        found.audit,
        SMALL[0],
        f"{BASELINE} with noise for {best[0]:g} has an error of {little[best]:.2g}, D-ZOA "
        f"{mean(found.of(OURS, SMALL)):.2g}.",
    )
