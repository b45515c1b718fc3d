"""Saving a run so that it can be killed at any moment and go on to the same bits."""

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

_FORMAT = "tacit-checkpoint-1"


def save(path: Path, identity: str, round: int, trees: Any) -> None:
    """Write atomically: a reader finds the old file or the new one, never a part.

    Raises:
        RuntimeFailure: the file cannot be written; the old one is left as it was.
    """
    leaves = {f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(trees))}
    header = json.dumps({"format": _FORMAT, "identity": identity, "round": round})
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, header=np.array(header), **leaves)
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as file:
            file.write(buffer.getbuffer())
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise RuntimeFailure(f"cannot write the checkpoint {path}: {error.strerror}") from error


def load(path: Path, identity: str, like: Any) -> tuple[int, Any] | None:
    """The round and states of a checkpoint, or `None` if there is none.

    Args:
        path: where.
        identity: of the run that wants to go on.
        like: a pytree of the expected structure.

    Raises:
        EnvironmentMismatch: it belongs to another study, seed or environment.
        RuntimeFailure: it cannot be read.
    """
    if not path.exists():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            header = json.loads(str(archive["header"]))
            stored = [archive[f"leaf{i}"] for i in range(len(archive.files) - 1)]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise RuntimeFailure(
            f"the checkpoint {path} cannot be read ({error}); delete it to start afresh"
        ) from error
    if header.get("format") != _FORMAT or header.get("identity") != identity:
        raise EnvironmentMismatch(
            f"the checkpoint {path} belongs to another study, seed, number of rounds or version; "
            "delete it, or run what it was made from"
        )
    leaves, structure = jax.tree.flatten(like)
    if len(leaves) != len(stored):
        raise EnvironmentMismatch(f"the checkpoint {path} has another layout; delete it")
    return int(header["round"]), jax.tree.unflatten(structure, stored)
