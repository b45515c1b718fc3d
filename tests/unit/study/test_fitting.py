"""The study of a fit, as it is written before anything runs."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tacit.deploy.agreement.records import read_table, unfit_records
from tacit.errors import ConfigError, ProblemError
from tacit.study.describing import describe_study
from tacit.study.fitting import Fit, fit_study
from tacit.study.read import parse_study
from tacit.study.reading import Reading
from tacit.study.tables import divide

pytestmark = pytest.mark.usefixtures("text_columns")

ROWS = [("North", 40, "yes", "P1"), ("South", 50, "no", "P1"), ("North", 60, "no", "P2")]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "visits.csv"
    lines = ["clinic,age,ill,Patienten-Nr.", *(",".join(map(str, row)) for row in ROWS)]
    path.write_text("\n".join(lines) + "\n")
    return path


def study_of(table: Path, formula: str = "ill ~ age", **given: Any) -> Fit:
    given = {"site": "clinic", "reading": Reading()} | given
    return fit_study(table, formula, family="binomial", **given)


def test_a_fit_knows_that_a_person_has_several_records(table: Path) -> None:
    found = study_of(table, privacy={"epsilon": 1.0, "records_per_person": 2})
    assert found.repeated == ("Patienten-Nr.",)
    assert "records_per_person = 2" in found.text


def test_what_is_declared_for_other_commands_is_not_used(table: Path) -> None:
    table.write_text(table.read_text().replace("age,ill", "age,ill,again,sex", 1))
    rows = table.read_text().replace(",yes,", ",yes,no,f,").replace(",no,P", ",no,no,m,P")
    table.write_text(rows)
    more = {"levels": {"sex": ["f", "m"], "again": ["no", "yes"]}, "bounds": {"age": (18, 90)}}
    assert study_of(table, **more).text == study_of(table, bounds=more["bounds"]).text
    with pytest.raises(ProblemError, match="--levels declares 'sexx', which is not a column"):
        study_of(table, levels={"sexx": ["f", "m"]})
    by_all = {"title": "t", "missing": "drop", "site": "clinic", "reading": Reading()}
    made = [
        describe_study(table, ["age"], lambda names: {"name": "table1", "variables": names}, **each)
        for each in (by_all | more, by_all | {"bounds": more["bounds"]})
    ]
    assert made[0].text == made[1].text


def test_columns_of_numbers_are_in_a_table_1_that_names_none(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    ages = [f"{40 + each / 2}".replace(".", ",") for each in range(60)]
    path.write_text("age;died\n" + "".join(f"{age};{i % 2}\n" for i, age in enumerate(ages)))
    keys = {"title": "t", "missing": "drop", "reading": Reading()}
    found = describe_study(path, [], lambda names: {"name": "table1", "columns": names}, **keys)
    assert found.taken == {"age": "bounds 40 to 69.5", "died": "levels 0 and 1"}
    assert 'columns = ["age", "died"]' in found.text and 'decimal = ","' in found.text


def test_sites_that_are_read_off_the_records_are_named_and_declared_ones_are_kept(
    table: Path,
) -> None:
    text = table.read_text()
    table.write_text(text + "Noth,30,no,P3\n")
    assert study_of(table).sites == {"North": 2, "Noth": 1, "South": 1}
    found = study_of(table, sites=["North", "South"], maps={"clinic": {"Noth": "North"}})
    assert not found.sites
    study = parse_study(found.text, "fit", table.parent)
    assert divide(study)[0].counts == (3, 1)
    with pytest.raises(ConfigError, match=r"'Noth', which is not among .*is it 'North'\?"):
        divide(parse_study(study_of(table, sites=["North", "South"]).text, "fit", table.parent))


def test_codes_of_missing_values_and_other_spellings_are_declared(table: Path) -> None:
    table.write_text(table.read_text() + "South,999,no,P4\nSouth,55,Yes!,P5\nSouth,k.A.,?,P6\n")
    found = study_of(
        table,
        bounds={"age": (18, 100)},
        levels={"ill": ["no", "yes"]},
        maps={"ill": {"Yes!": "yes"}},
        missing_values=["999", "k.A.", "?"],
    )
    sites, prepared, _ = divide(parse_study(found.text, "fit", table.parent))
    assert prepared.altered is not None and not prepared.altered.moved
    assert (prepared.altered.dropped, sum(sites.counts)) == (2, 4)
    with pytest.raises(ConfigError, match="only codes of missing values are rewritten"):
        study_of(table, bounds={"age": (18, 100)}, maps={"age": {"999": ""}})


def test_a_column_outside_the_formula_leaves_no_record_out(table: Path) -> None:
    text = study_of(table, "ill ~ age").text
    more = "[data.features.height]\nlower = 100\nupper = 220\n\n[partition]"
    table.write_text("\n".join(f"{line}," for line in table.read_text().split()) + "\n")
    table.write_text(table.read_text().replace("Nr.,", "Nr.,height"))
    with_height = parse_study(text.replace("[partition]", more), "fit", table.parent)
    sites, prepared, _ = divide(with_height)
    assert sum(sites.counts) == 3 and not any("height" in each for each in prepared.assumptions)


def test_files_that_match_are_sites(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sites"
    folder.mkdir()
    for name in ("North", "South"):
        (folder / f"{name}.csv").write_text("age,ill\n40,yes\n50,no\n")
    found = study_of(folder / "*.csv", site=None, folder=tmp_path)
    assert found.sites == {"North": 2, "South": 2} and '"sites/*.csv"' in found.text
    assert divide(parse_study(found.text, "fit", tmp_path))[0].names == ("North", "South")
    (folder / "South.csv").write_text("age,ill\n40,yes\n?,no\n")
    found = study_of(folder / "*.csv", site=None, bounds={"age": (18, 100)}, folder=tmp_path)
    with pytest.raises(ConfigError, match=r"line 3 of South\.csv holds '\?'"):
        divide(parse_study(found.text, "fit", tmp_path))
    (folder / "South.csv").write_text("age,sick\n40,yes\n")
    with pytest.raises(ProblemError, match=r"South\.csv: has other columns .* \(ill, sick\)"):
        study_of(folder / "*.csv", site=None, folder=tmp_path)


def test_a_message_has_all_values_that_are_not_declared(table: Path) -> None:
    table.write_text(table.read_text() + "South,30,ja ,P4\nSouth,55,k.A.,P5\nSouth,56,ja ,P6\n")
    study = parse_study(study_of(table, levels={"ill": ["no", "yes"]}).text, "fit", table.parent)
    with pytest.raises(ConfigError) as caught:
        divide(study)
    assert "line 5 holds 'ja '" in str(caught.value)
    assert "(in all: 'ja ' (2), 'k.A.' (1))" in str(caught.value)
    assert 'map = { "ja " = "", "k.A." = "" }' in str(caught.value)
    other = parse_study(study_of(table, levels={"ill": ["nein", "ja"]}).text, "fit", table.parent)
    with pytest.raises(ConfigError, match=r"map = \{ .*\"ja \" = \"ja\".* is missing"):
        divide(other)
    told = unfit_records(read_table(study, table))
    assert told.startswith("3 of 6 records do not fit") and "ill: 'ja ' (2), 'k.A.' (1)" in told


def test_a_day_that_does_not_exist_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("clinic,day,ill\nA,01.02.2024,yes\nB,31.02.2024,no\nB,28.02.2024,no\n")
    bounds = {"day": (date(2024, 1, 1), date(2024, 12, 31))}
    with pytest.raises(ConfigError, match=r"holds dates but for line 3, '31\.02\.2024'; correct"):
        study_of(path, "ill ~ day", bounds=bounds)


def test_a_wrong_key_of_a_column_is_answered_with_the_keys_of_its_kind(table: Path) -> None:
    text = study_of(table, bounds={"age": (18, 100)}).text
    with pytest.raises(ConfigError, match=r"unknown key; possible here: to, mean.*missing_values"):
        parse_study(text.replace("upper = 100", "upper = 100\nzzz = 1"), "fit", table.parent)
    with pytest.raises(ConfigError, match="possible here: map, sites"):
        parse_study(text.replace('column = "', 'zzz = 1\ncolumn = "'), "fit", table.parent)
