"""`tacit sweep`: options that are wrong, each with its remedy."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.cli.experiments import SWEEP_EPILOG
from tacit.study import read_study
from tacit.sweep import Grid, plan
from tacit.sweep.written import parse_setting
from tests.end_to_end import study


def invoke(*arguments: str | Path, code: int = 2) -> str:
    done = CliRunner().invoke(app, ["sweep", *map(str, arguments)])
    assert done.exit_code == code, (done.output, done.exception)
    return done.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--epsilon 0.5 1 2", "unexpected argument '1'"),
        ("--epsilon 0.5,0", "error: --epsilon 0.0 must be positive"),
        ("--epsilon 0.5,much", "privacy.epsilon='much'"),
        ("--epsilon 1,", "--epsilon '1,' has an empty value"),
        ("--method ,dpsg", "--method ',dpsg' has an empty value"),
        ("--epsilon 1,1", "privacy.epsilon has 1 twice"),
        ("--method dpsgg", "method 'dpsgg' is unknown; did you mean 'dpsg'?"),
        ("--set method.stp=1", "dpsg has no key 'stp'; did you mean 'step'?"),
        ("--set method.step", "--set 'method.step' must be a key, an equals sign and values"),
        ("--set run.trials=2", "run.trials cannot be varied"),
        ("--seeds 0", "error: --seeds 0 must be at least 1"),
        ("--workers 0", "--workers 0 must be at least 1"),
        ("--chunk 0", "error: --chunk 0 must be at least 1"),
        ("--measure r2", "--measure 'r2' is not measured here; there are auc"),
        ("--over run.rounds", "--over 'run.rounds' is not varied here; there are method"),
        ("--facet method --over method", "over and facet are both 'method'"),
        ("--grid missing.toml", "missing.toml: no such file of a grid"),
        ('--set network={graph="grid",rows=2}', "[network] columns: is missing"),
        ("--cluster head:8786", "must be tls://host:port or tcp://host:port"),
        ("--cluster tls://head:8786", "--tls-ca, --tls-cert, --tls-key"),
        ("--cluster tcp://head:8786 --workers 2", "--workers 2"),
        ("--tls-ca ca.pem", "give its address with --cluster"),
    ],
)
def test_wrong_options_are_named_with_a_remedy(options: str, said: str, tmp_path: Path) -> None:
    text = study.changed("rounds = 20", "rounds = 1")
    out = tmp_path / "out"
    assert said in invoke(study.write(tmp_path, text), *options.split(), "--output", out)
    assert not out.exists()


def test_the_graphs_of_the_help_can_be_swept(tmp_path: Path) -> None:
    [text] = re.findall(r"--set '(network=[^']*)'", SWEEP_EPILOG)
    key, values = parse_setting(text)
    source = read_study(study.write(tmp_path))
    assert len(plan(source, Grid(2, settings={key: values})).cells) == 2


def test_the_study_is_the_only_argument_in_the_usage() -> None:
    usage = invoke("--help", code=0).partition("\n\n")[0]
    assert re.search(r"sweep \[OPTIONS\] \W?STUDY\W?$", usage)


def test_a_wrong_study_is_one_json_document(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["sweep", str(tmp_path / "gone.toml"), "--json"])
    document = json.loads(done.stdout)
    assert (
        done.exit_code == document["exit_code"] == 2 and "no such study file" in document["error"]
    )


def test_a_directory_of_another_sweep_is_refused(tmp_path: Path) -> None:
    text = study.changed('hold_out = 0.2\noutput = "results"', "compare = false")
    path, out = study.write(tmp_path, text), tmp_path / "out"
    invoke(path, "-m", "dgd", "-n", "1", "-w", "1", "-o", out, code=0)
    assert "holds another sweep (seeds: 1 there, 2 here)" in invoke(
        path, "-m", "dgd", "-n", "2", "-w", "1", "-o", out
    )
