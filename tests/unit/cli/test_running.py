"""What `tacit run` and `tacit rehearse` say before anything runs."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.study import parse_study
from tacit.study.evaluations import left
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


@pytest.mark.long
def test_evaluations_that_were_kept_are_told_of(tmp_path: Path) -> None:
    study, output = tmp_path / "study.toml", tmp_path / "results"
    text = """
        problem.x0 = [0.0]
        problem.simulator = { function = "interrupting:cost", cache = "ev.sqlite" }
        partition = { sites = ["north", "south"] }
        network = { graph = "coordinator" }
        method = { name = "or-zo", step = 0.1 }
        run = { rounds = 3, seed = 0 }
    """
    module = """
calls = []
def cost(x, agent):
    calls.append(x)
    if len(calls) == 9:
        raise KeyboardInterrupt
    return float(x[0] ** 2)
"""
    (tmp_path / "interrupting.py").write_text(module)
    study.write_text(text)
    kept = f"the evaluations made so far are in {tmp_path / 'ev.sqlite'} and will be used\n"
    stopped = CliRunner().invoke(app, ["run", str(study), "--output", str(output)])
    assert stopped.exit_code == 130, stopped.output
    assert stopped.stderr.endswith(f"too short to leave a checkpoint; {kept}")
    again = CliRunner().invoke(app, ["run", str(study), "--output", str(output), "--resume"])
    assert again.exit_code == 0, again.output
    assert again.stderr.startswith(f"NOTE: nothing to resume in {output}; starting anew; {kept}")
    for old, new, told in (
        (", seed = 0", "", "but another start draws other points unless [run] has a seed"),
        (
            "run =",
            'privacy = { ledger = "l", dataset = "d", clip = 1 }\nrun =',
            "to a ledger draws other",
        ),
    ):
        assert old in text
        assert told in left(parse_study(text.replace(old, new), folder=tmp_path))
    (tmp_path / "ev.sqlite").unlink()
    assert left(parse_study(text, folder=tmp_path)) == ""


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
