"""Figures 2 and 3 of Gratton et al. (2020): D-ZOA with J = 30, whose step carries the noise.

The baseline, the methods with a proof and their tuning are those of the journal's figures, so that
their answers are shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.method import PaperClaim
from tacit.report.data import Row
from tacit.report.reproduction import Curve, Panel, Reproduction, Verdict, compared
from tacit.reproduce.gratton2021.curves import ERROR, band, finals, mean, rounds_curve
from tacit.reproduce.gratton2021.findings import AHEAD, compared_with, verdict
from tacit.reproduce.gratton2021.noise_runs import audited
from tacit.reproduce.gratton2021.plan import (
    CERTIFIED_ROUNDS,
    LARGE,
    LITTLE_NOISE,
    SMALL,
    TOTALS,
    Claim,
    all_claims,
    epsilons,
    proved_piece,
    published_piece,
    records,
    totals,
)
from tacit.reproduce.gratton2021.runs import d_zoa
from tacit.reproduce.gratton2021.setting import AGENTS, EARLIER_DIRECTIONS, ROUNDS, Kind
from tacit.reproduce.target import Answer, Piece, Scale, Target

BASELINE = "DP-ADMM"

KIND: Kind = "ridge"

RUNS = {Scale.FAST: (2, 2), Scale.FULL: (10, 10)}
"""Data sets, and draws of the noise on each."""

AUDITS = {Scale.FAST: 300, Scale.FULL: 2000}
"""Runs of one iteration."""


def _claims(scale: Scale) -> list[Claim]:
    return [(epsilon, SMALL[1]) for epsilon in epsilons(scale)]


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
            published_piece(BASELINE, KIND, scale),
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
        known = [*all_claims(self.scale), *LITTLE_NOISE]
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


def _over_rounds(found: Found, claim: Claim) -> Panel:
    return Panel(
        f"Claimed epsilon {claim[0]:g} an iteration",
        "round",
        ERROR,
        [
            rounds_curve(f"D-ZOA, J = {EARLIER_DIRECTIONS}", found.of_d_zoa(claim)),
            rounds_curve(BASELINE, [found.of_baseline(claim)]),
        ],
        f"Answering 0 scores {AGENTS}. Bands: 10th to 90th percentile of the runs.",
    )


def _trade_off(found: Found) -> Panel:
    claims = _claims(found.scale)
    x = [PaperClaim(*claim).total(ROUNDS) for claim in claims]
    return Panel(
        f"Over epsilon, delta {SMALL[1]:g}",
        "total epsilon, as claimed",
        ERROR,
        [
            _curve(f"D-ZOA, J = {EARLIER_DIRECTIONS}", x, [found.of_d_zoa(c) for c in claims]),
            _curve(BASELINE, x, [[found.of_baseline(c)] for c in claims]),
        ],
        "Bands: 10th to 90th percentile of the runs.",
        log="xy",
    )


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


def _leads(found: Found) -> dict[Claim, float]:
    """How many times smaller than the baseline's D-ZOA's error is at each claim."""
    return {
        claim: mean([found.of_baseline(claim)]) / mean(found.of_d_zoa(claim))
        for claim in _claims(found.scale)
    }


def _sentence(found: Found, leads: dict[Claim, float], led: Verdict) -> str:
    low, high = (f(leads, key=lambda claim: leads[claim]) for f in (min, max))
    error = mean(found.of_d_zoa(SMALL))
    said = (
        f"D-ZOA's error is {compared_with(leads[low])} {BASELINE}'s at the claimed epsilon "
        f"{low[0]:g} and {compared_with(leads[high])} it at {high[0]:g}; at {SMALL[0]:g} it is "
        f"{error:.2g}. "
    )
    if led in (Verdict.NOT_REPRODUCED, Verdict.UNDECIDED):
        said += (
            f"An audit of one iteration that claims {SMALL[0]:g} found at least {found.audit:.2g}. "
        )
    elif found.audit > SMALL[0]:
        little = {claim: mean([found.of_baseline(claim)]) for claim in LITTLE_NOISE}
        best = min(little, key=lambda claim: little[claim])
        said += (
            f"But this is no equal privacy: an audit of one iteration that claims {SMALL[0]:g} "
            f"found epsilon at least {found.audit:.2g}. {BASELINE} with noise for {best[0]:g} has "
            f"an error of {little[best]:.2g}. "
        )
    else:
        said += (
            f"The audit found epsilon at least {found.audit:.2g}, which does not contradict the "
            "claim. "
        )
    for total in TOTALS:
        ours, theirs = (mean([answer]) for answer in found.proved(total))
        ahead = "D-ZOA" if ours < theirs else BASELINE
        said += (
            f"At a true total of {total[0]:g} {ahead} is ahead (D-ZOA {ours:.2g}, {BASELINE} "
            f"{theirs:.2g}, N_k = {_records(found.scale)}). "
        )
    return said.strip()


def _rows(found: Found) -> list[Row]:
    return [
        compared(f"{name}, claimed epsilon {claim[0]:g}", None, error)
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
            f"epsilon {claim[0]:g}: {steps(claim)}" for claim in _claims(found.scale)
        )
        + " (alpha0 from eq (22) of the journal version, solved for it)",
        "runs": f"{data} data sets, {trials} draws of the noise on each",
        BASELINE: "noise, tuning and its data sets as in gratton2021/fig6",
        "certified": f"mean loss, {CERTIFIED_ROUNDS} rounds, tuned like the baseline",
    }


def _told(answers: Sequence[Answer], scale: Scale, *, rounds: bool) -> Reproduction:
    found = Found(scale, answers)
    leads = _leads(found)
    drawn = [SMALL, LARGE] if rounds else []
    pairs = [(finals(found.of_d_zoa(c)), finals([found.of_baseline(c)])) for c in leads]
    judged: Verdict = verdict(pairs, found.audit, SMALL[0])
    return Reproduction(
        judged,
        _sentence(found, leads, judged),
        published=[_over_rounds(found, claim) for claim in drawn] or [_trade_off(found)],
        certified=[_proved_over_rounds(found, total) for total in TOTALS]
        if rounds
        else [_proved_trade_off(found)],
        comparison=_rows(found),
        parameters=_parameters(found),
        notes=[
            f"A lead counts from a factor of {AHEAD:g} at every claim.",
            "The step follows from ||b*||, which is private: the published setting leaks before it "
            "begins.",
            "The layout of the paper's figures was not at hand: these are its settings, drawn like "
            "figures 6 and 7 of the journal version.",
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
    f"ridge: error of D-ZOA with J = {EARLIER_DIRECTIONS} and DP-ADMM over rounds",
    Found.pieces,
    lambda answers, scale: _told(answers, scale, rounds=True),
)
FIG3 = Target(
    "gratton2020/fig3",
    f"ridge: error of D-ZOA with J = {EARLIER_DIRECTIONS} and DP-ADMM over total epsilon",
    Found.pieces,
    lambda answers, scale: _told(answers, scale, rounds=False),
)
