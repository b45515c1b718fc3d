"""What `tacit run` and `tacit rehearse` say before anything runs."""

from pathlib import Path

from typer.testing import CliRunner

from tacit.cli import app
from tests.sites import STUDY


def refused(*arguments: str | Path) -> str:
    found = CliRunner().invoke(app, [str(each) for each in arguments])
    assert found.exit_code == 2
    return found.stderr


def test_a_resumed_run_says_that_there_is_nothing_to_resume(tmp_path: Path) -> None:
    study, output = tmp_path / "study.toml", tmp_path / "results"
    study.write_text(STUDY)
    said = f"NOTE: nothing to resume in {output}; starting anew\n"
    assert refused("run", study, "--output", output, "--resume").startswith(said)
    assert "NOTE" not in refused("run", study, "--output", output)
    output.with_name("results.checkpoint").touch()
    assert "NOTE" not in refused("run", study, "--output", output, "--resume")


def test_what_an_option_said_is_not_looked_for_in_the_study(tmp_path: Path) -> None:
    study, output = tmp_path / "study.toml", tmp_path / "visits.csv"
    study.write_text(STUDY)
    output.touch()
    told = refused("run", study, "--output", output)
    assert told.startswith(f"error: --output '{output}' exists and is never overwritten")
    assert "'--rounds' / '-r': 0 must be at least 1" in refused("account", study, "-r", "0")


def test_a_rehearsal_says_that_nothing_is_held_out(tmp_path: Path) -> None:
    study, output = tmp_path / "study.toml", tmp_path / "rehearsal"
    study.write_text(STUDY + "hold_out = 0.2\n")
    told = refused("rehearse", study, "--output", output)
    assert told.startswith("NOTE: hold_out=0.2 in [run] is left out here")
    study.write_text(STUDY)
    assert "NOTE" not in refused("rehearse", study, "--output", output)
