"""How a site's states and messages are stored on disk: as bytes, in overwritten rows."""

from __future__ import annotations

import hashlib
import io
import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from numpy.lib import format as npy

from tacit.errors import RuntimeFailure
from tacit.types import State

ANOTHER_VERSION = "of another version of tacit. Finish the run with the version that began it"
"""What is said of a file that this version does not read."""

_HERE, _NOT_HERE = b"1", b"0"
_PLACES = 8


class Rows:
    """Bytes in numbered rows of one table; a row of the same size is overwritten in place.

    That takes half as long as a new row, and leaves nothing to be deleted.
    """

    def __init__(self, journal: sqlite3.Connection, table: str) -> None:
        self._journal, self._table = journal, table
        self._sizes = dict(journal.execute(f"SELECT rowid, length(data) FROM {table}").fetchall())

    def write(self, row: int, pieces: Sequence[bytes | memoryview]) -> None:
        """Write a row within the caller's transaction."""
        size = sum(map(len, pieces))
        known = self._sizes.pop(row, None)  # until it is there
        if known != size:
            place = f"INSERT OR REPLACE INTO {self._table} (rowid, data) VALUES (?, zeroblob(?))"
            self._journal.execute(place, (row, size))
        with self._journal.blobopen(self._table, "data", row) as blob:
            for piece in pieces:
                blob.write(piece)
        self._sizes[row] = size

    def read(self) -> list[tuple[int, bytes]]:
        """All rows, each with its number."""
        return self._journal.execute(f"SELECT rowid, data FROM {self._table}").fetchall()


def packed(state: State) -> list[bytes | memoryview]:
    """A digest of the positions of the leaves, then each leaf with its type and shape.

    The contents of a state may change within a round, such as a gradient between send and receive:
    a missing leaf is stored as a short entry.
    """
    leaves, structure = jax.tree.flatten(state, is_leaf=_absent)
    pieces: list[bytes | memoryview] = [_places(structure)]
    for leaf in leaves:
        pieces.append(_HERE if leaf is not None else _NOT_HERE)
        if leaf is not None:
            array = np.asarray(leaf, order="C")
            pieces += [_head(array.dtype, array.shape), array.reshape(-1).view(np.uint8).data]
    return pieces


def unpacked(data: bytes, like: State) -> Any:
    """The state, rebuilt from its bytes.

    Args:
        data: output of `packed`, in one piece.
        like: state of the same method, for its structure.

    Raises:
        RuntimeFailure: it is not a state of this method.
    """
    structure = jax.tree.structure(like, is_leaf=_absent)
    file = io.BytesIO(data)
    found: list[np.ndarray | None] = []
    try:
        if file.read(_PLACES) != _places(structure):
            raise ValueError("other fields, or in another order")
        for _ in range(structure.num_leaves):
            found.append(np.load(file, allow_pickle=False) if file.read(1) == _HERE else None)
        complete = not file.read(1)
    except (ValueError, EOFError):
        complete = False
    if not complete:
        raise RuntimeFailure(f"the stored state is not one of this method; it is {ANOTHER_VERSION}")
    return jax.tree.unflatten(structure, found)


@lru_cache(maxsize=64)
def _head(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """What `np.save` writes before the numbers of an array in C order."""
    file = io.BytesIO()
    form = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    npy.write_array_header_1_0(file, form)
    return file.getvalue()


@lru_cache(maxsize=64)
def _places(structure: Any) -> bytes:
    """A digest of the fields; without it two of the same shape could be exchanged."""
    named = jax.tree.unflatten(structure, range(structure.num_leaves))
    leaves, _ = jax.tree.flatten_with_path(named)
    names = "\n".join(jax.tree_util.keystr(path) for path, _ in leaves)
    return hashlib.sha256(names.encode()).digest()[:_PLACES]


def _absent(leaf: Any) -> bool:
    return leaf is None
