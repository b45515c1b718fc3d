"""Every command stands in a section of `tacit --help`, and is summed up in one line."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.cli.helping import SECTIONS, commands

COMMANDS = [name for names in SECTIONS.values() for name in names]


def test_every_command_stands_in_one_section() -> None:
    assert sorted(COMMANDS) == sorted(commands(app))
    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert all(f"{heading}:" in shown for heading in SECTIONS)
    assert all(f"\n  {name} " in shown for name in COMMANDS)


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_no_summary_is_cut_off(name: str) -> None:
    shown = CliRunner().invoke(app, [*name.split(), "--help"], terminal_width=80)
    assert shown.exit_code == 0
    assert not re.findall(r"^  \S+ {2,}.*\.\.\.$", shown.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("run study.toml --epsilon 3", "--epsilon is not an option here: set epsilon in [privacy]"),
        ("run study.toml --seed=3", "--seed is not an option here: set seed in [run]"),
        ("audit study.toml --clip 3", "--clip is not an option here: set clip in [privacy]"),
        ("rehearse study.toml --step 3", "--step is not an option here: set step in [method]"),
        ("fit v.csv y~x -f poisson -e 1,5", "'1,5' is not a number; write 1.5"),
        ("fit v.csv y~x -f poisson --sums 3.5", "'3.5' is not a whole number"),
        ("run study.toml --nothing 3", "No such option: --nothing"),
        ("rehearse no.toml --rounds 3", "no such study file"),
    ],
)
def test_what_a_study_says_is_no_option(command: str, said: str) -> None:
    found = CliRunner().invoke(app, command.split())
    assert found.exit_code == 2
    assert said in " ".join(found.output.split())
