"""Figures 2 and 3 of Gratton et al. (2020): the lasso by D-ZOA with J = 30 and by DP-ADMM.

The step of D-ZOA carries the noise. Figure 1 is a picture of the network. The baseline, the methods
with a proof and their tuning are those of the journal's figures, so that answers are shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.method import PaperClaim
from tacit.report.data import Row
from tacit.report.reproduction import (
    Claim as Said,
)
from tacit.report.reproduction import (
    Curve,
    Panel,
    Reproduction,
    Verdict,
    compared,
    concluded,
)
from tacit.reproduce.gratton2021.claims import ahead, faster
from tacit.reproduce.gratton2021.curves import ERROR, band, finals, mean, rounds_curve
from tacit.reproduce.gratton2021.findings import LEARNT
from tacit.reproduce.gratton2021.noise_runs import audited
from tacit.reproduce.gratton2021.plan import (
    CERTIFIED_ROUNDS,
    LARGE,
    LITTLE_NOISE,
    SMALL,
    TOTALS,
    Claim,
    all_claims,
    proved_piece,
    published_piece,
    records,
    totals,
    validation,
)
from tacit.reproduce.gratton2021.runs import d_zoa, published
from tacit.reproduce.gratton2021.setting import AGENTS, EARLIER_DIRECTIONS, ROUNDS, Kind
from tacit.reproduce.target import Answer, Piece, Scale, Target

BASELINE = "DP-ADMM"

KIND: Kind = "lasso"

DRAWN = (SMALL[0], LARGE[0])
"""Claimed epsilons over rounds, and over delta: printed for figure 3 (b), not for figure 2."""

DELTAS = (1e-3, 1e-6)
"""Of the panels of figure 2, and of the curves of figure 3 (a)."""

RUNS = {Scale.FAST: (2, 2), Scale.FULL: (10, 10)}
"""Data sets, and draws of the noise on each."""

AUDITS = {Scale.FAST: 300, Scale.FULL: 2000}
"""Runs of one iteration."""


def _claims(scale: Scale) -> list[Claim]:
    """Of one iteration: all that the figures need."""
    if scale is Scale.FULL:
        return all_claims(scale)
    return [(epsilon, delta) for epsilon in DRAWN for delta in DELTAS]


def _along(scale: Scale) -> dict[str, list[Claim]]:
    """The claims of each curve of figure 3, by its name: two over epsilon, two over delta."""
    claims = _claims(scale)
    fixed_delta = {f"delta {d:g}": sorted(c for c in claims if c[1] == d) for d in DELTAS}
    fixed = {
        f"epsilon {e:g}": sorted((c for c in claims if c[0] == e), key=lambda c: c[1])
        for e in DRAWN
    }
    return fixed_delta | fixed


def _baseline_piece(scale: Scale) -> Piece:
    """The baseline at all claims; in full that of the journal's figures has them all."""
    shared = published_piece(BASELINE, KIND, scale)
    if scale is Scale.FULL:
        return shared
    asked = [list(claim) for claim in (*_claims(scale), *LITTLE_NOISE)]
    seconds = 8.0 + len(asked) * 0.1 * (12 * len(validation(scale)) + 2)
    return Piece(published, {**shared.arguments, "claims": asked}, seconds)


@dataclass(frozen=True)
class Found:
    """The answers, found again by what they are about.

    Attributes:
        scale: of the run.
        answers: in the order of `pieces`.
    """

    scale: Scale
    answers: Sequence[Answer]

    @staticmethod
    def pieces(scale: Scale) -> list[Piece]:
        """D-ZOA at every claim and data set, the baseline, both with a proof, and an audit."""
        data, trials = RUNS[scale]
        said = {"kind": KIND, "seed": 0, "version": "2020"}
        each = {"trials": trials, "rounds": ROUNDS}
        return [
            *(
                Piece(
                    d_zoa,
                    {"epsilon": epsilon, "delta": delta, "data": number, **said, **each},
                    9.0 + 3.5 * trials,
                )
                for epsilon, delta in _claims(scale)
                for number in range(data)
            ),
            _baseline_piece(scale),
            *(proved_piece(name, KIND, _records(scale), scale) for name in ("D-ZOA", BASELINE)),
            Piece(
                audited,
                {
                    "epsilon": SMALL[0],
                    "delta": SMALL[1],
                    "data": 0,
                    "owner": 0,
                    "trials": AUDITS[scale],
                    **said,
                },
                18.0 + 0.006 * AUDITS[scale],
            ),
        ]

    def of_d_zoa(self, claim: Claim) -> list[Answer]:
        """Of all data sets."""
        count = RUNS[self.scale][0]
        first = count * _claims(self.scale).index(claim)
        return list(self.answers[first : first + count])

    def of_baseline(self, claim: Claim) -> Answer:
        """At the same claim."""
        known = [*_claims(self.scale), *LITTLE_NOISE]
        return self.answers[-4]["claims"][known.index(claim)]

    def proved(self, total: Claim) -> tuple[Answer, Answer]:
        """D-ZOA and the baseline at a true total."""
        at = list(totals(self.scale)).index(total)
        return self.answers[-3]["claims"][at], self.answers[-2]["claims"][at]

    @property
    def audit(self) -> float:
        """A lower bound on epsilon of one iteration."""
        return self.answers[-1]["epsilon"]


def _records(scale: Scale) -> int:
    """`N_k` of the certified comparison: the largest that is tried."""
    return records(scale)[-1]


def _curve(name: str, x: Sequence[float], answers: Sequence[Sequence[Answer]]) -> Curve:
    return band(name, x, [finals(each) for each in answers])


def _over_rounds(found: Found, delta: float) -> Panel:
    curves = [
        rounds_curve(f"{name}, epsilon {epsilon:g}", answers)
        for epsilon in DRAWN
        for name, answers in (
            ("D-ZOA", found.of_d_zoa((epsilon, delta))),
            (BASELINE, [found.of_baseline((epsilon, delta))]),
        )
    ]
    return Panel(
        f"Figure 2 ({'ab'[DELTAS.index(delta)]}): delta {delta:g}",
        "round",
        ERROR,
        curves,
        f"Epsilon and delta as claimed for an iteration; answering 0 scores {AGENTS}. Bands: 10th "
        "to 90th percentile of the runs.",
    )


def _trade_offs(found: Found) -> list[Panel]:
    """Over the total epsilon of (29), and over delta."""

    def curves(name: str, claims: Sequence[Claim], x: Sequence[float]) -> list[Curve]:
        return [
            _curve(f"D-ZOA, {name}", x, [found.of_d_zoa(c) for c in claims]),
            _curve(f"{BASELINE}, {name}", x, [[found.of_baseline(c)] for c in claims]),
        ]

    over_epsilon, over_delta = [], []
    for name, claims in _along(found.scale).items():
        if name.startswith("delta"):
            x = [PaperClaim(*claim).total(ROUNDS) for claim in claims]
            over_epsilon += curves(name, claims, x)
        else:
            over_delta += curves(name, claims, [delta for _, delta in claims])
    bands = "Bands: 10th to 90th percentile of the runs."
    return [
        Panel(
            "Figure 3 (a): over epsilon",
            "total epsilon as claimed, (29)",
            ERROR,
            over_epsilon,
            bands,
            "xy",
        ),
        Panel("Figure 3 (b): over delta", "delta as claimed", ERROR, over_delta, bands, "xy"),
    ]


def _proved_over_rounds(found: Found, total: Claim) -> Panel:
    ours, theirs = found.proved(total)
    return Panel(
        f"True total epsilon {total[0]:g}, N_k = {_records(found.scale)}",
        "round",
        ERROR,
        [rounds_curve("D-ZOA", [ours]), rounds_curve(BASELINE, [theirs])],
        f"Delta {total[1]:g}, one record replaced. Bands: 10th to 90th percentile of the runs.",
    )


def _proved_trade_off(found: Found) -> Panel:
    ordered = sorted(totals(found.scale))
    ours, theirs = zip(*(found.proved(total) for total in ordered), strict=True)
    x = [epsilon for epsilon, _ in ordered]
    return Panel(
        f"Over true total epsilon, N_k = {_records(found.scale)}",
        "total epsilon",
        ERROR,
        [
            _curve("D-ZOA", x, [[each] for each in ours]),
            _curve(BASELINE, x, [[each] for each in theirs]),
        ],
        f"Proved, delta {TOTALS[0][1]:g}, one record replaced. Bands: 10th to 90th percentile.",
        log="xy",
    )


Pairs = dict[str, tuple[list[float], list[float]]]
"""By a name of the case, the errors of a method's runs and of another's."""


def _case(claim: Claim) -> str:
    return f"epsilon {claim[0]:g} and delta {claim[1]:g}"


def _against(found: Found, claims: Sequence[Claim]) -> Pairs:
    """D-ZOA's errors and the baseline's."""
    return {_case(c): (finals(found.of_d_zoa(c)), finals([found.of_baseline(c)])) for c in claims}


def _larger(found: Found, *, delta: bool) -> Pairs:
    """Errors at the largest and at the smallest epsilon, or delta, along each curve."""
    pairs: Pairs = {}
    for name, claims in _along(found.scale).items():
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
            {_case(c): (found.of_baseline(c), _together(found.of_d_zoa(c))) for c in drawn},
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
    place, along = "section VI, on figure 3", _along(found.scale)
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
        f"{name}, {_case(claim)}": mean(answers)
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
        Verdict.REFUTED if contradicted else Verdict.REPRODUCED,
        said,
    )


def _proved_note(found: Found) -> str:
    """Who is ahead where both totals are proved."""
    said = []
    for total in TOTALS:
        ours, theirs = (mean([answer]) for answer in found.proved(total))
        ahead = "D-ZOA" if ours < theirs else BASELINE
        said.append(
            f"At a true total of {total[0]:g} {ahead} is ahead (D-ZOA {ours:.2g}, {BASELINE} "
            f"{theirs:.2g}, N_k = {_records(found.scale)})."
        )
    return " ".join(said)


def _rows(found: Found) -> list[Row]:
    return [
        compared(f"{name}, claimed {_case(claim)}", None, error)
        for claim in _claims(found.scale)
        for name, error in (
            ("D-ZOA", mean(found.of_d_zoa(claim))),
            (BASELINE, mean([found.of_baseline(claim)])),
        )
    ]


def _parameters(found: Found) -> dict[str, str]:
    def steps(claim: Claim) -> str:
        own = found.of_d_zoa(claim)[0]["step"]
        return f"{min(own):.3g} to {max(own):.3g}"

    data, trials = RUNS[found.scale]
    return {
        "problem": f"{KIND}, sum of losses, eta = 1; data, network, rho, rounds and T as in "
        "gratton2021",
        "J": f"{EARLIER_DIRECTIONS} for every agent",
        "neighbourhoods": "closed: an agent is one of its own neighbours",
        "first step, over agents": "; ".join(
            f"{_case(claim)}: {steps(claim)}" for claim in _claims(found.scale)
        )
        + " (alpha0 from eq (22) of the journal version, solved for it)",
        "runs": f"{data} data sets, {trials} draws of the noise on each",
        BASELINE: "noise, tuning and its data sets as in gratton2021/fig4",
        "epsilons of figure 2": f"{DRAWN[0]:g} and {DRAWN[1]:g} (ours: those printed for 3 (b))",
        "certified": f"mean loss, {CERTIFIED_ROUNDS} rounds, tuned like the baseline",
    }


def _told(answers: Sequence[Answer], scale: Scale, *, rounds: bool) -> Reproduction:
    found = Found(scale, answers)
    claims = claims_of_fig2(found) if rounds else claims_of_fig3(found)
    judged, sentence = concluded(claims)
    proved = _proved_note(found)
    return Reproduction(
        judged,
        f"{sentence} {proved}",
        claims=claims,
        published=[_over_rounds(found, d) for d in DELTAS] if rounds else _trade_offs(found),
        certified=[_proved_over_rounds(found, total) for total in TOTALS]
        if rounds
        else [_proved_trade_off(found)],
        comparison=_rows(found),
        parameters=_parameters(found),
        notes=[
            proved,
            "The step follows from ||b*||, which is private: the published setting leaks before it "
            "begins.",
            "Figure 1 of the paper is a picture of the network, which is that of gratton2021.",
        ],
        shortened=""
        if scale is Scale.FULL
        else f"{int(np.prod(RUNS[scale]))} runs instead of 100, of the baseline, too, and 8 of the "
        f"certified methods; {len(_claims(scale))} claims instead of {len(_claims(Scale.FULL))}; "
        f"certified N_k = {_records(scale)} instead of {_records(Scale.FULL)} and "
        f"{len(totals(scale))} totals instead of {len(totals(Scale.FULL))}; 1 validation data set "
        f"instead of 2; an audit of {AUDITS[scale]} runs instead of {AUDITS[Scale.FULL]:,}",
    )


FIG2 = Target(
    "gratton2020/fig2",
    f"lasso: error of D-ZOA with J = {EARLIER_DIRECTIONS} and DP-ADMM over rounds",
    Found.pieces,
    lambda answers, scale: _told(answers, scale, rounds=True),
)
FIG3 = Target(
    "gratton2020/fig3",
    f"lasso: error of D-ZOA with J = {EARLIER_DIRECTIONS} and DP-ADMM over epsilon and delta",
    Found.pieces,
    lambda answers, scale: _told(answers, scale, rounds=False),
)
