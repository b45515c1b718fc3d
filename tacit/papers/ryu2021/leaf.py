"""FEMNIST in the JSON that LEAF's preprocessing writes: characters by writer.

From LEAF: A Benchmark for Federated Settings (Caldas et al. 2018). A file holds

    {"users": [writer, ...], "num_samples": [n, ...],
     "user_data": {writer: {"x": [[784 numbers], ...], "y": [class, ...]}}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from tacit.errors import ProblemError

KINDS = 62
"""Digits, capital and small letters."""

PIXELS = 784

_HELD_OUT = 5
"""Every fifth of a writer's records in all_data is for testing, where nothing is split yet."""

Writers = Mapping[str, tuple[Float[np.ndarray, "_ d"], Shaped[np.ndarray, " _"]]]
"""Map from a writer to pixels, as in the file, and classes."""


def files(folder: Path) -> list[Path]:
    """The files of both halves, or those of all data if there are no halves.

    Raises:
        ProblemError: no files.
    """
    halves = [sorted((folder / half).glob("*.json")) for half in ("train", "test")]
    if all(halves):
        return [path for half in halves for path in half]
    whole = sorted((folder / "all_data").glob("*.json"))
    if not whole:
        raise ProblemError(
            f"{folder}: no .json in train/ and test/, and none in all_data/; put there what LEAF's "
            "preprocessing wrote"
        )
    return whole


def read(folder: Path) -> tuple[Writers, Writers]:
    """Records for training and for testing, by writer.

    Raises:
        ProblemError: a file that is truncated or not of this form, or a writer who occurs twice.
    """
    paths = files(folder)
    if paths[0].parent.name == "all_data":
        everybody = _merged(paths)
        train = {who: _part(own, test=False) for who, own in everybody.items()}
        test = {who: _part(own, test=True) for who, own in everybody.items()}
        return train, {who: own for who, own in test.items() if len(own[1])}
    halves = [[path for path in paths if path.parent.name == half] for half in ("train", "test")]
    return _merged(halves[0]), _merged(halves[1])


def _part(own: tuple[np.ndarray, np.ndarray], *, test: bool) -> tuple[np.ndarray, np.ndarray]:
    held = np.arange(len(own[1])) % _HELD_OUT == _HELD_OUT - 1
    chosen = held if test else ~held
    return own[0][chosen], own[1][chosen]


def _merged(paths: Sequence[Path]) -> Writers:
    found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for path in paths:
        for who, own in _writers(path).items():
            if who in found:
                raise ProblemError(f"{path}: writer {who!r} is in another file, too; keep one")
            found[who] = own
    return found


def _writers(path: Path) -> Writers:
    document = _parsed(path)
    users, counts, data = (document.get(key) for key in ("users", "num_samples", "user_data"))
    if not (isinstance(users, list) and isinstance(counts, list) and isinstance(data, dict)):
        raise ProblemError(
            f"{path}: no lists 'users' and 'num_samples' with a mapping 'user_data'; this is not "
            "what LEAF writes"
        )
    if len(users) != len(counts):
        raise ProblemError(f"{path}: {len(users)} users, and num_samples of {len(counts)}")
    return {
        who: _records(data.get(who), count, f"{path}, writer {who!r}")
        for who, count in zip(users, counts, strict=True)
    }


def _parsed(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ProblemError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:  # of the text as of the encoding
        raise ProblemError(
            f"{path}: not complete JSON ({error}); it may be truncated: copy it again"
        ) from error
    if not isinstance(document, dict):
        raise ProblemError(f"{path}: its top is {type(document).__name__}; LEAF writes an object")
    return document


def _records(own: Any, count: Any, where: str) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(own, dict) or "x" not in own or "y" not in own:
        raise ProblemError(f"{where}: no 'x' and 'y' in user_data")
    try:
        x = np.asarray(own["x"], dtype=np.float64)
        y = np.asarray(own["y"], dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ProblemError(f"{where}: rows of unequal length, or no numbers ({error})") from error
    if x.ndim != 2 or x.shape != (count, PIXELS) or y.shape != (count,):
        raise ProblemError(
            f"{where}: num_samples says {count}, and x has shape {x.shape} and y {y.shape}; "
            f"expected ({count}, {PIXELS}) and ({count},)"
        )
    if not (np.all(np.isfinite(x)) and np.all((x >= 0.0) & (x <= 1.0))):
        raise ProblemError(f"{where}: a pixel outside [0, 1]")
    if not np.all((y == np.round(y)) & (y >= 0) & (y < KINDS)):
        raise ProblemError(f"{where}: a class that is none of 0 .. {KINDS - 1}")
    return x, y
