"""What every command shares: printing, progress, and errors as one message with an exit code."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tacit.errors import ConfigError, OracleError, RuntimeFailure, TacitError
from tacit.escape import one_line, visible

FAILED, WRONG, DIVERGED, REFUTED, USELESS, UNCHECKED, INTERRUPTED = 1, 2, 3, 4, 5, 6, 130
_WIDTH = 96
_LINES = "\n"
"""Errors of our own and JSON have several lines."""


def guarded(command: Callable[[], int], *, as_json: bool) -> int:
    """Run a command; an error that tacit raises on purpose becomes one message and an exit code.

    So does a file that the system refuses. Any other exception is a bug of tacit and keeps its
    traceback.
    """
    try:
        with _hearing_interrupts(), printing():
            return command()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except ImportError as error:
        # of a compiled module that is interrupted while it is imported, only the cause says so
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except TacitError as error:
        code = FAILED if isinstance(error, OracleError | RuntimeFailure) else WRONG
        return _failed(_said(error), code, as_json=as_json)
    except OSError as error:
        if error.filename is None:
            raise
        told = f"{error.filename}: {error.strerror}; check the path, its permissions and the disk"
        return _failed(told, FAILED, as_json=as_json)


def _said(error: TacitError) -> str:
    """The message of an error, in words of the command's options."""
    from tacit.cli.wording import running  # imports what no help page needs

    command = running()
    return str(error) if command is None else command.said(error)


def refused(message: str, *, as_json: bool) -> int:
    """Say what is wrong before a command begins, and with which exit code it ends."""
    return _failed(message, WRONG, as_json=as_json)


@contextlib.contextmanager
def printing(kept: str = "") -> Iterator[None]:
    """Report a standard output that cannot be written, as on a full disk.

    Args:
        kept: where the results are all the same, for the message.

    Raises:
        RuntimeFailure: it cannot be written; what is printed after that is lost silently.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough
        raise
    except OSError as error:
        if error.filename is not None or not _refuses_output():
            raise
        with contextlib.suppress(OSError), Path(os.devnull).open("w") as nothing:
            os.dup2(nothing.fileno(), sys.stdout.fileno())
        raise RuntimeFailure(
            f"standard output cannot be written ({error.strerror})" + (kept and f"; {kept}")
        ) from error


@contextlib.contextmanager
def noting() -> Iterator[None]:
    """Print warnings of tacit as notes on standard error, once the work is done."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        yield
    for each in told:
        print(f"NOTE: {each.message}.", file=sys.stderr)


def _refuses_output() -> bool:
    """Whether standard output cannot be written: what failed before may be lost already."""
    try:
        print(flush=True)
    except OSError as error:
        return error.errno != errno.EPIPE
    return False


def _failed(message: str, code: int, *, as_json: bool) -> int:
    if as_json:
        emit({"format": "tacit-error-1", "error": message, "exit_code": code})
    print(f"error: {visible(message, kept=_LINES)}", file=sys.stderr)
    return code


@contextlib.contextmanager
def _hearing_interrupts() -> Iterator[None]:
    """Send an interrupt again that arrives where Python drops exceptions.

    JAX lets the garbage collector call it; what is raised in there is printed and forgotten.
    """
    usual = sys.unraisablehook

    def again(dropped: sys.UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            # not at once: it would arrive in here
            threading.Timer(0.1, _interrupt).start()
        else:
            usual(dropped)

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = usual


def _interrupt() -> None:
    """Interrupt the main thread, also while it sleeps: a signal to another thread does not."""
    if hasattr(signal, "pthread_kill") and (main := threading.main_thread().ident) is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


def cores(given: int | None, option: str) -> int:
    """The number of processes asked for, or of those that this process may use.

    Raises:
        ConfigError: fewer than one.
    """
    if given is None:
        mine = getattr(os, "sched_getaffinity", None)
        return len(mine(0)) if mine is not None else os.cpu_count() or 1
    if given < 1:
        raise ConfigError(f"{option} {given} must be at least 1")
    return given


def said_cores(count: int) -> str:
    """A number of cores in words."""
    return "1 core" if count == 1 else f"{count} cores"


def emit(document: object) -> None:
    """One JSON document on standard output."""
    print(dumped(document, indent=2, allow_nan=False))


def dumped(document: object, **options: Any) -> str:
    """As JSON in the letters that standard output has; what cannot be seen is escaped."""
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(document, ensure_ascii=plain, **options)
    if text.isascii():
        return text
    return "".join(
        each if each in _LINES or visible(each) == each else json.dumps(each)[1:-1] for each in text
    )


def say(text: str = "", indent: str = "") -> None:
    """A paragraph; wrapped where somebody reads it, one line where a program does.

    Lines of an error are joined. What steers a terminal is spelt out: names and titles may come
    from others.
    """
    text = visible(one_line(text))
    if sys.stdout.isatty() and text:
        text = textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")
    else:
        text = indent + text
    print(text, flush=True)  # also for who follows it in a file


def table(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table on standard output, without colours unless it is a terminal."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Column, Table

    cells = [[visible(str(cell)) for cell in row] for row in (headings, *rows)]
    width = None if sys.stdout.isatty() else 110
    console = Console(file=sys.stdout, width=width, markup=False, highlight=False)
    widths = _widths(list(zip(*cells, strict=True)), console.width)
    # a line that a narrow terminal breaks is better than a number that is cut off
    room, console.width = console.width, max(console.width, sum(widths) + 3 * len(widths))
    columns = [Column(text, width=each) for text, each in zip(cells[0], widths, strict=True)]
    drawn = Table(*columns, box=SIMPLE, header_style="bold", pad_edge=False)
    for row in cells[1:]:
        drawn.add_row(*row)
    console.print(drawn)
    if console.width > room and sys.stdout.isatty():
        say(f"(The table is {console.width} columns wide, and this terminal {room}.)")


def _widths(columns: Sequence[Sequence[str]], width: int) -> list[int]:
    """Of every column: the first as wide as it is, to be typed or searched for, and no word cut."""
    from rich.cells import cell_len

    most = [max(cell_len(cell) for cell in column) for column in columns]
    least = [
        max((cell_len(word) for cell in column for word in cell.split()), default=0)
        for column in columns
    ]
    least[0] = most[0]
    wanted, room = sum(most) - sum(least), width - 3 * len(columns) - sum(least)
    if wanted <= max(room, 0):
        return most
    return [
        few + max(0, room) * (many - few) // wanted for few, many in zip(least, most, strict=True)
    ]


@contextlib.contextmanager
def progress(title: str, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """A bar with the time left on standard error; in a log, a line now and then."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        from tacit.problem.progress import LOGGED, Shown

        yield Shown(lambda done, total: f"{title}: {done:,} of {total:,}", LOGGED, ending=True)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn(title),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    ) as bar:
        task = bar.add_task("rounds", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
