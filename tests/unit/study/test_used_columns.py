"""A statistic reads the columns that it asks for: others, though declared, leave no record out."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.deploy.agreement.declare import count
from tacit.errors import ConfigError
from tacit.study import assemble
from tacit.study.read import Source, parse_study
from tacit.study.tables import divide

SHARED = """
[data]
path = "all.csv"
missing = "drop"

[data.features]
years = { lower = 0, upper = 10 }
died = { kind = "boolean" }
arm = { levels = ["drug", "placebo"] }
age = { lower = 20, upper = 80 }
smoker = { kind = "boolean" }
sbp = { lower = 80, upper = 220 }
clinic = { levels = ["a", "b"] }

[partition]
by = "column"
column = "site"
sites = ["Graz", "Wien"]

[network]
graph = "coordinator"

[method]
"""
ROWS = """years,died,arm,age,smoker,sbp,clinic,site
1,1,drug,30,0,,,Graz
2,0,placebo,40,1,120,a,Graz
3,1,drug,,0,,b,Graz
4,0,drug,50,,130,b,Wien
5,1,placebo,60,1,,a,Wien
"""
METHODS = {
    'name = "cox"\ntime = "years"\nevent = "died"\ncolumns = ["arm", "age"]': 4,
    'name = "cox"\ntime = "years"\nevent = "died"\ncolumns = ["arm"]\nstrata = "clinic"': 4,
    'name = "survival"\ntime = "years"\nevent = "died"\nby = "arm"': 5,
    'name = "table1"\ncolumns = ["age", "smoker"]\nby = "arm"': 3,
    'name = "counts"\ncolumns = ["arm", { column = "sbp", edges = [140] }]': 2,
}


def study(folder: Path, method: str) -> Source:
    (folder / "all.csv").write_text(ROWS)
    return parse_study(SHARED + method, "study.toml", folder)


@pytest.mark.parametrize(("method", "records"), METHODS.items())
def test_only_columns_that_are_asked_for_cost_records(
    tmp_path: Path, method: str, records: int
) -> None:
    source = study(tmp_path, method)
    sites, prepared, _ = divide(source)
    assert sum(sites.counts) == records
    told = [each for each in prepared.assumptions if "were left out" in each]
    declared = ("age", "smoker", "sbp", "clinic")
    assert [name for name in declared if name in told[0]] == [n for n in declared if n in method]
    assert count(source, tmp_path / "all.csv").records == records


def test_a_column_that_is_not_declared_is_named(tmp_path: Path) -> None:
    (tmp_path / "all.csv").write_text(ROWS)
    text = SHARED.replace('"drop"', '"indicator"') + 'name = "table1"\ncolumns = ["age", "weight"]'
    with pytest.raises(ConfigError, match="column 'weight' is not declared; these are: years"):
        assemble(parse_study(text, "study.toml", tmp_path))


def test_a_check_says_which_columns_cost_records(tmp_path: Path) -> None:
    columns = 'columns = ["age", "smoker", "sbp"]'
    (tmp_path / "all.csv").write_text(ROWS)
    (tmp_path / "study.toml").write_text(SHARED + f'name = "table1"\n{columns}\n')
    table = str(tmp_path / "all.csv")
    done = CliRunner().invoke(app, ["check", str(tmp_path / "study.toml"), "--data", table])
    assert "4 of 5 records lack a value and are dropped: sbp 3, age 1, smoker 1." in " ".join(
        done.stdout.split()
    )
