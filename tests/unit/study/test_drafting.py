"""A draft of a study is refused, or warned of, where the table cannot be meant."""

from pathlib import Path
from typing import Any

import pytest

from tacit.errors import ConfigError, ProblemError
from tacit.study import assemble, parse_study
from tacit.study.drafting import draft

pytestmark = pytest.mark.usefixtures("text_columns")


def table(folder: Path, text: str) -> Path:
    path = folder / "visits.csv"
    path.write_text(text)
    return path


def test_a_column_is_not_target_and_site(tmp_path: Path) -> None:
    path = table(tmp_path, "hospital,age,ill\nNorth,30,1\nSouth,41,0\n")
    with pytest.raises(ConfigError, match="target='hospital' is the site as well"):
        draft(path, target="hospital", site="hospital")
    assert draft(path, site="hospital").target == "ill"


def test_a_table_without_records_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"visits\.csv has no records"):
        draft(table(tmp_path, "hospital,age,ill\n"))


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("", ("North", "30", "1")),
        ("hospital,2019,2020\n", ("2019", "2020")),
        ("hospital,age,2020\n", ()),
        ("hospital,age,ill\n", ()),
    ],
)
def test_names_that_look_like_values_are_told(
    tmp_path: Path, header: str, found: tuple[str, ...]
) -> None:
    records = "North,30,1\nSouth,41,0\nNorth,52,1\n"
    assert draft(table(tmp_path, header + records)).like_values == found


def test_texts_among_numbers_are_told_as_codes_of_missing_values(tmp_path: Path) -> None:
    rows = "".join(f"{20 + i},{'n/a' if i == 3 else i},{'fm'[i % 2]},{i % 2}\n" for i in range(8))
    path = table(tmp_path, "age,crp,sex,ill\n" + rows)
    found = draft(path)
    assert found.codes == {"crp": ["n/a"]}
    # the text is a value of a record, so the file has a placeholder
    crp = found.text.split("[data.features.crp]")[1].split("\n\n")[0]
    assert "# declare: lower" in crp and "# declare: missing_values" in crp
    # what is left out of it is refused, and the message names the remedy
    public = draft(path, bounds_from_data=True).text
    assert 'missing_values = ["n/a"]   # WARNING' in public
    assert "the missing_values of column crp were read off the records" in public
    assert assemble(parse_study(public, folder=tmp_path)).problem.parameter_names[1] == "crp"


def test_codes_and_spellings_are_hints_and_options_put_them_in_the_study(tmp_path: Path) -> None:
    rows = [
        *("30,mild,A,yes", "41,Mild,a ,no", "999,mild,B,no", "52,severe,A,yes"),
        *("63,severe,B,no", "35,mild,A,yes"),
    ]
    path = table(tmp_path, "\n".join(["age,pain,clinic,ill", *rows]) + "\n")
    found = draft(path, site="clinic")
    assert found.far == {"age": ["999"]}
    assert found.spellings == {"pain": {"Mild": "mild"}, "clinic": {"a ": "A"}}
    assert "999" not in found.text and "Mild" not in found.text  # nothing is changed or told
    maps = {"pain": {"Mild": "mild"}, "clinic": {"a ": "A"}}
    done = draft(path, site="clinic", missing_values=["999"], maps=maps, bounds_from_data=True)
    assert done.far == {} and done.spellings == {}
    assert 'missing_values = ["999"]' in done.text and "bounds 30 to 63" in done.text
    made = assemble(parse_study(done.text.replace("hold_out", "# "), folder=tmp_path)).problem
    assert sorted(made.names) == ["A", "B"] and sum(made.counts) == 5
    with pytest.raises(ConfigError, match="map='age' is for levels and sites"):
        draft(path, maps={"age": {"999": ""}})


ILL = "clinic,age,sex,ill,name\na,30,f,yes,Ann\nb,41,m,no,Bo\na,35,m,no,Cy\nb,52,f,yes,Di\n"
MODEL = "ill ~ age + C(sex)"


def test_a_formula_makes_a_study_of_a_regression(tmp_path: Path) -> None:
    found = draft(table(tmp_path, ILL), folder=tmp_path, formula=MODEL, site="clinic")
    assert (found.target, found.to_declare, found.left_out) == ("ill", 3, ())
    assert not any(value in found.text for value in ("30", "Ann", "features.name"))
    text = found.text.replace("# declare: ", "").replace('["a", "b"]', '["f", "m"]')
    study: Any = parse_study(text, folder=tmp_path).study
    assert study.model.formula == MODEL and study.model.family == "binomial"
    assert list(study.data.features) == ["ill", "age", "sex"]
    assert assemble(parse_study(text, folder=tmp_path)).problem.names == ("a", "b")


@pytest.mark.parametrize(
    ("formula", "family", "written"),
    [
        ("age ~ sex", None, "gaussian"),
        ("age ~ sex", "poisson", "poisson"),
        (MODEL, None, "binomial"),
    ],
)
def test_a_family_follows_from_the_kind_of_the_target(
    tmp_path: Path, formula: str, family: Any, written: str
) -> None:
    text = draft(table(tmp_path, ILL), formula=formula, family=family).text
    assert f'family = "{written}"' in text


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"formula": "ill ~ weight"}, "'weight', which is not a column of .*; it has clinic, age"),
        ({"formula": "clinic ~ age", "site": "clinic"}, "predicts the column of sites"),
        ({"formula": MODEL, "target": "ill"}, "target='ill' is named by the formula; leave it out"),
        ({"family": "poisson"}, "family='poisson' belongs to a formula"),
        ({"formula": MODEL, "family": "normal"}, "family='normal' must be 'gaussian'"),
    ],
)
def test_a_formula_that_does_not_fit_is_told(tmp_path: Path, given: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        draft(table(tmp_path, ILL), **given)


def test_a_column_of_as_many_sites_as_records_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [f"p{i},{i % 7},{'ab'[i % 2]}" for i in range(80)]
    path.write_text("\n".join(["who,dose,ward", *rows]) + "\n")
    with pytest.warns(
        UserWarning, match="'who' has 80 sites for 80 records: it looks like"
    ) as told:
        draft(path, target="dose", site="who")
    assert told[0].filename == __file__
    draft(path, target="dose", site="ward")


def test_zero_and_one_are_no_and_yes_unless_the_family_is_of_numbers(tmp_path: Path) -> None:
    rows = "".join(f"{20 + i},{i % 2},{i % 3 % 2},{1 + i % 2},P{i // 2}\n" for i in range(12))
    path = table(tmp_path, "age,ill,smoker,grade,Patient\n" + rows)

    def made(formula: str, family: Any = None) -> Any:
        found = draft(path, formula=formula, family=family, folder=tmp_path)
        text = found.text.replace("# declare: ", "").replace('["a", "b"]', '["1", "2"]')
        study: Any = parse_study(text, folder=tmp_path).study
        kinds = {name: each.kind for name, each in study.data.features.items()}
        return found, study.model.family, kinds

    found, family, kinds = made("ill ~ age + smoker")
    assert (family, kinds) == (
        "binomial",
        {"ill": "boolean", "age": "numeric", "smoker": "boolean"},
    )
    assert found.zero_one == ("ill", "smoker")
    found, family, kinds = made("ill ~ age", "gaussian")
    assert (family, kinds, found.zero_one) == (
        "gaussian",
        {"ill": "numeric", "age": "numeric"},
        (),
    )
    assert made("grade ~ age", "binomial")[2]["grade"] == "categorical"
    assert made("grade ~ age")[1:] == ("gaussian", {"grade": "numeric", "age": "numeric"})
    assert "positive = true" in draft(path, target="ill").text


def test_a_draft_says_how_many_columns_it_uses_and_that_a_person_has_several_records(
    tmp_path: Path,
) -> None:
    path = table(tmp_path, "Patient,age,sex,crp,ill\n" + "P1,30,f,1,yes\nP1,31,m,2,no\n")
    found = draft(path, formula="ill ~ age")
    assert (found.used, found.columns, found.repeated) == (2, 5, ("Patient",))
    assert draft(path, formula="ill ~ age + Patient").repeated == ()
    found = draft(path)
    assert (found.used, found.repeated) == (4, ("Patient",))


def test_files_that_are_read_together_are_sites(tmp_path: Path) -> None:
    for name in ("North", "South"):
        table(tmp_path, "age,ill\n30,1\n50,0\n40,1\n").rename(tmp_path / f"{name}.csv")
    for given in ({}, {"formula": "ill ~ age"}):
        found = draft(tmp_path / "*.csv", folder=tmp_path, **given)
        assert (found.target, found.site, found.used) == ("ill", "file", 3)
        assert 'by = "column"\ncolumn = "file"' in found.text
