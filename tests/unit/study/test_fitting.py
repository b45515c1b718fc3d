"""The study of a fit, as it is written before anything runs."""

from pathlib import Path
from typing import Any

import pytest

from tacit.study.fitting import Fit, fit_study
from tacit.study.reading import Reading

ROWS = [("North", 40, "yes", "P1"), ("South", 50, "no", "P1"), ("North", 60, "no", "P2")]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "visits.csv"
    lines = ["clinic,age,ill,Patienten-Nr.", *(",".join(map(str, row)) for row in ROWS)]
    path.write_text("\n".join(lines) + "\n")
    return path


def study_of(table: Path, formula: str = "ill ~ age", **given: Any) -> Fit:
    reading = given.pop("reading", Reading())
    return fit_study(table, formula, family="binomial", site="clinic", reading=reading, **given)


def test_a_fit_knows_that_a_person_has_several_records(table: Path) -> None:
    found = study_of(table, privacy={"epsilon": 1.0, "records_per_person": 2})
    assert found.repeated == ("Patienten-Nr.",)
    assert "records_per_person = 2" in found.text
