"""The figures of the field's papers, drawn anew, each with a verdict.

One package a paper; each figure or table is a `Target` with a name such as "huang2015/fig1". A
target is made of pieces of work that are run over the cores and stored as they end, so that an
interrupted run goes on where it was, and of a function that reads their answers and says what they
show.

`tacit reproduce --list` names the targets; `reproduce` is the same from Python.
"""

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
