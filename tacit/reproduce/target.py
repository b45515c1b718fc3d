"""What can be reproduced: a paper, its targets, and the pieces of work that a target needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tacit.report.reproduction import Reproduction

Answer = Mapping[str, Any]
"""What a piece of work returns: names to numbers, texts and lists of them, as JSON has them."""


class Scale(StrEnum):
    """How much is run."""

    FAST = "fast"
    """Fewer trials or rounds, said so on the page."""

    FULL = "full"
    """As many as the paper has."""


@dataclass(frozen=True)
class Piece:
    """A piece of work that can be run by itself and whose answer is stored.

    Attributes:
        work: a function at the top of its module; its keyword arguments are `arguments`. It must
            answer the same to the same arguments: seeds are arguments.
        arguments: names to values that JSON has.
        seconds: that it takes on one core, as measured once; for what is announced beforehand.
        resumes: whether `work` takes a further argument `checkpoint`, the path of a file in which
            it may keep how far it is; the file is removed when the answer is stored.
    """

    work: Callable[..., Answer]
    arguments: Mapping[str, Any]
    seconds: float
    resumes: bool = False

    @property
    def label(self) -> str:
        """The piece in a word, for errors."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.work.__name__}({given})"


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
