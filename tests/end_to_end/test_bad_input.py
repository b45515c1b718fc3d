"""Every mistake ends with exit code 2 and one message that names value and remedy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tests.end_to_end.study import changed, visits, write

RUN = CliRunner()


def fails(*arguments: str | Path) -> str:
    """Run the command; it must end with exit code 2, one message, no traceback, no results."""
    done = RUN.invoke(app, [str(argument) for argument in arguments])
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.count("error: ") == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def of(**columns: Any) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """The table with some columns replaced."""
    return lambda frame: frame.assign(**columns)


def first(column: str, value: Any) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """The table with another first value in a column."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        frame[column] = frame[column].astype(object)
        frame.loc[0, column] = value
        return frame

    return change


# what is changed in the study; what stands on the line that the message names; words in the message
STUDIES = {
    "unknown key": (
        "clip = 1.0",
        "clipp = 1.0",
        "clipp",
        "clipp: unknown key; did you mean 'clip'?",
    ),
    "unknown section": ("[run]", "[running]", "[running]", "unknown key; did you mean 'run'?"),
    "missing key": ("rounds = 20\n", "", "[run]", "rounds: is missing; add rounds ="),
    "a section of a list": ("[run]", "[[run]]", "[[run]]", "write [run] in single brackets"),
    "text without quotes": ('"dpsg"', "dpsg", "= dpsg", 'put text in quotes: "dpsg"'),
    "a path of Windows": ('"visits.csv"', '"C:\\data\\v.csv"', "C:", "in single quotes"),
    "a path of a shell": ("visits.csv", "~/visits.csv", "~", "~ is not expanded here"),
    "not toml": ("step = 0.5", "step = ", "step =", "not valid TOML"),
    "wrong type": ("step = 0.5", "step = 'a'", "step =", "'a' must be a number"),
    "unknown loss": ('"logistic"', '"logistik"', "logistik", "did you mean 'logistic'?"),
    "unknown method": ('"dpsg"', '"dpsgd"', "dpsgd", "did you mean 'dpsg'?"),
    "method in capitals": ('"dpsg"', '"DPSG"', "DPSG", "did you mean 'dpsg'?"),
    "class of a graph": ('"ring"', '"ErdosRenyi"', "ErdosRenyi", "did you mean 'erdos_renyi'?"),
    "unknown graph": ('"ring"', '"rings"', "rings", "did you mean 'ring'?"),
    "unknown option": (
        "drop_first = true",
        "drop_frist = true",
        "frist",
        "did you mean 'drop_first'?",
    ),
    "unknown column": (
        "features.age",
        "features.agee",
        "agee",
        "no column 'agee'; did you mean 'age'?",
    ),
    "no bounds": ("lower = 0\n", "", "features.age]", "needs declared bounds"),
    "bounds in the wrong order": (
        "lower = 0\n",
        "lower = 200\n",
        "lower = 200",
        "lower: 200.0 must be below",
    ),
    "no data": ('path = "visits.csv"\n', "", "[data]", "give either path or source"),
    "no such file": ("visits.csv", "visit.csv", "visit.csv", "no such file; check the path"),
    "no loader": ("visits.csv", "visits.xyz", ".xyz", "no loader for this suffix"),
    "undeclared level": ('["f", "m"]', '["f", "x"]', "features.sex]", "not among the declared"),
    "undeclared target": (
        'positive = "> 0"\n',
        "",
        "[data.target]",
        "does not say what is predicted",
    ),
    "labels of another loss": (
        'positive = "> 0"',
        "lower = 0\nupper = 9",
        "[problem]",
        "must be 0 or 1",
    ),
    "loss without classes": ('"logistic"', '"softmax"', "softmax", "needs a target with classes"),
    "strength below 0": ("strength = 1e-3", "strength = -1", "strength", "and at least 0"),
    "disconnected graph": (
        'graph = "ring"',
        "edges = [[0, 1], [2, 3]]",
        "[network]",
        "not connected",
    ),
    "unknown site in an edge": (
        'graph = "ring"',
        'edges = [["north", "sud"]]',
        "[network]",
        "'sud', which is not a site",
    ),
    "wrong number of agents": (
        'graph = "ring"',
        'graph = "grid"\nrows = 2\ncolumns = 3',
        "[network]",
        "6 agents and there are 4",
    ),
    "coordinator for peers": ('"ring"', '"coordinator"', "[network]", "peers"),
    "step of 0": ("step = 0.5", "step = 0.0", "step", "step: 0.0 must be a positive finite number"),
    "epsilon of 0": ("epsilon = 1.0", "epsilon = 0.0", "epsilon", "epsilon: 0.0 must be positive"),
    "epsilon below 0": (
        "epsilon = 1.0",
        "epsilon = -1",
        "epsilon",
        "epsilon: -1.0 must be positive",
    ),
    "delta of 1": ("delta = 1e-6", "delta = 1.0", "delta", "must be in [1e-12, 1)"),
    "clip of 0": ("clip = 1.0", "clip = 0", "clip", "clip: 0.0 must be positive"),
    "no clip": ("clip = 1.0\n", "", "[privacy]", "clip: is missing"),
    "clips for other sites": (
        "clip = 1.0",
        "clip = { north = 1, sout = 1 }",
        "clip",
        "did you mean 'south'?",
    ),
    "too few clips": ("clip = 1.0", "clip = [1.0, 2.0]", "clip", "2 entries for 4 sites"),
    "person at too many sites": (
        "clip = 1.0",
        "clip = 1.0\nsites_per_person = 9",
        "sites_per_person",
        "sites_per_person: 9, but there are 4",
    ),
    "no budget": (
        "[privacy]\nepsilon = 1.0\ndelta = 1e-6\nclip = 1.0\n",
        "",
        '"dpsg"',
        "needs a budget",
    ),
    "budget without noise": ('"dpsg"', '"dgd"', "[privacy]", "adds no noise"),
    "rounds of 0": ("rounds = 20", "rounds = 0", "rounds", "rounds: 0 must be at least 1"),
    "half a round": ("rounds = 20", "rounds = 20.5", "rounds", "20.5 must be a whole number"),
    "seed below 0": ("seed = 0", "seed = -1", "seed", "-1 must be at least 0"),
    "everything held out": ("hold_out = 0.2", "hold_out = 1.0", "hold_out", "1.0 must be below 1"),
    "one site by number": (
        'by = "column"\ncolumn = "site"',
        'by = "even"\nsites = 1',
        "sites = 1",
        "sites: 1 must be at least 2",
    ),
    "empty site": (
        'column = "site"',
        'column = "site"\nsites = ["north", "south", "east", "west", "up"]',
        "[partition]",
        "'up' has no records",
    ),
    "output is not a directory": (
        'output = "results"',
        'output = "visits.csv/results"',
        "output",
        "cannot be written",
    ),
    "output on a file": (
        'output = "results"',
        'output = "visits.csv"',
        "output",
        "never overwritten",
    ),
}


@pytest.mark.parametrize("case", STUDIES)
def test_a_wrong_study_is_refused_with_line_and_remedy(case: str, tmp_path: Path) -> None:
    old, new, marked, words = STUDIES[case]
    text = changed(old, new)
    message = fails("run", write(tmp_path, text))
    assert words in message
    line = text[: text.index(marked)].count("\n") + 1
    assert f"study.toml:{line}: " in message
    assert not (tmp_path / "results").exists()
    assert not list(tmp_path.glob(".results*"))


DATA = {
    "text among numbers": (first("age", "old"), "not numeric"),
    "text column as a number": (of(age="old"), "not numeric"),
    "infinite": (first("age", float("inf")), "infinite"),
    "missing target": (first("visits", None), "missing"),
    "missing site": (first("site", None), "missing value"),
    "one site only": (of(site="north"), "all records belong to one site"),
    "no records": (lambda frame: frame.iloc[:0], "no records"),
    "no site column": (lambda frame: frame.drop(columns="site"), "no column 'site'"),
    "another level": (first("sex", "x"), "not among the declared"),
    "no boolean": (first("smoker", 7), "is declared Boolean, but line 2 holds"),
}


@pytest.mark.parametrize("case", DATA)
def test_wrong_data_are_refused(case: str, tmp_path: Path) -> None:
    change, words = DATA[case]
    assert words in fails("run", write(tmp_path, frame=change(visits())))


def test_a_missing_value_where_none_is_allowed(tmp_path: Path) -> None:
    message = fails("run", write(tmp_path, changed('missing = "drop"\n', "")))
    assert "column 'age' has" in message
    assert "declare missing=" in message


def test_wrong_label_values_for_the_loss(tmp_path: Path) -> None:
    text = changed('positive = "> 0"', "positive = 0\nnegative = 1")
    assert "not among the declared" in fails("run", write(tmp_path, text))


def test_a_column_name_twice(tmp_path: Path) -> None:
    path = write(tmp_path)
    table = tmp_path / "visits.csv"
    table.write_text(table.read_text().replace("age,sex", "age,age", 1))
    assert "'age' occurs twice" in fails("run", path)


def test_a_line_with_too_many_values(tmp_path: Path) -> None:
    path = write(tmp_path)
    with (tmp_path / "visits.csv").open("a") as table:
        table.write("1,2,3,4,5,6\n")
    assert "6 values where the header has 5" in fails("run", path)


def test_a_truncated_parquet_file(tmp_path: Path) -> None:
    table = tmp_path / "visits.parquet"
    visits().to_parquet(table)
    table.write_bytes(table.read_bytes()[:-100])
    path = write(tmp_path, changed("visits.csv", "visits.parquet"))
    assert "may be truncated" in fails("run", path)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = write(tmp_path)
    (tmp_path / "visits.csv").write_bytes(b"\xff\xfe\x00ag")
    assert "not text, but a binary file" in fails("run", path)


def test_an_option_of_another_kind_of_file(tmp_path: Path) -> None:
    visits().to_parquet(tmp_path / "visits.parquet")
    text = changed('path = "visits.csv"', 'path = "visits.parquet"\nseparator = ";"')
    assert "is for CSV files" in fails("run", write(tmp_path, text))


def test_no_study_file(tmp_path: Path) -> None:
    assert "no such study file" in fails("run", tmp_path / "absent.toml")


def test_a_study_file_that_is_a_directory(tmp_path: Path) -> None:
    assert "cannot be read" in fails("run", tmp_path)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = changed("rounds = 20", "rounds = 0", changed("clip = 1.0", "clip = 'a'"))
    message = fails("run", write(tmp_path, text))
    assert "study.toml:30: [privacy] clip: 'a' must be a number" in message
    assert "study.toml:32: [run] rounds: 0 must be at least 1" in message


def test_a_guarantee_that_the_method_cannot_give(tmp_path: Path) -> None:
    text = changed('"dpsg"\nstep = 0.5', '"d-zoa-solver"\nstep = 0.05\nclaim = { epsilon = 0.1 }')
    assert "[method.claim] delta: is missing" in fails("run", write(tmp_path, text))


def test_the_study_is_left_as_it_was(tmp_path: Path) -> None:
    path = write(tmp_path, changed("rounds = 20", "rounds = 0"))
    fails("run", path)
    assert path.read_text() == changed("rounds = 20", "rounds = 0")
