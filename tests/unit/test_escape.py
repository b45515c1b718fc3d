"""What others wrote reaches neither the terminal nor a spreadsheet as a command."""

import csv
import io
import json
import logging

import pytest

from tacit.cli.console import emit, guarded, say, table
from tacit.cli.deploying import JsonLines, PlainLines
from tacit.errors import ConfigError
from tacit.escape import cell, one_line, visible

HOSTILE = "North\x1b[2J\x1b]0;owned\x07\r\x9b31m\u202ecinilc\u2028\x00\nok"
STEERING = "\x1b\x07\r\x9b\u202e\u2028\x00"


def steers(text: str) -> bool:
    return any(character in STEERING for character in text)


def test_letters_of_any_language_stay() -> None:
    for text in ("Zürich", "दिल्ली", "São Paulo", "ε = 1 · δ ≤ 10⁻⁶", "", "a b"):
        assert visible(text) == text


def test_what_steers_is_spelt_out() -> None:
    assert visible("a\x1b[2Kb") == "a\\x1b[2Kb"
    assert not steers(visible(HOSTILE))
    assert "\n" not in visible(HOSTILE)
    assert visible("a\nb", kept="\n") == "a\nb"


def failing() -> int:
    raise ConfigError(HOSTILE)


def test_nothing_that_a_command_prints_steers(capsys: pytest.CaptureFixture[str]) -> None:
    say(HOSTILE)
    table([HOSTILE], [[HOSTILE]])
    guarded(failing, as_json=False)
    emit({"title": HOSTILE})
    printed = capsys.readouterr()
    assert not steers(printed.out + printed.err)
    assert json.loads(printed.out[printed.out.index("{") :]) == {"title": HOSTILE}


def test_nothing_that_is_logged_steers() -> None:
    record = logging.LogRecord("tacit.site", 20, "", 0, "%(who)s", ({"who": HOSTILE},), None)
    plain, line = PlainLines().format(record), JsonLines().format(record)
    assert not steers(plain + line)
    assert json.loads(line)["who"] == HOSTILE


def test_an_error_of_several_lines_is_printed_and_logged_as_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = "it failed. Its output ends with:\n    busy\n    lost\nCorrect it;\nor wait"
    joined = "it failed. Its output ends with: busy | lost. Correct it; or wait"
    say(error)
    record = logging.LogRecord("tacit.site", 30, "", 0, "%(why)s", ({"why": error},), None)
    assert capsys.readouterr().out == f"{joined}\n"
    assert PlainLines().format(record).endswith(f"WARNING {joined}")
    assert one_line("ends with:\n    busy") == "ends with: busy."


def test_a_text_is_never_a_formula() -> None:
    for text in ("=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1"):
        assert cell(text) == f"'{text}"
    for plain in ("-0.5", "+1e-6", "age", "", -0.5, 3, None):
        assert cell(plain) == plain
    file = io.StringIO()
    csv.writer(file).writerow([cell('=HYPERLINK("http://x")'), 1.0])
    assert file.getvalue().startswith("\"'=HYPERLINK")
