"""Table 1 of Ryu, Kim (2021): the sizes of MNIST and FEMNIST."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tacit.papers.ryu2021.half import Answers, Part, Runs, Stated, figure
from tacit.papers.ryu2021.images import Chosen, Source
from tacit.papers.ryu2021.rules import Told
from tacit.papers.ryu2021.setting import TABLE1 as PRINTED
from tacit.papers.ryu2021.setting import Data, Setting, table_of
from tacit.papers.target import Piece
from tacit.report.data import Row
from tacit.report.reproduction import Verdict, compared

COLUMNS = ("I", "J", "K", "P", "mean of an agent's records", "their deviation")


def counted(source: Source, digest: str) -> dict[str, Any]:
    """A row of the table, for all available images.

    Args:
        source: source of the images.
        digest: digest of their files.
    """
    return {"row": [float(value) for value in table_of(Chosen(source, digest))]}


def _part(data: Data) -> Part:
    def runs(at: Setting) -> Runs:
        arguments = {"source": at.chosen.source, "digest": at.chosen.digest}
        return {data: Piece(counted, arguments, 2.0)}

    def same(found: Answers, at: Setting) -> Told:
        ours = found[data]["row"]
        said = ", ".join(f"{name} {value:.6g}" for name, value in zip(COLUMNS, ours, strict=True))
        if at.instead:
            return Verdict.NOT_RUN, f"{at.data[0].upper()}{at.data[1:]}: {said}."
        equal = all(abs(a - b) <= 0.005 for a, b in zip(ours, PRINTED[data], strict=True))
        return Verdict.REPRODUCED if equal else Verdict.NOT_REPRODUCED, f"{said}."

    def rows(found: Answers, at: Setting) -> list[Row]:
        each = zip(COLUMNS, PRINTED[data], found[data]["row"], strict=True)
        if at.instead:
            return [
                compared(f"{at.images}, {name}", None, ours, **{"paper, in full": paper})
                for name, paper, ours in each
            ]
        return [compared(f"{at.images}, {name}", paper, ours) for name, paper, ours in each]

    numbers = ", ".join(f"{value:g}" for value in PRINTED[data][:4])
    mean, deviation = PRINTED[data][4:]
    said = (
        f"I, J, K, P are {numbers}; an agent has {mean:g} records with a deviation of {deviation:g}"
    )
    return Part(
        data,
        runs,
        (Stated("table 1", said, same, ""),),
        lambda found, at: (),
        rows,
        sized=lambda at: replace(at, shortened=""),  # all records are counted at any scale
    )


TABLE1 = figure("table1", "the sizes of MNIST and FEMNIST", _part("MNIST"), _part("FEMNIST"))
