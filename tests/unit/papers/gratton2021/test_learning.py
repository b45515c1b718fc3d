"""Figure 1: who converges faster, and who is ahead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit._jobs import Piece
from tacit.papers import Scale
from tacit.papers.gratton2021.claims import ahead, faster
from tacit.report.reproduction import Claim, Verdict, draw
from tests.unit.papers.gratton2021.answers import TARGETS, contest


@pytest.mark.parametrize(
    ("central", "verdict"),
    [
        (1.0, Verdict.REPRODUCED),
        (1.1e-5, Verdict.REPRODUCED),
        (1e-8, Verdict.NOT_REPRODUCED),
    ],
)
def test_figure_1_compares_after_as_many_rounds(central: float, verdict: Verdict) -> None:
    def answer(piece: Piece) -> dict[str, Any]:
        named = piece.arguments["name"] == "D-ZOA"
        return contest(1e-4 if named else central if piece.arguments["rounds"] == 100 else 1e-6)

    target = TARGETS["fig1"]
    found = target.told([answer(piece) for piece in target.pieces(Scale.FAST)], Scale.FAST)
    assert found.claims[0].verdict is verdict
    assert len(found.claims) == 3
    # 20,000 rounds of 60 values are 200 rounds of 6,000, and a fast run has a tenth of them
    assert "has 1e-06 after 10% of the values" in found.notes[0]
    for panel in found.published:
        draw(panel)
    values = {
        piece.arguments["name"]: piece.arguments["rounds"] for piece in target.pieces(Scale.FULL)
    }
    assert values == {"D-ZOA": 200, "OR-ZO": 20_000, "ZOO-ADMM": 38_709}


def learning(*rounds: int, floor: float = 1e-3) -> dict[str, Any]:
    """Runs that fall to a floor after so many rounds, and halfway there to 0.1."""
    errors = [
        [1.0 if now < end / 2 else 0.1 if now < end else floor for end in rounds]
        for now in range(101)
    ]
    return {"rounds": list(range(101)), "errors": errors, "final": errors[-1]}


def test_who_converges_faster_is_judged_in_both_directions() -> None:
    def judged(quick: Any, slow: Any) -> Claim:
        return faster("there", "OR-ZO", {"ridge": (quick, slow)}, "D-ZOA")

    quick, slow = learning(10, 12, 14), learning(50, 52, 54)
    assert judged(quick, slow).verdict is Verdict.REPRODUCED
    assert "12 against 52" in judged(quick, slow).found
    assert judged(slow, quick).verdict is Verdict.NOT_REPRODUCED
    assert judged(learning(10), learning(50)).verdict is Verdict.UNDECIDED
    # later at its own floor, which is lower, but sooner at the other one's
    deep, shallow = learning(60, 62, 64), learning(50, 52, 54, floor=0.1)
    shallow["errors"] = learning(90, 92, 94, floor=0.1)["errors"]
    assert judged(deep, shallow).verdict is Verdict.CONDITIONALLY
    # what never comes there is not faster
    never = learning(300, 300, 300) | {"final": [np.inf] * 3}
    assert judged(never, slow).verdict is Verdict.NOT_REPRODUCED


def test_a_method_is_ahead_only_where_it_is_in_every_case() -> None:
    small, large = [0.1, 0.11, 0.12], [1.0, 1.1, 1.2]
    names = ("D-ZOA", lambda case: "DP-ADMM")
    won = ahead("there", "it is ahead", {"a": (small, large), "b": (small, large)}, names)
    assert won.verdict is Verdict.REPRODUCED
    lost = ahead("there", "it is ahead", {"a": (small, large), "b": (large, small)}, names)
    assert lost.verdict is Verdict.NOT_REPRODUCED and "Not so: b." in lost.found
    open_ = ahead("there", "it is ahead", {"a": (small, large), "b": (large, large)}, names)
    assert open_.verdict is Verdict.UNDECIDED and "Cannot be told: b." in open_.found
