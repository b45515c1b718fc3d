"""Figures 4 to 7 of Gratton et al. (2021): D-ZOA against noisy baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tacit.papers.gratton2021.curves import (
    by_noise,
    certified_panels,
    over_rounds,
    trade_off_panels,
)
from tacit.papers.gratton2021.details import axis_rows, notes, parameters, rows, shortened
from tacit.papers.gratton2021.findings import (
    audited_bound,
    certified_sentence,
    equal_noise,
    explained,
)
from tacit.papers.gratton2021.leads import along, converge, gain, lead, same_privacy, two_orders
from tacit.papers.gratton2021.plan import SMALL, Answers, Claim, all_claims, drawn_claims
from tacit.papers.gratton2021.setting import Kind
from tacit.papers.target import Answer, Piece, Scale, Target
from tacit.report.reproduction import Claim as Said
from tacit.report.reproduction import Reproduction, concluded

Judged = Callable[[Answers], list[Said]]


def _on(figure: int) -> str:
    return f"section VI, on figure {figure}"


def claims_of_fig4(found: Answers) -> list[Said]:
    """The statements of section VI about figure 4."""
    drawn = drawn_claims(found.scale)
    return [
        converge(_on(4), "all algorithms converge", found, drawn, to_optimum=False),
        gain(_on(4), "accuracy improves with epsilon", found, "delta"),
        lead(_on(4), "D-ZOA has higher accuracy than DP-ADMM and DPSG", found, drawn),
        *_of_all(found, drawn),
    ]


def claims_of_fig5(found: Answers) -> list[Said]:
    """The statements of section VI about figure 5."""
    return [
        gain(_on(5), "all achieve higher accuracy with a larger epsilon", found, "delta"),
        gain(_on(5), "all achieve higher accuracy with a larger delta", found, "epsilon"),
        lead(
            f"{_on(5)} (a)",
            "D-ZOA outperforms both DP-ADMM and DPSG in accuracy",
            found,
            along(found, "delta"),
        ),
        lead(
            f"{_on(5)} (b)",
            "D-ZOA is superior to DP-ADMM and DPSG at epsilon 0.15 and 0.95",
            found,
            along(found, "epsilon"),
        ),
        *_of_all(found, all_claims(found.scale)),
    ]


def claims_of_fig6(found: Answers) -> list[Said]:
    """The statements of section VI about figure 6."""
    drawn = drawn_claims(found.scale)
    said = "D-ZOA outperforms all other algorithms in accuracy for different values of epsilon"
    return [lead(_on(6), said, found, drawn), *_of_all(found, drawn)]


def claims_of_fig7(found: Answers) -> list[Said]:
    """The statements of section VI about figure 7."""
    every = all_claims(found.scale)
    return [
        gain(_on(7), "a smaller epsilon leads to lower accuracy", found, "delta"),
        gain(_on(7), "a smaller delta leads to lower accuracy", found, "epsilon"),
        lead(_on(7), "D-ZOA outperforms all the other approaches in accuracy", found, every),
        *_of_all(found, every),
    ]


def _of_all(found: Answers, claims: Sequence[Claim]) -> list[Said]:
    """The paper's statements about figures 4 to 7 together."""
    return [
        two_orders("section VI, after figure 7", found, claims),
        same_privacy(
            "abstract and section I-A",
            "D-ZOA is ahead at a similar privacy guarantee",
            audited_bound(found),
            SMALL[0],
            explained(found),
        ),
    ]


def _told(found: Answers, judged: Judged, figure: int, *, rounds: bool) -> Reproduction:
    claims = judged(found)
    verdict, sentence = concluded(claims, shortened=found.scale is not Scale.FULL)
    name = f"Figure {figure}"
    return Reproduction(
        verdict,
        f"{sentence} {certified_sentence(found)}",
        claims=claims,
        published=[*over_rounds(found, name), by_noise(found, equal_noise(found))]
        if rounds
        else trade_off_panels(found, name, "(25)"),
        certified=certified_panels(found, rounds=rounds),
        comparison=[*rows(found, found.claims), *([] if rounds else axis_rows())],
        parameters=parameters(found),
        notes=notes(found),
        shortened=shortened(found.scale, found.claims),
    )


def _target(figure: int, kind: Kind, title: str, judged: Judged, *, rounds: bool) -> Target:
    asked = drawn_claims if rounds else all_claims

    def pieces(scale: Scale) -> Sequence[Piece]:
        return Answers.pieces(kind, scale, asked(scale))

    def read(answers: Sequence[Answer], scale: Scale) -> Reproduction:
        return _told(Answers(kind, scale, asked(scale), answers), judged, figure, rounds=rounds)

    return Target(f"gratton2021/fig{figure}", title, pieces, read)


FIG4 = _target(
    4,
    "lasso",
    "lasso: error of D-ZOA, DP-ADMM and DPSG over rounds",
    claims_of_fig4,
    rounds=True,
)
FIG5 = _target(
    5, "lasso", "lasso: error over total epsilon and over delta", claims_of_fig5, rounds=False
)
FIG6 = _target(
    6,
    "ridge",
    "ridge: error of D-ZOA, DP-ADMM, DPSG, PVP and DVP over rounds",
    claims_of_fig6,
    rounds=True,
)
FIG7 = _target(
    7, "ridge", "ridge: error over total epsilon and over delta", claims_of_fig7, rounds=False
)
