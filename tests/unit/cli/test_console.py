"""Progress and messages as a terminal and a pipe get them."""

import errno
import gc
import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tacit.cli.console import INTERRUPTED, _widths, guarded, printing, progress, say
from tacit.errors import ConfigError, OracleError


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error as a terminal of 100 columns, whatever the tests run in.

    No fixture: pytest puts its own stream in place between a fixture and its test.
    """
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return stream


def test_the_bar_shows_rounds_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = terminal(monkeypatch)
    with progress("rounds") as told:
        assert told is not None
        for done in (1, 30, 60):
            told(done, 120)
    shown = stream.getvalue()
    assert "rounds" in shown
    assert "60/120" in shown
    assert "-:--:--" in shown or "0:00:" in shown, "the time left"
    assert shown.rstrip().endswith("\x1b[2K"), "the bar is wiped when the run is over"


def test_the_bar_goes_away_when_the_run_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = terminal(monkeypatch)

    def fail() -> None:
        with progress("rounds") as told:
            assert told is not None
            told(1, 10)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert "\x1b[?25h" in stream.getvalue(), "the cursor is shown again"


def test_no_bar_in_a_pipe_or_beside_json(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = terminal(monkeypatch)
    with progress("rounds", quiet=True) as told:
        assert told is None
    assert stream.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    # a log has whole lines, if it takes long
    with progress("rounds") as told:
        assert told is not None
        told(1, 3)
        assert sys.stderr.getvalue() == ""
        monkeypatch.setattr("tacit.problem.progress.LOGGED", -1.0)
        told(2, 3)
        told(3, 3)
    assert sys.stderr.getvalue() == "rounds: 2 of 3\nrounds: 3 of 3\n"


def test_paragraphs_are_wrapped_for_a_reader_only(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "word " * 60
    pipe, reader = io.StringIO(), Terminal()
    for stream in (pipe, reader):
        monkeypatch.setattr(sys, "stdout", stream)
        say(long.strip(), indent="  ")
    assert pipe.getvalue().count("\n") == 1
    assert max(map(len, reader.getvalue().splitlines())) <= 96
    assert reader.getvalue().split() == pipe.getvalue().split()


@pytest.mark.parametrize(("error", "code"), [(ConfigError("wrong"), 2), (OracleError("gone"), 1)])
def test_an_error_is_one_message(
    error: Exception, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> int:
        raise error

    assert guarded(fail, as_json=True) == code
    printed = capsys.readouterr()
    assert printed.err == f"error: {error}\n"
    assert json.loads(printed.out)["exit_code"] == code


def test_a_bug_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        guarded(lambda: 1 // 0, as_json=False)


def test_an_interrupted_command_ends_with_one_word(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> int:
        raise KeyboardInterrupt

    assert guarded(command, as_json=False) == INTERRUPTED
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.not_quick
def test_an_interrupt_that_arrives_while_garbage_is_collected_is_not_lost(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(phase: str, info: dict[str, int]) -> None:
        gc.callbacks.remove(interrupted)
        raise KeyboardInterrupt

    def command() -> int:
        gc.callbacks.append(interrupted)
        gc.collect()  # drops what the callback raises
        # in short sleeps: where collecting took long, the signal comes after it and before the next
        # call, and Python looks for signals when a call has ended
        for _ in range(600):
            time.sleep(0.1)
        return 0

    usual, began = signal.signal(signal.SIGINT, signal.default_int_handler), time.monotonic()
    try:
        assert guarded(command, as_json=False) == INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, usual)
    # it does not wait for what it interrupts
    assert time.monotonic() - began < 50
    assert capsys.readouterr().err == "interrupted\n"


def test_a_file_that_the_system_refuses_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()

    def command() -> int:
        (tmp_path / "file" / "folder").mkdir()
        return 0

    assert guarded(command, as_json=True) != 0
    told = capsys.readouterr()
    assert told.err == (
        f"error: {tmp_path / 'file' / 'folder'}: Not a directory; check the path, its permissions "
        "and the disk\n"
    )
    assert json.loads(told.out)["error"] in told.err


def test_an_interrupt_of_an_import_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    """A compiled module turns it into an error of the import."""

    def importing() -> int:
        raise ImportError("initialization failed") from KeyboardInterrupt()

    def missing() -> int:
        raise ImportError("no such module")

    assert guarded(importing, as_json=False) == 130
    assert capsys.readouterr().err == "interrupted\n"
    with pytest.raises(ImportError, match="no such module"):
        guarded(missing, as_json=False)


def test_a_table_that_has_no_word_to_break_is_drawn_whole() -> None:
    columns = [["", "second one: sex[T.m]"], ["coef", "0.002"]]
    assert _widths(columns, 20) == [20, 5]


class Full(io.StringIO):
    """A stream to a full disk."""

    def write(self, text: str, /) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_standard_output_that_is_full_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> int:
        say("found")
        return 0

    def kept() -> int:
        with printing("the results are in there"):
            return command()

    monkeypatch.setattr(sys, "stdout", Full())
    told = "error: standard output cannot be written (No space left on device)"
    assert guarded(command, as_json=False) == 1
    assert capsys.readouterr().err == f"{told}\n"
    assert guarded(kept, as_json=False) == 1
    assert capsys.readouterr().err == f"{told}; the results are in there\n"


def test_another_error_of_the_system_is_not_taken_for_standard_output() -> None:
    def failing() -> None:
        with printing("there"):
            raise OSError(errno.EIO, "Input/output error")

    def seen_enough() -> None:
        with printing("there"):
            raise BrokenPipeError

    with pytest.raises(OSError, match="Input/output error"):
        failing()
    with pytest.raises(BrokenPipeError):
        seen_enough()


@pytest.mark.long
@pytest.mark.parametrize("closed", [1, 2])
def test_what_is_printed_where_nobody_reads_goes_nowhere_else(closed: int) -> None:
    """A stream that was closed before the start; neither the other stream nor a file has it."""
    command = f"{sys.executable} -m tacit account no.toml {closed}>&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert ("no such study file" in done.stderr) == (closed == 1)
