"""Saving a run so that it can be killed at any moment and resumed with identical bits."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import jax
import numpy as np

from tacit.errors import EnvironmentMismatch, RuntimeFailure
from tacit.types import State

_FORMAT = "tacit-checkpoint-1"


def save(path: Path, identity: str, round: int, trees: State, seed: int | None = None) -> None:
    """Write atomically: a reader finds the old file or the new one, never a part.

    Args:
        path: path of the checkpoint file.
        identity: identity of the run.
        round: number of rounds that are done.
        trees: pytree of states.
        seed: seed of the run, for one that was drawn.

    Raises:
        RuntimeFailure: the file cannot be written; the old one is left unchanged.
    """
    leaves = {f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(trees))}
    about = {"format": _FORMAT, "identity": identity, "round": round}
    header = json.dumps(about if seed is None else {**about, "seed": seed})
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, header=np.array(header), **leaves)
    partial = path.with_name(path.name + ".partial")
    try:
        partial.unlink(missing_ok=True)
        # it holds the seed of the noise: for its owner alone from the first byte on
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(buffer.getbuffer())
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise RuntimeFailure(f"cannot write the checkpoint {path}: {error.strerror}") from error


def check(path: Path, identity: str) -> None:
    """Refuse a checkpoint of another run, before anything is charged for this one.

    Raises:
        EnvironmentMismatch: a checkpoint of another study, seed, source or machine.
        RuntimeFailure: a checkpoint that cannot be read.
    """
    if path.exists():
        _read(path, identity)


def load(path: Path, identity: str, like: State) -> tuple[int, Any] | None:
    """The round and states of a checkpoint, or `None` if there is none.

    Args:
        path: path of the checkpoint file.
        identity: identity of the run to resume.
        like: pytree of the expected structure.

    Raises:
        EnvironmentMismatch: a checkpoint of another study, seed, source or machine.
        RuntimeFailure: a checkpoint that cannot be read.
    """
    if not path.exists():
        return None
    round, stored = _read(path, identity)
    leaves, structure = jax.tree.flatten(like)
    if len(leaves) != len(stored):
        raise EnvironmentMismatch(f"the checkpoint {path} has another layout; delete it")
    return round, jax.tree.unflatten(structure, stored)


def stored_seed(path: Path | None) -> int | None:
    """The seed of the run that left a checkpoint, or `None` if there is none or it has none.

    Raises:
        RuntimeFailure: a checkpoint that cannot be read.
    """
    return _unpacked(path)[0].get("seed") if path is not None and path.exists() else None


def _read(path: Path, identity: str) -> tuple[int, list[np.ndarray]]:
    header, stored = _unpacked(path)
    if header.get("format") != _FORMAT:
        raise _foreign(path, "it is no checkpoint of this version")
    if header.get("identity") != identity:
        raise EnvironmentMismatch(
            f"the checkpoint {path} belongs to another study, seed, number of rounds, version or "
            "machine; delete it to start afresh, or run what it was made from where it was made"
        )
    return int(header["round"]), stored


def _unpacked(path: Path) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Header and arrays of a checkpoint."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            header = dict(json.loads(str(archive["header"])))
            return header, [archive[f"leaf{i}"] for i in range(len(archive.files) - 1)]
    except OSError as error:
        raise _foreign(path, error.strerror or str(error)) from error
    except (TypeError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise _foreign(path, "it is no checkpoint, or not a whole one") from error


def _foreign(path: Path, reason: str) -> RuntimeFailure:
    """A file that may be anything of the user's, so nobody is told to delete it."""
    return RuntimeFailure(
        f"the checkpoint {path} cannot be read ({reason}); to start afresh, give the name of a new "
        "file"
    )
