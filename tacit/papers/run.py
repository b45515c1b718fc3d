"""From targets to pages: run missing pieces, read the answers, write the results."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tacit._engine.environment import environment
from tacit._jobs import Store, Told, announced, answers, missing, name_of, run
from tacit.arguments import checked
from tacit.errors import ConfigError
from tacit.papers.catalogue import PAPERS
from tacit.papers.target import Paper, Piece, Scale, Target
from tacit.ranges import Count
from tacit.report.curve_table import write_curves
from tacit.report.reproduction import Reproduction, Shown, write_index, write_paper

PIECES = "pieces"
"""The folder of stored answers within the output folder."""


@checked(ConfigError)
def seconds_left(
    targets: Sequence[Target], output: Path, scale: Scale = Scale.FULL, cores: Count = 1
) -> float:
    """Remaining seconds of the targets, as announced by their pieces; stored pieces take none.

    Args:
        targets: targets to reproduce.
        output: folder of the pages, with stored pieces.
        scale: scale of the runs.
        cores: number of parallel processes, at least 1.

    Raises:
        ConfigError: no core.
    """
    pieces = [piece for target in targets for piece in target.pieces(scale)]
    return announced(missing(pieces, Store(output / PIECES)), cores)


@checked(ConfigError)
def reproduce(
    targets: Sequence[Target],
    output: Path,
    *,
    scale: Scale = Scale.FULL,
    cores: int = 1,
    told: Told | None = None,
    ended: Callable[[Target, Reproduction], None] | None = None,
) -> list[Reproduction]:
    """Reproduce targets and write the page of each of their papers and an index.

    The pages show the targets of this call; the curves of each are in a table beside
    them. Answers are stored in the output folder: repeating the call runs only missing pieces, and
    an interrupted call resumes.

    Args:
        targets: targets to reproduce; at least one.
        output: folder of the pages; created if it does not exist.
        scale: scale of the runs.
        cores: number of parallel processes, at least 1.
        told: callback for progress over all targets, in announced seconds.
        ended: callback for every completed target.

    Returns:
        The reproduction of each target, in the order given.

    Raises:
        ConfigError: no target, no core, or a folder that cannot be created.
        RuntimeFailure: a process died, or a file cannot be written.
    """
    if not targets or cores < 1:
        raise ConfigError("give at least one target, and cores=1 or more")
    store = _store(output)
    waiting = _in_turn(targets, scale, store)
    left = {name_of(piece) for piece in waiting}
    found: list[Reproduction] = []

    def tell() -> None:
        """Report the targets whose answers are complete, in their order."""
        for target in targets[len(found) :]:
            pieces = target.pieces(scale)
            if any(name_of(piece) in left for piece in pieces):
                return
            found.append(target.told(answers(pieces, store), scale))
            _write(targets, found, output, scale)
            if ended is not None:
                ended(target, found[-1])

    tell()
    with _compiling_less(scale):
        for piece in run(waiting, store, cores, told):
            left.remove(name_of(piece))
            tell()
    return found


@contextmanager
def _compiling_less(scale: Scale) -> Generator[None, None, None]:
    """Let the processes of a fast run compile with fewer passes.

    Its pieces are short, and half of their time went into compiling. Numbers may differ in the last
    bits, as they do between machines.
    """
    before = os.environ.get("XLA_FLAGS")
    if scale is Scale.FAST:
        os.environ["XLA_FLAGS"] = f"{before or ''} --xla_backend_optimization_level=1"
    try:
        yield
    finally:
        if before is not None:
            os.environ["XLA_FLAGS"] = before
        elif scale is Scale.FAST:
            del os.environ["XLA_FLAGS"]


def _in_turn(targets: Sequence[Target], scale: Scale, store: Store) -> list[Piece]:
    """The missing pieces, each once: target by target, the longest first."""
    queue = [piece for target in targets for piece in missing(target.pieces(scale), store)]
    return list({name_of(piece): piece for piece in queue}.values())


def _store(output: Path) -> Store:
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"the folder {str(output)!r} cannot be made ({error.strerror}); choose another one"
        ) from error
    return Store(output / PIECES)


def _write(
    targets: Sequence[Target], found: Sequence[Reproduction], output: Path, scale: Scale
) -> None:
    """Write the pages of the papers that have results, their curves, and the index."""
    shown = [
        Shown(target.name, target.title, reproduction)
        for target, reproduction in zip(targets, found, strict=False)
    ]
    pages: list[tuple[Paper, list[Shown]]] = []
    for paper in PAPERS:
        own = [each for each in shown if each.name.startswith(f"{paper.name}/")]
        if own:
            pages.append((paper, own))
            write_paper(
                output / f"{paper.name}.html",
                title=paper.name,
                citation=paper.citation,
                shown=own,
                fast=scale is Scale.FAST,
                environment=environment(),
            )
            for each in own:
                if each.panels:
                    write_curves(output / each.file, each.found)
    write_index(
        output / "index.html",
        [(paper.name, paper.citation, own) for paper, own in pages],
        fast=scale is Scale.FAST,
    )
