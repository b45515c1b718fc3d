"""Wrong values on the command line: what is said of the value, its place and the remedy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.cli.programs import keep_programs
from tacit.data.schema import Altered
from tests.end_to_end.study import STUDY, changed, write

OPTIONS = ("--records", "20", "--parameters", "10", "--agents", "5", "--epsilon", "1")


def told(*words: object) -> str:
    """What is said of an option or a file that is wrong."""
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 2, done.output
    return done.output


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    rows = [f"{30 + k / 2},{k % 9 + 1},{k % 2},{'ab'[k % 2]},s{k % 3}" for k in range(60)]
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(["age,years,died,arm,clinic", *rows]) + "\n")
    return path


def test_numbers_are_no_groups(patients: Path) -> None:
    said = told("table1", patients, "--by", "age")
    assert "'age' has 60 levels" in said
    assert "it holds numbers" in said and "a column such as age_group" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("survival", "years", "clinic"), "'clinic' cannot be both the event and the sites"),
        (("survival", "years", "years"), "'years' cannot be both the time and the event"),
        (("survival", "years", "died", "--by", "died"), "both the event and the groups"),
        (("cox", "years", "died", "arm", "--strata", "arm"), "both a covariate and the strata"),
        (("cox", "years", "died", "arm", "arm"), "'arm' stands twice as a covariate"),
        (("cox", "years", "died", "clinic"), "'clinic' cannot be both a covariate and the sites"),
    ],
)
def test_a_column_has_one_part(patients: Path, words: tuple[str, ...], said: str) -> None:
    command, *rest = words
    assert said in told(command, patients, *rest, "--site", "clinic")


def test_what_an_option_gave_is_blamed_on_the_option(tmp_path: Path) -> None:
    assert "error: --prevalence 30.0 must be above 0" in told(
        "advise", *OPTIONS, "--prevalence", "30"
    )
    text = changed('column = "site"', 'column = "site"\nsites = ["A", "B", "C", "D"]')
    study = write(tmp_path, text)
    ring = ("--records", "20", "--parameters", "3", "--agents", "2", "--epsilon", "1")
    assert "that is --graph path" in told("advise", *ring, "--graph", "ring")
    for words, said in (
        (("--prevalence", "30", "--records", "20"), "error: --prevalence 30.0 must be above 0"),
        (("--records", "6,6"), "error: --records 6,6 has 2 numbers for 4 sites"),
        (("--records", "20", "--row-norm", "-1"), "error: --row-norm -1"),
    ):
        assert said in told("advise", study, *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("advise --epsilon -3", "error: --epsilon -3.0 must be positive"),
        ("advise --records 0", "error: --records 0 must be at least 1"),
        ("advise --family foo", "error: --family 'foo': widths are forecast for"),
        ("advise --loss foo", "error: --loss 'foo' is unknown"),
        ("plan noise --epsilon -3", "error: --epsilon -3.0 must be positive"),
        ("plan masks --delta 2", "error: --delta 2.0 must be at least 0 and below 1"),
        ("plan rounds --noise-multiplier 0", "error: --noise-multiplier 0.0 must be positive"),
        ("plan noise --sampling 2", "error: --sampling 2.0 must be above 0 and at most 1"),
        ("plan gossip --steps 0", "error: --steps 0 must be at least 1"),
        ("sweep --epsilon 1,-3", "error: --epsilon -3.0 must be positive"),
        ("sweep --seeds 0", "error: --seeds 0 must be at least 1"),
        ("account --rounds -3", "-3 must be at least 1"),
    ],
)
def test_a_wrong_value_is_refused_before_a_missing_one_is_asked_for(words: str, said: str) -> None:
    assert said in told(*words.split())


def test_a_result_that_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"format": "tacit-res')
    said = told("report", tmp_path)
    assert "result.json is no whole JSON document" in said and "Copy it again" in said


def test_a_cache_that_is_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "file" / "cache"))
    keep_programs()
    said = capsys.readouterr().err
    assert said.count("WARNING: TACIT_CACHE=") == 1 and "Not a directory" in said
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ


def test_bounds_that_hold_no_value(patients: Path) -> None:
    words = ("fit", patients, "died ~ age", "--site", "clinic", "--family", "binomial")
    said = told(*words, "--bounds", "age=1900:2010")
    assert "error: column 'age' has no value between its declared bounds" in said


def test_times_may_all_be_beyond_the_last_one() -> None:
    altered = Altered(60, 0, {"years": 60, "age": 59}, {})
    assert altered.outside("years") == []
    assert altered.outside(None) == ["years"]
    assert Altered(0, 0, {"years": 0}).outside(None) == []


def test_a_target_of_numbers_is_not_binomial(patients: Path) -> None:
    said = told("fit", patients, "age ~ arm", "--family", "binomial", "--site", "clinic")
    assert "'age' holds numbers, 60 different ones, and 'binomial' is for levels" in said
    assert "such as 'gaussian'" in said


def test_a_model_that_cannot_be_read_is_not_blamed_on_the_table(patients: Path) -> None:
    said = told("predict", patients.with_name("nowhere.json"), patients)
    assert said.startswith(f"error: {patients.with_name('nowhere.json')}: cannot be read")
    assert "check the path" in said


def test_a_status_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "status.json").write_text("[]")
    assert "status.json is not the status of a member" in told("status", tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("died ~ died",), "FORMULA 'died ~ died' has its target 'died' on the right"),
        (("died ~ age * C(died)",), "has its target 'died' on the right"),
        (("died ~ sqrt(age)",), "factor 'sqrt(age)' is not known"),
        (("died ~ age", "--sites", "s0,s1"), "--sites s0,s1 names sites, and no column holds them"),
        (("died ~ age", "--sheet", "one"), "--sheet 'one' is for Excel workbooks"),
        (("died ~ age", "--separator", ";"), "give --separator ','"),
        (("died ~ age", "--encoding", "utf9"), "not text in --encoding 'utf9'"),
        (("died ~ age", "--bounds", "age=90:18"), "--bounds of 'age': lower=90.0"),
        (("died ~ age", "--bounds", "age"), "--bounds 'age' must be a column and its bounds"),
        (("died ~ age", "--map", "age"), "--map 'age' must be a column and its map"),
        (("died ~ age", "--seed", "-1"), "'--seed': -1 must be at least 0"),
        (("died ~ age", "--sums", "5"), "'--sums': 5 must be at most 4"),
        (("died ~ age", "--site", "klinic"), "--site is 'klinic'"),
        (("died ~ age", "--weights", "wt"), "--weights names 'wt'"),
    ],
)
def test_options_of_a_regression(patients: Path, words: tuple[str, ...], said: str) -> None:
    assert said in told("fit", patients, *words, "--family", "binomial")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--formula", "died ~ died"), "--formula 'died ~ died' has its target 'died'"),
        (("--formula", "died ~ sqrt(age)"), "factor 'sqrt(age)' is not known"),
        (("--formula", "died ~ agee"), "--formula 'died ~ agee' names 'agee'"),
        (("--separator", ";"), "give --separator ','"),
        (("--target", "agee"), "--target 'agee' is not a column"),
        (("--family", "binomial"), "--family 'binomial' belongs to a formula"),
        (("--decimal", "x"), "--decimal 'x' must be"),
    ],
)
def test_options_of_a_first_study(patients: Path, words: tuple[str, ...], said: str) -> None:
    study = patients.with_name("made.toml")
    assert said in told("init", patients, "--output", study, *words)
    assert not study.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("table1", "age", "--median", "arm"), "--median 'arm' is not among the columns"),
        (("table1", "arm", "--median", "arm"), "--median 'arm' has levels"),
        (("table1", "age", "--share", "age=nan"), "--share 'age=nan' must be a positive number"),
        (("table1", "age", "--share", "age=much"), "--share 'age=much' must be a positive number"),
        (("table1", "age", "--share", "arm=2"), "--share 'arm' is not among the columns"),
        (("survival", "years", "died", "--until", "inf"), "--until inf must be a finite number"),
        (
            ("survival", "years", "died", "--edges", "2,5", "--intervals", "4"),
            "--intervals 4 is for times without edges, and edges cut column 'years'",
        ),
        (
            ("survival", "years", "died", "--edges", "2,5", "--intervals", "40"),
            "--intervals 40 is for times without edges",  # also where it is the usual number
        ),
        (("cox", "years", "died", "age", "--limit", "nan"), "--limit nan must be a finite"),
        (("cox", "years", "died", "age", "--edges", "3", "--pieces", "6"), "--pieces 6 is for"),
        (("cox", "years", "died", "age", "--edges", "3", "--pieces", "4"), "--pieces 4 is for"),
    ],
)
def test_options_of_other_statistics(patients: Path, words: tuple[str, ...], said: str) -> None:
    command, *rest = words
    assert said in told(command, patients, *rest, "--site", "clinic")


def test_a_site_column_of_identifiers_is_noted(patients: Path) -> None:
    options = ("--output", str(patients.with_name("made.toml")), "--site", "age")
    done = CliRunner().invoke(app, ["init", str(patients), *options])
    assert done.exit_code == 0
    assert "NOTE: column 'age' has 60 sites for 60 records: it looks like an ident" in done.output


def test_a_table_without_records(tmp_path: Path) -> None:
    (tmp_path / "head.csv").write_text("age,died\n")
    table = tmp_path / "head.csv"
    out = ("--output", tmp_path / "made.toml")
    for words in (("init", table, *out), ("fit", table, "died ~ age", "-f", "binomial")):
        assert f"error: {table} has no records" in told(*words)


def test_a_file_of_records_is_no_mistake_of_the_study(tmp_path: Path) -> None:
    study = write(tmp_path)
    absent = tmp_path / "nowhere.csv"
    assert told("check", study, "--data", absent).startswith(f"error: {absent}: no such file")


def test_an_account_names_a_metric_that_a_run_would_refuse(tmp_path: Path) -> None:
    study = write(tmp_path, f'{STUDY}[run.metrics]\nmine = "nowhere:found"\n')
    for command in ("account", "run"):
        said = told(command, study)
        assert "[run.metrics] mine" in said and "'nowhere:found'" in said


def test_a_rehearsal_in_the_place_of_a_file(tmp_path: Path) -> None:
    study = write(tmp_path)
    data = tmp_path / "visits.csv"
    assert f"--output '{data}' is a file" in told("rehearse", study, "--output", data)


def test_advice_asks_for_options(tmp_path: Path) -> None:
    study = write(tmp_path)
    assert "give --agents" in told("advise", study, "--epsilon", "1")
    assert "give --records" in told("advise", study, "--agents", "4")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("run", "{table}"), ("a table", "study", "tacit init")),
        (("advise", "{table}"), ("a table", "study")),
        (("predict", "{table}", "results"), ("MODEL", "first", "tacit predict")),
        (("predict", "model.json", "{table}", "--level", "95"), ("--level 95.0", "0 and 1")),
    ],
    ids=lambda given: given[0],
)
def test_a_table_or_a_level_in_a_wrong_place_is_told(
    words: tuple[str, ...], expected: tuple[str, ...], patients: Path
) -> None:
    said = told(*(word.format(table=patients) for word in words))
    assert all(each in said for each in expected), said


@pytest.mark.parametrize(
    ("name", "data"), [("visits.xlsx", b"PK\x03\x04\xff"), ("visits.csv", b"1,2\n" * (1 << 20))]
)
def test_a_table_in_the_place_of_a_study_may_be_large_or_no_text(
    tmp_path: Path, name: str, data: bytes
) -> None:
    (tmp_path / name).write_bytes(data)
    assert "a table, and a file in TOML must stand here" in told("run", tmp_path / name)


def test_accounting_says_that_a_run_of_it_is_refused(tmp_path: Path) -> None:
    study = STUDY.replace('name = "dpsg"', 'name = "masked-gossip"')
    assert study != STUDY
    path = write(tmp_path, changed("[privacy]", '[privacy]\nrequire = "proved"', study))
    done = CliRunner().invoke(app, ["account", str(path)])
    assert done.exit_code == 0 and "A run is refused: require = 'proved'" in done.output


@pytest.mark.parametrize("command", ["check", "doctor"])
def test_a_table_and_a_study_that_are_swapped(patients: Path, command: str) -> None:
    study = write(patients.parent)
    first = [] if command == "check" else ["--keys", patients.parent, "--manifest"]
    said = told(command, *first, patients, "--data", study)
    assert "look swapped: the first is a table" in said and f"{study} --data {patients}" in said


def test_an_audit_is_not_added_to_other_results(tmp_path: Path) -> None:
    study = write(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "result.json").write_text("{}")
    said = told("audit", study, "--output", tmp_path / "out", "--force")
    assert "holds something other than an audit (result.json)" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('age,arm,ill\n34,"a,1\n35,b,0\n' * 3, "a quotation mark in line 2 may be unclosed"),
        ("".join(["age;arm;ill\n", *(f"1.{k:03},5;a;1\n" for k in range(99))]), "thousands marks"),
        ("age,arm,ill\n34,a,1\n", "'age' has a value in one record only"),
        ("age,arm,ill\n34,a,0\n35,b,0\n", "declare its levels (ill=0,1)"),
        ("Export of ward 7\nage,arm,ill\n34,a,1\n", "if a title stands above the column names"),
        (
            "Export of ward 7,,,\nage,arm,ill\n34,a,1\n",
            "if a title stands above them, delete it",
        ),
        ("age,arm\n" + "".join(f"{k}.5 y,a\n" for k in range(60)), "such as '0.5 y' are no num"),
        (
            "age,arm\n" + "".join(f"{'2024-01-05' if k % 2 else 45292 + k},a\n" for k in range(9)),
            "line 2 holds '45292', a day as Excel counts them, among dates as text",
        ),
    ],
)
def test_what_is_wrong_with_a_table_is_named(tmp_path: Path, text: str, said: str) -> None:
    (table := tmp_path / "table.csv").write_text(text)
    assert said in told("table1", table, "ill" if "ill=" in said else "age")


@pytest.mark.long
def test_what_is_odd_in_a_table_is_told(patients: Path, tmp_path: Path) -> None:
    (odd := tmp_path / "odd.csv").write_text(patients.read_text().replace("\n30.0,1", "\n999,1.5"))
    words = ["fit", odd, "years ~ age", "--family", "poisson", "--output", tmp_path / "results"]
    done = CliRunner().invoke(app, [*map(str, words)])
    assert "999 of age is far outside its other values" in done.output
    assert "values of the target are no whole numbers" in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("table1 TABLE age --bins 1000000", "must be at most 1000"),
        ("site serve --page 99999999", "must be at most 65535"),
        (
            "manifest new STUDY out.toml --data TABLE --agent card.toml=0",
            "from 1 to 1,000,000,000, CARD=RECORDS",
        ),
        (
            "manifest new STUDY out.toml --data TABLE --agent card.toml=999999999999",
            "from 1 to 1,000,000,000, CARD=RECORDS",
        ),
        ("advise --records 9 --parameters 1000000000 --agents 5 --epsilon 1", "at most 10,000"),
        ("advise --records 9 --parameters 4 --agents 1000000 --epsilon 1", "--agents 1000000 is"),
        ("plan gossip --graph ring --agents 100000 --steps 5 -z 5", "--agents 100000 is more"),
        ("plan masks --graph ring --agents 100000 -e 1 -r 5", "--agents 100000 is more"),
        ("reproduce --paper Huang --list", "did you mean 'huang2015'?"),
        ("reproduce huang2015/fig9 --list", "huang2015/fig9"),
        ("table1 TABLE age --site clinic --size 1000000", "the 1,000,000 records declared for"),
        ("sweep STUDY -e 0,5", "(in '0,5', commas separate values; write 0.5 with a point)"),
        ("site join --site NEW --name n --data FOLDER --records 61 --epsilon 1", "it is a folder"),
        (
            "site join --site NEW --name n --data TABLE --records 1000000000000 --epsilon 1",
            "must be from 1 to 1,000,000,000",
        ),
        ("keys authority NEW --name=", "cannot be an authority's name"),
        ("keys rotate NEW", "make some with `tacit keys new"),
        ("site join --site NEW --name n --data EMPTY --records 61 --epsilon 1", "empty.csv"),
        ("site join --site NEW --name n", "give the records of your site with --data"),
    ],
)
def test_values_out_of_range(patients: Path, tmp_path: Path, words: str, said: str) -> None:
    (study := tmp_path / "study.toml").write_text(STUDY)
    (empty := tmp_path / "empty.csv").write_text("")
    places = {"TABLE": patients, "STUDY": study, "NEW": tmp_path / "new", "EMPTY": empty}
    places |= {"FOLDER": tmp_path}
    output = told(*(places.get(word, word) for word in words.split()))
    assert said in " ".join(output.split())


def test_a_site_may_declare_more_records_than_it_has(patients: Path, tmp_path: Path) -> None:
    """Where their number is private, a refusal would tell a bound on it."""
    words = ["--name", "n", "--data", patients, "--records", "64", "--epsilon", "1"]
    done = CliRunner().invoke(
        app, ["site", "join", "--site", str(tmp_path / "new"), *map(str, words)]
    )
    assert (done.exit_code, "It declares 64 records" in done.output) == (0, True), done.output


def test_a_pattern_without_quotes(patients: Path) -> None:
    (other := patients.with_name("b.csv")).write_text(patients.read_text())
    for words in (("fit", patients, other, "died ~ age"), ("table1", other, patients, "age")):
        family = ("-f", "binomial") if "fit" in words else ()
        said = " ".join(told(*words, *family).split())
        assert "two tables, and one is taken: put a pattern in quotes" in said
        assert f"'{patients.parent}/*.csv'" in said


@pytest.mark.long
def test_an_epsilon_without_noise_is_named(patients: Path) -> None:
    words = ("fit", patients, "age ~ years", "-f", "gaussian", "--site", "clinic", "-e", "1e300")
    assert "take more noise (a smaller --epsilon than 1e+300)" in told(*words)


def test_records_that_are_left_out_are_blamed(patients: Path) -> None:
    rows = patients.read_text().splitlines()
    bare = [
        row if k < 2 else row.replace(",a,", ",,").replace(",b,", ",,")
        for k, row in enumerate(rows)
    ]
    patients.write_text("\n".join(bare) + "\n")
    words = ("table1", patients, "age", "--by", "arm", "--site", "clinic", "--levels", "arm=a,b")
    assert "59 of 60 records lack a value and were left out, and of the others" in told(*words)


@pytest.mark.long
def test_a_target_of_one_value_and_a_file_that_is_there_twice(patients: Path) -> None:
    lines = patients.read_text().splitlines()
    for name in ("a.csv", "a (copy).csv"):
        rows = [row.replace(",0,", ",1,") for row in lines[1:]]
        patients.with_name(name).write_text("\n".join([lines[0], *rows]) + "\n")
    words = ["fit", patients.with_name("a*.csv"), "died ~ age", "--family", "binomial"]
    words += ["--levels", "died=0,1", "--output", patients.with_name("results")]
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, done.output
    assert "NOTE: every record has died = '1', so there is nothing to learn of it" in done.stderr
    assert "NOTE: the files 'a' and 'a (copy)' hold the same records" in done.stderr


def test_quotation_marks_of_a_word_processor(tmp_path: Path) -> None:
    study = write(tmp_path, changed('"dpsg"', "\u201cdpsg\u201d"))
    assert "\u201c is a quotation mark of a word processor; write straight ones" in told(
        "run", study
    )


def test_a_state_in_the_place_of_the_keys(tmp_path: Path) -> None:
    words = ("--manifest", tmp_path / "run.toml", "--data", tmp_path / "visits.csv")
    for command in (("agent", *words), ("coordinator", *words[:2])):
        said = told(*command, "--keys", tmp_path, "--state", tmp_path / ".", "--dry-run")
        assert f"--state {tmp_path} and the folder of the keys {tmp_path} are one" in said
        said = told(*command, "--keys", tmp_path, "--state", tmp_path / "state", "--dry-run")
        assert "or one is in the other" in said


def test_a_table_without_its_line_of_names_is_told_without_a_record(tmp_path: Path) -> None:
    rows = [f"{site},{age},no" for site in ("west", "east") for age in range(40, 70)]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    for command in (
        ("fit", "ill ~ age", "-f", "binomial"),
        ("table1", "age"),
        ("survival", "years", "ill"),
    ):
        said = told(command[0], tmp_path / "t.csv", *command[1:])
        assert "is the line of names missing in the table? Then add it" in said, command
        assert "west" not in said, command


def test_a_method_that_asks_for_gradients_is_refused_before_its_network(tmp_path: Path) -> None:
    (tmp_path / "box.py").write_text("def cost(x, agent):\n    return float((x**2).sum())\n")
    study = """
[problem]
x0 = [0.5, 0.5]
[problem.simulator]
function = "box:cost"
[partition]
sites = ["north", "south", "west"]
[network]
graph = "coordinator"
[method]
name = "dpsg"
step = 0.1
[privacy]
epsilon = 4.0
delta = 1e-3
clip = 1.0
[run]
rounds = 2
"""
    said = told("run", write(tmp_path, study))
    assert "asks for gradients" in said and "or-zo" in said
