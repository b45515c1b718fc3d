"""Functional perturbation from a study file, and what is said of mistakes in its tables."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.errors import ConfigError
from tacit.study import parse_study
from tests.end_to_end.study import changed, write

PURE = changed("delta = 1e-6\nclip = 1.0", 'delta = 0\nclip = 6.0\nnoise = "laplace"')
SMALL = changed(
    '[data.features.sex]\nlevels = ["f", "m"]\ndrop_first = true\n'
    '[data.features.smoker]\nkind = "boolean"\n',
    "",
    PURE,
)
QUADRATIC = """\
name = "functional-perturbation"
inner = { name = "extra", step = 0.2 }
bounds = { strong_convexity = 0.0, smoothness = 1.0 }
[method.basis]
kind = "quadratic"
lower = [-2, -2, -2, -2]
upper = [2, 2, 2, 2]
"""
LEGENDRE = """\
name = "functional-perturbation"
p = { north = 0.55, south = 0.6, east = 0.55, west = 0.55 }
basis = { kind = "legendre", lower = [-1, -1], upper = [1, 1], degree = 4 }
centre = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
[method.inner]
name = "gradient-descent"
step = 0.5
[method.bounds]
strong_convexity = 0.0
smoothness = 1.0
gradient_bound = 3.0
tolerance = 1e-5
"""
OWN = 'name = "dpsg"\nstep = 0.5\n'


def star(text: str) -> str:
    return changed('graph = "ring"', 'graph = "coordinator"', text)


@pytest.mark.long
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(changed(OWN, QUADRATIC, PURE), id="quadratic"),
        pytest.param(star(changed(OWN, LEGENDRE, SMALL)), id="legendre", marks=pytest.mark.long),
    ],
)
def test_a_study_of_it_runs(text: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["run", str(write(tmp_path, text))])
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "results" / "result.json").read_text())
    for owner in found["guarantee"]["owners"]:
        assert (owner["status"], owner["releases"]) == ("proved", 1)
        assert owner["epsilon"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('kind = "quadratic"', 'kind = "quadratc"', r":\d+: .*quadratc"),
        ('name = "extra"', 'name = "dpsg"', r":\d+: .*dpsg"),
        ("smoothness = 1.0", "smothness = 1.0", r":\d+: .*smothness.*smoothness"),
        ("upper = [2, 2, 2, 2]", "upper = 2", r":\d+: .*upper"),
    ],
)
def test_mistakes_are_named_with_their_line(old: str, new: str, says: str) -> None:
    text = changed(old, new, changed(OWN, QUADRATIC, PURE))
    with pytest.raises(ConfigError, match=says):
        parse_study(text)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("smoothness = 1.0", "smoothness = -1.0", r"study.toml:\d+: .*smoothness=-1.0"),
        ("step = 0.2", "step = -0.2", r"study.toml:\d+: .*step"),
        ("[2, 2, 2, 2]", "[2, 2]", r"study.toml:\d+: .*corners"),
        ("lower = [-2, -2, -2, -2]\nupper = [2, 2, 2, 2]", "lower = [-2]\nupper = [2]", "4 param"),
    ],
)
def test_values_out_of_range_end_the_run_before_it_begins(
    old: str, new: str, says: str, tmp_path: Path
) -> None:
    text = changed(old, new, changed(OWN, QUADRATIC, PURE))
    done = CliRunner().invoke(app, ["run", str(write(tmp_path, text))])
    assert done.exit_code == 2
    assert re.search(says, done.stderr.replace("\n", " ")), done.stderr
