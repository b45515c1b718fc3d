"""Pieces of work that end at once, for tests of what runs and stores them."""

import time
from pathlib import Path
from typing import Any

from tacit._jobs import Piece
from tacit.papers import Scale, Target
from tacit.report.reproduction import Claim, Curve, Panel, Reproduction, Verdict, compared
from tests.unit._jobs.pieces import squares


def wait(number: int, log: str) -> dict[str, Any]:
    """Note in a file of its own that the piece began; the last piece then waits."""
    with (Path(log) / str(number)).open("a", encoding="utf-8") as file:
        file.write("x")
    if number == 3:
        time.sleep(float((Path(log) / "wait").read_text(encoding="utf-8")))
    return {"number": number}


def slow_target(log: str, seconds: float) -> Target:
    """Four pieces, the last of which takes so many seconds."""
    (Path(log) / "wait").write_text(str(seconds), encoding="utf-8")

    def pieces(scale: Scale) -> list[Piece]:
        # the longest are begun first
        return [Piece(wait, {"number": n, "log": log}, 10.0 - n) for n in range(4)]

    def told(answers: Any, scale: Scale) -> Reproduction:
        return Reproduction(Verdict.REPRODUCED, f"{len(answers)} pieces ended.")

    return Target("someone1999/fig1", "waiting", pieces, told)


def target(name: str = "someone1999/fig1", count: int = 3) -> Target:
    """The squares of the first numbers: fewer of them in a fast run."""

    def pieces(scale: Scale) -> list[Piece]:
        return squares(2 if scale is Scale.FAST else count)

    def told(answers: Any, scale: Scale) -> Reproduction:
        values = [answer["squared"] for answer in answers]
        curve = Curve("squares", list(range(len(values))), values)
        return Reproduction(
            Verdict.REPRODUCED,
            f"The squares end at {values[-1]:g}.",
            published=[Panel("Squares", "number", "its square", [curve], log="")],
            comparison=[compared("last", 4.0, values[-1])],
            parameters={"numbers": f"{len(values)}"},
            claims=[Claim("caption", "squares grow", Verdict.REPRODUCED, "They do.")],
            shortened="two numbers" if scale is Scale.FAST else "",
        )

    return Target(name, "squares <of> numbers", pieces, told)
