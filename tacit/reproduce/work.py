"""Running pieces of work over the cores, each stored as soon as it ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from tacit.errors import RuntimeFailure
from tacit.reproduce.store import Store, name_of
from tacit.reproduce.target import Answer, Piece

Told = Callable[[float, float], None]
"""Called with the announced seconds that are done, and all of them."""


def missing(pieces: Sequence[Piece], store: Store) -> list[Piece]:
    """The pieces without a stored answer, each once, the longest first."""
    found = {name_of(piece): piece for piece in pieces if store.get(piece) is None}
    return sorted(found.values(), key=lambda piece: -piece.seconds)


def announced(pieces: Sequence[Piece], cores: int) -> float:
    """Seconds that the pieces take on so many cores, as far as can be said beforehand."""
    if not pieces:
        return 0.0
    longest = max(piece.seconds for piece in pieces)
    return max(longest, sum(piece.seconds for piece in pieces) / cores)


def run(
    pieces: Sequence[Piece], store: Store, cores: int, told: Told | None = None
) -> Iterator[Piece]:
    """Run pieces in their order, and yield each when its answer is stored.

    Args:
        pieces: to run, each once.
        store: of the answers.
        cores: processes at a time, at least 1; with 1 the work is done in this process.
        told: progress.

    Raises:
        RuntimeFailure: a process died, or the store cannot be written.
        KeyboardInterrupt: what had ended is stored.
    """
    total, done = sum(piece.seconds for piece in pieces), 0.0
    for piece, answer in _each(pieces, store, cores):
        store.put(piece, answer)
        done += piece.seconds
        if told is not None:
            told(done, total)
        yield piece


def answers(pieces: Sequence[Piece], store: Store) -> list[Answer]:
    """The stored answers, in the order of the pieces.

    Raises:
        RuntimeFailure: one is not there any more.
    """
    found = [answer for piece in pieces if (answer := store.get(piece)) is not None]
    if len(found) < len(pieces):
        raise RuntimeFailure(
            f"answers vanished from {store.folder} while they were read; run the same command again"
        )
    return found


def _each(pieces: Sequence[Piece], store: Store, cores: int) -> Iterator[tuple[Piece, Answer]]:
    """Pieces with their answers, as they end; what fails is raised when nothing runs any more."""
    if cores == 1 or len(pieces) <= 1:
        yield from ((piece, piece.work(**store.arguments(piece))) for piece in pieces)
        return
    # JAX does not survive a fork
    pool = ProcessPoolExecutor(
        min(cores, len(pieces)),
        multiprocessing.get_context("spawn"),
        initializer=_leave_interrupts_to_the_parent,
    )
    failed: BaseException | None = None
    try:
        with _one_core_each():
            running = {pool.submit(piece.work, **store.arguments(piece)): piece for piece in pieces}
        for future in as_completed(running):
            if future.cancelled():
                continue
            error = future.exception()
            if error is None:
                yield running[future], future.result()
            elif failed is None:
                failed = error
                for other in running:
                    other.cancel()
    except BaseException:
        _stop(pool)
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    if isinstance(failed, BrokenProcessPool):
        raise RuntimeFailure(
            "a process was killed, perhaps because memory ran out; what had ended is stored. Run "
            "the same command again, with fewer --cores if need be."
        ) from failed
    if failed is not None:
        raise failed


def _stop(pool: ProcessPoolExecutor) -> None:
    """End the processes at once: their work is not stored and will be done again."""
    for process in list(pool._processes.values()):
        process.terminate()


@contextmanager
def _one_core_each() -> Iterator[None]:
    """Let processes started here use one core each: as many of them as cores run already.

    Libraries read these when they are loaded, which is before a process does anything.
    """
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    wanted = {"XLA_FLAGS": flags, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _leave_interrupts_to_the_parent() -> None:
    """Ctrl-C reaches every process of a terminal; the parent ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
