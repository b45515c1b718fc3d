"""A piece of work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Answer = Mapping[str, Any]
"""What a piece of work returns: names to numbers, texts and lists of them, as JSON has them."""


@dataclass(frozen=True)
class Piece:
    """A piece of work that can be run by itself and whose answer is stored.

    Attributes:
        work: a function at the top of its module; its keyword arguments are `arguments`. It must
            give the same answer to the same arguments: seeds are arguments.
        arguments: names to values that JSON can represent.
        seconds: time that the piece takes on one core, in seconds, as measured once; used for
            announcements.
        resumes: whether `work` takes a further argument `checkpoint`, the path of a file in which
            it may keep its progress; the file is removed when the answer is stored.
        inputs: further arguments that are paths of files, or patterns with `*` for several. Only
            the contents of the files count, and the names of several: a cluster is given a copy,
            with the same name in another folder.
    """

    work: Callable[..., Answer]
    arguments: Mapping[str, Any]
    seconds: float
    resumes: bool = False
    inputs: Mapping[str, Path] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """A short name of the piece, for errors."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.work.__name__}({given})"
