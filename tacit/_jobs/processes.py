"""Running pieces of work in this process, or in several at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from tacit._jobs.piece import Answer, Piece
from tacit._jobs.store import Store
from tacit.errors import RuntimeFailure

_DEATHS = 3
"""Processes that may die one after the other, without an answer in between."""


def in_processes(
    pieces: Sequence[Piece], store: Store, cores: int, patience: float
) -> Iterator[tuple[Piece, Answer]]:
    """Pieces with their answers, as they end; see `tacit._jobs.run`."""
    waiting, begun, price = list(pieces), 0, float("inf")
    while waiting:
        left = sum(piece.seconds for piece in waiting)
        if cores > 1 and len(waiting) > 1 and _worth(left, price, begun, patience):
            yield from _spread(waiting, store, cores)
            return
        piece = waiting.pop(0)
        began = time.monotonic()
        answer = piece.work(**store.arguments(piece))
        begun, price = begun + 1, min(price, (time.monotonic() - began) / piece.seconds)
        yield piece, answer


def _worth(left: float, price: float, begun: int, patience: float) -> bool:
    """Whether the remaining work is worth starting processes for.

    Args:
        left: remaining work, in announced seconds.
        price: least time that an announced second took here.
        begun: number of pieces that the price is known from; the first may have taken long to
            compile.
        patience: seconds of work for which no process is started.
    """
    if begun < 2:
        return left > 10.0 * patience
    return left * price > patience


def _spread(pieces: Sequence[Piece], store: Store, cores: int) -> Iterator[tuple[Piece, Answer]]:
    """Run in new processes; killed ones are replaced, and their work is repeated."""
    left, deaths = list(pieces), 0
    while left:
        try:
            for piece, answer in _pool(left, store, cores):
                yield piece, answer
                left, deaths = [each for each in left if each is not piece], 0
        except BrokenProcessPool as error:
            deaths += 1
            if deaths == _DEATHS:
                raise RuntimeFailure(
                    f"a process was killed {deaths} times in a row, perhaps because memory ran "
                    "out; what had ended is stored. Run the same command again, with fewer "
                    "processes (--workers or --cores) if need be. A script that starts processes "
                    "must guard its own start: if __name__ == '__main__': ..."
                ) from error


def _pool(pieces: Sequence[Piece], store: Store, cores: int) -> Iterator[tuple[Piece, Answer]]:
    """Run in new processes; a failure is raised once nothing is running."""
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
    if failed is not None:
        raise failed


def _stop(pool: ProcessPoolExecutor) -> None:
    """End the processes at once: their work is not stored and will be repeated."""
    for process in list(pool._processes.values()):
        process.terminate()


@contextmanager
def _one_core_each() -> Iterator[None]:
    """Limit processes started here to one core each, since one runs on every core already.

    Libraries read these variables when they are loaded, before a process does anything.
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
