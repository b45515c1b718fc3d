"""An owner says how its own table is written, and the study stays as it was agreed on."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.cli.budgeting import check_table
from tacit.deploy.agreement.declare import count
from tacit.deploy.agreement.records import read_table
from tacit.errors import ConfigError, ProblemError
from tacit.study.read import Source, parse_study

pytestmark = pytest.mark.usefixtures("text_columns")

STUDY = """
[data]
path = "all.csv"
missing = "drop"
missing_values = ["unknown"]

[data.features]
height = { lower = 1.2, upper = 2.2 }
arm = { levels = ["drug", "placebo"] }
seen = { kind = "date", lower = "2024-01-01", upper = "2024-12-31", format = "%m/%d/%Y" }

[data.target]
column = "ill"
positive = true

[partition]
by = "column"
column = "site"
sites = ["Graz", "Wien"]

[problem]
loss = "logistic"

[network]
graph = "complete"

[method]
name = "dpsg"
step = 1.0

[privacy]
epsilon = 1.0
clip = 1.0

[run]
rounds = 10
"""

OTHERS = """height,arm,seen,ill
1.72,drug,04/03/2024,yes
1.8,placebo,12/24/2024,no
,drug,01/02/2024,no
"""
OURS = "Größe;arm;seen;ill\n1,72;A;03.04.2024;yes\n1,8;B;24.12.2024;no\n-9;A;02.01.2024;no\n"
OWN = """
path = "Graz.csv"
decimal = ","
encoding = "cp1252"
separator = ";"
missing_values = [-9]

[columns]
height = { name = "Größe" }
arm = { map = { A = "drug", B = "placebo" } }
seen = { format = "%d.%m.%Y" }
"""


@pytest.fixture
def study(tmp_path: Path) -> Source:
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "Wien.csv").write_text(OTHERS, encoding="utf-8")
    (tmp_path / "Graz.csv").write_text(OURS, encoding="cp1252")
    (tmp_path / "graz.toml").write_text(OWN, encoding="utf-8")
    return parse_study(STUDY, "study.toml", tmp_path)


def test_a_table_that_is_written_differently_is_the_same_records(study: Source) -> None:
    ours, theirs = (read_table(study, study.folder / name) for name in ("graz.toml", "Wien.csv"))
    assert ours.total.prepared.features.tolist() == theirs.total.prepared.features.tolist()
    assert ours.total.prepared.assumptions == theirs.total.prepared.assumptions
    assert len(ours.total.rows) == 2 and not ours.total.unfit.any()
    check_table(study.folder / "graz.toml")
    found = count(study, study.folder / "graz.toml")
    assert (found.declare, found.dropped, found.unfit) == (2, 1, "")


def test_what_is_left_out_is_as_the_study_says(study: Source) -> None:
    (study.folder / "graz.toml").write_text('path = "Wien.csv"\n')
    ours, theirs = (read_table(study, study.folder / name) for name in ("graz.toml", "Wien.csv"))
    assert ours.total.prepared.features.tolist() == theirs.total.prepared.features.tolist()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('path = "Graz.csv"', "", "path"),
        ("Graz.csv", "Linz.csv", "no such file"),
        ("Größe", "Grösse", "height.*no column 'Grösse'; did you mean 'Größe'"),
        ("height =", "size = { name = 'Größe' }\nheight =", "column of the table twice"),
        ("height = { name", "ill = { name", "has a column 'ill', so that 'Größe' cannot be it"),
        ("%d.%m.%Y", "%d.%m", "format='%d.%m' must say"),
        ("[-9]", '["-9", -9]', "twice"),
        ('decimal = ","', 'decimal = ";"', "graz.toml:3.*decimal"),
        ('separator = ";"', 'sheet = "one"', "graz.toml: sheet='one' is for Excel workbooks"),
        ("arm = {", "arm = { bounds = 1,", "graz.toml:10.*bounds.*unknown key"),
    ],
)
def test_what_an_owner_cannot_say(study: Source, old: str, new: str, told: str) -> None:
    assert old in OWN
    (study.folder / "graz.toml").write_text(OWN.replace(old, new), encoding="utf-8")
    with pytest.raises((ConfigError, ProblemError), match=f"(?s){told}"):
        read_table(study, study.folder / "graz.toml")


def test_a_file_that_names_itself_is_no_table(study: Source) -> None:
    path = study.folder / "graz.toml"
    path.write_text('path = "graz.toml"\n')
    for read in (check_table, lambda own: read_table(study, own)):
        with pytest.raises(ProblemError, match=r"graz\.toml"):
            read(path)


def test_a_check_names_the_decimal_comma_and_few_values(study: Source) -> None:
    rows = "".join(f'"1,{500 + each}",drug,04/03/2024,yes\n' * 2 for each in range(40))
    path = study.folder / "Wien.csv"
    path.write_text("height,arm,seen,ill\n" + rows + ",drug,04/03/2024,no\n")
    ran = CliRunner().invoke(app, ["check", str(study.folder / "study.toml"), "--data", str(path)])
    assert ran.exit_code == 2
    told = " ".join(ran.stdout.split())
    assert "80 of 80 records do not fit the study" in told
    assert "height: '1,500' (2)," in told and "'1,509' (2) and 30 other values." in told
    assert told.count("1,500") == 2  # once in the list, and once as the first
    assert 'decimal = "," if its comma marks the decimals' in told
    assert "docs/your_data.md" in told


def test_a_value_is_counted_alike_and_told_with_its_remedy(study: Source) -> None:
    path = study.folder / "Wien.csv"
    odd = "1.7,A,04/03/2024,yes\n" * 3 + ",A,04/03/2024,yes\n"
    path.write_text(OTHERS + odd)
    told = count(study, path).unfit
    assert "arm: 'A' (3)." in told and "(4)" not in told
    assert 'say in a file about your table what it means: map = { "A" = "" }' in told


def test_help_says_that_an_owner_may_say_how_its_table_is_written() -> None:
    for command in (["check"], ["agent"], ["doctor"], ["site", "join"]):
        said: Any = CliRunner().invoke(app, [*command, "--help"]).output
        assert "says how yours is written" in " ".join(said.split()), command
