"""`tacit advise`: dimensions without a record read, and what is printed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tacit.advise import Advice, Change, Measured, Need, Setting
from tacit.advise.plans import changes
from tacit.cli import advising, app
from tacit.cli.dimensions import Options, from_options, from_study
from tacit.errors import ConfigError
from tacit.privacy import Masks
from tacit.problem import Logistic, Softmax, Squared
from tacit.study import assemble, parse_study, read_study
from tacit.types import Oracle, Relation
from tests.end_to_end.study import STUDY, changed, write

RUN = CliRunner()
DIMENSIONS = ("--records", "20", "--parameters", "10", "--agents", "5", "--epsilon", "1.7")


def canned(setting: Setting, **_: Any) -> Advice:
    """Advice that took no simulation."""
    made = Measured(
        method="dpsg",
        clip=0.5,
        rounds=30,
        arguments={"step": 0.25},
        shares=np.array([-0.1, 0.1, 0.3]),
        losses={"pooled": 0.1, "base rate": 1.1},
    )
    better = Measured("gradient-descent", 0.5, 30, {"step": 0.5}, np.array([0.7, 0.8, 0.9]))
    return Advice(
        setting=setting,
        measured=(made,),
        changes=tuple(Change(plan, better) for plan in changes(setting, "dpsg")),
        needs=(Need("records", 110, 0.8), Need("epsilon", None, None)),
        left_out={"gradient-descent": "it needs a coordinator"},
        notes=("32 sites stand for 100",),
        half=0.05,
        seconds=1.0,
    )


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is simulated."""
    monkeypatch.setattr(advising, "advise", canned)


def study(text: str, folder: str | Path = ".", **asked: Any) -> Setting:
    """The setting of a study's text."""
    return from_study(parse_study(text, folder=folder), Options(**asked))


LISTED = changed(
    'column = "site"\n', 'column = "site"\nsites = ["north", "south", "east", "west"]\n'
)


@pytest.mark.usefixtures("quick")
def test_what_is_printed_says_what_it_rests_on() -> None:
    done = RUN.invoke(app, ["advise", *DIMENSIONS])
    assert done.exit_code == 0, done.output
    out = " ".join(done.stdout.split())
    assert "no record was read" in out
    assert (
        "5 sites (ring), 20 records per site, 10 parameters, squared loss, targets from -1 to 1"
        in out
    )
    assert "Assumed by default: a fit without privacy removes 20% of the base" in out
    assert (
        "Hopeless: with 20 records a site and epsilon 1.7 the best method, dpsg, keeps 10%" in out
    )
    assert "(median; -10% to 30% over the trials); you would need about 110 records a site" in out
    assert "with the noise of 110 records per site, 80% is kept." in out
    assert "gains only half as much over the base rate, 5% of that gain is kept" in out
    assert "Not measured: gradient-descent (it needs a coordinator)." in out
    assert "dpsg 30 0.5 step 0.25 10% -10% to 30%" in out
    assert '[method]\nname = "dpsg"\nstep = 0.25\n' in done.stdout
    assert "With a coordinator and masks, gradient-descent keeps 80% (70% to 90%): hopeful" in out
    assert '[network]\ngraph = "coordinator"\n' in done.stdout


@pytest.mark.usefixtures("quick")
def test_the_same_as_json() -> None:
    options = ("--records", "20,20,20,20,90", "--loss", "logistic", "--prevalence", "0.1")
    done = RUN.invoke(app, ["advise", *DIMENSIONS, *options, "--json"])
    document = json.loads(done.stdout)
    assert document["format"] == "tacit-advise-3"
    assert document["verdict"] == "hopeless"
    assert document["setting"]["records"] == [20, 20, 20, 20, 90]
    assert document["setting"]["prevalence"] == 0.1
    assert len(document["assumed"]) == 1
    assert document["measured"][0]["kept"] == pytest.approx(0.1)
    assert document["needed"][0] == {"what": "records", "value": 110, "kept": 0.8}
    assert [each["what"] for each in document["changes"]] == [
        "every record counts the same",
        "a coordinator and masks, and every record counts the same",
    ]
    assert document["changes"][1]["toml"].startswith('[problem]\nweighting = "record"\n')
    assert "not on yours" in document["basis"]


@pytest.mark.usefixtures("quick")
def test_a_study_with_masks_is_advised_under_them(tmp_path: Path) -> None:
    star = changed('"ring"', '"coordinator"', LISTED)
    text = changed("clip = 1.0", "clip = 1.0\nmasks = { coalition = 2, attempts = 9 }", star)
    setting = study(text, records=50)
    assert setting.budget.masks == Masks(2)
    done = RUN.invoke(app, ["advise", str(write(tmp_path, text)), "--records", "50"])
    assert "hides 2 honest sites among each other (coalition 2)" in done.stdout
    wrong = changed("coalition = 2", "coalition = 4", text)
    with pytest.raises(
        ConfigError, match=r"study.toml:\d+: \[privacy.masks\] coalition: .*at most 3"
    ):
        study(wrong, records=50)


@pytest.mark.usefixtures("quick")
def test_unreadable_records_do_not_matter(tmp_path: Path) -> None:
    path = write(tmp_path, LISTED)
    (tmp_path / "visits.csv").write_bytes(b"\xff\x00 garbage \xfe\n\xff")
    done = RUN.invoke(app, ["advise", str(path), "--records", "120"])
    assert done.exit_code == 0, done.output
    assert "4 sites (ring), 120 records per site, 4 parameters, logistic loss" in done.stdout
    (tmp_path / "visits.csv").unlink()
    done = RUN.invoke(app, ["advise", str(path), "--records", "120"])
    assert done.exit_code == 0, done.output


def test_a_study_has_the_size_that_a_run_finds(tmp_path: Path) -> None:
    source = read_study(write(tmp_path, LISTED))
    setting = from_study(source, Options(records=120))
    problem = assemble(source).problem
    assert setting.parameters == problem.dimension
    assert setting.agents == problem.agents
    assert isinstance(setting.loss, Logistic)
    assert setting.divisors.tolist() == [120.0] * 4
    # age on [-1, 1], one of two levels, a boolean, and the intercept
    kinds = [(each.kind, each.count) for each in setting.columns or ()]
    assert kinds == [("numeric", 1), ("levels", 1), ("boolean", 1)]
    assert setting.intercept


def test_what_a_map_makes_has_no_law(tmp_path: Path) -> None:
    mapped = 'map = { kind = "terms", formula = "bs(age, df=3) * sex" }'
    text = changed('missing = "drop"', f'missing = "drop"\n{mapped}', LISTED)
    text = changed("drop_first = true\n", "", text)
    source = read_study(write(tmp_path, text))
    with pytest.raises(ConfigError, match="no law of what a map makes"):
        from_study(source, Options(records=100))
    assert from_study(source, Options(records=100, parameters=8)).parameters == 8
    assert assemble(source).problem.dimension == 8


def test_patterns_need_the_line_of_names_only(tmp_path: Path) -> None:
    text = changed("[data.features.age]", '[data.features."a*"]', LISTED)
    header = "age,area,sex,smoker,site,visits\n"
    (tmp_path / "visits.csv").write_bytes(header.encode() + b"\xff\x00garbage")
    assert study(text, tmp_path, records=10).parameters == 5
    zipped = changed('path = "visits.csv"', 'path = "visits.csv.gz"', text)
    (tmp_path / "visits.csv.gz").write_bytes(gzip.compress(header.encode()))
    assert study(zipped, tmp_path, records=10).parameters == 5
    # told how many, nothing is opened at all
    (tmp_path / "visits.csv").unlink()
    told = study(text, tmp_path, records=10, parameters=9)
    assert told.parameters == 9
    assert sum(each.count for each in told.columns or () if each.kind == "numeric") == 6
    with pytest.raises(ConfigError, match=r"cannot be read .*parameters"):
        study(text, tmp_path, records=10)
    other = changed('path = "visits.csv"', 'path = "visits.npz"', text)
    with pytest.raises(ConfigError, match="give parameters"):
        study(other, tmp_path, records=10)
    (tmp_path / "visits.csv").write_text("sex,smoker\n")
    with pytest.raises(ConfigError, match=r"no column matches 'a\*'"):
        study(text, tmp_path, records=10)


def test_classes_normalisers_weights_and_other_budgets() -> None:
    classes = changed('positive = "> 0"', 'levels = ["0", "1", "2"]', LISTED)
    classes = changed('loss = "logistic"', 'loss = "softmax"', classes)
    found = study(classes, records=50)
    assert isinstance(found.loss, Softmax)
    assert found.parameters == 12
    declared = changed(
        'loss = "logistic"',
        'loss = "logistic"\nnormaliser = { north = 90, south = 80, east = 85, west = 99 }',
        LISTED,
    )
    declared = changed("clip = 1.0", 'clip = 1.0\nrelation = "add_remove"', declared)
    found = study(declared)
    assert found.counts.tolist() == [90, 80, 85, 99]
    assert found.divisors.tolist() == [90.0, 80.0, 85.0, 99.0]
    assert found.budget.relation is Relation.ADD_REMOVE
    assert study(declared, records=40).counts.tolist() == [40] * 4
    assert study(LISTED, records="40,50,60,70").uneven
    summed = changed('loss = "logistic"', 'loss = "logistic"\nweighting = "sum"', LISTED)
    assert study(summed, records=50).divisors.tolist() == [1.0] * 4
    pooled = changed('loss = "logistic"', 'loss = "logistic"\nweighting = "record"', LISTED)
    assert study(pooled, records=50).divisors.tolist() == [200.0] * 4
    number = changed('positive = "> 0"', "lower = 0\nupper = 9\nto = [0, 3]", LISTED)
    number = changed('loss = "logistic"', 'loss = "squared"', number)
    assert study(number, records=50).target == (0.0, 3.0)
    assert study(number.replace("to = [0, 3]", ""), records=50).target == (0.0, 9.0)
    several = changed("epsilon = 1.0", "epsilon = [1.0, 2.0, 0.5, 4.0]", LISTED)
    assert study(several, records=50).epsilon == 0.5
    assert study(several, records=50, epsilon=3.0).epsilon == 3.0
    bounded = changed('missing = "drop"', 'missing = "drop"\nrow_norm = 1.0', LISTED)
    assert study(bounded, records=50).row_norm == 1.0
    assert study(bounded, records=50, row_norm=0.5).row_norm == 0.5


def test_a_pair_of_missing_rules_and_levels() -> None:
    more = changed('missing = "drop"', 'missing = "indicator"', LISTED)
    assert study(more, records=50).parameters == 7
    unknown = changed(
        'levels = ["f", "m"]\ndrop_first = true',
        'kind = "categorical"\nstatistics = "public"',
        LISTED,
    )
    with pytest.raises(ConfigError, match=r"'sex' takes its levels from the records.*parameters"):
        study(unknown, records=50)
    assert study(unknown, records=50, parameters=8).parameters == 8


@pytest.mark.parametrize(
    ("text", "asked", "words"),
    [
        (LISTED, {}, "give records=, a public number"),
        (STUDY, {"records": 9}, "give agents=, or sites"),
        (LISTED, {"records": 9, "agents": 3}, "agents=3 contradicts the 4 sites"),
        (LISTED, {"records": 9, "graph": "ring"}, "--graph is set by"),
        (LISTED, {"records": 9, "loss": "squared"}, "--loss is set by"),
        (LISTED, {"records": 0}, "records=0 must be at least 1"),
        (LISTED, {"records": "1,2"}, r"records=\[1, 2\] has 2 numbers for 4 sites"),
        (LISTED, {"records": "few"}, "--records .few. must be"),
        (
            changed("epsilon = 1.0", "noise_multiplier = 2.0", LISTED),
            {"records": 9},
            "has a noise_multiplier and no epsilon; give epsilon",
        ),
        (
            changed("[privacy]\nepsilon = 1.0\ndelta = 1e-6\nclip = 1.0\n", "", LISTED),
            {"records": 9},
            r"has no \[privacy\]; give epsilon",
        ),
        (
            changed('loss = "logistic"', 'loss = "softmax"', LISTED),
            {"records": 9},
            "softmax goes with levels",
        ),
    ],
)
def test_what_a_study_does_not_say_is_asked_for(
    text: str, asked: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        study(text, **asked)


def test_agents_where_the_study_lists_no_sites() -> None:
    assert study(STUDY, records=9, agents=6).agents == 6
    even = changed('by = "column"\ncolumn = "site"', 'by = "even"\nsites = 7', STUDY)
    assert study(even, records=9).agents == 7


def test_options_alone() -> None:
    asked = Options(records=30, parameters=6, agents=3, epsilon=2.0)
    plain = from_options(asked)
    assert isinstance(plain.loss, Squared)
    assert (plain.network.kind, float(plain.budget.delta)) == ("ring", 1e-6)
    star = from_options(
        Options("30", 6, 3, 2.0, 1e-5, "coordinator", "softmax", 3, 2.0, "value", gain=0.4)
    )
    assert star.network.coordinated
    assert (star.features, star.row_norm, star.gain) == (2, 2.0, 0.4)
    assert star.oracle is Oracle.VALUE


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"records": None}, "--records is missing"),
        ({"parameters": None}, "--parameters is missing"),
        ({"agents": None}, "--agents is missing"),
        ({"epsilon": None}, "--epsilon is missing"),
        ({"agents": 1}, "--agents 1 must be at least 2"),
        ({"graph": "donut"}, "--graph 'donut' is unknown; choose one of coordinator"),
        ({"loss": "cubic"}, "--loss 'cubic' is unknown"),
        ({"loss": "softmax"}, "--classes and --loss softmax"),
        ({"classes": 3}, "--classes and --loss softmax"),
        ({"oracle": "prox"}, "--oracle 'prox' is unknown; choose one of value, gradient"),
    ],
)
def test_options_that_are_missing_or_wrong(change: dict[str, Any], words: str) -> None:
    given = {"records": 30, "parameters": 6, "agents": 3, "epsilon": 2.0} | change
    with pytest.raises(ConfigError, match=words):
        from_options(Options(**given))


def test_errors_have_an_exit_code() -> None:
    done = RUN.invoke(app, ["advise"])
    assert done.exit_code == 2
    assert "--records is missing" in done.stderr
    done = RUN.invoke(app, ["advise", "nowhere.toml", "--json"])
    assert done.exit_code == 2
    assert json.loads(done.stdout)["format"] == "tacit-error-1"
