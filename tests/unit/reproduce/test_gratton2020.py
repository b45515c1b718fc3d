"""Gratton et al. (2020): what the figures' answers are made to say, and D-ZOA with J = 30."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tacit.method.d_zoa_claim import inner_directions
from tacit.report.reproduction import Reproduction, Verdict, draw
from tacit.reproduce import Scale
from tacit.reproduce.gratton2020.figures import FIG2, FIG3, Found
from tacit.reproduce.gratton2021.noise_runs import audited
from tacit.reproduce.gratton2021.runs import d_zoa, proved, published
from tacit.reproduce.gratton2021.setting import (
    ALPHA0,
    PENALTY,
    earlier_method,
    paper_network,
    paper_problem,
    paper_step,
)
from tacit.work import Piece
from tests.unit.reproduce.test_gratton2021 import contest


def told(
    target: Any, *, ours: float = 1e-4, theirs: float = 1.0, audit: float = 2.0, scale: Any = None
) -> Reproduction:
    """What a target says when its pieces answer so."""

    def answer(piece: Piece) -> Mapping[str, Any]:
        said = piece.arguments
        if piece.work is d_zoa:
            assert said["version"] == "2020"
            return {**contest(ours), "step": [0.1, 0.2]}
        if piece.work is published:
            return {"claims": [contest(theirs / epsilon) for epsilon, _ in said["claims"]]}
        if piece.work is proved:
            error = 0.02 if said["name"] == "D-ZOA" else 0.03
            return {"claims": [contest(error) for _ in said["totals"]]}
        assert piece.work is audited
        return {"epsilon": audit, "most": 4.0, "claim": 0.15}

    scale = scale or Scale.FAST
    return target.told([answer(piece) for piece in target.pieces(scale)], scale)


@pytest.mark.parametrize("target", [FIG2, FIG3])
def test_verdicts(target: Any) -> None:
    found = told(target)
    assert found.verdict is Verdict.REFUTED
    assert "epsilon at least 2" in found.sentence
    assert "D-ZOA is ahead (D-ZOA 0.02, DP-ADMM 0.03" in found.sentence
    assert "noise for 150 has an error of 0.0067" in found.sentence
    assert found.shortened and found.parameters["first step, over agents"].count("0.1 to 0.2") == 2
    for panel in (*found.published, *found.certified):
        draw(panel)
    assert told(target, audit=0.1).verdict is Verdict.REPRODUCED
    assert told(target, theirs=1e-4).verdict is Verdict.NOT_REPRODUCED
    assert not told(target, scale=Scale.FULL).shortened


def test_a_full_run_has_the_trials_of_the_paper_and_five_claims() -> None:
    runs = [p.arguments for p in Found.pieces(Scale.FULL) if p.work is d_zoa]
    assert {said["epsilon"] for said in runs} == {0.15, 0.25, 0.4, 0.6, 0.95}
    assert sum(said["trials"] for said in runs) == 5 * 100


def test_thirty_directions_and_a_step_that_carries_the_noise() -> None:
    task, net = paper_problem("ridge", 0), paper_network()
    method = earlier_method(task, net, "ridge", 0.15)
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
    assert np.all(method.step > earlier_method(task, net, "ridge", 0.95).step)
