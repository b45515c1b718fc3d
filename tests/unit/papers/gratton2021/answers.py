"""Answers of pieces of work, made up, and what a figure's target makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tacit._jobs import Piece
from tacit.papers import Scale, Target
from tacit.papers.gratton2021 import paper
from tacit.papers.gratton2021.contenders import SETTINGS
from tacit.papers.gratton2021.noise_runs import audited, one_iteration
from tacit.papers.gratton2021.plan import (
    SMALL,
)
from tacit.papers.gratton2021.runs import d_zoa, proved, published
from tacit.report.reproduction import Verdict

TARGETS = {target.figure: target for target in paper.PAPER.targets}
COMPARED = ("fig4", "fig5", "fig6", "fig7")


def contest(error: float) -> dict[str, Any]:
    return {
        "chosen": {"step": 0.1},
        "tuning": [error] * SETTINGS,
        "rounds": [0, 1, 2],
        "errors": [[5.0, 5.0], [error, error], [error, 2 * error]],
        "final": [error, error],
    }


def falling(level: float) -> Callable[[float, float], float]:
    """An error that falls as epsilon and delta grow, and is so large at the first claim."""
    return lambda epsilon, delta: level * (SMALL[0] / epsilon) * (SMALL[1] / delta) ** 0.1


OUR_ERRORS, THEIR_ERRORS = falling(1e-3), falling(0.1)


def noisy(error: float) -> dict[str, Any]:
    """Four runs whose errors are an error, give or take 2 %."""
    ends = [error * (1.0 + 0.02 * each) for each in (-1, 0, 0, 1)]
    return {**contest(error), "errors": [[5.0] * 4, ends, ends], "final": ends}


def made_up(
    target: Target,
    *,
    ours: Callable[[float, float], float] = OUR_ERRORS,
    theirs: Callable[[float, float], float] = THEIR_ERRORS,
    mu: float = 40.0,
    audit: float = 2.0,
    winner: str = "DPSG",
    refused: float = 0.0,
    scale: Scale = Scale.FAST,
) -> Any:
    """What a target says when its pieces answer so."""

    def answer(piece: Piece) -> Mapping[str, Any]:
        said = piece.arguments
        if piece.work is d_zoa:
            claim = said["epsilon"], said["delta"]
            if claim[1] == refused and said["data"] == 1:
                return {"refused": "less than one"}
            return {**noisy(ours(*claim)), "directions": [3] * 5, "evaluations": 1, "optimum": 2.0}
        if piece.work is published:
            return {"claims": [noisy(theirs(*claim)) for claim in said["claims"]]}
        if piece.work is proved:
            error = 0.01 if said["name"] == winner else 0.02
            return {"claims": [contest(error) for _ in said["totals"]]}
        if piece.work is one_iteration:
            return {"mu": mu, "moved": 0.1, "deviation": 0.003, "claimed": 0.16}
        assert piece.work is audited
        return {"epsilon": audit, "most": 4.0, "claim": 0.15}

    return target.told([answer(piece) for piece in target.pieces(scale)], scale)


def verdicts(found: Any) -> list[Verdict]:
    return [claim.verdict for claim in found.claims]


HELD, NOT, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED
