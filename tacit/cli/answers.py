"""What a run found, on the terminal."""

from __future__ import annotations

from tacit.cli.console import say, table
from tacit.method.answer import Answer, Minimiser, Printed, Refused


def show(answer: Answer) -> None:
    """Print an answer, unless it is a minimiser, which has a file of its own.

    Args:
        answer: answer of a run.
    """
    if isinstance(answer, Minimiser):
        return
    say()
    say(answer.sentence())
    if isinstance(answer, Refused):
        return
    if isinstance(answer, Printed):
        headings, *rows = answer.cells()
        if rows:
            table(headings, rows)
        return
    frame = answer.frame()
    table(
        [name.replace("_", " ") for name in frame.columns],
        [
            [f"{cell:.1f}" if isinstance(cell, float) else str(cell) for cell in row]
            for row in frame.to_numpy(dtype=object).tolist()
        ],
    )
