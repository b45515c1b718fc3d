"""Progress is one line of a terminal for each phase, and whole lines of a log."""

from __future__ import annotations

import pytest

from tacit.problem.progress import Shown


def words(done: int, total: int) -> str:
    return f"{done} of {total}"


def test_phases_have_lines_of_their_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    first, second = Shown(words, ending=True), Shown(words, ending=True)
    first(1, 3)
    first(2, 3)  # and it ends before its end
    second(3, 3)
    second(1, 1)
    lines = [line.split("\r")[-1].rstrip() for line in capsys.readouterr().err.split("\n")]
    assert lines == ["2 of 3", "3 of 3", "1 of 1", ""]


def test_a_log_has_few_whole_lines(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Shown(words, ending=True)
    for done in range(4):
        shown(done, 3)
    assert capsys.readouterr().err == "0 of 3\n3 of 3\n"
