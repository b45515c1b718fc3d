"""Figures 4 to 7 of Gratton et al. (2021): D-ZOA against noised baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tacit.method import PaperClaim
from tacit.report.reproduction import Reproduction, compared
from tacit.reproduce.gratton2021.curves import (
    by_noise,
    certified_panels,
    over_rounds,
    trade_off,
)
from tacit.reproduce.gratton2021.details import notes, parameters, rows, shortened
from tacit.reproduce.gratton2021.findings import (
    audited_bound,
    certified_sentence,
    compared_with,
    equal_noise,
    exact_total,
    explained,
    factor,
    lead,
    runs_of,
    verdict,
)
from tacit.reproduce.gratton2021.plan import (
    LARGE,
    SMALL,
    Answers,
    Claim,
    all_claims,
    trade_offs,
)
from tacit.reproduce.gratton2021.setting import ROUNDS, Kind
from tacit.reproduce.target import Answer, Piece, Scale, Target


def over_rounds_told(found: Answers, claims: Sequence[Claim]) -> Reproduction:
    """Figures 4 and 6: error over rounds."""
    leads = [lead(found, claim) for claim in (SMALL, LARGE)]
    bound = audited_bound(found)
    drawn = "; ".join(
        f"{compared_with(each.ratio)} {each.best}'s at {claim[0]:g} ({each.ours:.2g} against "
        f"{each.theirs:.2g})"
        for claim, each in zip((SMALL, LARGE), leads, strict=True)
    )
    judged = verdict([runs_of(found, c) for c in (SMALL, LARGE)], bound, SMALL[0])
    return Reproduction(
        judged,
        f"At the claimed epsilon of one iteration D-ZOA's error is {drawn}. "
        f"{explained(found, judged)} "
        f"{certified_sentence(found)}",
        published=[
            over_rounds(found, SMALL),
            over_rounds(found, LARGE),
            by_noise(found, equal_noise(found)),
        ],
        certified=certified_panels(found, rounds=True),
        comparison=rows(found),
        parameters=parameters(found, claims),
        notes=notes(found, claims),
        shortened=shortened(found.scale, claims),
    )


def trade_offs_told(found: Answers, claims: Sequence[Claim]) -> Reproduction:
    """Figures 5 and 7: error over total epsilon and over delta."""
    allowed = [claim for claim in claims if found.of_d_zoa(claim)]
    leads = {claim: lead(found, claim) for claim in allowed}
    bound = audited_bound(found)
    low, high = (f(leads, key=lambda c: leads[c].ratio) for f in (min, max))
    exact = {claim: exact_total(claim) for claim in (SMALL, LARGE)}
    totals = "; ".join(
        f"{PaperClaim(*claim).total(ROUNDS):.2f} for {claim[0]:g}, where exact composition gives "
        f"{value:.2f}"
        for claim, value in exact.items()
    )
    least = min(min(answer["directions"]) for answer in found.of_d_zoa(low))
    few = f" (eq (22) leaves {least} direction{'s' * (least > 1)} to the agent with fewest)"
    where = [f"epsilon {claim[0]:g} and delta {claim[1]:g}" for claim in (low, high)]
    drawn = (
        f"At all {len(leads)} claims D-ZOA's error is below the best baseline's, "
        f"{factor(leads[low].ratio)} times at {where[0]} to {factor(leads[high].ratio)} times at "
        f"{where[1]}."
        if leads[low].ratio > 1
        else f"At {where[0]} D-ZOA's error is {leads[low].ours:.2g}, not below the best baseline's "
        f"{leads[low].theirs:.2g}{few}."
    )
    judged = verdict([runs_of(found, claim) for claim in leads], bound, SMALL[0])
    return Reproduction(
        judged,
        f"{drawn} {explained(found, judged)} The axis is off as well: eq (25) says {totals}. "
        f"{certified_sentence(found)}",
        published=[trade_off(found, name) for name in trade_offs(found.scale)],
        certified=certified_panels(found, rounds=False),
        comparison=[
            compared(
                f"total of {ROUNDS} rounds at {claim[0]:g}, exact, over eq (25)",
                PaperClaim(*claim).total(ROUNDS),
                value,
            )
            for claim, value in exact.items()
        ],
        parameters=parameters(found, claims),
        notes=notes(found, claims),
        shortened=shortened(found.scale, claims),
    )


def _target(
    figure: int,
    kind: Kind,
    title: str,
    claims: Callable[[Scale], list[Claim]],
    told: Callable[[Answers, Sequence[Claim]], Reproduction],
) -> Target:
    def pieces(scale: Scale) -> Sequence[Piece]:
        return Answers.pieces(kind, scale, claims(scale))

    def read(answers: Sequence[Answer], scale: Scale) -> Reproduction:
        return told(Answers(kind, scale, claims(scale), answers), claims(scale))

    return Target(f"gratton2021/fig{figure}", title, pieces, read)


def _two(scale: Scale) -> list[Claim]:
    return [SMALL, LARGE]


FIG4 = _target(
    4, "lasso", "lasso: error of D-ZOA, DP-ADMM and DPSG over rounds", _two, over_rounds_told
)
FIG5 = _target(
    5, "lasso", "lasso: error over total epsilon and over delta", all_claims, trade_offs_told
)
FIG6 = _target(
    6,
    "ridge",
    "ridge: error of D-ZOA, DP-ADMM, DPSG, PVP and DVP over rounds",
    _two,
    over_rounds_told,
)
FIG7 = _target(
    7, "ridge", "ridge: error over total epsilon and over delta", all_claims, trade_offs_told
)
