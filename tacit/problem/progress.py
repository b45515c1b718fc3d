"""Progress on standard error: one line of a terminal that is written anew, or lines of a log."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import ClassVar

LOGGED = 10.0
"""Seconds between two lines of a log."""


class Shown:
    """Prints two numbers as they grow, as one phase of what a process does.

    Args:
        text: function that puts the numbers done and in all into words.
        after: seconds before the first line of a log; what ends before that stays silent there.
        ending: whether a log has a line for the end, too, if it has any.
    """

    _open: ClassVar[Shown | None] = None
    """Whose line of the terminal is not ended yet."""

    def __init__(
        self, text: Callable[[int, int], str], after: float = 0.0, *, ending: bool
    ) -> None:
        self._text, self._ending, self._told = text, ending, False
        self._last = time.monotonic() + after - LOGGED if after else -math.inf

    def __call__(self, done: int, total: int) -> None:
        text, over = self._text(done, total), done == total
        if sys.stderr.isatty():
            before = "\n" if Shown._open not in (None, self) else "\r"
            print(f"{before}{text:<60}", end="\n" if over else "", file=sys.stderr, flush=True)
            Shown._open = None if over else self
        elif (over and self._ending and self._told) or time.monotonic() - self._last > LOGGED:
            self._last, self._told = time.monotonic(), True
            print(text, file=sys.stderr, flush=True)
