"""A paper and its targets, which consist of pieces of work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tacit._jobs.piece import Answer, Piece
from tacit.report.reproduction import Reproduction

__all__ = ["Answer", "Paper", "Piece", "Scale", "Target"]


class Scale(StrEnum):
    """The scale of a reproduction."""

    FAST = "fast"
    """Fewer trials or rounds than in the paper, as stated on the page."""

    FULL = "full"
    """The paper's trials and rounds."""


@dataclass(frozen=True)
class Target:
    """A figure or table of a paper.

    Attributes:
        name: name of the form "paper/figure".
        title: content of the figure in the paper, in a line.
        pieces: function of the scale that returns the pieces to run; shared pieces are run once.
        told: function that turns their answers, in the order of the pieces, into a result.
    """

    name: str
    title: str
    pieces: Callable[[Scale], Sequence[Piece]]
    told: Callable[[Sequence[Answer], Scale], Reproduction]

    @property
    def figure(self) -> str:
        """The name without the paper."""
        return self.name.partition("/")[2]


@dataclass(frozen=True)
class Paper:
    """A paper and its reproduced figures and tables.

    Attributes:
        name: name used in the names of its targets and of its page.
        citation: authors, title, place and year.
        targets: targets in the order of the paper.
    """

    name: str
    citation: str
    targets: Sequence[Target]
