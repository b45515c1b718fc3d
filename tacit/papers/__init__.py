"""The figures of the field's papers, reproduced, each with a verdict.

One package per paper; each figure or table is a `Target` with a name such as "huang2015/fig1". A
target consists of pieces of work, which run in parallel and are stored as they end, so that an
interrupted run resumes where it stopped, and of a function that turns their answers into results.

`tacit reproduce --list` lists the targets; `reproduce` runs them from Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit.checks import absent
from tacit.papers.catalogue import PAPERS, find, targets
from tacit.papers.run import reproduce, seconds_left
from tacit.papers.target import Answer, Paper, Piece, Scale, Target

__all__ = [
    "PAPERS",
    "Answer",
    "Paper",
    "Piece",
    "Scale",
    "Target",
    "find",
    "reproduce",
    "seconds_left",
    "targets",
]


if not TYPE_CHECKING:  # type checkers read the names above; this would let any name pass

    def __getattr__(name: str) -> Any:
        raise absent(__name__, name, __all__)
