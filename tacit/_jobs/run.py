"""Running pieces of work on any free process; each is stored as soon as it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tacit._engine.environment import edited
from tacit._engine.source_code import code_now, code_of
from tacit._jobs.cluster import Cluster, on_cluster
from tacit._jobs.piece import Answer, Piece
from tacit._jobs.processes import in_processes
from tacit._jobs.store import Store, name_of
from tacit.errors import RuntimeFailure

Told = Callable[[float, float], None]
"""Called with the announced seconds that are done, and all of them."""


def missing(pieces: Sequence[Piece], store: Store) -> list[Piece]:
    """The pieces without a stored answer, each once, the longest first.

    Raises:
        RuntimeFailure: the source was edited after it was loaded.
    """
    _check_source(pieces)
    found = {name_of(piece): piece for piece in pieces if store.get(piece) is None}
    return sorted(found.values(), key=lambda piece: -piece.seconds)


def announced(pieces: Sequence[Piece], cores: int) -> float:
    """The estimated seconds that the pieces take on `cores` cores."""
    if not pieces:
        return 0.0
    longest = max(piece.seconds for piece in pieces)
    return max(longest, sum(piece.seconds for piece in pieces) / cores)


def run(
    pieces: Sequence[Piece],
    store: Store,
    where: int | Cluster,
    told: Told | None = None,
    patience: float = 0.0,
) -> Iterator[Piece]:
    """Run pieces, started in their order, and yield each when its answer is stored.

    Args:
        pieces: pieces to run, each once.
        store: store of the answers.
        where: number of processes at a time, at least 1 (with 1 the work is done in this process),
            or a cluster.
        told: progress.
        patience: with several processes, seconds of work for which none is started: pieces are
            run in this process until they have shown that more than this remains.

    Raises:
        ConfigError: a cluster that cannot be used.
        RuntimeFailure: processes die repeatedly, the cluster is lost, the store cannot be
            written, or the source was edited after it was loaded.
        KeyboardInterrupt: interrupted; finished answers are stored.
    """
    _check_source(pieces)
    total, done = sum(piece.seconds for piece in pieces), 0.0
    for piece, answer in _each(pieces, store, where, patience):
        store.put(piece, answer)
        done += piece.seconds
        if told is not None:
            told(done, total)
        yield piece


def answers(pieces: Sequence[Piece], store: Store) -> list[Answer]:
    """The stored answers, in the order of the pieces.

    Raises:
        RuntimeFailure: one no longer exists.
    """
    found = [answer for piece in pieces if (answer := store.get(piece)) is not None]
    if len(found) < len(pieces):
        raise RuntimeFailure(
            f"answers vanished from {store.folder} while they were read; run the same command again"
        )
    return found


def _check_source(pieces: Sequence[Piece]) -> None:
    """Answers are stored under the code that computes them, so that has to be known."""
    modules = {piece.work.__module__ for piece in pieces}
    if edited() or any(code_now(module) != code_of(module) for module in modules):
        raise RuntimeFailure(
            "the source of tacit, or of the work, was edited after this process had loaded it, so "
            "answers would be stored under code that did not compute them; start Python anew"
        )


def _each(
    pieces: Sequence[Piece], store: Store, where: int | Cluster, patience: float
) -> Iterator[tuple[Piece, Answer]]:
    """Pieces with their answers, as they end."""
    if isinstance(where, Cluster):
        return on_cluster(pieces, where)
    return in_processes(pieces, store, where, patience)
