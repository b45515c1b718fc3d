"""Pieces of work that end at once, for tests of what runs and stores them."""

import time
from typing import Any

from tacit.report.reproduction import Curve, Panel, Reproduction, Verdict, compared
from tacit.reproduce import Piece, Scale, Target


def square(number: float) -> dict[str, Any]:
    return {"squared": number * number, "when": time.monotonic_ns()}


def fail(number: float) -> dict[str, Any]:
    raise ValueError(f"{number} is not to be squared")


def die(number: float) -> dict[str, Any]:
    import os

    os._exit(9)


def squares(count: int, first: int = 0) -> list[Piece]:
    return [Piece(square, {"number": float(n)}, 1.0) for n in range(first, first + count)]


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
            shortened="two numbers" if scale is Scale.FAST else "",
        )

    return Target(name, "squares <of> numbers", pieces, told)
