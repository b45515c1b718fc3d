"""Answers of pieces of work on disk, named by a digest of the work and its code."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from tacit._engine.environment import versions
from tacit._engine.source_code import code_of
from tacit._jobs.piece import Answer, Piece
from tacit.data.loaders import matching, several
from tacit.errors import RuntimeFailure


class Store:
    """A folder with one file per answer; a file is complete or does not exist.

    Args:
        folder: path of the folder, created with the first answer.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, piece: Piece) -> Answer | None:
        """The stored answer; `None` where it is missing or cannot be read."""
        try:
            return json.loads(self._path(piece).read_text(encoding="utf-8"))["answer"]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, piece: Piece, answer: Answer) -> None:
        """Store an answer.

        Raises:
            RuntimeFailure: it cannot be written.
        """
        path = self._path(piece)
        document = {"piece": piece.label, "answer": answer}
        draft = path.with_suffix(f".{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(json.dumps(document), encoding="utf-8")
            draft.replace(path)
            self._unfinished(piece).unlink(missing_ok=True)
        except OSError as error:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            raise RuntimeFailure(
                f"{path} cannot be written ({error.strerror}); make room, or choose another folder "
                "with --output. What was stored before is kept."
            ) from error

    def arguments(self, piece: Piece) -> dict[str, Any]:
        """The arguments with which the work of a piece is called on this machine.

        Raises:
            RuntimeFailure: the folder cannot be made.
        """
        given = {**piece.arguments, **{name: str(path) for name, path in piece.inputs.items()}}
        if not piece.resumes:
            return given
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RuntimeFailure(
                f"{self.folder} cannot be made ({error.strerror}); choose another folder with "
                "--output"
            ) from error
        return {**given, "checkpoint": str(self._unfinished(piece))}

    def _path(self, piece: Piece) -> Path:
        return self.folder / f"{name_of(piece)}.json"

    def _unfinished(self, piece: Piece) -> Path:
        return self._path(piece).with_suffix(".part")


def name_of(piece: Piece) -> str:
    """A digest of the code that runs, the arguments, the input files and the libraries' versions.

    Raises:
        RuntimeFailure: an input file cannot be read.
    """
    work = piece.work
    said = [
        f"{work.__module__}.{work.__qualname__}",
        json.dumps(dict(piece.arguments), sort_keys=True),
        code_of(work.__module__),
        *(f"{name} {version}" for name, version in versions().items() if name != "tacit"),
        *(f"{name} {digest_of(path)}" for name, path in sorted(piece.inputs.items())),
    ]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:32]


def digest_of(path: Path) -> str:
    """A digest of a file's contents, or of the names and contents of all that match a pattern.

    Raises:
        RuntimeFailure: a file cannot be read, or none matches.
    """
    if several(path):
        files = matching(path)
        if not files:
            raise RuntimeFailure(f"no file matches {path} any longer; put them back")
        said = "\n".join(f"{each.name} {digest_of(each)}" for each in files)
        return hashlib.sha256(said.encode()).hexdigest()
    try:
        state = path.stat()
        return _digest(path, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise RuntimeFailure(
            f"{path} can no longer be read ({error.strerror}); put it back and run the same "
            "command again"
        ) from error


@functools.lru_cache(maxsize=64)
def _digest(path: Path, changed: int, size: int) -> str:
    """The digest, computed once, and again when the file has changed."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
