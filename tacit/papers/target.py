"""What can be reproduced: a paper and its targets, made of pieces of work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tacit._jobs.piece import Answer, Piece
from tacit.report.reproduction import Reproduction

__all__ = ["Answer", "Paper", "Piece", "Scale", "Target"]


class Scale(StrEnum):
    """How much is run."""

    FAST = "fast"
    """Fewer trials or rounds, said so on the page."""

    FULL = "full"
    """As many as the paper has."""


@dataclass(frozen=True)
class Target:
    """A figure or table of a paper.

    Attributes:
        name: "paper/figure".
        title: what the paper shows there, in a line.
        pieces: what has to be run at a scale; pieces that targets share are run once.
        told: what their answers show; the answers stand in the order of the pieces.
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
    """A paper and what of it is reproduced.

    Attributes:
        name: as in the names of its targets and of its page.
        citation: authors, title, place and year.
        targets: in the order of the paper.
    """

    name: str
    citation: str
    targets: Sequence[Target]
