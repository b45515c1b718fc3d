"""Files that a command writes: kept unless --force is given, and refused in one message."""

import os
import re
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.cli.writing import check_free, check_study, write_text
from tacit.errors import ConfigError


def test_a_file_that_exists_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    check_free("study", path, force=False, read={})
    write_text("study", path, "größer")
    assert path.read_text(encoding="utf-8") == "größer"
    check_free("study", path, force=True, read={})
    with pytest.raises(ConfigError, match=r"study='.*study.toml' exists; give --force"):
        check_free("study", path, force=False, read={})


def test_a_table_that_is_read_is_never_replaced(tmp_path: Path) -> None:
    table, model = tmp_path / "visits.csv", tmp_path / "model.json"
    table.write_text("age,ill\n50,yes\n")
    model.write_text("{}")
    (tmp_path / "link.csv").symlink_to(table)
    fit = ("fit", table, "ill ~ age", "-f", "binomial", "--study", table)
    for command, what in (
        (("init", table, "-o", table), "table"),
        (("predict", model, table, "-o", tmp_path / "link.csv"), "table"),
        (("predict", model, table, "-o", model), "model"),
        (fit, "table"),
    ):
        done = CliRunner().invoke(app, [*map(str, command), "--force"])
        assert done.exit_code == 2
        assert re.search(rf"is the {what} that is read; choose another name", done.stderr)
    assert table.read_text().startswith("age") and model.read_text() == "{}"


def test_a_study_replaces_nothing_but_a_study(tmp_path: Path) -> None:
    table, precious = tmp_path / "visits.csv", tmp_path / "precious.csv"
    table.write_text("age,ill\n50,yes\n")
    precious.write_text("a,b\n1,2\n")
    named = tmp_path / "notes.toml"
    named.write_text("to do: tidy up\n")
    for output, words in ((precious, "ends in .toml"), (named, "other than a study")):
        for command, option in (
            (("init", table), "--output"),
            (("fit", table, "ill ~ age", "-f", "binomial"), "--study"),
        ):
            done = CliRunner().invoke(app, [*map(str, command), option, str(output), "--force"])
            assert done.exit_code == 2
            assert words in done.stderr
    assert precious.read_text() == "a,b\n1,2\n" and named.read_text() == "to do: tidy up\n"
    named.write_text("title = 'old'\n")
    check_study("study", named)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "file"):
        with pytest.raises(ConfigError, match=r"output='.*' cannot be written \(.*\); choose"):
            write_text("output", path, "text")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_file_that_is_replaced_whole_must_be_a_regular_one(tmp_path: Path) -> None:
    from tacit.deploy.files import write_bytes
    from tacit.errors import RuntimeFailure
    from tacit.report.assets import write_page

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="it is not a regular file"):
        write_bytes(pipe, b"bundle")
    with pytest.raises(RuntimeFailure, match="it is not a regular file"):
        write_page(pipe, "page")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]
