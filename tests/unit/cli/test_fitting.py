"""Options of `tacit fit` that cannot be meant, in their own words and before anything runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from tacit.cli import app
from tacit.cli.wording import Command
from tacit.errors import ConfigError

CONTEXTS: Any = getattr(get_command(app), "commands")  # noqa: B009 - types hide it
RECORDS = "site,age,ill\n" + "".join(
    f"{site},{20 + age},{age % 2}\n" for age in range(40) for site in ("north", "south")
)


@pytest.fixture
def fit() -> Iterator[Command]:
    arguments = ["visits.csv", "ill ~ age", "--family", "binomial"]
    with CONTEXTS["fit"].make_context("fit", arguments) as context:
        yield Command(context)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("-e nan", "--epsilon nan must be above 0 and finite"),
        ("-e inf", "--epsilon inf must be above 0 and finite"),
        ("-d nan", "--delta nan must be above 0 and below 1"),
        ("-e 0", "--epsilon 0.0 must be"),
        ("-b age=100:0", "--bounds of 'age': lower=100.0 must be below upper=0.0"),
        ("-b age=nan:100", "--bounds of 'age': lower=nan must be a finite number"),
        ("-b age=0:100 -b age=0:50", "--bounds is given twice for 'age', as 0:100 and 0:50"),
        ("-l age=1,2 -l age=1", "--levels is given twice for 'age'"),
        ("-b age=0:100 -l age=1,2", "--levels of 'age': 'age' has bounds as well"),
        ("-l age=1,1", "--levels of 'age': ('1', '1') holds '1' twice"),
        ("-b age=0:100 -s ill", "--site 'ill' is the target of 'ill ~ age'"),
        ("-b age=0:100 -f binomal", "--family 'binomal' must be"),
        ("-b age=0:100 -s site -d 0.5", "--delta 0.5 is not below one over the 40 records"),
    ],
)
def test_options_that_cannot_be_meant(tmp_path: Path, options: str, said: str) -> None:
    table = tmp_path / "visits.csv"
    table.write_text(RECORDS)
    given = ["fit", str(table), "ill ~ age", "-f", "binomial", "-o", str(tmp_path / "fit")]
    found = CliRunner().invoke(app, [*given, *options.split()])
    assert found.exit_code == 2, found.output
    assert said in found.stderr
    assert "the study of this fit" not in found.stderr and "large_delta" not in found.stderr


def test_what_has_no_option_keeps_its_words(fit: Command) -> None:
    said = "the study of this fit:17: [model] target='ill' is also a column of the design"
    assert fit.said(ConfigError(said)) == "target='ill' is also a column of the design"
    two = "the study of this fit:3: [run] seed: -1 must be at least 0\nthe study of this fit: no"
    assert fit.said(ConfigError(two)) == "--seed -1 must be at least 0\nno"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("epsilon=0.0 must be positive", "--epsilon 0.0 must be positive"),
        ("give separator=';', or encoding=", "give --separator ';', or --encoding"),
        ("formula='a b' has no ~", "FORMULA 'a b' has no ~"),
        ("levels=['a'] and map={'a': 1}", "--levels a and --map {'a': 1}"),
        ("sites=['a b', ' c'] has no", "--sites 'a b, c' has no"),
        ("accept it by name (large_delta)", "accept it by name (--large-delta)"),
        ("say Privacy(epsilon=1.0)", "say Privacy(epsilon=1.0)"),
        ("--bounds epsilon=18:90 has no value", "--bounds epsilon=18:90 has no value"),
        ("bounds='epsilon=18' must be two", "--bounds 'epsilon=18' must be two"),
        ("visits.toml:3: [run] seed=-1 is bad", "visits.toml:3: [run] seed=-1 is bad"),
        ("grid.toml: seeds=0, seed=0", "grid.toml: seeds=0, seed=0"),
        ("records=0 must be at least 1", "records=0 must be at least 1"),
        ("the study of this fit:9: [partition] column: x", "--site x"),
        ("the study of this fit:9: [data.features.sex] levels: x", "--levels sex: x"),
    ],
)
def test_arguments_of_functions_are_told_as_options(fit: Command, said: str, meant: str) -> None:
    assert fit.said(ConfigError(said)) == meant


@pytest.mark.parametrize(
    ("options", "inner", "meant"),
    [
        (("--seed", "-1"), "seed=-1 is low", "--seed -1 is low"),
        (("--seed", "5"), "seed=-1 is low", "study.toml:3: [run] seed: -1 is low"),
        ((), "seed=-1 is low", "study.toml:3: [run] seed: -1 is low"),
    ],
)
def test_a_key_of_a_study_is_an_option_if_that_gave_its_value(
    options: tuple[str, ...], inner: str, meant: str
) -> None:
    with CONTEXTS["audit"].make_context("audit", ["study.toml", *options]) as context:
        error = ConfigError("study.toml:3: [run] seed: -1 is low")
        error.__cause__ = ConfigError(inner)
        assert Command(context).said(error) == meant


@pytest.mark.parametrize(
    ("levels", "begin", "meant"),
    [("f", "; correct", ""), ("f,males", "; did you mean 'males'? Correct", "males")],
)
def test_a_value_that_is_not_declared_is_told_with_options(
    tmp_path: Path, levels: str, begin: str, meant: str
) -> None:
    table = tmp_path / "visits.csv"
    head, *rows = RECORDS.splitlines()
    table.write_text(
        "\n".join([f"{head},sex", *(f"{row},f" for row in rows[1:]), f"{rows[0]},male"])
    )
    given = ["fit", str(table), "ill ~ age + C(sex)", "-f", "binomial", "-o", str(tmp_path / "fit")]
    found = CliRunner().invoke(app, [*given, "-b", "age=0:100", "-l", f"sex={levels}"])
    assert found.exit_code == 2, found.output
    assert (
        f"{begin} it, declare the value (--levels), or rewrite it "
        f"""(--map 'sex={{ "male" = "{meant}" }}', where "" is missing)"""
    ) in found.stderr
    assert "(map =" not in found.stderr and "other=" not in found.stderr
