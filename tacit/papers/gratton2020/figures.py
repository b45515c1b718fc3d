"""Figures 2 and 3 of Gratton et al. (2020): the lasso by D-ZOA with J = 30 and by DP-ADMM.

The step of D-ZOA carries the noise. Figure 1 is a picture of the network.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.papers.gratton2020.claims import claims_of_fig2, claims_of_fig3
from tacit.papers.gratton2020.plan import AUDITS, BASELINE, KIND, RUNS, Found, certified_records
from tacit.papers.gratton2021.curves import (
    ERROR,
    band,
    finals,
    mean,
    over_rounds,
    rounds_curve,
    trade_off_panels,
)
from tacit.papers.gratton2021.details import rows
from tacit.papers.gratton2021.leads import case_of
from tacit.papers.gratton2021.plan import (
    BASELINE_RUNS,
    CERTIFIED_ROUNDS,
    DRAWN,
    OURS,
    TOTALS,
    Claim,
    all_claims,
    data_sets,
    totals,
)
from tacit.papers.gratton2021.setting import EARLIER_DIRECTIONS
from tacit.papers.target import Answer, Scale, Target
from tacit.report.reproduction import Panel, Reproduction, concluded


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
            band("D-ZOA", x, [finals([each]) for each in ours]),
            band(BASELINE, x, [finals([each]) for each in theirs]),
        ],
        f"Proved, delta {TOTALS[0][1]:g}, one record replaced. Bands: 10th to 90th percentile.",
        log="xy",
    )


def _proved_note(found: Found) -> str:
    """Which method is ahead where both totals are proved."""
    said = []
    for total in TOTALS:
        ours, theirs = (mean([answer]) for answer in found.proved(total))
        ahead = "D-ZOA" if ours < theirs else BASELINE
        said.append(
            f"At a true total of {total[0]:g} {ahead} is ahead (D-ZOA {ours:.2g}, {BASELINE} "
            f"{theirs:.2g}, N_k = {certified_records(found.scale)})."
        )
    return " ".join(said)


def _parameters(found: Found) -> dict[str, str]:
    def steps(claim: Claim) -> str:
        own = found.of(OURS, claim)[0]["step"]
        return f"{min(own):.3g} to {max(own):.3g}"

    return {
        "problem": f"{KIND}, sum of losses, eta = 1; data, network, rho, rounds and T as in "
        "gratton2021",
        "J": f"{EARLIER_DIRECTIONS} for every agent",
        "neighbourhoods": "closed: an agent is one of its own neighbours",
        "first step, over agents": "; ".join(
            f"{case_of(claim)}: {steps(claim)}" for claim in all_claims(found.scale)
        )
        + " (alpha0 from eq (22) of the journal version, solved for it)",
        "runs": f"{RUNS[found.scale]} draws of the noise on each of "
        f"{len(data_sets(found.scale))} data sets",
        BASELINE: "noise, tuning and its data sets as in gratton2021/fig4",
        "epsilons of figure 2": f"{DRAWN[0]:g} and {DRAWN[1]:g} (ours: those printed for 3 (b))",
        "certified": f"mean loss, {CERTIFIED_ROUNDS} rounds, tuned like the baseline",
    }


def _told(answers: Sequence[Answer], scale: Scale, *, rounds: bool) -> Reproduction:
    found = Found(scale, answers)
    claims = claims_of_fig2(found) if rounds else claims_of_fig3(found)
    judged, sentence = concluded(claims, shortened=scale is not Scale.FULL)
    proved = _proved_note(found)
    return Reproduction(
        judged,
        f"{sentence} {proved}",
        claims=claims,
        published=over_rounds(found, "Figure 2")
        if rounds
        else trade_off_panels(found, "Figure 3", "(29)"),
        certified=[_proved_over_rounds(found, total) for total in TOTALS]
        if rounds
        else [_proved_trade_off(found)],
        comparison=rows(found, all_claims(scale)),
        parameters=_parameters(found),
        notes=[
            proved,
            "The step follows from ||b*||, which is private: the published setting leaks before it "
            "begins.",
            "Figure 1 of the paper is a picture of the network, which is that of gratton2021.",
        ],
        shortened=""
        if scale is Scale.FULL
        else f"{RUNS[scale]} runs instead of 100, {BASELINE_RUNS[scale]} of the baseline, all on "
        "one data set instead of 10, and 8 of the certified methods; "
        f"{len(all_claims(scale))} claims instead of {len(all_claims(Scale.FULL))}; "
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
