"""Gratton et al. (2020): what the figures' answers are made to say, and D-ZOA with J = 30."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tacit._jobs import Piece
from tacit.method.d_zoa_claim import inner_directions
from tacit.papers import Scale
from tacit.papers.gratton2020.figures import FIG2, FIG3
from tacit.papers.gratton2020.plan import Found
from tacit.papers.gratton2021.noise_runs import audited
from tacit.papers.gratton2021.plan import all_claims
from tacit.papers.gratton2021.runs import d_zoa, proved, published
from tacit.papers.gratton2021.setting import (
    ALPHA0,
    PENALTY,
    earlier_method,
    paper_network,
    paper_problem,
    paper_step,
)
from tacit.report.reproduction import Reproduction, Verdict, draw
from tests.unit.papers.gratton2021.answers import contest


def told(
    target: Any,
    *,
    ours: float = 1e-4,
    theirs: float = 1.0,
    audit: float = 2.0,
    scale: Any = None,
    grows: float = -1.0,
) -> Reproduction:
    """What a target says when its pieces answer so: errors are powers of epsilon and delta."""

    def ends(level: float, epsilon: float, delta: float) -> dict[str, Any]:
        errors = [level * (epsilon * delta**0.1) ** grows * (1.0 + 0.01 * i) for i in range(3)]
        rounds = {"rounds": [0, 1, 2], "errors": [[5.0] * 3, errors, errors]}
        return {**contest(level), **rounds, "final": errors}

    def answer(piece: Piece) -> Mapping[str, Any]:
        said = piece.arguments
        if piece.work is d_zoa:
            assert said["version"] == "2020" and said["kind"] == "lasso"
            return {**ends(ours, said["epsilon"], said["delta"]), "step": [0.1, 0.2]}
        if piece.work is published:
            assert said["kind"] == "lasso"
            return {"claims": [ends(theirs, *claim) for claim in said["claims"]]}
        if piece.work is proved:
            error = 0.02 if said["name"] == "D-ZOA" else 0.03
            return {"claims": [contest(error) for _ in said["totals"]]}
        assert piece.work is audited
        return {"epsilon": audit, "most": 4.0, "claim": 0.15}

    scale = scale or Scale.FAST
    return target.told([answer(piece) for piece in target.pieces(scale)], scale)


def verdicts(found: Reproduction) -> list[Verdict]:
    return [claim.verdict for claim in found.claims]


HELD, NOT, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED


def test_every_claim_on_figure_2_has_a_verdict_in_both_directions() -> None:
    found = told(FIG2, theirs=1e-2)
    # both were there after the first round, so who is faster cannot be told
    assert verdicts(found) == [HELD, HELD, OPEN, HELD, Verdict.REFUTED]
    assert verdicts(told(FIG2, theirs=1e-2, audit=0.1))[4] is OPEN
    assert verdicts(told(FIG2, theirs=10.0))[0] is NOT
    assert verdicts(told(FIG2, grows=1.0))[1] is NOT
    assert verdicts(told(FIG2, theirs=1e-5))[3] is NOT
    assert "D-ZOA is ahead (D-ZOA 0.02, DP-ADMM 0.03" in found.notes[0]


def test_every_claim_on_figure_3_has_a_verdict_in_both_directions() -> None:
    assert verdicts(told(FIG3))[:4] == [HELD] * 4
    assert verdicts(told(FIG3, grows=1.0))[:2] == [NOT] * 2
    assert verdicts(told(FIG3, theirs=1e-5))[2:4] == [NOT] * 2
    assert verdicts(told(FIG3))[4] is Verdict.REFUTED
    assert verdicts(told(FIG3, audit=0.1))[4] is OPEN


@pytest.mark.parametrize("scale", list(Scale))
@pytest.mark.parametrize("target", [FIG2, FIG3])
def test_figures_have_the_panels_of_the_paper(target: Any, scale: Scale) -> None:
    found = told(target, scale=scale)
    assert len(found.published) == 4
    assert all(len(panel.curves) == 3 for panel in found.published)
    assert bool(found.shortened) is (scale is Scale.FAST)
    assert found.parameters["first step, over agents"].count("0.1 to 0.2") == len(all_claims(scale))
    for panel in (*found.published, *found.certified):
        draw(panel)


def test_a_full_run_has_the_trials_and_claims_of_the_paper() -> None:
    runs = [p.arguments for p in Found.pieces(Scale.FULL) if p.work is d_zoa]
    assert {said["epsilon"] for said in runs} == {0.15, 0.25, 0.4, 0.6, 0.95}
    assert {said["delta"] for said in runs} == {1e-6, 1e-5, 1e-4, 1e-3, 1e-2}
    for claim in all_claims(Scale.FULL):
        own = [s["trials"] for s in runs if (s["epsilon"], s["delta"]) == claim]
        assert sum(own) == 100


def test_thirty_directions_and_a_step_that_carries_the_noise() -> None:
    task, net = paper_problem("ridge", 0), paper_network()
    method = earlier_method(task, net, "ridge", 0.15).solver
    assert method.claim is not None
    assert method.directions == 30 and method.closed and not method.warm_start
    optimum = float(np.linalg.norm(task.reference().solution))
    alpha0 = np.asarray(method.step) / paper_step("ridge", optimum) * ALPHA0
    for degree, own in zip(net.degrees, alpha0, strict=True):
        allowed = inner_directions(
            method.claim,
            penalty=PENALTY,
            degrees=np.array([degree + 1]),
            counts=np.array([20]),
            dimension=10,
            inner_steps=100,
            radius=optimum,
            optimum=optimum,
            initial_step=own * (1 + 1e-9),
        )
        assert allowed == [30]
    # a smaller claim needs more noise, and so larger steps
    assert np.all(method.step > earlier_method(task, net, "ridge", 0.95).solver.step)
