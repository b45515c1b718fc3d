"""Saving a run so that it can be killed at any moment and go on to the same bits."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tacit.errors import EnvironmentMismatch, RuntimeFailure
from tacit.runtime.environment import environment

_FORMAT = "tacit-checkpoint-1"


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")

_SETTINGS = (
    "jax_threefry_partitionable",
    "jax_default_prng_impl",
    "jax_default_matmul_precision",
    "jax_disable_most_optimizations",
)
"""Settings of JAX under which one seed gives other bits."""


def fingerprint(*trees: Any) -> str:
    """A digest of every array and static setting of a run, and of what computes it.

    Of a function that a user wrote only the name is in it: see `opaque`.
    """
    computes = {**environment(), **{name: str(jax.config.values.get(name)) for name in _SETTINGS}}
    computes["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "")
    digest = hashlib.sha256(json.dumps(computes, sort_keys=True).encode())
    for tree in trees:
        arrays, static = eqx.partition(tree, eqx.is_array_like)
        digest.update(_ADDRESS.sub("", repr(jax.tree.structure(arrays))).encode())
        digest.update(_ADDRESS.sub("", repr(static)).encode())
        for leaf in jax.tree.leaves(arrays):
            if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
                leaf = jax.random.key_data(leaf)
            array = np.asarray(leaf)
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def opaque(tree: Any) -> bool:
    """Whether something in it computes with code or data that a fingerprint cannot see."""
    arrays, static = eqx.partition(tree, eqx.is_array_like)
    return any(_ADDRESS.search(repr(part)) for part in (jax.tree.structure(arrays), static))


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
        identity: `fingerprint` of the run that wants to go on.
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
