"""Figures 2 and 3 of Gratton et al. (2020): the lasso by D-ZOA with J = 30 and by DP-ADMM.

The step of D-ZOA carries the noise. Figure 1 is a picture of the network.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.method import PaperClaim
from tacit.report.data import Row
from tacit.report.reproduction import Curve, Panel, Reproduction, compared, concluded
from tacit.reproduce.gratton2020.claims import case_of, claims_of_fig2, claims_of_fig3
from tacit.reproduce.gratton2020.plan import (
    AUDITS,
    BASELINE,
    DELTAS,
    DRAWN,
    KIND,
    RUNS,
    Found,
    certified_records,
    claimed,
    curves_of,
)
from tacit.reproduce.gratton2021.curves import ERROR, band, finals, mean, rounds_curve
from tacit.reproduce.gratton2021.plan import CERTIFIED_ROUNDS, TOTALS, Claim, totals
from tacit.reproduce.gratton2021.setting import AGENTS, EARLIER_DIRECTIONS, ROUNDS
from tacit.reproduce.target import Answer, Scale, Target


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
    for name, claims in curves_of(found.scale).items():
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
        f"True total epsilon {total[0]:g}, N_k = {certified_records(found.scale)}",
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
        f"Over true total epsilon, N_k = {certified_records(found.scale)}",
        "total epsilon",
        ERROR,
        [
            _curve("D-ZOA", x, [[each] for each in ours]),
            _curve(BASELINE, x, [[each] for each in theirs]),
        ],
        f"Proved, delta {TOTALS[0][1]:g}, one record replaced. Bands: 10th to 90th percentile.",
        log="xy",
    )


def _proved_note(found: Found) -> str:
    """Who is ahead where both totals are proved."""
    said = []
    for total in TOTALS:
        ours, theirs = (mean([answer]) for answer in found.proved(total))
        ahead = "D-ZOA" if ours < theirs else BASELINE
        said.append(
            f"At a true total of {total[0]:g} {ahead} is ahead (D-ZOA {ours:.2g}, {BASELINE} "
            f"{theirs:.2g}, N_k = {certified_records(found.scale)})."
        )
    return " ".join(said)


def _rows(found: Found) -> list[Row]:
    return [
        compared(f"{name}, claimed {case_of(claim)}", None, error)
        for claim in claimed(found.scale)
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
            f"{case_of(claim)}: {steps(claim)}" for claim in claimed(found.scale)
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
        f"certified methods; {len(claimed(scale))} claims instead of {len(claimed(Scale.FULL))}; "
        f"certified N_k = {certified_records(scale)} instead of {certified_records(Scale.FULL)} "
        f"and {len(totals(scale))} totals instead of {len(totals(Scale.FULL))}; 1 validation data "
        f"set instead of 2; an audit of {AUDITS[scale]} runs instead of {AUDITS[Scale.FULL]:,}",
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
