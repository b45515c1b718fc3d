"""What Gratton et al. (2020) say of their figures in words, held against runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.report.reproduction import Claim as Said
from tacit.report.reproduction import Verdict
from tacit.reproduce.gratton2020.plan import BASELINE, DELTAS, DRAWN, Found, curves_of
from tacit.reproduce.gratton2021.claims import ahead, faster
from tacit.reproduce.gratton2021.curves import finals, mean
from tacit.reproduce.gratton2021.findings import LEARNT
from tacit.reproduce.gratton2021.plan import LITTLE_NOISE, SMALL, Claim
from tacit.reproduce.gratton2021.setting import AGENTS
from tacit.reproduce.target import Answer

Pairs = dict[str, tuple[list[float], list[float]]]
"""By a name of the case, the errors of a method's runs and of another's."""


def case_of(claim: Claim) -> str:
    """A claim of privacy in words."""
    return f"epsilon {claim[0]:g} and delta {claim[1]:g}"


def _against(found: Found, claims: Sequence[Claim]) -> Pairs:
    """D-ZOA's errors and the baseline's."""
    return {case_of(c): (finals(found.of_d_zoa(c)), finals([found.of_baseline(c)])) for c in claims}


def _larger(found: Found, *, delta: bool) -> Pairs:
    """Errors at the largest and at the smallest epsilon, or delta, along each curve."""
    pairs: Pairs = {}
    for name, claims in curves_of(found.scale).items():
        if name.startswith("epsilon") is not delta:
            continue
        low, high = claims[0], claims[-1]
        pairs[f"D-ZOA, {name}"] = finals(found.of_d_zoa(high)), finals(found.of_d_zoa(low))
        pairs[f"{BASELINE}, {name}"] = (
            finals([found.of_baseline(high)]),
            finals([found.of_baseline(low)]),
        )
    return pairs


def claims_of_fig2(found: Found) -> list[Said]:
    """What section VI says of figure 2, and the abstract of both."""
    place, drawn = "section VI, on figure 2", [(e, d) for d in DELTAS for e in DRAWN]
    more = ("at the larger", lambda case: "at the smaller")
    return [
        _converge(place, found, drawn),
        ahead(place, "accuracy improves with epsilon", _larger(found, delta=False), more),
        faster(
            place,
            BASELINE,
            {case_of(c): (found.of_baseline(c), _together(found.of_d_zoa(c))) for c in drawn},
            "D-ZOA",
        ),
        ahead(
            place,
            f"D-ZOA has higher accuracy than {BASELINE}",
            _against(found, drawn),
            ("D-ZOA", lambda case: BASELINE),
        ),
        _same_privacy(found),
    ]


def claims_of_fig3(found: Found) -> list[Said]:
    """What section VI says of figure 3."""
    place, along = "section VI, on figure 3", curves_of(found.scale)
    over = {
        what: [c for name, claims in along.items() if name.startswith(what) for c in claims]
        for what in ("delta", "epsilon")
    }
    more, names = ("at the larger", lambda case: "at the smaller"), ("D-ZOA", lambda case: BASELINE)
    return [
        ahead(place, "both gain accuracy with a larger epsilon", _larger(found, delta=False), more),
        ahead(place, "both gain accuracy with a larger delta", _larger(found, delta=True), more),
        ahead(
            f"{place} (a)",
            f"D-ZOA outperforms {BASELINE} in accuracy",
            _against(found, over["delta"]),
            names,
        ),
        ahead(
            f"{place} (b)",
            f"D-ZOA is superior to {BASELINE} at epsilon 0.15 and 0.95",
            _against(found, over["epsilon"]),
            names,
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


def _converge(place: str, found: Found, claims: Sequence[Claim]) -> Said:
    """Whether errors end far below that of answering 0."""
    level = LEARNT * AGENTS
    ends = {
        f"{name}, {case_of(claim)}": mean(answers)
        for claim in claims
        for name, answers in (
            ("D-ZOA", found.of_d_zoa(claim)),
            (BASELINE, [found.of_baseline(claim)]),
        )
    }
    far = [case for case, error in ends.items() if not error <= level]
    return Said(
        place,
        "both converge to the centralised solution",
        Verdict.NOT_REPRODUCED if far else Verdict.REPRODUCED,
        f"Errors end at {min(ends.values()):.2g} to {max(ends.values()):.2g}, where answering 0 "
        f"scores {AGENTS} and {level:g} counts as having converged"
        + (f"; above it: {'; '.join(far)}." if far else "."),
    )


def _same_privacy(found: Found) -> Said:
    """Whether the lead is one at the same privacy: an audit against what is claimed."""
    contradicted = found.audit > SMALL[0]
    said = (
        f"An audit of one iteration that claims {SMALL[0]:g} found epsilon at least "
        f"{found.audit:.2g}"
    )
    if contradicted:
        little = {claim: mean([found.of_baseline(claim)]) for claim in LITTLE_NOISE}
        best = min(little, key=lambda claim: little[claim])
        said += (
            f". {BASELINE} with noise for {best[0]:g} has an error of {little[best]:.2g}, D-ZOA "
            f"{mean(found.of_d_zoa(SMALL)):.2g}."
        )
    else:
        said += ", which does not contradict the claim."
    return Said(
        "abstract",
        "D-ZOA is ahead with the same privacy guarantee",
        Verdict.REFUTED if contradicted else Verdict.UNDECIDED,
        said,
    )
